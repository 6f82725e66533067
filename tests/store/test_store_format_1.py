"""Runs stored in format 1, by an earlier version: read, listed, verified, resumed and found under their short names."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from tests.store.run_examples import content_of, exchange, with_new_digest

from headwise import FlowConfig, RunConfig, keep_flow, probe_folder, verify
from headwise.core.config import validated
from headwise.core.errors import CorruptData
from headwise.model import kernel
from headwise.store import RunDirectory, list_runs, load_trajectory, run_status, steps_done
from headwise.store.files import remove, sidecar, write_once
from headwise.store.header import same_to_rounding
from headwise.store.histories import ParquetCodec
from headwise.study.config import config_hash, window_config
from headwise.study.run_location import run_location
from headwise.study.runner import execute

OLD = Path(__file__).with_name("data") / "format-1"
KERNEL, REFERENCE = "minimal/e50974c9-s3", "minimal/8abf73db-s3"
FLOW = FlowConfig(T=5, t_end=3.0, points=20)


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A copy that may be written to."""
    shutil.copytree(OLD, tmp_path / "old")
    return tmp_path / "old"


def config_of(run: Path) -> RunConfig:
    return validated(RunConfig, RunDirectory(run).read_config())


def arrays_of(run: RunDirectory) -> dict[str, np.ndarray]:
    """Every number that a run computed and ended with."""
    metrics, snapshots = run.read_histories()
    return {**metrics.variables, **snapshots.variables, **run.final_checkpoint().arrays}


def written_by(path: Path) -> str | None:
    """The library that a Parquet file names as its writer."""
    return str(pq.read_metadata(path).created_by) if path.suffix == ".parquet" else None


def test_old_runs_are_read_listed_and_verified(old: Path) -> None:
    statuses = {
        (record.path.parts[-3], record.path.name, record.status, record.steps)
        for root in ("interrupted", "whole", "windows", "flow", "probe")
        for record in list_runs(old / root, care="full")
    }
    assert statuses == {
        ("interrupted", "e50974c9-s3", "interrupted", 25),
        ("interrupted", "8abf73db-s3", "interrupted", 25),
        ("whole", "e50974c9-s3", "finished", 40),
        ("whole", "8abf73db-s3", "finished", 44),
        ("windows", "b50b1ddf-s3", "finished", 20),
        ("windows", "6b3d903b-s3", "finished", 20),
        ("flow", "217f4990-s0", "finished", 3),
        ("probe", "26ffc22c-s0", "finished", 20),
    }
    assert load_trajectory(old / "whole" / KERNEL)["step"].values.tolist() == list(range(0, 41, 5))
    assert load_trajectory(old / "interrupted" / REFERENCE)["step"].values.tolist() == list(range(0, 26, 5))
    assert load_trajectory(old / "probe/probe-gpt2/26ffc22c-s0")["step"].values.tolist() == [10, 20]
    report = verify(old)
    assert report.sound
    assert {run.format for run in report.runs} == {1}


@pytest.mark.parametrize("name", [KERNEL, REFERENCE])
def test_an_old_run_is_found_and_resumed_in_its_format(old: Path, tmp_path: Path, name: str) -> None:
    """Bit for bit where this machine computes the whole run as the one that stored it did, otherwise closely."""
    if name == KERNEL and kernel.missing() is not None:
        pytest.skip("the kernel is not built here")
    whole = RunDirectory(old / "whole" / name)
    config = config_of(whole.path)
    assert run_location(config, old / "interrupted") == old / "interrupted" / name
    resumed = execute(config, old / "interrupted")
    assert resumed.path == old / "interrupted" / name
    assert [path.name for path in resumed.path.parent.iterdir()].count(f"{config_hash(config)}-s3") == 0
    here = arrays_of(execute(config, tmp_path / "here"))
    then, now = arrays_of(whole), arrays_of(resumed)
    assert now.keys() == then.keys()
    same_machine = all(np.array_equal(here[key], then[key], equal_nan=True) for key in then)
    for key in then:
        if same_machine:
            assert now[key].tobytes() == then[key].tobytes(), key
        else:
            np.testing.assert_allclose(now[key], then[key], rtol=1e-3, atol=1e-5, err_msg=key)
    assert resumed.beginning.header().format == 1
    if same_machine:
        for file in whole.data_files():
            added = resumed.path / file.name
            # The segment after the interruption begins elsewhere; another pyarrow lays out the same values otherwise.
            if file != whole.metrics.path(30) and written_by(added) == written_by(file):
                assert added.read_bytes() == file.read_bytes(), file.name
    assert run_status(resumed.path, care="full") == "finished"
    assert steps_done(resumed.path) == config.train.steps


