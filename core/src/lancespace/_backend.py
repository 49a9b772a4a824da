"""The least a backend is."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from lancespace._hookspecs import hookimpl
from lancespace._properties import Property

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lancespace._connection import Connection
    from lancespace._storage.store import Storage


class Backend:
    """A backend: declares its properties, and implements the operation hooks it supports with ``@hookimpl``.

    Building one must write nothing and open no more than it needs: a user with read-only credentials connects too.
    Methods are called from many threads at once.
    """

    properties: ClassVar[tuple[Property, ...]] = ()
    """What it takes at connect; anything else is refused before it is built."""
    wrappers: ClassVar[tuple[str, ...]] = ()
    """Wrapper plugins that are around it at every connection, where they are installed; ``views`` is one."""
    uses_lance: ClassVar[bool] = False
    """Whether it opens tables with the Lance SDK, which a process that was forked may not be able to use."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.settings = connection.settings

    @hookimpl
    def namespace_id(self) -> str:
        """The identifying properties, e.g. ``dir(root=/data)``."""
        return self.settings.identity()

    def plugins(self) -> Sequence[object]:
        """Plugins that implement what the backend itself does not; its own implementations are asked first."""
        return ()

    def absolute_properties(self) -> dict[str, str]:
        """Properties that mean something else in another folder or machine, as they are meant here: relative paths."""
        return {}

    def job_storage(self) -> Storage | None:
        """Where an engine keeps the records of jobs, apart from all tables; None: in memory, with the connection."""
        return None
