"""The backend of the tutorial, installed for a test: a catalog in JSON files."""

from __future__ import annotations

import sys
from pathlib import Path

from lancespace import Namespace, connect
from lancespace.authoring import registry
from tests.docs.pages import DOCS, blocks

PAGE = DOCS / "guide" / "writing-a-backend.md"
SOURCE = "src/lance_jsonfiles/backend.py"
NINE, EIGHT = "jsonfiles", "eight"
"""The tutorial's backend, and the same one without the ninth, optional method ``replace_entry``."""

_EIGHT = """

from lancespace_tables import TableBackend

class EightBackend(JsonFileBackend):
    replace_entry = TableBackend.replace_entry
"""
_ENTRY_POINTS = (
    f"[lancespace.backends]\n{NINE} = jsonfiles_backend:JsonFileBackend\n{EIGHT} = jsonfiles_backend:EightBackend\n"
)


def write(folder: Path) -> Path:
    """Install both backends into a folder, as pip would."""
    code = "".join(block.code for block in blocks(PAGE) if block.title == SOURCE)
    (folder / "jsonfiles_backend.py").write_text(code + _EIGHT)
    info = folder / "jsonfiles_backend-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: jsonfiles-backend\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(_ENTRY_POINTS)
    return folder


def open_catalog(folder: Path, backend: str, root: Path) -> Namespace:
    """Connect, in whatever process; ``folder`` is where :func:`write` installed the backends."""
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    if NINE not in registry.installed(registry.BACKENDS):
        registry.refresh()
    return connect(backend, {"root": str(root), "wrappers": "views"})
