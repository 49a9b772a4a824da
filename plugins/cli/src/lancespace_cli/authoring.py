"""What commands of other packages may use; everything else in this package may change.

A package that brings commands through the entry-point group ``lancespace.commands`` imports this module only in the
modules of these commands, which are loaded when such a command is called.
"""

from __future__ import annotations

from lancespace_cli.completion import choices
from lancespace_cli.exits import REFUSED
from lancespace_cli.names import tables_below
from lancespace_cli.options import (
    Branch,
    Column,
    DryRun,
    IndexSettings,
    IndexType,
    Latest,
    Parent,
    Table,
    Version,
    all_tags,
    latest_versions,
)
from lancespace_cli.output import Output
from lancespace_cli.parsing import parse_age, parse_properties, parse_values
from lancespace_cli.progress import NoWait, Transaction, follow, run_job
from lancespace_cli.state import State, state_of
from lancespace_cli.values import counted, speed

__all__ = [
    "REFUSED",
    "Branch",
    "Column",
    "DryRun",
    "IndexSettings",
    "IndexType",
    "Latest",
    "NoWait",
    "Output",
    "Parent",
    "State",
    "Table",
    "Transaction",
    "Version",
    "all_tags",
    "choices",
    "counted",
    "follow",
    "latest_versions",
    "parse_age",
    "parse_properties",
    "parse_values",
    "run_job",
    "speed",
    "state_of",
    "tables_below",
]
