"""Idempotency keys: what became of each write that was sent with one, for callers that lost the answer.

The records are in an SQLite file that the workers of a server share, so that they survive the death of a worker. The
owner of a record is a process. Each process holds a lock on a file of its own while it lives.
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from lance_namespace import ErrorCode, InternalError, InvalidInputError, LanceNamespaceError, ServiceUnavailableError

from lancespace.authoring import marking
from lancespace_server import failures
from lancespace_server.failures import Failure
from lancespace_server.interruptions import Unknown, other_request
from lancespace_server.uploads import Disconnected

if TYPE_CHECKING:
    from lancespace_server.interruptions import Recovery

_log = logging.getLogger(__name__)

KEPT_SECONDS = 24 * 3600.0
MOST_OF_ONE_CALLER = 100_000
MOST_ANSWER_BYTES = 1 << 16
_CLEAN_EVERY = 1000
_FIRST_FAILURE, _UNAVAILABLE = 400, 503
_BUSY_SECONDS = 10.0

_UNKNOWN = (InternalError, ServiceUnavailableError)
"""Errors after which the write may have happened; after all others, nothing has changed."""

_TABLE = """
create table if not exists writes (
    name blob primary key, caller blob not null, began real not null, owner text not null,
    before text, digest blob, status integer not null default 0, body blob
) without rowid
"""
_INDEX = "create index if not exists by_caller on writes (caller, began)"


class Kept(NamedTuple):
    """The answer to a write; the headers that its context asked for are sent once only."""

    status: int
    body: bytes
    headers: tuple[tuple[bytes, bytes], ...] = ()


class _Record(NamedTuple):
    owner: str
    began: float
    before: str | None
    digest: bytes | None
    status: int
    body: bytes | None


class Ledger:
    """The records of all writes with a key. Its methods may be called from any thread."""

    def __init__(self, path: str | None) -> None:
        """Open the file that processes share; without one, the records are this process's alone."""
        self._path = path
        self._owner = secrets.token_hex(8)
        self._lock = threading.Lock()
        self._begun = 0
        try:
            self._alive = None if path is None else _locked(f"{path}.{self._owner}")
            self._database = _opened(path)
        except (OSError, sqlite3.Error) as error:
            raise InvalidInputError(
                f"idempotency_file {path!r} cannot be used ({error}): name a file on a local disk."
            ) from error

    def close(self) -> None:
        """Give up the file; what this process has not finished counts as interrupted."""
        self._database.close()
        if self._alive is not None:
            self._alive.close()
            Path(self._file_of(self._owner)).unlink(missing_ok=True)

    def once(
        self,
        principal: str,
        key: bytes,
        write: Callable[[], Kept],
        digest: Callable[[], bytes | None],
        recovery: Recovery,
    ) -> Kept | None:
        """Carry out a write unless that was done before, and return its answer; None while another thread does it.

        ``digest`` identifies the request; it is asked once its body was read. None is a body that was not read whole.
        ``recovery`` is asked what became of the write if its process died.

        Raises:
            Failure: 422 if the key belongs to another request; 500 if it is not known what became of the write.
        """
        caller = _hash(principal.encode())
        name = _hash(caller + key)
        found = self._begin(name, caller)
        if found is None:
            return self._carry_out(name, write, digest, recovery)
        if not found.status:
            return None if self._lives(found.owner) else self._resolve(name, found, write, digest, recovery)
        if found.digest is not None and found.digest != digest():
            raise other_request()
        if found.status >= _FIRST_FAILURE:
            raise _doubtful(found.status, (found.body or b"").decode())
        if found.body is None:
            raise Failure(500, ErrorCode.INTERNAL, "The write was carried out; its answer was too large to be kept.")
        return Kept(found.status, found.body)

    def _resolve(
        self,
        name: bytes,
        found: _Record,
        write: Callable[[], Kept],
        digest: Callable[[], bytes | None],
        recovery: Recovery,
    ) -> Kept | None:
        """The answer to a write whose process died; it is carried out now if it was not."""
        try:
            outcome = recovery.after(name.hex(), found.began, found.before)
        except Unknown as error:
            raise _doubtful(500, f"The process that carried out the write was interrupted. {error}") from error
        taken = "update writes set owner = ? where name = ? and owner = ? and status = 0 returning name"
        if not self._note(taken, self._owner, name, found.owner):
            return None
        if outcome is None:
            return self._carry_out(name, write, digest, recovery)
        answer = Kept(*outcome)
        self._finish(name, digest, answer)
        return answer

    def _carry_out(
        self, name: bytes, write: Callable[[], Kept], digest: Callable[[], bytes | None], recovery: Recovery
    ) -> Kept:
        try:
            self._note("update writes set before = ? where name = ?", recovery.before(), name)
        except Exception:
            self._execute("delete from writes where name = ?", name)
            raise
        try:
            with marking(name.hex()):
                answer = write()
        except _UNKNOWN as error:
            failure = _doubtful(failures.status_of(error.code), str(error))
            self._finish(name, digest, Kept(failure.status, str(error).encode()))
            raise failure from error
        except (LanceNamespaceError, Failure, Disconnected):
            self._execute("delete from writes where name = ?", name)
            raise
        except Exception:
            self._finish(name, digest, Kept(500, b"The server failed; its log has the details."))
            raise
        self._finish(name, digest, answer)
        return answer

    def _begin(self, name: bytes, caller: bytes) -> _Record | None:
        """The record of the write; None if there was none, and this thread is the one to carry it out."""
        now = time.time()
        self._clean(caller, now)
        made = self._note(
            "insert into writes (name, caller, began, owner) values (?, ?, ?, ?) on conflict do nothing returning name",
            name,
            caller,
            now,
            self._owner,
        )
        if made:
            return None
        found = self._note("select owner, began, before, digest, status, body from writes where name = ?", name)
        return _Record(*found[0]) if found else self._begin(name, caller)

    def _note(self, statement: str, *values: object) -> list[Any]:
        """Execute what has to succeed before anything is changed."""
        try:
            return self._execute(statement, *values)
        except sqlite3.Error as error:
            raise ServiceUnavailableError(
                f"The server cannot write down the Idempotency-Key ({error}); nothing was changed: try again later."
            ) from error

    def _finish(self, name: bytes, digest: Callable[[], bytes | None], answer: Kept) -> None:
        body = answer.body if len(answer.body) <= MOST_ANSWER_BYTES else None
        try:
            self._execute(
                "update writes set digest = ?, status = ?, body = ? where name = ?", digest(), answer.status, body, name
            )
        except sqlite3.Error as error:
            _log.error("cannot keep the answer to a write with an Idempotency-Key: %s", error)

    def _clean(self, caller: bytes, now: float) -> None:
        """Forget what is old, and the oldest of a caller that has too many; now and then."""
        self._begun += 1
        if self._begun % _CLEAN_EVERY != 1:
            return
        with suppress(sqlite3.Error):
            self._execute("delete from writes where began < ?", now - KEPT_SECONDS)
            self._execute(
                "delete from writes where status != 0 and caller = ? and began < (select began from writes "
                "where caller = ? order by began desc limit 1 offset ?)",
                caller,
                caller,
                MOST_OF_ONE_CALLER,
            )

    def _execute(self, statement: str, *values: object) -> list[Any]:
        with self._lock:
            return self._database.execute(statement, values).fetchall()

    def _file_of(self, owner: str) -> str:
        return f"{self._path}.{owner}"

    def _lives(self, owner: str) -> bool:
        """Whether the process that owns a record is still there."""
        if owner == self._owner:
            return True
        try:
            _locked(self._file_of(owner), create=False).close()
        except BlockingIOError:
            return True
        except FileNotFoundError:
            return False
        Path(self._file_of(owner)).unlink(missing_ok=True)
        return False


def _opened(path: str | None) -> sqlite3.Connection:
    if path is not None:  # Answers may have credentials.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    database = sqlite3.connect(path or ":memory:", timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    for statement in ("pragma journal_mode = wal", "pragma synchronous = normal", _TABLE, _INDEX):
        database.execute(statement)
    return database


def _locked(path: str, *, create: bool = True) -> IO[bytes]:
    file = os.fdopen(os.open(path, os.O_RDWR | (os.O_CREAT if create else 0), 0o600), "r+b")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise
    return file


def _hash(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()


def _doubtful(status: int, message: str) -> Failure:
    """A write that may have happened; no ``Retry-After``, since a repeat would not find out either."""
    code = ErrorCode.SERVICE_UNAVAILABLE if status == _UNAVAILABLE else ErrorCode.INTERNAL
    advice = "Check whether the write was carried out before you send it again with a new Idempotency-Key."
    return Failure(status, code, f"{message.rstrip('.')}. {advice}")
