"""What ``alter_transaction`` asks for, read and checked before any of it is done."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lance_namespace import InvalidInputError

from lancespace.backends.choices import choose
from lancespace.engines import JobState

if TYPE_CHECKING:
    from collections.abc import Callable

    from lance_namespace_urllib3_client.models.alter_transaction_action import AlterTransactionAction
    from lance_namespace_urllib3_client.models.alter_transaction_set_property import AlterTransactionSetProperty
    from lance_namespace_urllib3_client.models.alter_transaction_unset_property import AlterTransactionUnsetProperty

    Edit = Callable[[dict[str, str]], None]

_STATES = tuple(state.value for state in JobState)
_SET_MODES = ("Overwrite", "Fail", "Skip")
_UNSET_MODES = ("Skip", "Fail")


@dataclass
class Actions:
    """The actions of one request."""

    is_cancel: bool = False
    edits: list[Edit] = field(default_factory=list)

    def edit(self, properties: dict[str, str]) -> None:
        """Change the properties of a job, one action after the other; the first that fails raises."""
        for edit in self.edits:
            edit(properties)


def read_actions(actions: Sequence[AlterTransactionAction], reserved: Collection[str]) -> Actions:
    """The actions, checked as far as that does not depend on the job; ``reserved`` are names that the job has taken.

    Raises:
        InvalidInputError: Naming what is wrong with one of them.
    """
    found = Actions()
    for action in actions:
        given = [
            one
            for one in (action.set_status_action, action.set_property_action, action.unset_property_action)
            if one is not None
        ]
        if len(given) != 1:
            raise InvalidInputError("alter_transaction: each action sets a status, or sets or unsets one property")
        if action.set_status_action is not None:
            found.is_cancel = _is_cancel(action.set_status_action.status)
        elif action.set_property_action is not None:
            found.edits.append(_set(action.set_property_action, reserved))
        elif action.unset_property_action is not None:
            found.edits.append(_unset(action.unset_property_action, reserved))
    return found


def _is_cancel(status: str | None) -> bool:
    if status is None or choose("status", status, _STATES) != JobState.CANCELED.value:
        raise InvalidInputError("alter_transaction: the only status a job can be given is 'Canceled'")
    return True


def _set(action: AlterTransactionSetProperty, reserved: Collection[str]) -> Edit:
    key = _key(action.key, reserved)
    mode = choose("mode", action.mode, _SET_MODES)
    if action.value is None:
        raise InvalidInputError(f"alter_transaction: the property {key!r} needs a value")
    value = action.value

    def edit(properties: dict[str, str]) -> None:
        if key in properties and mode == "Fail":
            raise InvalidInputError(f"alter_transaction: the property {key!r} is there already")
        if key not in properties or mode == "Overwrite":
            properties[key] = value

    return edit


def _unset(action: AlterTransactionUnsetProperty, reserved: Collection[str]) -> Edit:
    key = _key(action.key, reserved)
    mode = choose("mode", action.mode, _UNSET_MODES)

    def edit(properties: dict[str, str]) -> None:
        if key not in properties and mode == "Fail":
            raise InvalidInputError(f"alter_transaction: there is no property {key!r} to unset")
        properties.pop(key, None)

    return edit


def _key(key: str | None, reserved: Collection[str]) -> str:
    if not key:
        raise InvalidInputError("alter_transaction: a property needs a key")
    if key in reserved:
        raise InvalidInputError(f"alter_transaction: {key!r} is told by the job itself: choose another name")
    return key
