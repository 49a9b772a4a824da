"""The least a backend is."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from lancespace.hookspecs import hookimpl
from lancespace.properties import Property

if TYPE_CHECKING:
    from lancespace.connection import Connection
    from lancespace.storage import Storage


class Backend:
    """A backend: declares its properties, and implements the operation hooks it supports with ``@hookimpl``.

    Building one must write nothing and open no more than it needs: a user with read-only credentials connects too.
    Methods are called from many threads at once.
    """

    properties: ClassVar[tuple[Property, ...]] = ()
    """What it takes at connect; anything else is refused before it is built."""
    uses_lance: ClassVar[bool] = False
    """Whether it opens tables with the Lance SDK, which a process that was forked may not be able to use."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.settings = connection.settings

    @hookimpl
    def namespace_id(self) -> str:
        """The identifying properties, e.g. ``dir(root=/data)``."""
        return self.settings.identity()

    def settled(self) -> dict[str, str]:
        """Properties that mean something else in another folder or machine, as they are meant here: relative paths."""
        return {}

    def job_storage(self) -> Storage | None:
        """Where an engine keeps the records of jobs, apart from all tables; None: in memory, with the connection."""
        return None
