"""A cloud as a test uses it: where its emulator is, and how to get at it."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import lancespace
from lancespace.authoring import Connection

if TYPE_CHECKING:
    from lancespace.authoring import Storage


@dataclass(frozen=True, eq=False)
class Cloud:
    """The options of an emulator, and a way to make buckets in it."""

    scheme: str
    endpoint: str
    """The address of the emulator, without a path."""
    options: Mapping[str, str] = field(repr=False)
    create_bucket: Callable[[str], object]
    secret_option: str
    """The one of the options that nobody may see."""

    @property
    def secret(self) -> str:
        """What nobody may see."""
        return self.options[self.secret_option]

    def new_root(self) -> str:
        """A place in a bucket of its own: some emulators look at every key of a bucket to list a few."""
        bucket = f"lake-{uuid.uuid4().hex}"
        self.create_bucket(bucket)
        return f"{self.scheme}://{bucket}/warehouse"

    def behind(self, endpoint: str) -> Cloud:
        """The same cloud as it is seen through a proxy."""
        options = {name: value.replace(self.endpoint, endpoint) for name, value in self.options.items()}
        return replace(self, options=options)

    def with_options(self, **options: str) -> Cloud:
        """The same cloud, with other settings of the client."""
        return replace(self, options={**self.options, **options})

    def connect(self, root: str, **properties: str) -> lancespace.Namespace:
        """A client of a directory catalog."""
        return lancespace.connect("dir", {**self.properties(root), **properties})

    def properties(self, root: str) -> dict[str, str]:
        """The properties with which a client connects."""
        return {"root": root, **{f"storage.{name}": value for name, value in self.options.items()}}

    def storage(self, root: str) -> Storage:
        """The storage below a root."""
        return Connection("memory", {}).storage(root, dict(self.options))
