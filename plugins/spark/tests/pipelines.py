"""A folder with files and a pipeline, for tests."""

from __future__ import annotations

from pathlib import Path

from lancespace import Namespace, connect
from lancespace_spark.pipeline import Outcome, Pipeline, load, run

INGEST = """
[[step]]
name = "ingest"
kind = "ingest"
files = "raw/*.csv"
into = "raw.orders"
"""


class Folder:
    """Files of orders, and the pipeline that takes them in."""

    def __init__(self, path: Path, engine: str = "local") -> None:
        self.path = path
        self.engine = engine
        (path / "raw").mkdir()

    def write(self, name: str, *rows: str) -> None:
        """A file of orders."""
        (self.path / "raw" / f"{name}.csv").write_text("\n".join(["id,item", *rows]) + "\n")

    def pipeline(self, steps: str = INGEST, name: str = "orders") -> Pipeline:
        """The pipeline of a file with these steps."""
        file = self.path / f"{name}.toml"
        file.write_text(f'[catalog]\nroot = "lake"\nengine = "{self.engine}"\n{steps}')
        return load(file)

    def run(self, steps: str = INGEST, name: str = "orders") -> dict[str, tuple[str, int]]:
        """Run these steps; the state and the rows of each."""
        return outcomes(list(run(self.pipeline(steps, name))))

    def namespace(self) -> Namespace:
        """The catalog."""
        return connect("dir", {"root": str(self.path / "lake")})

    def rows(self, table: str) -> list[dict[str, object]]:
        """What a table has."""
        with self.namespace() as namespace:
            return sorted(namespace.table(table).to_arrow().to_pylist(), key=str)

    def ids(self, table: str) -> list[object]:
        """The ids that a table has."""
        return [row["id"] for row in self.rows(table)]

    @property
    def runs(self) -> Path:
        """Where runs claim the pipeline."""
        return self.path / "lake" / "__jobs" / "pipelines" / "orders.runs"

    @property
    def state(self) -> Path:
        """Where the pipeline remembers."""
        (found,) = (self.path / "lake" / "__jobs" / "pipelines" / "orders.state").iterdir()
        return found


def outcomes(found: list[Outcome]) -> dict[str, tuple[str, int]]:
    """The state and the rows of each step."""
    return {outcome.step.name: (outcome.state, outcome.rows) for outcome in found}
