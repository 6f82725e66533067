"""Files that are whole but not this run's, or not in their place: exchanged, copied, missing, edited with digest."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.store.run_examples import (
    content_of,
    exchange,
    identity_of,
    put_in_place,
    store_run,
    with_new_digest,
    write_interval,
)

from headwise.core.errors import ConfigError, CorruptData
from headwise.store import (
    RunDirectory,
    RunIdentity,
    find_run,
    list_runs,
    load_trajectory,
    run_path,
    run_status,
    short_path,
    steps_done,
)
from headwise.store.files import read_verified, remove, sidecar, write_once

KINDS = ["metrics-00000020.parquet", "snapshots-00000020.safetensors", "checkpoint-00000040.safetensors"]
FIRST = ["config.json", "coordinates.json"]


@pytest.fixture(autouse=True)
def _no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)


def read_it(run: RunDirectory) -> None:
    load_trajectory(run.path)
    run.read_config()


def resume_it(run: RunDirectory) -> None:
    run.require_same(identity_of())
    run.read_config()
    run.latest_checkpoint()


def use_its_weights(run: RunDirectory) -> None:
    run.final_checkpoint()


def assert_refused(run: RunDirectory, name: str, use: Callable[[RunDirectory], None]) -> None:
    with pytest.raises(CorruptData) as caught:
        use(run)
    assert name in str(caught.value)
    assert caught.value.exit_code == 3
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("other", [{"seed": 1}, {"lr": 0.2}])
@pytest.mark.parametrize(
    ("name", "over"),
    [(name, True) for name in (*KINDS, *FIRST, "manifest.json")] + [(name, False) for name in (*KINDS, *FIRST)],
)
def test_a_file_of_another_run_is_refused(tmp_path: Path, name: str, over: bool, other: dict[str, float]) -> None:
    mine, its = store_run(tmp_path, over=over), store_run(tmp_path, over=over, **other)  # type: ignore[arg-type]
    exchange(mine.path / name, its.path / name)
    for run in (mine, its):
        assert run_status(run.path, care="full") == "damaged"
        with pytest.raises(CorruptData):
            run.verify()
    if not over or name.startswith("checkpoint"):
        assert_refused(mine, name, resume_it)
    if over or name.startswith(("metrics", "snapshots")):
        assert_refused(mine, name, read_it)
    if over:
        assert_refused(mine, name, use_its_weights)


@pytest.mark.parametrize("over", [True, False], ids=["over", "unfinished"])
@pytest.mark.parametrize("kind", ["metrics", "snapshots"])
def test_two_segments_of_one_run_exchanged_are_refused(tmp_path: Path, kind: str, over: bool) -> None:
    run = store_run(tmp_path, over=over)
    first, second = sorted(run.path.glob(f"{kind}-*0.*[st]"))[:2]
    exchange(first, second)
    for use in (read_it, resume_it):
        assert_refused(run, kind, use)
    assert run_status(run.path, care="full") == "damaged"


@pytest.mark.parametrize("kind", ["metrics", "snapshots"])
def test_a_segment_of_the_same_run_with_other_numbers_is_refused(tmp_path: Path, kind: str) -> None:
    """As from another computer, whose last bits differ: identity and steps agree, only the chain tells."""
    run = store_run(tmp_path / "here", over=False)
    elsewhere = store_run(tmp_path / "there", over=False, until=10)
    with elsewhere.writing():
        elsewhere.discard_after(-1)
        write_interval(elsewhere, 10, scale=0.1000001)
    [foreign] = elsewhere.path.glob(f"{kind}-00000010.*[st]")
    put_in_place(foreign, run.path / foreign.name)
    for use in (read_it, resume_it):
        assert_refused(run, foreign.name, use)


def test_a_last_segment_of_the_same_run_with_other_numbers_is_refused(tmp_path: Path) -> None:
    """Nothing comes after it in its chain; the checkpoint names it."""
    run = store_run(tmp_path / "here", over=False)
    elsewhere = store_run(tmp_path / "there", over=False)
    with elsewhere.writing():
        elsewhere.discard_after(30)
        write_interval(elsewhere, 40, scale=0.1000001)
    put_in_place(elsewhere.metrics.path(40), run.metrics.path(40))
    for use in (read_it, resume_it):
        assert_refused(run, "metrics-00000040", use)


def test_recovery_goes_back_before_a_foreign_file_and_the_run_becomes_whole(tmp_path: Path) -> None:
    run, other = store_run(tmp_path, over=False), store_run(tmp_path, seed=1, over=False)
    before = content_of(run.path)
    exchange(run.checkpoints.path(40), other.checkpoints.path(40))
    exchange(run.metrics.path(40), other.metrics.path(40))
    with run.writing():
        run.require_same(identity_of(), on_damage="recover")
        found = run.latest_checkpoint(on_damage="recover")
        assert found is not None
        assert found.step == 30
        run.discard_after(30)
        write_interval(run, 40, scale=0.1)
    run.verify()
    after = content_of(run.path)
    assert {name: after[name] for name in before if name.startswith(("metrics", "snapshots"))} == {
        name: content for name, content in before.items() if name.startswith(("metrics", "snapshots"))
    }


@pytest.mark.parametrize("over", [True, False], ids=["over", "unfinished"])
def test_a_run_copied_to_the_name_of_another_seed_is_nobodys(tmp_path: Path, over: bool) -> None:
    run = store_run(tmp_path, over=over)
    copy = RunDirectory(run.path.with_name(run.path.name.replace("-s0", "-s9")))
    shutil.copytree(run.path, copy.path)
    assert_refused(copy, "seed 0, not 9, says coordinates.json", read_it)
    with pytest.raises(CorruptData, match=r"seed is 0, not 9"):
        copy.require_same(identity_of(9))
    with pytest.raises(CorruptData, match=r"seed is 0, not 9"):
        copy.require_same(identity_of(9), on_damage="recover")
    [mine, foreign] = sorted(list_runs(tmp_path), key=lambda record: record.path.name)
    assert (mine.seed, mine.problem) == (0, "")
    assert (foreign.seed, foreign.status) == (0, "damaged")
    assert "seed 0, not 9" in foreign.problem


def test_a_run_under_a_name_that_says_nothing_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = store_run(tmp_path)
    shutil.copytree(run.path, tmp_path / "kept")
    assert load_trajectory(tmp_path / "kept").identical(load_trajectory(run.path))
    copy = run.path.with_name(run.path.name.replace("-s0", "-s9"))
    shutil.copytree(run.path, copy)
    monkeypatch.chdir(copy)
    with pytest.raises(CorruptData, match="another run than its name says"):
        load_trajectory(".")


def test_what_is_asked_for_is_compared_itself(tmp_path: Path) -> None:
    run = store_run(tmp_path, lr=0.1)
    assert run.require_same(identity_of()) == 2
    with pytest.raises(CorruptData, match=r"train\.lr is 0\.1, not 0\.2"):
        run.require_same(identity_of(lr=0.2))
    with pytest.raises(CorruptData, match=r"extra is absent, not 1"):
        run.require_same(RunIdentity({**identity_of().content, "extra": 1}, 0))
    assert RunDirectory(tmp_path / "nothing").require_same(identity_of()) is None


def test_two_contents_that_share_eight_digits_are_two_runs(tmp_path: Path) -> None:
    """Forged: the folder of another rate under the short name of the one asked for, as in a collision."""
    other = store_run(tmp_path, lr=0.2)
    asked = identity_of(lr=0.1)
    own = run_path(tmp_path, experiment="small", config_hash=asked.config_hash, seed=0)
    other.path.rename(short_path(own))
    assert find_run(tmp_path, experiment="small", identity=asked) == own


def test_a_run_under_its_short_name_is_found(tmp_path: Path) -> None:
    run = store_run(tmp_path)
    run.path.rename(short_path(run.path))
    assert find_run(tmp_path, experiment="small", identity=identity_of()) == short_path(run.path)
    assert find_run(tmp_path, experiment="small", identity=identity_of(1)) == run.path.with_name(
        run.path.name.replace("-s0", "-s1")
    )


@pytest.mark.parametrize("over", [True, False], ids=["over", "unfinished"])
@pytest.mark.parametrize("digest", ["fitting", "none"])
def test_a_stray_checkpoint_is_found_and_says_nothing_about_the_step(tmp_path: Path, over: bool, digest: str) -> None:
    run = store_run(tmp_path, over=over)
    stray = run.checkpoints.path(99_999_999)
    shutil.copyfile(run.checkpoints.path(40), stray)
    if digest == "fitting":
        with_new_digest(stray)
    assert steps_done(run.path) == 40
    [record] = list_runs(tmp_path)
    assert (record.status, record.steps) == ("damaged", 40)
    assert stray.name in record.problem
    assert_refused(run, stray.name, resume_it if not over else read_it)


def test_a_checkpoint_of_the_same_run_further_on_is_not_reached(tmp_path: Path) -> None:
    ahead, behind = store_run(tmp_path / "a"), store_run(tmp_path / "b", until=20, over=False)
    put_in_place(ahead.checkpoints.path(40), behind.checkpoints.path(40))
    for use in (read_it, resume_it):
        assert_refused(behind, "metrics-00000040.parquet is missing", use)
    assert run_status(behind.path) == "damaged"


@pytest.mark.parametrize("over", [True, False], ids=["over", "unfinished"])
@pytest.mark.parametrize("name", ["metrics-00000040.parquet", "snapshots-00000040.safetensors"])
def test_a_missing_last_segment_does_not_shorten_the_history(tmp_path: Path, name: str, over: bool) -> None:
    run = store_run(tmp_path, over=over)
    remove(run.path / name)
    assert run_status(run.path) == "damaged"
    for use in (read_it, resume_it):
        assert_refused(run, f"{name} is missing", use)


def test_the_weights_of_a_finished_run_are_those_of_its_end(tmp_path: Path) -> None:
    run = store_run(tmp_path)
    assert run.final_checkpoint().step == 40
    remove(run.checkpoints.path(40))
    assert_refused(run, "checkpoint-00000040.safetensors is missing", use_its_weights)
    read_it(run)
    with pytest.raises(ConfigError, match="not over yet"):
        store_run(tmp_path, seed=1, over=False).final_checkpoint()


EDITS = [
    ("steps", 30),
    ("steps", 4000),
    ("status", "diverged"),
    ("identity", "0" * 64),
    ("results", {"stage_times": [1.0]}),
    ("files", {}),
]


@pytest.mark.parametrize(("key", "value"), EDITS)
def test_a_manifest_edited_with_its_digest_is_refused(tmp_path: Path, key: str, value: object) -> None:
    run = store_run(tmp_path)
    content = json.loads(run.manifest_path.read_text())
    content[key] = value
    run.manifest_path.write_text(json.dumps(content))
    with_new_digest(run.manifest_path)
    for use in (read_it, use_its_weights):
        assert_refused(run, "manifest.json", use)
    assert run_status(run.path) == "damaged"


@pytest.mark.parametrize("name", KINDS)
def test_a_file_with_a_new_digest_is_not_the_one_in_the_manifest(tmp_path: Path, name: str) -> None:
    """A twin of the run, computed with other last bits, gives one of its files."""
    run, twin = store_run(tmp_path / "here"), store_run(tmp_path / "there", over=False)
    with twin.writing():
        twin.discard_after(-1)
        for step in (10, 20, 30, 40):
            write_interval(twin, step, scale=0.1000001)
    put_in_place(twin.path / name, run.path / name)
    for use in (read_it, use_its_weights):
        assert_refused(run, name, use)


@pytest.mark.parametrize("name", ["config.json", "coordinates.json"])
@pytest.mark.parametrize("over", [True, False], ids=["over", "unfinished"])
def test_settings_edited_with_their_digest_are_refused(tmp_path: Path, name: str, over: bool) -> None:
    run = store_run(tmp_path, over=over)
    path = run.path / name
    path.write_text(path.read_text().replace('"lr": 0.1', '"lr": 0.3'))
    with_new_digest(path)
    assert_refused(run, name, read_it)
    assert_refused(run, name, resume_it)


def test_an_edited_attribute_is_refused(tmp_path: Path) -> None:
    run = store_run(tmp_path, over=False)
    content = json.loads(run.coordinates_path.read_text())
    content["coordinates"]["predictor"] = ["prefix_2"]
    run.coordinates_path.write_text(json.dumps(content))
    with_new_digest(run.coordinates_path)
    assert_refused(run, "coordinates.json", read_it)


@pytest.mark.parametrize("key", ["format", "identity", "content", "seed", "config_sha256", "seal"])
def test_what_format_2_promises_must_be_there(tmp_path: Path, key: str) -> None:
    run = store_run(tmp_path, over=False)
    content = json.loads(run.coordinates_path.read_text())
    del content[key]
    run.coordinates_path.write_text(json.dumps(content))
    with_new_digest(run.coordinates_path)
    assert_refused(run, "coordinates.json", read_it)


def test_a_run_stripped_to_format_1_is_refused(tmp_path: Path) -> None:
    run = store_run(tmp_path, over=False)
    content = json.loads(run.coordinates_path.read_text())
    run.coordinates_path.write_text(json.dumps({key: content[key] for key in ("coordinates", "attributes")}))
    with_new_digest(run.coordinates_path)
    with pytest.raises(CorruptData):
        read_it(run)


def test_a_later_format_is_not_called_damage(tmp_path: Path) -> None:
    run = store_run(tmp_path, over=False)
    content = json.loads(run.coordinates_path.read_text())
    run.coordinates_path.write_text(json.dumps({**content, "format": 3}))
    with_new_digest(run.coordinates_path)
    with pytest.raises(ConfigError, match=r"format 3.*update headwise"):
        read_it(run)


def test_pruning_keeps_the_chain(tmp_path: Path) -> None:
    run = store_run(tmp_path, until=100, over=False, keep_every=40)
    assert run.checkpoints.steps() == [40, 80, 90, 100]
    run.verify()
    with run.writing():
        run.prune_checkpoints(keep_last=1)
        run.verify()
        assert run.checkpoints.steps() == [100]
        found = run.latest_checkpoint()
        assert found is not None
        assert found.step == 100
        assert load_trajectory(run.path)["step"].values[-1] == 100


def test_the_same_run_has_the_same_bytes(tmp_path: Path) -> None:
    one, other = store_run(tmp_path / "a"), store_run(tmp_path / "b")
    assert content_of(one.path) == content_of(other.path)
    unlike = store_run(tmp_path / "a", seed=1)
    for name in KINDS:
        assert (one.path / name).read_bytes() != (unlike.path / name).read_bytes()


def test_every_file_says_whose_it_is(tmp_path: Path) -> None:
    run = store_run(tmp_path)
    identity = identity_of().digest.encode()
    for path in (*run.data_files(), run.manifest_path):
        assert path == run.config_path or identity in path.read_bytes(), path.name


def test_missing_first_files_are_damage_once_there_are_records(tmp_path: Path) -> None:
    for number, name in enumerate(("coordinates.json", "config.json")):
        run = store_run(tmp_path, seed=number, over=False)
        remove(run.path / name)
        assert run_status(run.path) == "damaged"
        with run.writing(), pytest.raises(CorruptData, match=f"{name} is missing; --recover writes it anew"):
            start_again(run, seed=number)
        with run.writing():
            start_again(run, seed=number, on_damage="recover")
        run.verify()


def test_lost_first_files_are_not_made_for_another_run(tmp_path: Path) -> None:
    run = store_run(tmp_path, over=False)
    remove(run.config_path)
    remove(run.coordinates_path)
    before = content_of(run.path)
    with run.writing(), pytest.raises(CorruptData, match="files of another run"):
        start_again(run, seed=1, on_damage="recover")
    assert {k: v for k, v in content_of(run.path).items() if not k.startswith(".")} == {
        k: v for k, v in before.items() if not k.startswith(".")
    }


def start_again(run: RunDirectory, *, seed: int, on_damage: str = "refuse") -> None:
    run.start(
        {"seed": seed, **identity_of(seed).content},
        identity=identity_of(seed),
        coordinates={"predictor": ["prefix_1"], "query": [0], "key": [0, 1]},
        attributes={"seed": seed},
        on_damage=on_damage,  # type: ignore[arg-type]
    )


def test_a_file_moved_to_another_step_is_refused(tmp_path: Path) -> None:
    run = store_run(tmp_path, over=False)
    last = run.metrics.path(40)
    moved = run.metrics.path(45)
    write_once(moved, read_verified(last))
    last.unlink()
    sidecar(last).unlink()
    assert_refused(run, moved.name, read_it)
