"""`flow`, `check` and `phases`: a flow is a run like any other, and each command answers in its JSON form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import pytest

from headwise.cli.main import main
from headwise.flow.config import FlowConfig
from headwise.flow.presets import PRESETS
from headwise.flow.simulate import simulate
from headwise.store import RunDirectory, load_trajectory
from headwise.study.config import Preset


def answer(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict:
    assert main([str(a) for a in arguments]) == 0
    return json.loads(capsys.readouterr().out)


def test_start_b_is_kept_and_read_by_phases_and_show(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    flow = answer(
        capsys, "flow", "--start", "B", "--out", tmp_path, "--json", "--figure", tmp_path / "f.png",
        "--overlay", tmp_path / "o.pdf",
    )  # fmt: skip
    assert flow["stage_times"] == pytest.approx([21.742, 167.452, 1042.39], abs=0.5)
    assert [(o["head"], o["from"], o["to"]) for o in flow["offshoots"]] == [(3, 1, 2), (1, 1, 3)]
    assert flow["plateaus"] == pytest.approx([6.12105, 1.945, 0.5, 0])
    assert flow["loss_at"]["25"] == pytest.approx(2.165732, abs=1e-5)
    assert flow["predicted"]["t2_head"] == 3
    assert flow["dips"]
    assert (tmp_path / "f.png").stat().st_size > 10_000
    assert (tmp_path / "o.pdf").stat().st_size > 10_000
    phases = answer(capsys, "phases", flow["run"], "--json")
    assert [(o["head"], o["from"], o["to"]) for o in phases["offshoots"]] == [(3, 1, 2), (1, 1, 3)]
    assert phases["offshoots"][0]["step"] == pytest.approx(167.45, rel=0.02)
    assert phases["offshoots"][1]["step"] == pytest.approx(1042.4, rel=0.02)
    assert set(phases) >= {"stages", "competitive", "offshoots", "compensation", "competition_index", "agreement"}
    shown = answer(capsys, "show", flow["run"], "--json")
    assert shown["status"] == "finished"
    assert shown["final"]["excess_loss"] == pytest.approx(flow["loss_at"]["3000"], rel=1e-6)
    assert main(["show", flow["run"], "--figure", str(tmp_path / "s.png")]) == 0
    assert "KL from" not in capsys.readouterr().out
    assert main(["phases", flow["run"], "--figure", str(tmp_path / "p.svg")]) == 0
    assert "head 3 leaves" in capsys.readouterr().out


def small_flow(out: Path) -> list[str]:
    return ["flow", "--T", "10", "--t-end", "40", "--start", "B", "--out", str(out), "--json"]


def test_the_same_flow_again_is_read_from_disk(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = answer(capsys, *small_flow(tmp_path))
    monkeypatch.setattr("headwise.flow.simulate.solve_flow", None)
    assert answer(capsys, *small_flow(tmp_path)) == first
    assert main([*small_flow(tmp_path)[:-1], "--figure", str(tmp_path / "f.png")]) == 0
    assert f"{first['stage_times'][0]:.3f}" in capsys.readouterr().out
    with pytest.raises(TypeError):
        main([*small_flow(tmp_path), "--m", "1.5"])


def test_a_stored_flow_is_the_solved_one(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    config = FlowConfig(T=10, t_end=40.0, start="B")
    kept = load_trajectory(answer(capsys, *small_flow(tmp_path))["run"])
    solved = simulate(config)
    assert kept.drop_attrs().identical(solved.drop_attrs())
    assert solved.attrs.items() <= kept.attrs.items()


def test_a_damaged_flow_is_named_with_exit_3(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = Path(answer(capsys, *small_flow(tmp_path))["run"])
    files = [path for path in folder.iterdir() if path.suffix in (".json", ".parquet")]
    assert len(files) == 4
    for path in files:
        content = path.read_bytes()
        path.write_bytes(content.replace(content[-9:], bytes(9)))
        code = main(small_flow(tmp_path))
        out, err = capsys.readouterr()
        assert (code, out, len(err.strip().splitlines())) == (3, "", 1), path
        assert path.name in err
        path.write_bytes(content)
    assert answer(capsys, *small_flow(tmp_path))["run"] == str(folder)


def test_a_flow_that_cannot_be_solved_leaves_nothing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    arguments = ["--preset", "published", "--m", "30", "--euler_step", "2", "--t-end", "50", "--out", str(tmp_path)]
    assert main(["flow", *arguments]) == 1
    assert "lower euler_step" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_flow_kept_without_its_numbers_is_solved_for_them(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Flows of the first version had no results in their manifest."""
    first = answer(capsys, *small_flow(tmp_path))
    run = RunDirectory(first["run"])
    manifest = run.read_manifest()
    for path in run.path.glob("manifest.json*"):
        path.unlink()
    with run.writing():
        run.finish({key: value for key, value in manifest.items() if key not in ("files", "results")})
    before = {path.name: path.read_bytes() for path in run.path.iterdir()}
    assert answer(capsys, *small_flow(tmp_path)) == first
    assert {path.name: path.read_bytes() for path in run.path.iterdir()} == before


def test_presets_are_the_readings_of_the_paper(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for preset, build in PRESETS.items():
        run = answer(capsys, "flow", "--preset", preset, "--t-end", 3, "--out", tmp_path, "--json")["run"]
        stored = RunDirectory(run).read_config()
        assert stored == build().changed({"t_end": 3.0}).model_dump(mode="json")
    assert set(PRESETS) == set(get_args(Preset)) - {"redrawn"}, "a flow has no drawn task"


def test_ensemble(capsys: pytest.CaptureFixture[str]) -> None:
    result = answer(capsys, "flow", "--seeds", "0..2", "--t-end", 400, "--json")
    assert [flow["seed"] for flow in result["flows"]] == [0, 1, 2]
    assert all(21 < flow["stage_times"][0] < 23 for flow in result["flows"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["flow", "--T", "2"], ["T = 2"]),
        (["flow", "--m", "-1"], ["m"]),
        (["flow", "--m", "nan"], ["m"]),
        (["flow", "--start", "C"], ["start"]),
        (["flow", "--strenghts", "1"], ["did you mean --strengths?"]),
        (["flow", "--seed", "1", "--seeds", "1"], ["--seeds"]),
        (["flow", "--seeds", "5..2"], ["--seeds"]),
        (["flow", "--seeds", "0..2", "--figure", "f.png"], ["--figure", "--seeds"]),
        (["flow", "--preset", "txt"], ["--preset", "published"]),
        (["flow", "--t-end", "200", "--overlay", "o.png", "--out", "/proc/nowhere"], ["cannot write"]),
        (["flow", "--noise", "s-std", "--noise_scale", "0.5"], ["noise"]),
        (["check", "copling"], ["did you mean coupling?"]),
        (["check", "--trials", "0", "ordering"], ["trials"]),
        (["phases", "absent"], ["absent"]),
        (["phases"], ["RUN"]),
    ],
)
def test_bad_input(arguments: list[str], words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.strip().splitlines()) == 1
    for word in words:
        assert word in err


def test_check_answers_with_both_verdicts(capsys: pytest.CaptureFixture[str]) -> None:
    result = answer(capsys, "check", "ordering", "coupling", "--trials", 3, "--workers", 1, "--json")
    for statement in result["statements"]:
        assert {"verdict", "error"} <= set(statement["printed"])
        assert statement["corrected"]["verdict"] in ("holds", "approximate")
    assert {s["name"]: s["printed"]["verdict"] for s in result["statements"]}["ordering"] == "fails"
