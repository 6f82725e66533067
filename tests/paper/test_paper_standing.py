"""What stored results have decided is neither computed nor judged again, as long as it answers for what is asked."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from headwise.cli.main import main
from headwise.core.csv_text import read_csv
from headwise.flow.presets import flow_preset
from headwise.paper import flows, runs, scale
from headwise.paper.dated_tests import dated_test
from headwise.paper.draw import Drawn, add_figures, read_figures
from headwise.paper.entry import Claim
from headwise.paper.judge import judge_all
from headwise.paper.levels import LEVELS
from headwise.paper.manifest import ENTRIES
from headwise.paper.plan import Plan, describe_missing
from headwise.paper.reproduce import reproduce
from headwise.paper.scale import Size
from headwise.paper.settings import KEY, WITHOUT_RUNS, settings_of
from headwise.paper.standing import standing, stands
from headwise.paper.verdict import Judgement, Verdict, decide
from headwise.paper.verdict_file import add_verdicts, read_verdicts
from headwise.paper.verdicts import Verdicts

LATER = "2100-01-01T00:00:00+00:00"
NAMES = ("order", "weight-decay", "fig-overview")


def claim(name: str = "order") -> Claim:
    found = ENTRIES[name]
    assert isinstance(found, Claim)
    return found


def settings(name: str = "order") -> str:
    return settings_of(claim(name), "published", "paper")


def verdict(name: str = "order", seeds: tuple[int, ...] = (6, 7, 8), *, held: bool | None = True) -> Verdict:
    """A verdict by the present test on runs that ended after it was fixed."""
    count = len(seeds) * len(claim(name).experiments)
    runs = {"count": count, "first_ended": LATER, "last_ended": LATER, KEY: settings(name)}
    return decide(
        {seed: Judgement(held, 0.5 if held is not None else None, "") for seed in seeds},
        claim=name,
        preset="published",
        scale="paper",
        quantity="",
        threshold="",
        published=None,
        test=dated_test(claim(name)),
        runs=runs,
    )


@pytest.mark.parametrize("held", [True, False, None])
def test_a_verdict_stands_on_its_seeds_whatever_it_says(held: bool | None) -> None:
    for seeds in ((6, 7, 8), (7,)):
        assert stands(verdict(held=held), claim(), seeds, settings=settings())
    assert not stands(verdict(held=held), claim(), (6, 7, 8, 9), settings=settings())


def test_a_verdict_of_another_test_or_of_older_runs_does_not_stand() -> None:
    whole = verdict()
    assert not stands(replace(whole, test={**whole.test, "digest": "0" * 16}), claim(), (6,), settings=settings())
    assert not stands(replace(whole, test={}), claim(), (6,), settings=settings())
    older = "2000-01-01T00:00:00+00:00"
    assert not stands(replace(whole, runs={**whole.runs, "first_ended": older}), claim(), (6,), settings=settings())


def test_a_verdict_or_figure_of_other_settings_does_not_stand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reading that changes takes its verdicts and figures with it; those that do not say with what they ran fall."""
    whole = verdict()
    unsaid = {key: value for key, value in whole.runs.items() if key != KEY}
    assert not stands(replace(whole, runs=unsaid), claim(), (6,), settings=settings())
    add_verdicts([whole], tmp_path)
    figure = ENTRIES["fig-overview"]
    (tmp_path / "a.png").touch()
    drawn = settings_of(figure, "published", "paper")
    add_figures([Drawn("fig-overview", "published", "paper", tmp_path / "a.png", (6, 7, 8), drawn)], tmp_path)
    plan = Plan((claim(), figure), ("published",), "paper", None, tmp_path / "runs")
    assert len(standing(plan, [tmp_path]).folders) == 2
    monkeypatch.setitem(scale.MINIMAL, "paper", Size(3000, 3000, 1001))
    monkeypatch.setattr(scale, "TO_THE_END", Size(3000, 3000, 2001))
    assert not standing(plan, [tmp_path]).folders


def test_a_verdict_that_lacked_runs_does_not_stand() -> None:
    for held in (True, None):
        whole = verdict(held=held)
        assert not stands(replace(whole, runs={**whole.runs, "count": 2}), claim(), (6,), settings=settings())
    unknown = {"first_ended": LATER, "last_ended": LATER, KEY: settings()}
    assert stands(replace(verdict(), runs=unknown), claim(), (6,), settings=settings())
    assert not stands(replace(verdict(held=None), runs=unknown), claim(), (6,), settings=settings())


def test_the_first_folder_that_has_an_entry_counts(tmp_path: Path) -> None:
    add_verdicts([verdict()], tmp_path / "one")
    add_verdicts([verdict(held=False), verdict("weight-decay")], tmp_path / "two")
    plan = Plan((claim(), claim("weight-decay"), claim("alpha")), ("published",), "paper", None, tmp_path / "runs")
    found = standing(plan, [tmp_path / "one", tmp_path / "two"])
    assert found.folders == {
        ("order", "published"): tmp_path / "one",
        ("weight-decay", "published"): tmp_path / "two",
    }
    assert found.verdicts["order", "published"].outcome == "reproduced"
    quick = replace(plan, scale="quick")
    assert not standing(quick, [tmp_path / "one", tmp_path / "two"]).folders


