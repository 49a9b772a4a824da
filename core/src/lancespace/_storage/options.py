"""Storage options: one table per store, in every spelling users know.

Lance, object_store, fsspec and the vendors' SDKs each spell the same setting differently (``region``, ``aws_region``,
``AWS_REGION``, ``region_name``). A storage plugin writes one :class:`OptionTable`; the options for pylance and the
arguments for fsspec are both made from it, so that a setting reaches every path to the store or is refused, and is
never silently dropped.
"""

from __future__ import annotations

import difflib
import os
import re
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from lance_namespace import InvalidInputError

from lancespace._storage import values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

_FOREIGN_PREFIX = re.compile(r"(alibaba_cloud|aws|azure|cos|gcs|goosefs|google|gs|hf|oss|s3|tos)_")
"""What begins the names that belong to one store: object_store's, OpenDAL's and the vendors' own."""
_FOREIGN_NAMES = """
access_key access_key_id access_key_secret account_host account_key account_name addressing_style allow_http
allow_invalid_certificates anon anonymous application_credentials authority_host authority_id bearer_token bucket
bucket_name checksum_algorithm client_email client_id client_kwargs.region_name client_max_retries
client_retry_timeout client_secret conditional_put connect_timeout connection_string connection_timeout container
container_credentials_full_uri container_credentials_relative_uri container_name copy_if_not_exists credential
credential_type default_content_type default_region disable_bulk_delete disable_tagging download_retry_count
endpoint endpoint_url endpoint_url_s3 expires_at_millis federated_token_file hf_token http1_only http2_only
identity_endpoint imdsv1_fallback key key_id key_secret max_retries metadata_endpoint msi_endpoint msi_resource_id
object_id password pool_idle_timeout pool_max_idle_per_host profile project project_id proxy_ca_certificate
proxy_excludes proxy_url refresh_offset_millis region region_name request_payer request_timeout requester_pays
role_arn role_session_name s3_express sas_key sas_token secret secret_access_key secret_key security_token
server_side_encryption service_account service_account_key service_account_path session_token skip_signature
sse_bucket_key_enabled sse_customer_key_base64 sse_kms_key_id tenant_id timeout token unsigned_payload use_azure_cli
use_emulator use_fabric_endpoint use_opendal user_agent username virtual_hosted_style_request
web_identity_token_file
"""
_FOREIGN = frozenset(_FOREIGN_NAMES.split())
"""What several stores call alike, or Lance reads for every store."""


@dataclass(frozen=True)
class Option:
    """One setting of a store: a row of the table.

    Its names in pylance and in fsspec are spellings too, unless another row claims them.
    """

    name: str
    """Our name for it; it is a spelling too."""
    spellings: tuple[str, ...] = ()
    """Other names users know, compared without regard to case."""
    lance: str | tuple[str, ...] | None = None
    """pylance's name (or names, where one is not enough), or None if the setting does not concern it.

    It must be the name under which pylance files what it finds in the environment: only then does a given option win.
    """
    fsspec: str | None = None
    """fsspec's argument, dotted where nested (``client_kwargs.region_name``), or None if it does not concern it."""
    type: Callable[[str], Any] = str
    """Reads the text that was given: ``str``, one of :mod:`lancespace._storage.values`, or one like those."""
    fsspec_value: Callable[[Any], Any] = values.for_fsspec
    """What fsspec is told; None leaves the argument out."""
    secret: bool = False
    """Found in the environment, a secret stays there: pylance reads it itself, and no table's options hand it out."""
    environment: tuple[str, ...] = ()
    """Variables that set the option where it is not given; the first that is set counts."""
    needs: tuple[str, ...] = ()
    """Options without which this one says nothing."""
    implies: Callable[[Any], Mapping[str, str]] | None = None
    """Options that follow from the value; an option without names of its own only stands for these."""
    shared: bool = False
    """Whether a client with vended credentials needs it, too: only what is no secret."""
    note: str = ""
    """Why only one of pylance and fsspec is told."""
    refused: str = ""
    """Why the option is not taken and what to do instead; follows "option 'x' "."""
    harmless: bool = False
    """Whether a refused option is ignored with a warning, since nothing that is stored depends on it."""

    @property
    def lance_names(self) -> tuple[str, ...]:
        """The names in pylance, however many."""
        return (self.lance,) if isinstance(self.lance, str) else self.lance or ()


