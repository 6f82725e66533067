"""The reading of a run follows from its task: what was stored as published, with a task per seed, is redrawn."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import tiny

from headwise import collect, experiment, judge, show
from headwise.core.errors import Interrupted
from headwise.core.readings import reading_in
from headwise.paper.draw import read_figures
from headwise.paper.verdict import Judgement, decide
from headwise.paper.verdict_file import add_verdicts, read_verdicts, to_document
from headwise.store import RunDirectory
from headwise.study.config import RunConfig
from headwise.study.run_location import run_location
from headwise.study.runner import execute
from headwise.view.report.members import read_member
from headwise.view.report.studies import arrange

STORED = Path(__file__).parents[1] / "browser" / "data"
[RUN] = (STORED / "minimal").iterdir()


def test_a_run_stored_as_published_is_found_and_shown_as_redrawn(tmp_path: Path) -> None:
    stored = RunDirectory(RUN).read_config()
    assert (stored["preset"], stored["task"]["features"]) == ("published", "haar")
    config = RunConfig.model_validate(stored)
    assert config.preset == "redrawn"
    assert run_location(config, STORED) == RUN
    asked = experiment("minimal", "redrawn", changes={"train": config.train, "measure": config.measure})
    assert run_location(asked, STORED) == RUN
    assert run_location(experiment("minimal", changes={"train.steps": 1000}), STORED) != RUN
    assert read_member(RUN).config["preset"] == "redrawn"
    assert arrange([read_member(RUN)])[0].label == "minimal · redrawn"
    assert show(RUN).config["preset"] == "redrawn"
    assert {verdict.preset for verdict in judge(RUN)} == {"redrawn"}
    assert collect(STORED, tmp_path).runs.exists()


def test_an_unfinished_run_with_the_old_label_is_resumed(tmp_path: Path) -> None:
    """The stored config keeps its words; the result is that of a run under the present name."""
    config = tiny(train__steps=12)
    path = run_location(config, tmp_path / "old")
    looks = iter([False] * 7 + [True] * 99)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("headwise.study.config.reading_of", lambda label, features: "published")
        with pytest.raises(Interrupted):
            execute(config, tmp_path / "old", stop_asked=lambda: next(looks))
    before = (path / "config.json").read_text()
    assert json.loads(before)["preset"] == "published"
    done = execute(config, tmp_path / "old")
    assert (path / "config.json").read_text() == before
    fresh = execute(config, tmp_path / "new")
    one, other = (show(run.path).trajectory for run in (done, fresh))
    assert one is not None
    assert other is not None
    assert one.drop_attrs().equals(other.drop_attrs())


def test_features_decide_between_published_and_redrawn(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.stack([np.eye(50)] * 3))
    assert experiment("minimal", changes={"task.features": "haar"}).preset == "redrawn"
    assert experiment("minimal", changes={"task.features": str(tmp_path / "a.npy")}).preset == "redrawn"
    assert experiment("minimal", "redrawn", changes={"task.features": "figures"}).preset == "published"
    assert experiment("minimal", "text", changes={"task.features": "figures"}).preset == "text"
    assert reading_in({"preset": "published"}) == "published"
    assert reading_in({"seed": 3}) is None


def test_verdicts_and_figures_from_before_are_redrawn(tmp_path: Path) -> None:
    about = {"claim": "order", "scale": "paper", "quantity": "", "threshold": "", "published": None}
    now = decide({0: Judgement(True, 1.0), 1: Judgement(True, 1.0)}, preset="published", **about)  # type: ignore[arg-type]
    document = to_document([now])
    assert document["verdicts"][0]["draws"] == 1
    del document["verdicts"][0]["draws"]
    (tmp_path / "verdicts.json").write_text(json.dumps(document))
    [before] = read_verdicts(tmp_path / "verdicts.json")
    assert (before.preset, before.draws) == ("redrawn", 2)
    assert [one.preset for one in add_verdicts([now], tmp_path)] == ["redrawn", "published"]
    (tmp_path / "a.png").touch()
    item = {"name": "fig-kl", "preset": "published", "scale": "paper", "picture": "a.png"}
    for schema, preset in ((1, "redrawn"), (2, "published")):
        (tmp_path / "figures.json").write_text(json.dumps({"schema": schema, "figures": [item]}))
        assert [one.preset for one in read_figures(tmp_path)] == [preset]
