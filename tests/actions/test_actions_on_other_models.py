"""Actions on models with learned streams, output matrices, several blocks and relative positions."""

from __future__ import annotations

import math

import pytest
import torch
from branched_runs import STARTED, advanced, branched
from tests.conftest import tiny

from headwise.core.errors import ConfigError
from headwise.model.decoder import Attention
from headwise.store import Checkpoint
from headwise.study.config import RunConfig
from headwise.study.prepared_run import PreparedRun
from headwise.training.passes import drops

BEGIN, STEPS = 3, 6

MODELS: dict[str, dict[str, object]] = {
    "full": {},
    "two blocks": {"model__blocks": 2},
    "relative": {"name": "minimal", "model__positions": "relative"},
    "product": {"name": "minimal", "model__score": "product"},
}


def run_config(model: str, path: str, *, steps: int = BEGIN + STEPS) -> RunConfig:
    given = {"name": "full", **MODELS[model]}
    name = str(given.pop("name"))
    return tiny(name, train__steps=steps, compute__path=path, compute__dtype="float64", **{**STARTED, **given})


def branch_of(model: str, begun: dict[str, Checkpoint], action: str, path: str) -> PreparedRun:
    return branched(run_config(model, path), begun[model], (action,))


@pytest.fixture(scope="module")
def begun() -> dict[str, Checkpoint]:
    return {name: advanced(PreparedRun(run_config(name, "reference", steps=BEGIN), {})).state() for name in MODELS}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    "action", ["freeze:heads=1", "tie:heads=1,2", "ablate:heads=2", "copy:1->3", "perturb:size=0.01"]
)
def test_torch_and_reference_agree(model: str, action: str, begun: dict[str, Checkpoint]) -> None:
    found = [branch_of(model, begun, action, path).state().arrays for path in ("torch", "reference")]
    for name, array in found[0].items():
        assert array == pytest.approx(found[1][name], abs=1e-9), name


