"""The protocol of commits and clean-up as a model: every order of the steps of a few parties is tried.

A party is a generator that does one system call for each step, so it may be paused for any time between two of them,
and a crash is a pause that does not end. The file of a version is modelled by its content: a chain of commits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from inspect import getgeneratorlocals

import pytest

KEEP = 2
"""So many of the latest versions are kept."""

Commits = tuple[str, ...]
"""What is in the file of a version: all commits that it is built of, and so which file it is."""
Party = Callable[["Directory"], Iterator[None]]


@dataclass
class Directory:
    """The files of the versions, and what the parties were told."""

    files: dict[int, Commits] = field(default_factory=lambda: {1: ("first",)})
    chain: dict[int, Commits] = field(default_factory=lambda: {1: ("first",)})
    """Every version that there ever was; nobody but the test sees it."""
    acknowledged: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    seen: list[tuple[int, int]] = field(default_factory=list)
    """What readers saw: the latest version when they began, and the one that they took for it."""

    def put(self, version: int, commits: Commits) -> bool:
        """Put a file where none is."""
        if version in self.files:
            return False
        self.files[version] = commits
        if version not in self.chain and self.chain.get(version - 1) == commits[:-1]:
            self.chain[version] = commits
        return True


def writer(name: str, *, looks_again: bool = True, checks: bool = True, lists: bool = False) -> Party:
    """Ours: look, look at the base once more, put, and look at the base again; after a long pause, at all versions."""

    def commit(directory: Directory) -> Iterator[None]:
        base = max(directory.files)
        commits = directory.files[base]
        yield
        if looks_again and directory.files.get(base) != commits:
            directory.refused.append(name)
            return
        yield
        if not directory.put(base + 1, (*commits, name)):
            directory.refused.append(name)
            return
        yield
        if not checks or directory.files.get(base) == commits:
            yield
            is_sure = not lists or max(directory.files) == base + 1
            (directory.acknowledged if is_sure else directory.unknown).append(name)
            return
        yield
        if max(directory.files) > base + 1 and directory.files.get(base + 1) == (*commits, name):
            del directory.files[base + 1]
        directory.unknown.append(name)

    return commit


def pylance(name: str) -> Party:
    """Another implementation: look, put."""
    return writer(name, looks_again=False, checks=False)


def busy(count: int) -> Party:
    """A writer of ours that makes so many commits, each in one step."""

    def commit(directory: Directory) -> Iterator[None]:
        for number in range(count):
            base = max(directory.files)
            assert directory.put(base + 1, (*directory.files[base], f"busy{number}"))
            directory.acknowledged.append(f"busy{number}")
            yield

    return commit


def cleaner(directory: Directory) -> Iterator[None]:
    """Delete the oldest first; the first of all gets another file."""
    old = range(2, max(directory.files) - KEEP + 1)
    if 2 in old and 2 in directory.files:
        directory.files[1] = ("copy",)
        yield
    for number in old:
        directory.files.pop(number, None)
        yield


def cleaner_of_lance(directory: Directory) -> Iterator[None]:
    """Delete all but the latest version and one that has a tag, in the worst order."""
    for number in reversed(range(2, max(directory.files))):
        directory.files.pop(number, None)
        yield


def reader(directory: Directory, *, by_number: bool = False) -> Iterator[None]:
    """One that knows a version."""
    base, known = max(directory.files), directory.files[max(directory.files)]
    yield
    yield from _look(directory, base, known, max(directory.chain), by_number=by_number)


def opener(directory: Directory, *, only_there: bool = False) -> Iterator[None]:
    """One that knows none: list, read the file of the largest number, list again until that holds, and look."""
    newest, seen = max(directory.chain), sorted(directory.files)
    yield
    is_sure = False
    while not is_sure:
        listed, commits = seen, directory.files.get(seen[-1])
        yield
        seen = sorted(directory.files)
        stays = listed[-1] in seen if only_there else listed[-1] == seen[-1]
        is_sure = commits is not None and stays
        yield
    yield from _look(directory, listed[-1], commits or (), newest)


def _look(directory: Directory, base: int, known: Commits, newest: int, *, by_number: bool = False) -> Iterator[None]:
    """Look for the next versions, and at the one that is known again; a listing is one step."""
    found = base
    while found + 1 in directory.files:
        found += 1
        yield
    commits = directory.files.get(found)
    yield
    is_there = base in directory.files if by_number else directory.files.get(base) == known
    if commits is None or not is_there:
        found, commits = max(directory.files), directory.files[max(directory.files)]
    assert commits == directory.chain[found], "a reader took a stale file for a version"
    directory.seen.append((newest, found))


def explore(parties: Sequence[Party]) -> Iterator[Directory]:
    """The outcome of every order of the parties' steps; orders that lead to the same state are tried once."""
    lengths = [0] * len(parties)
    pending: list[tuple[int, ...]] = [()]
    known = set()
    while pending:
        order = pending.pop()
        directory = Directory()
        running = [party(directory) for party in parties]
        alive = [True] * len(parties)
        lengths = [0] * len(parties)
        for who in order:
            alive[who] = next(running[who], "ended") != "ended"
            lengths[who] += 1
        state = (tuple(lengths), repr(directory), *map(_local, running))
        if state in known:
            continue
        known.add(state)
        yield directory
        pending.extend((*order, who) for who in range(len(parties)) if alive[who])