@dataclass(frozen=True)
class _Setting:
    """What an option was set to, and by what. Its value is not shown: it may be a secret."""

    option: Option
    value: Any = field(repr=False)
    source: str
    """For messages: ``option 'aws_region'`` or ``environment variable AWS_REGION``."""
    ambient: bool = False
    """Whether it comes from the environment."""
    implied: bool = False
    """Whether it follows from another option."""

    @property
    def for_lance(self) -> tuple[str, ...]:
        """The names under which pylance is told."""
        stays = self.ambient and self.option.secret and not self.implied
        return () if stays else self.option.lance_names


class OptionTable:
    """All settings of one store."""

    def __init__(self, store: str, options: Iterable[Option], *, credentials: Sequence[Option] = ()) -> None:
        """The credentials come from one place: if one is given, the others may not come from the environment."""
        self.store = store
        self.options = {option.name: option for option in (*credentials, *options)}
        self.credentials = frozenset(option.name for option in credentials)
        self._by_spelling: dict[str, Option] = {}
        for option in self.options.values():
            self._claim(option)
        for option in self.options.values():
            for name in filter(None, (*option.lance_names, option.fsspec)):
                self._by_spelling.setdefault(name.lower(), option)

    def for_lance(self, given: Mapping[str, str]) -> dict[str, str]:
        """The options as pylance's object store takes them.

        Raises:
            InvalidInputError: If an option is unknown, refused, ill-typed or incomplete, or contradicts another.
        """
        settings = self._settings(given).values()
        return self._told(
            (name, values.for_lance(setting.value), setting) for setting in settings for name in setting.for_lance
        )

    def for_fsspec(self, given: Mapping[str, str]) -> dict[str, Any]:
        """The options as keyword arguments of the fsspec file system; raises as :meth:`for_lance` does."""
        settings = [setting for setting in self._settings(given).values() if setting.option.fsspec]
        told = self._told((s.option.fsspec or "", s.option.fsspec_value(s.value), s) for s in settings)
        arguments: dict[str, Any] = {}
        for name, value in told.items():
            _put(arguments, name.split("."), value)
        return arguments

    def resolve(self, given: Mapping[str, str]) -> dict[str, Any]:
        """The typed values under our names, the environment's among them; raises as :meth:`for_lance` does."""
        return {name: setting.value for name, setting in self._settings(given).items()}

    def shared(self, lance: Mapping[str, str]) -> dict[str, str]:
        """Of the options for pylance, those that a client with vended credentials needs, too."""
        names = {name for option in self.options.values() if option.shared for name in option.lance_names}
        return {name: value for name, value in lance.items() if name in names}

    def _claim(self, option: Option) -> None:
        reached = bool(option.lance_names) + bool(option.fsspec)
        if reached == 1 and not option.note:
            raise ValueError(f"{self.store}: only one of pylance and fsspec is told {option.name!r}; note why")
        if not (reached or option.implies or option.refused):
            raise ValueError(f"{self.store}: neither pylance nor fsspec is told {option.name!r}")
        if option.shared and (option.secret or option.name in self.credentials):
            raise ValueError(f"{self.store}: {option.name!r} is a credential: it cannot be shared")
        for spelling in (option.name, *option.spellings):
            other = self._by_spelling.setdefault(spelling.lower(), option)
            if other is not option:
                raise ValueError(f"{self.store}: {spelling!r} is claimed by both {other.name!r} and {option.name!r}")

    def _settings(self, given: Mapping[str, str]) -> dict[str, _Setting]:
        found: dict[str, _Setting] = {}
        for spelling, text in given.items():
            option = self._by_spelling.get(spelling.lower())
            if option is None:
                self._refuse_unknown(spelling)
                continue
            if option.refused:
                self._refuse_option(option, spelling)
                continue
            self._enter(found, option, text, f"option {spelling!r}")
        for option in self.options.values():
            self._enter_environment(found, option)
        return {name: setting for name, setting in found.items() if self._is_complete(setting, found)}

    def _enter(self, found: dict[str, _Setting], option: Option, text: str, source: str, **origin: bool) -> None:
        try:
            value = option.type(text)
            implied = option.implies(value) if option.implies else {}
        except ValueError as error:
            raise InvalidInputError(f"{self.store} storage: {source} {error}.") from error
        setting = _Setting(option, value, source, **origin)
        earlier = found.setdefault(option.name, setting)
        if earlier.value != value and not setting.ambient:
            self._refuse(f"{earlier.source} and {source} set {option.name!r} to different values: keep one")
        for name, follows in implied.items():
            self._enter(found, self.options[name], follows, source, **{**origin, "implied": True})

    def _enter_environment(self, found: dict[str, _Setting], option: Option) -> None:
        variable = next((name for name in option.environment if os.environ.get(name)), None)
        if variable is None or option.name in found:
            return
        for setting in found.values():
            if {option.name, setting.option.name} <= self.credentials and not setting.ambient:
                self._refuse(
                    f"{setting.source} is given, but pylance or fsspec would mix it with the environment variable "
                    f"{variable}: unset {variable}, or give {option.name!r} as an option too"
                )
        self._enter(found, option, os.environ[variable], f"environment variable {variable}", ambient=True)

    def _is_complete(self, setting: _Setting, found: Mapping[str, _Setting]) -> bool:
        """A variable that says nothing by itself is not meant for us; an option that says nothing is a mistake."""
        missing = [name for name in setting.option.needs if name not in found]
        if missing and not setting.ambient:
            self._refuse(f"{setting.source} needs {' and '.join(map(repr, missing))} too")
        return not missing

    def _told(self, rows: Iterable[tuple[str, Any, _Setting]]) -> dict[str, Any]:
        told: dict[str, tuple[Any, _Setting]] = {}
        for name, value, setting in rows:
            if value is None:
                continue
            earlier, teller = told.setdefault(name, (value, setting))
            if earlier != value:
                self._refuse(f"{teller.source} and {setting.source} exclude each other: keep one")
        return {name: value for name, (value, _) in told.items()}

    def _refuse(self, message: str) -> NoReturn:
        raise InvalidInputError(f"{self.store} storage: {message}.")

    def _refuse_option(self, option: Option, spelling: str) -> None:
        message = f"option {spelling!r} {option.refused}"
        if not option.harmless:
            self._refuse(message)
        warnings.warn(f"{self.store} storage: {message}.", UserWarning, stacklevel=2)

    def _refuse_unknown(self, spelling: str) -> None:
        """Warn of an option of another store, which Lance ignores too; anything else is likely a typing error.

        Raises:
            InvalidInputError: If no store has such an option.
        """
        if _is_foreign(spelling, self._by_spelling):
            message = f"{self.store} storage ignores the option {spelling!r}, which is one of another store: remove it."
            warnings.warn(message, UserWarning, stacklevel=2)
            return
        near = difflib.get_close_matches(spelling.lower(), self._by_spelling, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        known = ", ".join(sorted(name for name, option in self.options.items() if not option.refused)) or "none"
        raise InvalidInputError(f"{self.store} storage has no option {spelling!r}.{hint} Known: {known}.")


def _put(arguments: dict[str, Any], path: list[str], value: Any) -> None:
    for key in path[:-1]:
        arguments = arguments.setdefault(key, {})
    arguments[path[-1]] = value


def _is_foreign(spelling: str, own: Iterable[str]) -> bool:
    """Whether another store has the option; names with a prefix of a store's ``own`` spellings are that store's."""
    name = spelling.lower()
    prefix = _FOREIGN_PREFIX.match(name)
    if prefix is None:
        return name in _FOREIGN or name.startswith("lance_")
    return not any(one.startswith(prefix[0]) for one in own)
