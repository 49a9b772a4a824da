"""All groups as one suite."""

from __future__ import annotations

from lancespace.testing.groups.branches import BranchTests
from lancespace.testing.groups.capabilities import CapabilityTests
from lancespace.testing.groups.commits import CommitTests
from lancespace.testing.groups.concurrency import ConcurrencyTests
from lancespace.testing.groups.creation import CreationTests
from lancespace.testing.groups.data import DataTests
from lancespace.testing.groups.identifiers import IdentifierTests
from lancespace.testing.groups.indexes import IndexTests
from lancespace.testing.groups.jobs import JobTests
from lancespace.testing.groups.listing import ListingTests
from lancespace.testing.groups.merging import MergingTests
from lancespace.testing.groups.missing import MissingTests
from lancespace.testing.groups.namespaces import NamespaceTests
from lancespace.testing.groups.pagination import PaginationTests
from lancespace.testing.groups.plans import PlanTests
from lancespace.testing.groups.query import QueryTests
from lancespace.testing.groups.races import RaceTests
from lancespace.testing.groups.renaming import RenamingTests
from lancespace.testing.groups.safety import SafetyTests
from lancespace.testing.groups.schema import SchemaTests
from lancespace.testing.groups.stats import StatsTests
from lancespace.testing.groups.tables import TableTests
from lancespace.testing.groups.tags import TagTests
from lancespace.testing.groups.versions import VersionTests
from lancespace.testing.groups.views import ViewTests


class Conformance(
    IdentifierTests,
    NamespaceTests,
    TableTests,
    ListingTests,
    RenamingTests,
    PaginationTests,
    CreationTests,
    DataTests,
    MergingTests,
    QueryTests,
    PlanTests,
    IndexTests,
    VersionTests,
    CommitTests,
    TagTests,
    BranchTests,
    SchemaTests,
    StatsTests,
    JobTests,
    ViewTests,
    MissingTests,
    CapabilityTests,
    ConcurrencyTests,
    RaceTests,
    SafetyTests,
):
    """The whole suite; subclass it, name the class ``Test...``, and implement ``connect``."""