def _local(party: Iterator[None]) -> str:
    """What a party knows at the step that it is at."""
    frame = getgeneratorlocals(party)  # type: ignore[arg-type] # every party is a generator
    return repr({name: value for name, value in frame.items() if name != "directory"})


def lost(directory: Directory) -> set[str]:
    """What was acknowledged and is not in the latest version."""
    return set(directory.acknowledged) - set(directory.chain[max(directory.chain)])


def test_no_acknowledged_commit_is_lost():
    outcomes = list(explore([writer("a"), writer("b"), busy(3), cleaner]))

    assert len(outcomes) > 1000
    assert any(directory.unknown for directory in outcomes)
    for directory in outcomes:
        assert not lost(directory)
        assert not set(directory.refused) & set(directory.chain[max(directory.chain)])
        assert max(directory.files) == max(directory.chain)
        assert directory.files[max(directory.files)] == directory.chain[max(directory.chain)]


def test_a_reader_sees_every_commit_that_ended_before_it_began():
    outcomes = list(explore([reader, pylance("p"), busy(3), cleaner]))

    assert any(found > 1 for directory in outcomes for _, found in directory.seen)
    for directory in outcomes:
        assert all(found >= newest for newest, found in directory.seen)


def test_who_opens_the_catalog_sees_every_commit_that_ended_before():
    outcomes = list(explore([opener, pylance("p"), busy(3), cleaner]))

    assert any(directory.seen for directory in outcomes)
    for directory in outcomes:
        assert all(found >= newest for newest, found in directory.seen)


def test_control_that_the_largest_version_is_still_there_proves_nothing():
    """It may be the first, which is always there, or what a stale writer left."""
    with pytest.raises(AssertionError, match="stale"):
        list(explore([partial(opener, only_there=True), busy(3), cleaner]))


def test_after_a_long_pause_no_commit_is_lost_to_the_clean_up_of_lance_either():
    parties = [busy(3), cleaner, cleaner_of_lance]

    assert any(lost(directory) for directory in explore([writer("a"), *parties]))
    assert not any(lost(directory) for directory in explore([writer("a", lists=True), *parties]))


@pytest.mark.parametrize("options", [{"checks": False}, {"checks": False, "looks_again": False}])
def test_control_without_the_last_look_a_commit_is_lost(options: dict[str, bool]):
    assert any(lost(directory) for directory in explore([writer("a", **options), busy(4), cleaner]))


def test_control_a_number_does_not_tell_which_file_it_is():
    """A reader that goes by numbers alone takes what a stale writer left for the version that it knows."""
    parties: list[Party] = [partial(reader, by_number=True), pylance("p"), busy(4), cleaner]
    with pytest.raises(AssertionError):
        assert all(found >= newest for directory in explore(parties) for newest, found in directory.seen)


def test_of_pylance_only_a_commit_is_lost_that_was_paused_for_longer_than_versions_are_kept():
    outcomes = list(explore([writer("ours"), pylance("p"), busy(3), cleaner]))

    assert {name for directory in outcomes for name in lost(directory)} == {"p"}
    assert not any(lost(directory) for directory in explore([writer("ours"), pylance("p"), busy(KEEP - 1), cleaner]))
