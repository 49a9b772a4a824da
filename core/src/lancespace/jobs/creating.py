"""The first version of a table, of which there can be only one, whoever else is about to make it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lance_namespace import ConcurrentModificationError, TableAlreadyExistsError, TableVersionNotFoundError

from lancespace.errors import translate

if TYPE_CHECKING:
    from lancespace.tables.access import TableRef

_REFUSALS = (ConcurrentModificationError, TableAlreadyExistsError, TableVersionNotFoundError)
"""What Lance says of a first version where there is one: it looks for the version before that, which never was."""


def commit_first(place: TableRef, operation: Any) -> Any:
    """Make the first version of a table.

    Raises:
        ConcurrentModificationError: If it has one; nothing was committed.
    """
    import lance

    try:
        return lance.LanceDataset.commit(
            place.location, operation, storage_options=dict(place.storage_options), max_retries=0, **place.committing()
        )
    except OSError as error:
        failure = translate(error, about=f"create table {place.name!r}")
        if not isinstance(failure, _REFUSALS):
            raise failure from error
        raise ConcurrentModificationError(
            f"the table {place.name!r} was created by somebody else at the same time: write again to add to theirs"
        ) from error