def test_the_summary_tells_what_has_not_run_from_what_cannot_be_decided() -> None:
    open_ones = verdict("alpha", held=None), replace(verdict("weight-decay", held=None), runs={})
    assert Verdicts((verdict(), *open_ones)).summary == "3 verdicts: 1 reproduced, 1 inconclusive, 1 not run"


def test_a_claim_none_of_whose_runs_is_there_has_not_run(tmp_path: Path) -> None:
    plan = Plan((claim("order"),), ("published",), "paper", None, tmp_path / "runs")
    assert Verdicts((*judge_all(plan),)).summary == "1 verdict: 1 not run"


def test_what_depends_on_a_flow_or_a_task_alone_falls_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is trained for these entries, but they have settings all the same."""
    names = ["flow-stages", "flow-theory", "flow-exchange", "fig-simulations", "fig-theory", "table-levels-flow"]
    before = {name: settings_of(ENTRIES[name], "published", "paper") for name in [*names, "representation"]}
    assert all(before.values())
    assert {name for name, entry in ENTRIES.items() if not entry.experiments} == {*WITHOUT_RUNS}
    monkeypatch.setattr(flows, "flow_preset", lambda name: flow_preset(name).changed({"t_end": 123.0}))
    monkeypatch.setattr(flows, "OVERLAID", flows.OVERLAID.changed({"t_end": 123.0}))
    for name in names:
        assert settings_of(ENTRIES[name], "published", "paper") != before[name], name
    assert settings_of(ENTRIES["representation"], "text", "paper") != before["representation"]


def test_missing_runs_are_named_once_with_what_waits_for_them(tmp_path: Path) -> None:
    plan = Plan((claim(), claim("weight-decay")), ("published",), "paper", None, tmp_path)
    lines = describe_missing(plan, plan.unfinished())
    assert [line.partition(", about")[0] for line in lines] == [
        "missing: minimal (published) seeds 6, 7, 8",
        "missing: no-weight-decay (published) seeds 6, 7, 8",
        "waits: order (published) for minimal",
        "waits: weight-decay (published) for minimal, no-weight-decay",
    ]


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch, short_fits: None) -> None:
    """Every quick run in about a second."""
    monkeypatch.setitem(scale.MINIMAL, "quick", Size(30, 20, 30, 5))


def line(tmp_path: Path, *more: str) -> list[str]:
    return [
        "reproduce", *NAMES, *more, "--seeds", "0..1", "--workers", "1", "--out", str(tmp_path / "runs"),
        "--into", str(tmp_path / "into"), "-q", "--json",
    ]  # fmt: skip


@pytest.mark.usefixtures("tiny")
def test_what_stands_needs_no_run_any_more(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two machines: what the first one decided, the second one neither computes nor takes for missing."""
    into = tmp_path / "into"
    assert main(line(tmp_path)) == 0
    first = json.loads(capsys.readouterr().out)["verdicts"]
    shutil.rmtree(tmp_path / "runs")
    runs._trajectory.cache_clear()

    assert main(line(tmp_path, "--dry-run")) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["verdicts"] == first
    assert "3 of 3 entries stand" in err
    assert "nothing is missing" in err
    assert "missing: " not in err

    assert main(line(tmp_path, "--undecided")) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["verdicts"] == first
    assert not (tmp_path / "runs").exists()

    kept = read_verdicts(into / "verdicts.json")
    changed = [replace(one, test={**one.test, "digest": "0"}) if one.claim == "weight-decay" else one for one in kept]
    add_verdicts(changed, into)
    assert main(line(tmp_path, "--dry-run")) == 0
    _, err = capsys.readouterr()
    assert "2 of 3 entries stand" in err
    assert "1 entry needs 4 runs: 0 finished, 4 to compute" in err
    assert "waits: weight-decay (published) for minimal, no-weight-decay" in err


