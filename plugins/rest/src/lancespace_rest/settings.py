"""The properties of the REST client."""

from __future__ import annotations

from lance_namespace import InvalidInputError

from lancespace.authoring import DELIMITER, Property, Settings

_LONGEST = 1_000_000
"""Seconds; a socket cannot wait much longer."""

PROPERTIES = (
    Property("uri", "Address of the server, with its path prefix if it has one", required=True, identifies=True),
    Property("delimiter", "What joins the names of an identifier in a request", default=DELIMITER, identifies=True),
    Property("header.", "A header of every request, e.g. `header.x-tenant`"),
    Property("headers.", "The same, in the plural"),
    Property("rest.auth.type", "Auth method: `none` or the name of a plugin", default="none"),
    Property("rest.auth.", "Options of the auth method, e.g. `rest.auth.bearer.token`"),
    Property(
        "dynamic_context_provider.",
        "`impl` is the class path of what is asked for context before each operation; the others are its options",
    ),
    Property("tls.ssl_ca_cert", "PEM file of the authorities to trust, instead of the well-known ones"),
    Property("tls.cert_file", "PEM file of the client certificate"),
    Property("tls.key_file", "PEM file of its private key, where the certificate's file has none"),
    Property(
        "tls.assert_hostname",
        "Whether the certificate must name the host; false needs an authority of your own",
        type=bool,
        default=True,
    ),
    Property("timeout.connect", "Seconds to wait for a connection", type=float, default=10.0),
    Property("timeout.read", "Seconds to wait for the next bytes of an answer", type=float, default=300.0),
    Property("timeout.total", "Seconds for an operation as a whole, with its repeats and its data", type=float),
    Property("retry.attempts", "How often a request is tried at most, where it may be repeated", type=int, default=4),
    Property("retry.max_wait", "Longest pause before a repeat, in seconds", type=float, default=30.0),
    Property("pool.size", "Connections that are kept open", type=int, default=16),
    Property("proxy", "URL of a proxy, instead of what the environment names", secret=True),
    Property(
        "compression",
        "Compression of Arrow buffers that are sent; with one, answers with Arrow data may be compressed too",
        default="none",
        choices=("none", "lz4", "zstd"),
    ),
)
"""Everything that ``connect("rest", ...)`` takes."""


def check(settings: Settings) -> None:
    """Refuse numbers that cannot be kept, before anything is sent.

    Raises:
        InvalidInputError: Naming the property.
    """
    for name in ("timeout.connect", "timeout.read", "timeout.total"):
        seconds = settings[name]
        if seconds is not None and not 0 < seconds <= _LONGEST:
            _refuse(name, f"a number of seconds above 0, up to {_LONGEST}", seconds)
    if not 0 <= settings["retry.max_wait"] <= _LONGEST:
        _refuse("retry.max_wait", f"a number of seconds from 0 to {_LONGEST}", settings["retry.max_wait"])
    for name in ("retry.attempts", "pool.size"):
        if settings[name] < 1:
            _refuse(name, "a whole number from 1 up", settings[name])


def _refuse(name: str, wanted: str, value: float) -> None:
    raise InvalidInputError(f"rest: the property {name!r} must be {wanted}, not {value:g}.")