def test_old_finished_runs_are_found_and_not_computed_again(old: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for root in ("whole/minimal", "windows/minimal", "windows/minimal-window-2"):
        for path in sorted((old / root).iterdir()):
            before = content_of(path)
            assert execute(config_of(path), path.parents[1]).path == path
            assert {name: content_of(path)[name] for name in before} == before
    flow = keep_flow(FLOW, out=old / "flow")
    assert flow.run == old / "flow/flow/217f4990-s0"
    assert len(list((old / "flow/flow").iterdir())) == 1


def test_an_old_probe_is_read_and_left_alone(old: Path) -> None:
    """Its records hold fewer variables than a probe takes now, so probing the folder again is a run of its own."""
    pytest.importorskip("transformers")
    stored = old / "probe/probe-gpt2/26ffc22c-s0"
    before = content_of(stored)
    found = probe_folder(old / "gpt2", synthetic="random", sequences=4, length=12, lags=8, out=old / "probe")
    assert found.run != stored
    assert content_of(stored) == before
    RunDirectory(found.run).verify()
    was = load_trajectory(stored)
    np.testing.assert_allclose(found.trajectory["attention_by_lag"], was["attention_by_lag"], rtol=1e-3, atol=1e-5)


def test_an_old_run_with_other_settings_in_the_short_place_is_left_alone(old: Path) -> None:
    """Forged: the folder of 44 steps under the short name of 40 steps, as if their digits were the same."""
    asked = config_of(old / "whole" / KERNEL)
    shutil.rmtree(old / "whole" / KERNEL)
    (old / "whole" / REFERENCE).rename(old / "whole" / KERNEL)
    before = content_of(old / "whole" / KERNEL)
    assert run_location(asked, old / "whole").name == f"{config_hash(asked)}-s3"
    assert execute(asked, old / "whole").path.name == f"{config_hash(asked)}-s3"
    assert content_of(old / "whole" / KERNEL) == before
    assert run_status(old / "whole" / KERNEL) == "damaged"


def test_an_old_run_copied_to_another_seed_is_refused(old: Path) -> None:
    source = old / "whole" / KERNEL
    copy = source.with_name("e50974c9-s9")
    shutil.copytree(source, copy)
    with pytest.raises(CorruptData, match=r"seed 3, not 9, says config\.json"):
        load_trajectory(copy)
    asked = config_of(source).changed({"seed": 9})
    path = execute(asked, old / "whole").path
    assert path.name == f"{config_hash(asked)}-s9"
    assert not np.array_equal(load_trajectory(path)["excess_loss"], load_trajectory(source)["excess_loss"])


def test_files_exchanged_between_old_finished_runs_are_found_by_the_manifest(old: Path) -> None:
    one, other = (RunDirectory(old / "whole" / name) for name in (KERNEL, REFERENCE))
    exchange(one.metrics.path(20), other.metrics.path(20))
    with pytest.raises(CorruptData, match="metrics-00000020"):
        load_trajectory(one.path)
    assert not verify(old / "whole").sound


def test_a_missing_last_segment_and_a_stray_checkpoint_of_an_old_run(old: Path) -> None:
    lost = RunDirectory(old / "interrupted" / KERNEL)
    remove(lost.metrics.path(25))
    with pytest.raises(CorruptData, match=r"metrics-00000025\.parquet is missing"):
        load_trajectory(lost.path)
    strayed = RunDirectory(old / "whole" / KERNEL)
    stray = strayed.checkpoints.path(99_999_999)
    shutil.copyfile(strayed.checkpoints.path(40), stray)
    with_new_digest(stray)
    assert steps_done(strayed.path) == 40
    assert run_status(strayed.path) == "damaged"


def test_an_old_window_run_without_its_last_checkpoint_is_not_used(old: Path) -> None:
    config = config_of(next((old / "windows/minimal").iterdir()))
    shutil.rmtree(run_location(config, old / "windows"))
    window = RunDirectory(run_location(window_config(config, 2), old / "windows"))
    remove(window.checkpoints.path(20))
    with pytest.raises(CorruptData, match=r"checkpoint-00000020\.safetensors is missing"):
        execute(config, old / "windows")


def test_a_file_of_format_2_in_an_old_run_is_refused(old: Path) -> None:
    run = RunDirectory(old / "interrupted" / KERNEL)
    history, metadata = ParquetCodec().decode(run.metrics.path(25).read_bytes())
    remove(run.metrics.path(25))
    write_once(run.metrics.path(25), ParquetCodec().encode(history, {**metadata, "identity": "0" * 64}))
    with pytest.raises(CorruptData, match="later format"):
        load_trajectory(run.path)


@pytest.mark.parametrize("root", ["interrupted", "whole"])
@pytest.mark.parametrize("lost", ["config.json", "config.json and coordinates.json"])
def test_an_old_run_whose_config_is_lost_is_known_by_its_digest(old: Path, root: str, lost: str) -> None:
    """The sidecar or the manifest still say what the digest of config.json was; the asked config has the same."""
    run = RunDirectory(old / root / REFERENCE)
    config = config_of(run.path)
    before = {name: content for name, content in content_of(run.path).items() if not name.startswith("manifest")}
    expected = arrays_of(RunDirectory(old / "whole" / REFERENCE))
    for name in lost.split(" and "):
        (run.path / name).write_bytes(b"{}")
    if root == "whole":
        sidecar(run.config_path).unlink()
    with pytest.raises(CorruptData, match=r"\.json.*--recover"):
        execute(config, old / root)
    recovered = execute(config, old / root, on_damage="recover")
    assert recovered.path == run.path
    assert recovered.beginning.header().format == 1
    recovered.verify()
    for name in ("config.json", "config.json.sha256", "metrics-00000020.parquet"):
        assert content_of(run.path)[name] == before[name]
    written = content_of(run.path)["coordinates.json"]
    assert same_to_rounding(before["coordinates.json"], written)
    assert written == before["coordinates.json"] or "coordinates.json" in lost, "what was not lost is not written anew"
    for key, values in arrays_of(recovered).items():
        np.testing.assert_allclose(values, expected[key], rtol=1e-3, atol=1e-5, err_msg=key)


def test_an_old_run_whose_config_is_lost_is_not_guessed(old: Path) -> None:
    run = RunDirectory(old / "interrupted" / REFERENCE)
    config = config_of(run.path)
    run.config_path.write_bytes(b"{}")
    for asked in (config.changed({"compute.threads": 2}), config):
        before = content_of(run.path)
        with pytest.raises(CorruptData, match=r"config\.json.*nothing else in this run says"):
            execute(asked, old / "interrupted", on_damage="recover")
        assert {name: content_of(run.path)[name] for name in before} == before
        if asked != config:
            sidecar(run.config_path).unlink()


def test_an_old_run_whose_coordinates_are_lost_is_recovered_in_its_format(old: Path) -> None:
    run = RunDirectory(old / "interrupted" / REFERENCE)
    config = config_of(run.path)
    before = run.coordinates_path.read_bytes()
    run.coordinates_path.write_bytes(b"{}")
    with pytest.raises(CorruptData, match=r"coordinates\.json.*--recover"):
        execute(config, old / "interrupted")
    recovered = execute(config, old / "interrupted", on_damage="recover")
    assert recovered.path == run.path
    assert recovered.beginning.header().format == 1
    assert same_to_rounding(before, run.coordinates_path.read_bytes())
    recovered.verify()
