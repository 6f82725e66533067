"""`headwise reproduce` from plan to folder, on runs small enough for a test."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headwise.cli.main import main
from headwise.paper import runs, scale, verdicts_page
from headwise.paper.scale import Size
from headwise.view.report import ShownVerdict


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch, short_fits: None) -> None:
    """Every quick run in about a second; far too short for stages, which is what some verdicts then say."""
    monkeypatch.setitem(scale.MINIMAL, "quick", Size(30, 20, 30, 5))


def arguments(tmp_path: Path, *more: str) -> list[str]:
    return [
        "reproduce", *more, "--seeds", "0..1", "--workers", "1", "--out", str(tmp_path / "runs"),
        "--into", str(tmp_path / "into"), "-q",
    ]  # fmt: skip


@pytest.mark.usefixtures("tiny")
def test_runs_judges_draws_and_finds_everything_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ("order", "competition", "weight-decay", "symmetry", "fig-overview", "fig-collaboration")
    assert main(arguments(tmp_path, *names, "--json")) == 0
    out, err = capsys.readouterr()
    verdicts = json.loads(out)["verdicts"]
    assert [item["claim"] for item in verdicts] == list(names[:4])
    assert next(item for item in verdicts if item["claim"] == "symmetry")["verdict"] == "reproduced"
    assert next(item for item in verdicts if item["claim"] == "order")["verdict"] == "not reproduced"
    assert "6 to compute" in err
    for name in ("fig-overview-published", "fig-collaboration-published"):
        for suffix in ("png", "pdf", "csv"):
            assert (tmp_path / "into" / f"{name}.{suffix}").stat().st_size > 1000
    assert json.loads((tmp_path / "into" / "verdicts.json").read_text()) == json.loads(out)
    assert main(arguments(tmp_path, *names, "--json")) == 0
    again, err = capsys.readouterr()
    assert json.loads(again) == json.loads(out)
    assert "0 to compute" in err


@pytest.mark.usefixtures("tiny")
def test_a_dry_run_names_what_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments(tmp_path, "order", "--dry-run", "--json")) == 0
    out, err = capsys.readouterr()
    assert "missing: minimal (published) seeds 0, 1, about" in err
    assert json.loads(out)["verdicts"][0]["verdict"] == "inconclusive"
    assert not (tmp_path / "runs").exists()


@pytest.mark.usefixtures("tiny")
def test_a_damaged_run_is_inconclusive(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments(tmp_path, "order")) == 0
    capsys.readouterr()
    run = next((tmp_path / "runs" / "minimal").glob("*-s0"))
    next(run.glob("manifest.json")).write_text("{}")
    main(arguments(tmp_path, "order", "--dry-run", "--json"))
    found = json.loads(capsys.readouterr().out)["verdicts"][0]
    assert "damaged" in found["notes"]["0"]
    assert found["verdict"] != "reproduced"


@pytest.mark.usefixtures("tiny")
def test_verdicts_on_a_given_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(arguments(tmp_path, "order"))
    run = next((tmp_path / "runs" / "minimal").glob("*-s0"))
    capsys.readouterr()
    assert main(["reproduce", "--run", str(run), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["verdicts"]
    assert [item["claim"] for item in found] == ["order", "competition", "offshoot", "specialisation"]
    assert main(["reproduce", "hierarchy", "--run", str(run)]) == 2
    assert main(["reproduce", "fig-kl", "--run", str(run)]) == 2


@pytest.mark.usefixtures("tiny")
def test_a_dry_run_keeps_earlier_verdicts(tmp_path: Path) -> None:
    verdicts = tmp_path / "into" / "verdicts.json"
    assert main(arguments(tmp_path, "order")) == 0
    before = json.loads(verdicts.read_text())
    for run in (tmp_path / "runs" / "minimal").glob("*-s0"):
        run.rename(tmp_path / "elsewhere")
    assert main(arguments(tmp_path, "order", "--dry-run")) == 0
    assert json.loads(verdicts.read_text()) == before


@pytest.mark.usefixtures("tiny")
def test_one_flipped_byte_spoils_one_seed_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments(tmp_path, "order", "fig-overview")) == 0
    capsys.readouterr()
    segment = next(next((tmp_path / "runs" / "minimal").glob("*-s0")).glob("metrics-*.parquet"))
    content = bytearray(segment.read_bytes())
    content[len(content) // 2] ^= 4
    segment.write_bytes(content)
    runs._trajectory.cache_clear()
    assert main(arguments(tmp_path, "order", "fig-overview", "--json")) == 0
    found = json.loads(capsys.readouterr().out)["verdicts"][0]
    assert segment.name in found["notes"]["0"]
    assert "nearest at step" in found["notes"]["1"]


@pytest.mark.usefixtures("tiny")
def test_the_page_shows_the_scale_of_its_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scale, "TO_THE_END", Size(30, 20, 35, 5))
    shown: list[ShownVerdict] = []
    monkeypatch.setattr(
        verdicts_page,
        "write_reproduction_page",
        lambda path, items, **more: shown.__setitem__(slice(None), items),
    )
    assert main(arguments(tmp_path, "order")) == 0
    assert main(arguments(tmp_path, "order", "--scale", "paper")) == 0
    kept = json.loads((tmp_path / "into" / "verdicts.json").read_text())["verdicts"]
    assert [item["scale"] for item in kept] == ["quick", "paper"]
    assert [item.values["scale"] for item in shown] == ["paper"]


def test_runs_that_a_claim_is_not_about_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small = [
        "--preset",
        "redrawn",
        "--task.h",
        "1",
        "--task.w",
        "2",
        "--task.d",
        "5",
        "--train.batch",
        "20",
        "--steps",
        "4",
        "-q",
    ]
    assert main(["train", "minimal", *small, "--out", str(tmp_path)]) == 0
    assert main(["flow", "--out", str(tmp_path), "--t_end", "2"]) == 0
    capsys.readouterr()
    runs = [path.parent for path in tmp_path.rglob("manifest.json")]
    assert len(runs) == 2
    for run in runs:
        for claim in ("order", "reverse", "overfit-structure", "alpha"):
            assert main(["reproduce", claim, "--run", str(run)]) == 2
            assert "needs a training run with 3 groups" in capsys.readouterr().err


def test_problems_are_said_before_anything_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    for option in ("--out", "--into"):
        assert main(["reproduce", "order", option, str(blocked / "below")]) == 2
        assert len(capsys.readouterr().err.strip().splitlines()) == 1
    assert main(["reproduce", "orderr"]) == 2
    assert "did you mean order" in capsys.readouterr().err
    assert main(["reproduce", "--workers", "0"]) == 2
    assert main(["reproduce", "--seeds", "x"]) == 2
    assert main(["reproduce", "--seeds", ""]) == 2
    assert main(["reproduce", "order", "--all"]) == 2
    capsys.readouterr()
    assert main(["reproduce", "hierarchy", "--preset", "text"]) == 2
    assert "other reading" in capsys.readouterr().err
    assert main(["reproduce", "order", "--into", str(blocked)]) == 2
    assert "choose another --into" in capsys.readouterr().err


def test_the_list_names_kind_label_and_cost(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "--list", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert all({"name", "kind", "label", "cost"} <= set(item) for item in found)
    assert {item["kind"] for item in found} == {"claim", "figure", "table"}
    assert main(["reproduce", "--list"]) == 0
