"""What a page holds, how large it is, how runs are told apart; the browser's view of it is in tests/browser."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import headwise.view.report
from headwise.core.errors import ConfigError
from headwise.phases.detection import detect, detect_seeds
from headwise.phases.roles import head_roles
from headwise.view.report import (
    Member,
    ShownStatement,
    ShownVerdict,
    reproduction_page,
    runs_page,
    write_reproduction_page,
    write_runs_page,
)
from headwise.view.report.encode import unpack
from headwise.view.report.members import member_of
from headwise.view.report.provenance import describe, made_by
from headwise.view.report.studies import arrange

sys.path.insert(0, str(Path(__file__).parents[1] / "browser"))
from synthetic_runs import member, trajectory, without


def data_of(page: str) -> dict:
    match = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, flags=re.S)
    return json.loads(match[1])


def test_a_run_with_200_snapshots_is_below_a_megabyte_and_a_half(tmp_path: Path) -> None:
    run = member(evaluations=201, snapshots=200, steps=2000)
    size = write_runs_page(tmp_path / "run.html", [run])
    maps = data_of((tmp_path / "run.html").read_text())["studies"][0]["runs"][0]["maps"]
    assert len(maps["steps"]) == 200, "all snapshots are there"
    assert size < 1_500_000
    assert np.array_equal(unpack(maps)["attention_map"], run.trajectory["attention_map"].values)


def test_ten_seeds_are_below_five_megabytes(tmp_path: Path) -> None:
    runs = [member(seed, evaluations=201, snapshots=200, steps=2000) for seed in range(10)]
    page = runs_page(runs)
    assert len(page.encode()) < 5_000_000
    data = data_of(page)
    assert len(data["studies"]) == 1
    assert [run["seed"] for run in data["studies"][0]["runs"]] == list(range(10))
    assert all(len(run["curves"]["steps"]) == 201 for run in data["studies"][0]["runs"])
    assert "of 200 attention maps are on this page" in page, "what was left out is said"


def test_a_large_model_stays_small_too() -> None:
    run = member(heads=12, blocks=4, evaluations=101, snapshots=60)
    assert len(runs_page([run]).encode()) < 1_500_000


def test_the_page_names_nothing_outside() -> None:
    page = runs_page([member()])
    body = re.sub(r"<script.*?</script>", "", page, flags=re.S)
    assert re.findall(r"""(?:src|href)\s*=\s*["']?(?!#)[^"'\s>]+""", body) == []
    assert "http://" not in body
    assert "https://" not in body
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    assert "default-src &#39;none&#39;" in policy
    assert "unsafe" not in policy
    assert "http" not in policy


def test_equal_runs_give_equal_pages() -> None:
    assert runs_page([member()]) == runs_page([member()])


def test_seeds_are_one_study_and_configs_are_not() -> None:
    a, b = {"task": {"m": 1.7}}, {"task": {"m": 1.3}}
    studies = arrange([member(0, a), member(0, b), member(1, a)])
    assert [(study.label, [m.seed for m in study.members]) for study in studies] == [
        ("minimal · published, m = 1.7", [0, 1]),
        ("minimal · published, m = 1.3", [0]),
    ]
    with pytest.raises(ConfigError, match="5 different configs"):
        arrange([member(0, {"task": {"m": m}}) for m in range(5)])
    with pytest.raises(ConfigError, match="at least one run"):
        arrange([])
    unknown = [Member(trajectory(attributes={"seed": 0}), name) for name in ("one", "two")]
    assert len(arrange(unknown)) == 2, "nothing says that these are seeds of one experiment"


def test_trajectories_in_memory_are_seeds_only_where_their_task_and_their_seeds_say_so() -> None:
    """Without configs: another seed of the same task, another task, and the same seed again."""

    def alone(seed: int, **attributes: str) -> Member:
        return member_of(trajectory(attributes={"seed": seed}).assign_attrs(attributes))

    assert len(arrange([alone(0), alone(1)])) == 1
    assert len(arrange([alone(0), alone(1, groups="[[1], [3], [6]]")])) == 2
    studies = arrange([alone(0), alone(0)])
    assert len(studies) == len({study.label for study in studies}) == 2


def test_heads_of_a_seed_are_put_into_their_roles() -> None:
    runs = [member(seed) for seed in range(3)]
    order = [2, 0, 1]
    other = runs[1].trajectory.isel(head=order, head2=order).assign_coords(head=[1, 2, 3], head2=[1, 2, 3])
    runs[1] = Member(other, "s1", seed=1, config=runs[1].config)
    [study] = data_of(runs_page(runs))["studies"]
    assert study["runs"][1]["roles"] == [[2, 3, 1]]
    drawn = head_roles([one.trajectory for one in runs])
    assert [run["roles"] for run in study["runs"]] == [[[head + 1 for head in block] for block in own] for own in drawn]
    shares = unpack(study["runs"][1]["curves"])["attention_by_group"]
    assert np.array_equal(shares, member(1).trajectory["attention_by_group"].values.astype(np.float32))
    numbered = [(order.index(o["head"] - 1) + 1, o["to"]) for o in study["runs"][0]["report"]["offshoots"]]
    assert [(o["head"], o["to"]) for o in study["runs"][1]["report"]["offshoots"]] == numbered, (
        "as the run numbers them"
    )


def test_reports_reach_the_page_as_they_are() -> None:
    runs = [member(seed) for seed in range(2)]
    [study] = data_of(runs_page(runs))["studies"]
    single = [detect(run.trajectory) for run in runs]
    for run, report in zip(study["runs"], single, strict=True):
        assert {**run["report"], "competition_index": report.to_json()["competition_index"]} == report.to_json()
        shown = unpack(run["curves"])["competition_index"]
        assert np.array_equal(shown, np.asarray(report.to_json()["competition_index"]["value"], np.float32))
    together = detect_seeds([run.trajectory for run in runs]).to_json()
    assert {**study["report"], "competition_index": together["competition_index"]} == together


def test_blocks_are_matched_each_by_itself() -> None:
    runs = [member(seed, blocks=2) for seed in range(2)]
    swapped = runs[1].trajectory.copy(deep=True)
    for name in ("attention_by_lag", "attention_by_group", "attention_map", "value_coefficient"):
        swapped[name].values[:, 1] = swapped[name].values[:, 1][:, [1, 2, 0]]
    runs[1] = Member(swapped, "s1", seed=1, config=runs[1].config)
    [study] = data_of(runs_page(runs))["studies"]
    assert study["runs"][1]["roles"] == [[1, 2, 3], [3, 1, 2]]
    maps = unpack(study["runs"][1]["maps"])["attention_map"]
    assert np.array_equal(maps, member(1, blocks=2).trajectory["attention_map"].values)


def test_provenance_marks_what_differs() -> None:
    found = describe(arrange([member(0, {"task": {"m": 1.7, "d": 50}}), member(0, {"task": {"m": 1.3, "d": 50}})]))
    assert found.config.marked == {"task.m"}
    assert found.config.rows[0] == ("task.m", ["1.7", "1.3"])
    assert made_by(member(4)) == "headwise train minimal --seed 4"
    assert made_by(Member(trajectory(), "x")) is None
    for argv, command in (
        (["/home/me/first.py", "--steps", "3"], "python first.py --steps 3"),
        (["/lib/headwise/__main__.py", "list"], "python -m headwise list"),
        (["lib/ipykernel_launcher.py", "-f", "kernel.json"], None),
        ([""], None),
    ):
        assert made_by(Member(trajectory(), "x", manifest={"argv": argv})) == command


def test_a_run_without_any_event_still_has_a_page() -> None:
    assert len(data_of(runs_page([member()]))["studies"][0]["runs"][0]["report"]["offshoots"]) == 2
    quiet = without(member(), "attention_by_lag", "attention_by_group", "head_overlap", "kl", "kl_reverse")
    assert data_of(runs_page([quiet]))["studies"][0]["runs"][0]["report"]["offshoots"] == []


def test_pages_need_a_name_of_a_page(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"ends in \.html"):
        write_runs_page(tmp_path / "page.pdf", [member()])
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot write"):
        write_runs_page(tmp_path / "file" / "page.html", [member()])


def test_figures_of_verdicts_must_be_readable(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"missing\.png"):
        reproduction_page([ShownVerdict({"claim": "order"}, "good", [tmp_path / "missing.png"])])
    (tmp_path / "figure.pdf").write_bytes(b"%PDF")
    with pytest.raises(ConfigError, match=r"ends in \.png"):
        reproduction_page([ShownVerdict({"claim": "order"}, "good", [tmp_path / "figure.pdf"])])


def test_too_many_figures_are_named_not_embedded(tmp_path: Path) -> None:
    for name in ("a.png", "b.png"):
        (tmp_path / name).write_bytes(bytes(5_000_000))
    page = reproduction_page([ShownVerdict({"claim": "order"}, "good", [tmp_path / "a.png", tmp_path / "b.png"])])
    assert len(page) < 7_500_000
    assert "order: b.png" in re.sub(r"<script.*?</script>", "", page, flags=re.S)


def test_numbers_that_are_not_finite_are_shown(tmp_path: Path) -> None:
    verdicts = [ShownVerdict({"claim": "x", "measured": float("nan"), "interval": [float("-inf"), 1.0]}, "bad")]
    assert write_reproduction_page(tmp_path / "r.html", verdicts) > 0
    assert "-inf, 1" in (tmp_path / "r.html").read_text()


@pytest.mark.parametrize("mood", ["good", "mixed", "bad"])
def test_a_colour_is_given_and_not_read_out_of_words(mood: str) -> None:
    """The same words in every colour: a page that looked at them would show one."""
    parts = {"printed": {"verdict": "fails", "error": 1.0}, "corrected": {"verdict": "holds", "error": 0.0}}
    page = reproduction_page(
        [ShownVerdict({"claim": "order", "verdict": "reproduced", "outcome": "reproduced"}, mood)],
        statements=[ShownStatement({"name": "kernel", **parts}, printed=mood, corrected=mood)],
    )
    assert set(re.findall(r'class="verdict (\w+)"', page)) == {mood}
    assert set(re.findall(r'class="chip filter (\w+)"', page)) == {mood}


def test_a_statement_says_why_it_fails_as_printed() -> None:
    printed = {"verdict": "fails", "class": "false", "claim": "all is well", "error": 1.5, "allowed": 1e-9}
    corrected = {"verdict": "holds", "claim": "something else", "error": 0.0, "allowed": 1e-9}
    counterexample = {"given": "d = 1", "printed": "V = -1", "found": "V = -2", "refutes": True}
    values = {"name": "kernel", "printed": printed, "corrected": corrected, "counterexample": counterexample}
    page = reproduction_page([], statements=[ShownStatement(values, printed="bad", corrected="good")])
    text = " ".join(re.sub(r"<[^>]+>", " ", re.sub(r"<(script|style).*?</\1>", "", page, flags=re.S)).split())
    assert "✗ fails class: false all is well error: 1.5, allowed 1.0e-9" in text
    assert "counter-example: d = 1; printed V = -1; found V = -2" in text
    assert "✓ holds something else error: 0, allowed 1.0e-9" in text


def test_pages_are_made_without_torch_and_without_matplotlib() -> None:
    code = "import sys, headwise.view.report; print([m for m in ('torch', 'matplotlib') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_page_carries_the_licence_of_what_others_wrote() -> None:
    licence = (Path(headwise.view.report.__file__).parent / "vendor" / "LICENSE-uPlot").read_text()
    assert licence.strip() in runs_page([member()])
