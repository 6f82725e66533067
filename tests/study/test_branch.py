"""A branch is a run: equal to its parent bit for bit where nothing is done, resumed after kills, found again."""

from __future__ import annotations

import itertools
import json
import random
import shutil
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import tiny
from tests.study.test_resume import content, killed_and_resumed

from headwise.cli.main import main
from headwise.core.errors import ConfigError, CorruptData, Interrupted
from headwise.model import kernel
from headwise.store import RunDirectory
from headwise.study.branch import branch, branch_config
from headwise.study.branch_start import begin_branch, way_to
from headwise.study.config import RunConfig
from headwise.study.prepared_run import PreparedRun
from headwise.study.run_location import run_location
from headwise.study.runner import execute

PATHS = [path for path in ("kernel", "torch", "reference") if path != "kernel" or kernel.missing() is None]


def parent_config(path: str = "torch", **updates: object) -> RunConfig:
    return tiny(**{"train__steps": 22, "model__init_scale": 0.3, "compute__path": path, **updates})


@pytest.fixture(scope="module")
def parent(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    return execute(parent_config(), tmp_path_factory.mktemp("runs"))


def assert_continues(branched: RunDirectory, whole: RunDirectory, first: int) -> None:
    """Every number of a branch is, to the last bit, that of its parent from the step of the branch on."""
    mine, its = content(branched), content(whole)
    assert mine["state"] == its["state"]
    kept = [index for index, step in enumerate(its["steps"]) if step >= first]
    assert mine["steps"][-len(kept) :] == [its["steps"][index] for index in kept]
    for name, (shape, data) in its["bytes"].items():
        if name.startswith("checkpoint") and "held" not in name:  # what is held has numbers of its own in each branch
            assert mine["bytes"][name] == (shape, data), name
    metrics, before = branched.read_metrics(), whole.read_metrics()
    common = np.isin(metrics.steps, before.steps)
    chosen = np.isin(before.steps, metrics.steps)
    assert common.sum() == len(kept)
    assert int(metrics.steps[0]) == first
    for name, values in before.variables.items():
        assert metrics.variables[name][common].tobytes() == values[chosen].tobytes(), name


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("model", ["minimal", "full"])
def test_without_an_action_a_branch_is_its_parent(path: str, model: str, tmp_path: Path) -> None:
    whole = execute(tiny(model, train__steps=22, compute__path=path), tmp_path)
    for step, actions in ((0, ()), (9, ()), (20, ("sham",)), (21, ())):
        [found] = branch(whole.path, step, do=actions, progress="off").branches
        assert_continues(RunDirectory(found.run), whole, step)
        assert int(found.trajectory.step[0]) == step


@pytest.mark.parametrize("path", PATHS)
def test_killed_and_interrupted_branches_are_their_parent_too(path: str, tmp_path: Path) -> None:
    out = tmp_path / "runs"
    whole = execute(parent_config(path, train__steps=60, train__keep_every=20), out)
    wanted = branch_config(whole, 26)
    interruptions = 0
    while True:
        calls = itertools.count()
        try:
            run = execute(wanted, out, stop_asked=lambda calls=calls: next(calls) >= 3)
            break
        except Interrupted:
            interruptions += 1
    assert interruptions > 5
    assert_continues(run, whole, 26)


@pytest.mark.parametrize("path", PATHS)
def test_a_branch_killed_by_the_system(path: str, tmp_path: Path) -> None:
    out = tmp_path / "runs"
    whole = execute(parent_config(path, train__steps=150, train__checkpoint_every=10), out)
    killed_and_resumed(branch_config(whole, 33), tmp_path, 2, random.Random(0), 0.4)
    assert_continues(RunDirectory(run_location(branch_config(whole, 33), out)), whole, 33)


@pytest.mark.parametrize("actions", [("clamp:heads=1:to=past", "ablate:heads=2:put=mean", "tie:heads=2,3:until=17")])
def test_what_is_held_is_held_after_a_resume(actions: tuple[str, ...], parent: RunDirectory, tmp_path: Path) -> None:
    [whole] = branch(parent.path, 9, do=actions, out=tmp_path / "whole", progress="off").branches
    while True:
        calls = itertools.count()
        try:
            [parts] = branch(
                parent.path, 9, do=actions, out=tmp_path / "parts", stop_asked=lambda calls=calls: next(calls) >= 2
            ).branches
            break
        except Interrupted:
            continue
    assert content(RunDirectory(whole.run)) == content(RunDirectory(parts.run))


def test_a_branch_of_a_branch(parent: RunDirectory, tmp_path: Path) -> None:
    root = parent.path.parent.parent
    held = branch_config(parent, 5, do=["freeze:heads=1:until=12"])
    first = execute(held, root)
    [second] = branch(first.path, 14, progress="off").branches
    assert_continues(RunDirectory(second.run), first, 14)
    with pytest.raises(ConfigError, match="begins at 5; take its parent"):
        way_to(first, 3)


@pytest.mark.parametrize("path", PATHS)
def test_what_a_branch_holds_goes_on_in_its_branches(path: str, tmp_path: Path) -> None:
    """Otherwise a branch without an action would not be its parent where that is a branch itself."""
    whole = execute(parent_config(path), tmp_path)
    actions = ["clamp:heads=1:to=past", "ablate:heads=2:put=mean", "tie:heads=2,3:part=attention", "freeze:until=12"]
    [first] = branch(whole.path, 5, do=actions, progress="off").branches
    for step in (5, 9, 12, 20):
        [second] = branch(first.run, step, progress="off").branches
        assert_continues(RunDirectory(second.run), RunDirectory(first.run), step)
        assert len(second.held) == (4 if step < 12 else 3)
        assert "no action; clamp:heads=1:to=past, ablate:heads=2:put=mean" in str(second)
    [third] = branch(branch(first.run, 9, do=["sham"], progress="off").branches[0].run, 15, progress="off").branches
    assert_continues(RunDirectory(third.run), RunDirectory(first.run), 15)
    assert len(third.held) == 3
    [after] = branch(first.run, 22, steps=24, progress="off").branches
    assert after.held == (), "it holds to the end of the branch, from where another begins without it"


def test_two_actions_of_the_same_words_hold_what_each_took(parent: RunDirectory) -> None:
    """The attention of step 5 until it is taken again at step 9: the later one counts, also in a third branch."""
    first = branch(parent.path, 5, do=["clamp:heads=1:to=past:until=22"], progress="off").branches[0]
    second = branch(first.run, 9, do=["scale:heads=1:by=2", "clamp:heads=1:to=past:until=22"], progress="off")
    [third] = branch(second.branches[0].run, 14, progress="off").branches
    assert len(third.held) == 2
    assert_continues(RunDirectory(third.run), RunDirectory(second.branches[0].run), 14)


def test_means_are_taken_with_what_the_parent_holds(tmp_path: Path) -> None:
    """A second block that reads nothing writes nothing; the means were those of a model with its first block whole."""
    whole = execute(parent_config("reference", model__blocks=2, model__init_values="xavier"), tmp_path)
    [silent] = branch(whole.path, 9, do=["ablate:blocks=1"], progress="off").branches
    action = ["ablate:heads=1:blocks=2:put=mean"]
    taken = []
    for run in (whole, RunDirectory(silent.run)):
        prepared = PreparedRun(branch_config(run, 12, do=action), {})
        begin_branch(prepared, run, notify=lambda line: None)
        assert prepared.held is not None
        taken.append(prepared.held.constants()["held.0.1.0"])
    assert np.abs(taken[0]).max() > 0.01
    assert not taken[1].any()


def test_a_branch_as_it_was_named_before_anything_could_go_on(parent: RunDirectory) -> None:
    assert "held" not in branch_config(parent, 9, do=["freeze:heads=1"]).model_dump(mode="json")["branch"]


def test_other_seeds_of_a_branch_leave_runs_of_their_own_seed(parent: RunDirectory, tmp_path: Path) -> None:
    first = branch(parent.path, 5, do=["freeze:heads=1"], progress="off").branches[0]
    [of_three] = branch(first.run, 9, seeds=[3], progress="off").branches
    mine = execute(parent_config(seed=3), tmp_path)
    held = branch(mine.path, 5, do=["freeze:heads=1"], progress="off").branches[0]
    assert_continues(RunDirectory(of_three.run), RunDirectory(held.run), 9)


def test_a_contradiction_of_what_goes_on_names_it(parent: RunDirectory) -> None:
    first = branch(parent.path, 5, do=["freeze:heads=2"], progress="off").branches[0]
    with pytest.raises(ConfigError, match=r"freeze all of them or none \(its parent holds freeze:heads=2\)"):
        branch(first.run, 9, do=["tie:heads=2,3"], progress="off")


def test_a_group_that_a_restricted_model_does_not_see(tmp_path: Path) -> None:
    narrow = execute(parent_config(model__window=2), tmp_path)
    for action in ("clamp:to=group3", "block:groups=1,2"):
        with pytest.raises(ConfigError, match="the model sees 2 lags, none of group"):
            branch(narrow.path, 9, do=[action], progress="off")
    assert len(branch(narrow.path, 9, do=["clamp:heads=1:to=group1"], progress="off").branches) == 1


def test_a_mistake_is_told_before_other_seeds_are_trained(parent: RunDirectory) -> None:
    before = sorted(parent.path.parent.parent.glob("*/*"))
    with pytest.raises(ConfigError, match="no head 7"):
        branch(parent.path, 9, do=["freeze:heads=7"], seeds=[40, 41], progress="off")
    assert sorted(parent.path.parent.parent.glob("*/*")) == before


def test_changes_act_from_the_step_on(parent: RunDirectory) -> None:
    [other] = branch(parent.path, 9, changes={"task.m": 1.2, "train.lr": 0.5}, progress="off").branches
    assert other.trajectory["learning_rate"].values == pytest.approx(0.5)
    assert "no action" not in str(other)
    assert "task.m = 1.2, train.lr = 0.5" in str(other)
    assert other.to_json()["changes"] == {"task.m": 1.2, "train.lr": 0.5}
    assert float(other.trajectory["excess_loss"][-1]) != float(other.parent_trajectory["excess_loss"][-1])
    with pytest.raises(ConfigError, match=r"model\.heads: a branch shares this with its parent"):
        branch(parent.path, 9, changes={"model.heads": 4})


def test_more_steps_than_the_parent(parent: RunDirectory) -> None:
    [longer] = branch(parent.path, 20, steps=30, progress="off").branches
    assert int(longer.trajectory.step[-1]) == 30


def test_the_models_that_the_parent_is_compared_with_are_not_trained_again(tmp_path: Path) -> None:
    whole = execute(parent_config(measure__windows=(2,)), tmp_path)
    before = sorted(tmp_path.glob("*window*/*"))
    [found] = branch(whole.path, 9, progress="off").branches
    assert sorted(tmp_path.glob("*window*/*")) == before
    assert len(before) == 1
    assert_continues(RunDirectory(found.run), whole, 9)


def test_the_same_branch_of_other_seeds(parent: RunDirectory) -> None:
    found = branch(parent.path, 9, do=["reset:heads=2"], seeds=[0, 1], progress="off").branches
    assert [one.run.name[-2:] for one in found] == ["s0", "s1"]
    assert found[0].parent == parent.path


def test_what_it_costs_is_said_first(parent: RunDirectory) -> None:
    said: list[str] = []
    branch(parent.path, 7, do=["scale:by=0.9"], notify=said.append, progress="off")
    assert said[0].startswith("branch at step 7: 7 steps are computed again from the beginning, then 15 steps, about")
    branch(parent.path, 7, do=["scale:by=0.9"], notify=said.append, progress="off")
    assert len(said) == 1, "a branch that is over costs nothing"


def test_a_record_that_the_replay_contradicts_is_noticed(parent: RunDirectory, tmp_path: Path) -> None:
    """The parent's config says one seed of its batches, its records come from another."""
    from headwise.study import branch_start

    other = execute(parent_config(seeds__batches=5), tmp_path)
    real = branch_start.stored_config
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(branch_start, "stored_config", lambda run: real(run).changed({"seeds.batches": 6}))
        with pytest.raises(CorruptData, match="computed again, step 3 has the loss"):
            branch_start.state_at(other, 9, notify=lambda line: None)


def test_a_parent_that_is_gone_or_damaged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = execute(parent_config(), tmp_path)
    wanted = branch_config(whole, 9)
    moved = tmp_path / "elsewhere"
    shutil.move(whole.path, moved)
    with pytest.raises(ConfigError, match="which is not below"):
        execute(wanted, tmp_path)
    assert main(["branch", str(whole.path), "--at", "9"]) == 2
    shutil.move(moved, whole.path)
    kept = whole.path / f"checkpoint-{max(whole.checkpoints.steps()):08d}.safetensors"
    before = kept.read_bytes()
    kept.write_bytes(before[:-1] + bytes([before[-1] ^ 1]))
    assert main(["branch", str(whole.path), "--at", str(max(whole.checkpoints.steps())), "-q"]) == 3
    assert kept.name in capsys.readouterr().err.strip().splitlines()[-1]
    kept.write_bytes(before)
    metrics = whole.metrics.path(whole.metrics.ends()[0])
    metrics.write_bytes(metrics.read_bytes()[:-1] + b"x")
    assert main(["branch", str(whole.path), "--at", "9", "-q"]) == 3
    [*_, line] = capsys.readouterr().err.strip().splitlines()
    assert "metrics" in line


MISTAKES = {
    ("--at", "9", "--do", "freeze:heads=7"): "freeze:heads=7: there is no head 7; give one of 1 to 3",
    ("--at", "9", "--do", "freeze:blocks=2"): "freeze:blocks=2: there is no block 2; give one of 1 to 1",
    ("--at", "9", "--do", "clamp:to=group4"): "clamp:to=group4: there is no group 4; give one of 1 to 3",
    ("--at", "9", "--do", "block:groups=5"): "block:groups=5: there is no group 5; give one of 1 to 3",
    ("--at", "99"): "has 22 steps; give one of 0 to 22",
    ("--at", "9", "--do", "frieze"): "there is no action 'frieze'; did you mean freeze?",
    ("--at", "9", "--do", "freeze:head=1"): "freeze has no key 'head'; did you mean heads?",
    ("--at", "9", "--do", "tie", "--until", "9"): "until must come after step 9",
    ("--at", "9", "--do", "reset", "--until", "12"): "no action holds anything that could end there",
    ("--at", "9", "--do", "tie:heads=1"): "heads must name at least two",
    ("--at", "9", "--steps", "5"): "ends before the branch begins at step 9",
    ("--at", "9", "--do", "scale"): "by is missing",
    ("--at", "9", "--do", "scale:by=inf"): "by",
    ("--at", "9", "--do", "perturb:size=0"): "size",
    ("--at", "9", "--do", "perturb:heads=2:size=1:along=head2"): "there is no way towards itself",
    ("--at", "9", "--do", "perturb:part=values:size=1:along=group2"): "is one of attention; drop part=values",
    ("--at", "9", "--do", "copy:1->1"): "head 1 is its own copy already",
    ("--at", "9", "--do", "copy:7->1"): "there is no head 7; give one of 1 to 3",
    ("--at", "9", "--do", "block:lags=11"): "there is no lag 11; give one of 1 to 10",
    ("--at", "9", "--do", "block:lags=1,2,3,4,5,6,7,8,9,10"): "no lag would be left to see",
    ("--at", "9", "--do", "freeze:heads=1-2"): "heads",
    ("--at", "9", "--do", "freeze:heads=0"): "heads",
    ("--at", "-1"): "give one of 0 to 22",
    ("--at", "9", "--do", "tie:heads=1,2", "freeze:heads=1"): "freeze all of them or none",
    ("--at", "9", "--do", "freeze:heads=1", "tie:heads=1,2"): "freeze all of them or none",
    ("--at", "9", "--do", "tie:heads=1,2", "tie:heads=2,3"): "name all heads that stay equal in one tie",
    ("--at", "9", "--do", "tie", "perturb:heads=1:size=0.1"): "put perturb before tie",
}


@pytest.mark.parametrize("given", MISTAKES, ids=" ".join)
def test_a_mistake_is_one_line(
    given: tuple[str, ...], parent: RunDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(parent.path.parent.parent.glob("*/*"))
    assert main(["branch", str(parent.path), *given]) == 2
    [line] = capsys.readouterr().err.strip().splitlines()
    assert MISTAKES[given] in line
    assert sorted(parent.path.parent.parent.glob("*/*")) == before


GIVEN_IN_PYTHON: dict[str, tuple[dict[str, object], str]] = {
    "step in quotes": ({"at": "9"}, "at = '9' must be a step, a whole number"),
    "no step": ({"at": None}, "at = None must be a step, a whole number"),
    "half a step": ({"at": 9.5}, "at = 9.5 must be a step, a whole number"),
    "truth for a step": ({"at": True}, "at = True must be a step, a whole number"),
    "a float until": ({"at": 9, "do": ["tie"], "until": 12.5}, "until = 12.5 must be a step, a whole number"),
    "steps in quotes": ({"at": 9, "steps": "12"}, "steps = '12' must be a step, a whole number"),
    "one action": ({"at": 9, "do": "tie"}, "do = 'tie' must be a list of actions, such as ['tie']"),
    "no text": ({"at": 9, "do": [1]}, "do = [1] must be a list of actions in words"),
    "a pair": ({"at": 9, "do": [("freeze", "heads=1")]}, "must be a list of actions in words"),
    "no list": ({"at": 9, "do": None}, "do = None must be a list of actions in words"),
    "two ends": ({"at": 9, "steps": 12, "changes": {"train": {"steps": 15}}}, "both say where the branch ends"),
}


@pytest.mark.parametrize("mistake", GIVEN_IN_PYTHON)
def test_what_only_python_can_give_is_one_line_too(mistake: str, parent: RunDirectory) -> None:
    given, said = GIVEN_IN_PYTHON[mistake]
    before = sorted(parent.path.parent.parent.glob("*/*"))
    with pytest.raises(ConfigError) as error:
        branch(parent.path, progress="off", **given)  # type: ignore[arg-type]
    assert said in str(error.value)
    assert "\n" not in str(error.value)
    assert sorted(parent.path.parent.parent.glob("*/*")) == before


def test_a_step_of_a_trajectory_is_a_step(parent: RunDirectory) -> None:
    """What is read from `trajectory["step"]` is a number of numpy's, which JSON does not know."""
    [found] = branch(parent.path, np.int64(9), do=["tie"], until=np.int64(12), steps=np.int64(15)).branches  # type: ignore[arg-type]
    assert json.loads(json.dumps(found.to_json()))["step"] == 9
    assert found.actions == ("tie:until=12",)
    assert int(found.trajectory["step"].values[-1]) == 15


def test_the_command(parent: RunDirectory, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["branch", str(parent.path), "--at", "9", "--do", "freeze:heads=1,2:part=values", "--json", "-q"]
    assert main(command) == 0
    [first] = json.loads(capsys.readouterr().out)["branches"]
    assert first["actions"] == ["freeze:heads=1,2:part=values"]
    assert (first["step"], first["last_step"]) == (9, 22)
    stored = RunDirectory(first["run"]).read_config()["branch"]
    assert stored["step"] == 9
    assert stored["actions"] == first["actions"]
    assert main(command) == 0
    assert json.loads(capsys.readouterr().out)["branches"] == [first]


def test_a_run_that_is_no_branch_is_written_as_before(parent: RunDirectory) -> None:
    assert "branch" not in parent.read_config()
    assert "branch" not in tiny().model_dump(mode="json")
