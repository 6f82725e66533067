"""The battery's own rules: what a crash may leave, and that it notices what it is there to notice."""

from __future__ import annotations

import os
from pathlib import Path

from tests.faults.counts import Counts, Found
from tests.faults.file_system import crash_states, recording


def states_of(record) -> set[tuple[tuple[str, bytes | None], ...]]:
    return {tuple(sorted(tree.items())) for _, tree in crash_states(record, seed=0)}


def test_a_synced_file_under_a_synced_name_survives_and_an_unsynced_one_may_be_torn(tmp_path: Path) -> None:
    with recording(tmp_path) as record:
        with open(tmp_path / "a", "wb") as file:
            file.write(b"whole")
            file.flush()
            os.fsync(file.fileno())
        folder = os.open(tmp_path, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)
        record.promise("synced")
        (tmp_path / "b").write_bytes(b"0123456789" * 10)
    after = [tree for done, tree in crash_states(record, seed=0, torn=40) if "synced" in record.promised(done)]
    assert all(tree["a"] == b"whole" for tree in after)
    lengths = {None if (torn := tree.get("b")) is None else len(torn) for tree in after}
    assert {None, 0, 100} <= lengths
    assert len(lengths) > 4, "torn at several places"


def test_a_rename_that_is_not_synced_happens_wholly_or_not_at_all(tmp_path: Path) -> None:
    (tmp_path / "old").write_bytes(b"1")
    with recording(tmp_path) as record:
        os.replace(tmp_path / "old", tmp_path / "new")
    assert states_of(record) == {(("old", b"1"),), (("new", b"1"),)}


def test_renames_that_are_not_synced_are_lost_in_any_subset(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).write_bytes(b"")
    with recording(tmp_path) as record:
        os.replace(tmp_path / "a", tmp_path / "A")
        os.replace(tmp_path / "b", tmp_path / "B")
    names = {tuple(name for name, _ in state) for state in states_of(record)}
    assert names == {("a", "b"), ("A", "b"), ("B", "a"), ("A", "B")}


def test_what_is_renamed_without_a_sync_of_its_content_may_be_torn(tmp_path: Path) -> None:
    """The mistake that a battery of crashes is there to find."""
    with recording(tmp_path) as record:
        (tmp_path / "t").write_bytes(b"content" * 100)
        os.replace(tmp_path / "t", tmp_path / "a")
    assert any(dict(state).get("a") not in (None, b"content" * 100) for state in states_of(record))


def test_a_case_counts_what_it_finds_and_goes_on() -> None:
    counts = Counts("none", seed=0, wanted=3, seconds=60)
    with counts.case("one", "wrong"):
        raise Found("wrong", "values")
    with counts.case("one", "broken"):
        raise ZeroDivisionError
    with counts.case("one", "fine"):
        pass
    assert (counts.tried, counts.faults["wrong"], counts.faults["traceback"]) == (3, 1, 1)
    assert not counts.passed


def test_a_part_that_did_not_reach_its_count_has_not_passed() -> None:
    counts = Counts("none", seed=0, wanted=2, seconds=60)
    with counts.case("one", "fine"):
        pass
    assert not counts.passed
    counts.wanted = 1
    assert counts.passed
    counts.not_possible = "no root"
    assert not counts.passed