@pytest.mark.parametrize("model", ["full", "two blocks"])
@pytest.mark.parametrize("action", ["clamp:heads=2:to=group2:blocks=1", "block:heads=2:groups=1:blocks=1"])
def test_the_reference_is_steered_where_no_weights_do_it(
    model: str, action: str, begun: dict[str, Checkpoint], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Against the decoder with its own softmax replaced by hand, under torch's own optimiser."""
    with pytest.raises(ConfigError, match="reference path"):
        branch_of(model, begun, action, "torch")
    found = branch_of(model, begun, action, "reference")
    plain = PreparedRun(run_config(model, "reference"), {})
    plain.restore(begun[model])
    positions = plain.engine.decoder.positions
    lag = torch.arange(positions)[:, None] + 1 - torch.arange(positions)[None]
    own_pattern = Attention.pattern

    def pattern(self: Attention, x: torch.Tensor, queries: int) -> torch.Tensor:
        if self.block != 0:
            return own_pattern(self, x, queries)
        scores, rows = self.scores(x, queries), lag[-queries:]
        blocked = (rows == 1) | (rows == 2)
        alone = (rows >= 1).sum(-1, keepdim=True) <= 2
        if action.startswith("block"):
            scores[:, 1] = scores[:, 1].masked_fill(blocked & ~alone, -math.inf)
        weights = scores.masked_fill(rows < 1, -math.inf).softmax(-1)
        if action.startswith("clamp"):
            wanted = ((rows == 3) | (rows == 4)).double()
            none = wanted.sum(-1, keepdim=True) == 0
            wanted = torch.where(none, (rows >= 1).double(), wanted)
            weights = torch.cat(
                [weights[:, :1], (wanted / wanted.sum(-1, keepdim=True)).expand_as(weights[:, :1]), weights[:, 2:]], 1
            )
        return weights

    monkeypatch.setattr(Attention, "pattern", pattern)
    for _ in range(STEPS):
        advance_one(plain)
    for (name, mine), (_, wanted) in zip(
        found.engine.decoder.named_parameters(), plain.engine.decoder.named_parameters(), strict=True
    ):
        assert float((mine - wanted).detach().abs().max()) < 1e-6, name


def advance_one(plain: PreparedRun) -> None:
    step = plain.training.step
    inputs, targets = plain.rows(step)
    plain.engine.loss_and_gradients(inputs, targets, step=step, dropout=drops(plain.config.train, step))
    torch.nn.utils.clip_grad_norm_(plain.engine.decoder.parameters(), plain.config.train.clip)
    plain.training.optimiser.step()
    plain.training.step += 1


def test_a_mean_head_writes_its_mean_on_the_reference(begun: dict[str, Checkpoint]) -> None:
    """With every head at its mean, the output of attention is one vector for all sequences and positions."""
    found = branch_of("full", begun, "ablate:put=mean", "reference")
    assert found.held is not None
    seen: list[torch.Tensor] = []
    attention = found.engine.decoder.layers[0].attention
    hook = attention.register_forward_hook(lambda module, given, result: seen.append(result[0].detach()))
    with found.held.overriding(), torch.no_grad():
        found.engine.decoder(torch.from_numpy(found.test)[:, :-1], 5)
    hook.remove()
    assert float((seen[0] - seen[0][:1, :1]).abs().max()) < 1e-12
    with torch.no_grad():
        before = PreparedRun(run_config("full", "reference"), {})
        before.restore(begun["full"])
        x = (
            before.engine.decoder.token_table()[torch.from_numpy(before.test)[:, :-1]]
            + before.engine.decoder.position_table()
        )
        layer = before.engine.decoder.layers[0]
        y, _ = layer.attention(x, 5, None)
    assert seen[0][0, 0].numpy() == pytest.approx(y.mean((0, 1)).numpy(), abs=1e-9)


@pytest.mark.parametrize("action", ["clamp:heads=2:to=group2", "clamp:heads=2:to=uniform", "block:heads=1:groups=1"])
def test_relative_positions_on_two_paths(action: str, begun: dict[str, Checkpoint]) -> None:
    found = [branch_of("relative", begun, action, path) for path in ("torch", "reference")]
    for (name, mine), (_, wanted) in zip(*(one.engine.decoder.named_parameters() for one in found), strict=True):
        assert float((mine - wanted).detach().abs().max()) < 1e-9, name
    measured = found[0].evaluator.measure(batch_loss=1.0, rate=0.1).variables["attention_by_group"][0]
    if "group2" in action:
        assert measured[1] == pytest.approx([0, 1, 0], abs=1e-9)
    if "block" in action:
        assert measured[0, 0] == pytest.approx(0, abs=1e-9)


def test_a_product_of_matrices_is_clamped_on_the_torch_path(begun: dict[str, Checkpoint]) -> None:
    found = branch_of("product", begun, "clamp:heads=2:to=group2", "torch")
    measured = found.evaluator.measure(batch_loss=1.0, rate=0.1).variables["attention_by_group"][0]
    assert measured[1] == pytest.approx([0, 1, 0], abs=1e-9)


@pytest.mark.parametrize(
    ("given", "same"),
    [
        (("ablate:heads=2:put=mean", "ablate:heads=2:put=mean"), ("ablate:heads=2:put=mean",)),
        (("ablate:heads=2:put=mean", "ablate:heads=2"), ("ablate:heads=2",)),
        (("clamp:heads=2:to=group1", "clamp:heads=2:to=group3"), ("clamp:heads=2:to=group3",)),
        (("block:heads=2:groups=1", "block:heads=2:groups=2"), ("block:heads=2:groups=1,2",)),
        (tuple(f"block:heads=2:groups={group}" for group in (1, 2, 3)), ("block:heads=2:groups=1,2,3",)),
        (("clamp:heads=2:to=group1", "block:heads=2:lags=1"), ("block:heads=2:lags=1", "clamp:heads=2:to=group1")),
    ],
)
@pytest.mark.parametrize("model", ["full", "two blocks", "relative"])
def test_two_actions_on_one_head(
    model: str, given: tuple[str, ...], same: tuple[str, ...], begun: dict[str, Checkpoint]
) -> None:
    """Where the reference is steered and where weights have the effect: the later counts, masks add up."""
    found = [branched(run_config(model, "reference"), begun[model], actions) for actions in (given, same)]
    plain = branched(run_config(model, "reference"), begun[model], ())
    moved = 0.0
    for (name, mine), (_, wanted), (_, without) in zip(
        *(one.engine.decoder.named_parameters() for one in (*found, plain)), strict=True
    ):
        assert torch.isfinite(mine).all(), name
        assert float((mine - wanted).detach().abs().max()) < 1e-12, name
        moved = max(moved, float((mine - without).detach().abs().max()))
    assert moved > 1e-6, "this case tests nothing"


def test_a_masked_pattern_on_two_paths_of_relative_positions(begun: dict[str, Checkpoint]) -> None:
    """Lag 1 of group 1 masked: queries that see the other lag look there, and none at lag 1."""
    actions = ("clamp:heads=2:to=group1", "block:heads=2:lags=1")
    found = [branched(run_config("relative", path), begun["relative"], actions) for path in ("torch", "reference")]
    for one in found:
        by_lag = one.evaluator.measure(batch_loss=1.0, rate=0.1).variables["attention_by_lag"][0, 1]
        assert by_lag[:2] == pytest.approx([0, 1], abs=1e-9)
    for (name, mine), (_, wanted) in zip(*(one.engine.decoder.named_parameters() for one in found), strict=True):
        assert float((mine - wanted).detach().abs().max()) < 1e-9, name
