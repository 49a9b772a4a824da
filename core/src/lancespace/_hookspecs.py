"""The hook surface, on one page: everything a plugin can implement.

A plugin is an object whose methods are marked with :data:`hookimpl`; it names only the arguments it needs. There are
five kinds of plugins, each found in an entry-point group of its own (:mod:`lancespace.registry`):

===========  ========================  ==================================================================
kind         entry-point group         implements
===========  ========================  ==================================================================
backend      ``lancespace.backends``   operation hooks, connection hooks
storage      ``lancespace.storage``    storage hooks; the entry point's name is the URL scheme
engine       ``lancespace.engines``    job hooks
wrapper      ``lancespace.wrappers``   ``hookimpl(wrapper=True)`` around any hook of this page
extension    ``lancespace.extensions``  the hook of a method that needs another package
===========  ========================  ==================================================================

Every connection has a plugin manager of its own, so two connections never see each other's plugins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pluggy

from lancespace import _operation_hooks
from lancespace._operations import OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    import lance
    import pyarrow as pa
    from fsspec import AbstractFileSystem
    from pydantic import BaseModel

    from lancespace._engines import Job, JobStatus
    from lancespace._namespace import Namespace
    from lancespace._operations import Operation
    from lancespace._properties import Property
    from lancespace._storage.store import Credentials

hookspec = pluggy.HookspecMarker("lancespace")
hookimpl = pluggy.HookimplMarker("lancespace")
"""Marks a method as the implementation of the hook of the same name (or of ``specname=``)."""


class OperationHooks:
    """One hook per operation, listed in ``_operation_hooks.py``; the first answer that is not None counts.

    A backend implements those it supports. What it lacks is answered with ``UnsupportedOperationError`` and left out of
    ``capabilities()``, without a line of code. ``request`` is the row's request model with a validated ``id``;
    ``data`` is the Arrow data of operations that take some. The answer is the row's response model; ``query_table`` may
    answer a ``pyarrow.RecordBatchReader`` to stream, and the plan operations answer a ``str``.
    """


for _name in OPERATIONS:
    setattr(OperationHooks, _name, staticmethod(hookspec(firstresult=True)(getattr(_operation_hooks, _name))))


class ConnectionHooks:
    """The life of a connection."""

    @staticmethod
    @hookspec(firstresult=True)
    def namespace_id() -> str:  # type: ignore[empty-body]
        """A readable, stable identity without secrets, e.g. ``dir(root=/data)``; equal for equal connections."""

    @staticmethod
    @hookspec(firstresult=True)
    def supported_operations() -> Collection[str]:  # type: ignore[empty-body]
        """Narrow ``capabilities()`` to these names, for a backend that only knows at run time (a remote server's)."""

    @staticmethod
    @hookspec
    def check_access(operation: Operation, request: BaseModel) -> None:
        """Raise PermissionDeniedError if the current principal (``lancespace.authoring.PRINCIPAL``) may not do this.

        Wrappers that refuse operations implement it for checks outside of an operation, such as those of jobs when
        they begin.
        """

    @staticmethod
    @hookspec
    def close() -> None:
        """Give back what the plugin holds; called once, when the namespace is closed."""


class StorageHooks:
    """What a storage plugin answers for the locations of its URL schemes.

    ``options`` are the ``storage.*`` properties without the prefix, in any spelling the plugin's table knows. A plugin
    may also have a method ``find_cause(error, text)``: from an error, which its library may have raised, and its
    message, it tells a ``Cause``, or None. Once the plugin is loaded, it is asked about all failures in the process.
    """

    @staticmethod
    @hookspec(firstresult=True)
    def storage_options(location: str, options: Mapping[str, str]) -> dict[str, str]:  # type: ignore[empty-body]
        """The options in the spelling that pylance's object store takes."""

    @staticmethod
    @hookspec(firstresult=True)
    def lance_location(location: str) -> str:  # type: ignore[empty-body]
        """The location as pylance spells it, where it does not know the scheme (``s3a://`` is ``s3://`` to it)."""

    @staticmethod
    @hookspec(firstresult=True)
    def filesystem(location: str, options: Mapping[str, str]) -> AbstractFileSystem:
        """The fsspec file system for listing, markers and deletes."""

    @staticmethod
    @hookspec(firstresult=True)
    def put_if_absent(filesystem: AbstractFileSystem, path: str, data: bytes) -> bool:  # type: ignore[empty-body]
        """Write ``path`` unless it exists, atomically; False if it does. Must be a true condition of the store."""

    @staticmethod
    @hookspec(firstresult=True)
    def delete_tree(filesystem: AbstractFileSystem, path: str, last: str | None) -> bool:  # type: ignore[empty-body]
        """Delete all files below ``path`` and one at ``path``, and nothing beside; answer True.

        Those that are gone already are no error. The file ``last``, if given, is deleted when all others are gone.
        Without this hook, fsspec deletes what it takes for a directory.
        """

    @staticmethod
    @hookspec(firstresult=True)
    def delete_files(filesystem: AbstractFileSystem, paths: Sequence[str]) -> bool:  # type: ignore[empty-body]
        """Delete these files, many in one request; answer True. Those that are gone already are no error.

        Without this hook, fsspec deletes one after the other.
        """

    @staticmethod
    @hookspec(firstresult=True)
    def delete_unchanged(filesystem: AbstractFileSystem, path: str, version: str) -> bool:  # type: ignore[empty-body]
        """Delete a file if its generation, or else its entity tag, is this; False if it is gone or another file.

        It must be a true condition of the store: leave the hook out where there is none, or answer None.
        """

    @staticmethod
    @hookspec(firstresult=True)
    def vendor_properties() -> tuple[Property, ...]:  # type: ignore[empty-body]
        """The ``credential_vendor.*`` properties that ``vend_credentials`` takes; who vends none has neither hook."""

    @staticmethod
    @hookspec(firstresult=True)
    def vend_credentials(  # type: ignore[empty-body]
        location: str, options: Mapping[str, str], permission: str, settings: Mapping[str, Any]
    ) -> Credentials:
        """New temporary credentials for what is below ``location``, and for nothing else.

        ``permission`` is ``read``, ``write`` (also add files) or ``admin`` (also delete them); ``settings`` are the
        checked values of ``vendor_properties``. Its ``storage_options`` are for strangers: of ``options`` they have
        what a client needs to reach the store, and never the credentials.
        """


class JobHooks:
    """What an engine plugin does with long work."""

    @staticmethod
    @hookspec(firstresult=True)
    def submit_job(job: Job) -> str:  # type: ignore[empty-body]
        """Start the job and return its id at once."""

    @staticmethod
    @hookspec(firstresult=True)
    def describe_job(job_id: str) -> JobStatus:  # type: ignore[empty-body]
        """How the job is doing; None for an id the engine does not know."""

    @staticmethod
    @hookspec(firstresult=True)
    def cancel_job(job_id: str) -> JobStatus:  # type: ignore[empty-body]
        """Ask the job to stop at its next safe point; None for an id the engine does not know."""

    @staticmethod
    @hookspec(firstresult=True)
    def edit_job(job_id: str, edit: Callable[[dict[str, str]], None]) -> JobStatus:  # type: ignore[empty-body]
        """Let ``edit`` change the properties kept with the job, all or nothing; None for an id it does not know."""


class ExtensionHooks:
    """Methods of ``Namespace`` and ``Table`` that need a package beyond the core; loaded when they are first called."""

    @staticmethod
    @hookspec(firstresult=True)
    def run_sql(namespace: Namespace, statement: str, parameters: Mapping[str, Any] | None) -> pa.RecordBatchReader:
        """Run a query over the tables of a namespace (``Namespace.sql``)."""

    @staticmethod
    @hookspec(firstresult=True)
    def open_dataset(
        namespace: Namespace, names: list[str], version: int | str | None, branch: str | None
    ) -> lance.LanceDataset:
        """Open a table with the Lance SDK (``Table.dataset``)."""


HOOK_GROUPS = (OperationHooks, ConnectionHooks, StorageHooks, JobHooks, ExtensionHooks)
"""All hook specifications, in the order of the docs."""