@pytest.mark.usefixtures("tiny")
def test_published_numbers_are_printed_whether_drawn_now_or_before(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["reproduce", "table-levels-minimal", "--seeds", "0", "--workers", "1", "-q"]
    arguments += ["--out", str(tmp_path / "runs"), "--into", str(tmp_path / "into")]
    assert main([*arguments, "--dry-run"]) == 0
    assert "published numbers" not in capsys.readouterr().out
    assert main(arguments) == 0
    now = capsys.readouterr().out
    columns, rows = read_csv(tmp_path / "into" / "table-levels-minimal-published.csv")
    matched = sum(row[-1] == "yes" for row in rows)
    assert f"figures' task, quick scale: {matched} of {len(LEVELS['minimal'])} match" in now
    for row in rows:
        assert all(cell in now for name, cell in zip(columns, row, strict=True) if name != "range")
    assert max(map(len, now.splitlines())) <= 80
    shutil.rmtree(tmp_path / "runs")
    runs._trajectory.cache_clear()
    assert main([*arguments, "--dry-run"]) == 0
    assert capsys.readouterr().out == now


@pytest.mark.usefixtures("tiny")
def test_results_of_others_are_counted_and_not_touched(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(line(tmp_path)) == 0
    first = json.loads(capsys.readouterr().out)["verdicts"]
    theirs = (tmp_path / "into").rename(tmp_path / "theirs")
    before = {path: path.stat().st_mtime_ns for path in theirs.iterdir()}
    shutil.rmtree(tmp_path / "runs")
    runs._trajectory.cache_clear()
    assert main(line(tmp_path, "--undecided", "--stored", str(theirs))) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["verdicts"] == first
    assert f"3 of 3 entries stand in {theirs}" in err
    assert {path: path.stat().st_mtime_ns for path in theirs.iterdir()} == before
    assert not (tmp_path / "runs").exists()
    # The page shows what they have; the folder's own files do not take it over.
    page, own = ((tmp_path / folder / "index.html").read_text(encoding="utf-8") for folder in ("theirs", "into"))
    for text in (page, own):
        assert re.findall(r'scope="row" role="rowheader" data-sort="([^"]*)"', text) == ["order", "weight-decay"]
    assert own.count("data:image/png") == page.count("data:image/png") > 0
    assert read_verdicts(tmp_path / "into" / "verdicts.json") == []
    assert read_figures(tmp_path / "into") == []
    assert main(line(tmp_path, "--stored", str(tmp_path / "nowhere"))) == 2
    assert "--stored" in capsys.readouterr().err


@pytest.mark.usefixtures("tiny")
def test_runs_that_are_gone_take_no_figure_and_no_sketch_with_them(tmp_path: Path) -> None:
    """A later command that finds fewer runs than are drawn leaves picture, verdict and sketch as they are."""
    runs_folder, into = tmp_path / "runs", tmp_path / "into"
    reproduce(["fig-overview", "order"], seeds=[0, 1], workers=1, out=runs_folder, into=into)
    [figure] = [one for one in read_figures(into) if one.name == "fig-overview"]
    kept = (figure.picture, into / "sketches.json", into / "figures.json")
    before = [path.read_bytes() for path in kept]
    shutil.rmtree(next(runs_folder.glob("minimal/*-s0")))
    runs._trajectory.cache_clear()
    reproduce(["fig-overview", "order"], seeds=[0, 1, 2], workers=1, out=runs_folder, into=into, missing="leave")
    assert [path.read_bytes() for path in kept] == before
    assert [one.seeds for one in read_verdicts(into / "verdicts.json")] == [(0, 1)]


@pytest.mark.usefixtures("tiny")
def test_a_figure_of_fewer_seeds_is_drawn_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["reproduce", "fig-overview", "--workers", "1", "--out", str(tmp_path / "runs"), "-q"]
    arguments += ["--into", str(tmp_path / "into")]
    assert main([*arguments, "--seeds", "0"]) == 0
    capsys.readouterr()
    assert main([*arguments, "--seeds", "0..1", "--undecided"]) == 0
    assert "1 finished, 1 to compute" in capsys.readouterr().err
    assert main([*arguments, "--seeds", "1", "--undecided"]) == 0
    assert "nothing is missing" in capsys.readouterr().err


def test_causal_claims_refuse_what_they_would_ignore(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--set causal --dry-run` used to train."""
    for option in (["--dry-run"], ["--undecided"], ["--stored", str(tmp_path)], ["--run", str(tmp_path)]):
        assert main(["reproduce", "--set", "causal", *option, "--out", str(tmp_path / "runs")]) == 2
        assert option[0] in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


def test_the_script_names_every_trained_claim_of_the_figures_task() -> None:
    """A claim that is new to the manifest has to be given its place in the order."""
    words = (Path(__file__).parents[2] / "scripts" / "paper-scale").read_text(encoding="utf-8")
    lines = [text.partition("#")[0] for text in words.replace("\\\n", " ").splitlines()]
    listed = " ".join(text for text in lines if text.startswith("part ") and "--preset" not in text)
    arrays = words.replace("\n    ", " ")
    for name in ("full", "reverse", "minimal"):
        members = arrays.partition(f"\n{name}=(")[2].partition(")")[0]
        listed = listed.replace(f'"${{{name}[@]}}"', members)
    named = set(listed.split())
    trained = {name for name, entry in ENTRIES.items() if entry.experiments and "published" in entry.presets}
    assert trained <= named, sorted(trained - named)
    assert named - set(ENTRIES) <= {"part", "--seeds", "6", "6..8", "--all"}
