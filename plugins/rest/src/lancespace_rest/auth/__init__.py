"""Auth methods: plugins that answer one question, which headers a request needs.

They are found in the entry-point group ``lancespace.auth``. ``rest.auth.type`` names one, and the properties
``rest.auth.<name>.*`` are its options.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from lance_namespace import InvalidInputError

from lancespace.authoring import Property, Settings, registry
from lancespace_rest.sessions import HttpSession

_NONE = "none"


@dataclass(frozen=True)
class Call:
    """The request that is to be authorized, as it will be sent; its repr has nothing that may be a secret."""

    method: str
    url: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    body_sha256: str | None
    """Hexadecimal digest of the body; None for a body that is streamed."""
    refused: bool
    """Whether the server has just answered 401 to this request: fetch other credentials, if there are others."""
    credentials: Mapping[str, str] = field(default_factory=dict, repr=False)
    """What was refused: the very mapping that this method answered, so that it knows whether it has others by now."""


class AuthMethod(ABC):
    """One way to authorize requests. Called from many threads at once."""

    properties: ClassVar[tuple[Property, ...]] = ()
    """Its options, without the prefix ``rest.auth.<name>.``."""
    header: ClassVar[str | None] = None
    """The header of its credentials: a request that has one of its own is sent without asking this method."""

    def __init__(self, settings: Settings, session: HttpSession) -> None:
        """``session`` has the connection's TLS, proxy and timeouts, for methods that ask somebody for credentials.

        What is sent over it while a request is authorized keeps ``timeout.total`` of that operation, too.
        """
        self.settings = settings
        self.session = session

    @abstractmethod
    def headers(self, call: Call) -> Mapping[str, str]:
        """The headers that authorize the request.

        Raises:
            UnauthenticatedError: If there are no credentials to be had.
        """


def load(settings: Settings, session: HttpSession) -> AuthMethod | None:
    """The auth method of a connection; None without one.

    Raises:
        InvalidInputError: If the method is unknown, or an option is missing, unknown or another method's.
        UnsupportedOperationError: If the method needs something that is not installed; the message has the pip line.
    """
    name: str = settings["rest.auth.type"]
    options = settings.family("rest.auth.")
    for option in options:
        if not option.startswith(f"{name}."):
            raise InvalidInputError(
                f"rest: the property 'rest.auth.{option}' does not belong to rest.auth.type={name!r}."
            )
    if name == _NONE:
        return None
    kind = registry.find(registry.AUTH, name, wanted_by="rest.auth.type").load()
    own = {option.removeprefix(f"{name}."): value for option, value in options.items()}
    method: AuthMethod = kind(Settings(kind.properties, own, owner=f"rest.auth.{name}"), session)
    return method
