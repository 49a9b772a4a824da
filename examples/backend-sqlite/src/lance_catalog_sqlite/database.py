"""The SQLite file: created whole, written by one transaction at a time, read by everybody meanwhile (WAL)."""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from lance_namespace import ServiceUnavailableError

_BUSY_SECONDS = 30
_SCHEMA = """
CREATE TABLE entries (
    id TEXT PRIMARY KEY,                  -- The joined identifier, sales$orders: a name is a table's or a namespace's.
    parent TEXT REFERENCES entries (id),  -- So a namespace that holds anything cannot be deleted.
    name TEXT NOT NULL,
    location TEXT,                        -- NULL for a namespace.
    properties TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX children ON entries (parent, name);
INSERT INTO entries VALUES ('', NULL, '', NULL, '{}');
"""


@contextmanager
def transaction(path: Path, *, writes: bool = False) -> Iterator[sqlite3.Connection]:
    """A block of statements that happens as a whole or not at all; where there is no file, reading makes none.

    Each has a connection of its own, so threads and forked processes share nothing.
    """
    try:
        if writes and not path.exists():
            _create(path)
        with closing(_connect(path) if path.exists() else _empty_catalog()) as db:
            db.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
            with db:
                yield db
    except sqlite3.OperationalError as error:
        raise ServiceUnavailableError(f"The catalog {str(path)!r} cannot be used: {error}.") from error


def _connect(path: Path | str) -> sqlite3.Connection:
    db = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
    db.execute("PRAGMA foreign_keys = ON")
    return db


def _empty_catalog() -> sqlite3.Connection:
    db = _connect(":memory:")
    db.executescript(_SCHEMA)
    return db


def _create(path: Path) -> None:
    """Make the file elsewhere and give it its name unless that is taken: nobody ever sees half a catalog."""
    path.parent.mkdir(parents=True, exist_ok=True)
    staged = path.with_name(f".{path.name}-{uuid.uuid4().hex}")
    with closing(_connect(staged)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.executescript(_SCHEMA)
    with suppress(FileExistsError):
        path.hardlink_to(staged)
    staged.unlink()
