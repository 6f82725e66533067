"""Claims about the regression flow: they hold of the flow, and of no made-up flow that lacks what is claimed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from headwise.flow import overlay as overlay_module
from headwise.flow.alignment import aligned_deviations
from headwise.flow.config import FlowConfig
from headwise.flow.heads import Heads
from headwise.flow.overlay import Overlay
from headwise.flow.simulate import SolvedFlow, solve_flow
from headwise.flow.solve import Solution
from headwise.flow.target import build_target
from headwise.paper.claims import flow, flow_heads
from headwise.paper.entry import Case

HEAD_CLAIMS = {claim.name: claim for claim in flow_heads.CLAIMS}
CASE = Case("published", "quick", 0, {})
STRENGTHS = np.array([2.89, 1.7, 1.0])
POSITIONS = 40


def step(t: np.ndarray, at: float) -> np.ndarray:
    """From zero to one around a time, on a logarithmic clock."""
    return 1 / (1 + (at / np.maximum(t, 1e-9)) ** 6)


def made(values: Callable[[np.ndarray], np.ndarray], shares: Callable[[np.ndarray], np.ndarray]) -> SolvedFlow:
    """A flow of given values (t, 3, 3) and attention on positions 1 to 3 (t, 3, 3); the rest is spread evenly."""
    config = FlowConfig()
    target = build_target(config, 0)

    def heads_at(y: np.ndarray) -> Heads:
        t = y[:, 0]
        seen = shares(t)
        rest = np.repeat(((1 - seen.sum(-1)) / (POSITIONS - 3))[..., None], POSITIONS - 3, -1)
        return Heads(target, values(t), np.concatenate([seen, rest], -1), np.zeros((len(t), 3, 3)))

    steps = np.concatenate([[0.0], np.geomspace(0.1, 3000, 4000)])
    return SolvedFlow(config, target, Solution(steps, steps[:, None], lambda times: times[:, None]), heads_at)


def specialised() -> SolvedFlow:
    """Head k has position k and feature k alone from the beginning."""

    def grown(t: np.ndarray) -> np.ndarray:
        return np.stack([step(t, at) for at in (10.0, 100.0, 1000.0)], -1)[..., None] * np.eye(3)

    return made(lambda t: grown(t) * STRENGTHS, lambda t: 1 / POSITIONS + 0.9 * grown(t))


def together() -> SolvedFlow:
    """Every head takes up a third of everything at once."""

    def grown(t: np.ndarray) -> np.ndarray:
        return np.repeat(step(t, 100.0)[:, None, None], 3, 1)

    def values(t: np.ndarray) -> np.ndarray:
        return grown(t) * STRENGTHS[None, None]

    def shares(t: np.ndarray) -> np.ndarray:
        return np.repeat(1 / POSITIONS + (1 / 3 - 1 / POSITIONS) * grown(t), 3, -1)

    return made(values, shares)


@pytest.fixture(scope="module")
def real() -> SolvedFlow:
    return solve_flow(FlowConfig(start="B", t_end=3000.0))


def judged(name: str, given: SolvedFlow, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(flow_heads, "solved", lambda config, seed: given)
    return HEAD_CLAIMS[name].judge(CASE)


@pytest.mark.parametrize("name", HEAD_CLAIMS)
def test_the_flow_without_random_numbers_does_what_is_claimed(
    name: str, real: SolvedFlow, monkeypatch: pytest.MonkeyPatch
) -> None:
    judgement = judged(name, real, monkeypatch)
    assert judgement.passed is True, judgement
    limit = HEAD_CLAIMS[name].limit
    assert limit is not None
    assert judgement.measured is not None
    assert limit.holds(judgement.measured)


@pytest.mark.parametrize("name", HEAD_CLAIMS)
@pytest.mark.parametrize("control", [specialised, together])
def test_no_made_up_flow_passes(name: str, control: Callable[[], SolvedFlow], monkeypatch: pytest.MonkeyPatch) -> None:
    assert judged(name, control(), monkeypatch).passed is not True


def test_a_flow_that_stops_early_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    short = solve_flow(FlowConfig(start="B", t_end=200.0))
    for name in HEAD_CLAIMS:
        judgement = judged(name, short, monkeypatch)
        assert judgement.passed is None
        assert "not all reached" in judgement.note


def test_numbers_of_the_flow_without_random_numbers(real: SolvedFlow, monkeypatch: pytest.MonkeyPatch) -> None:
    """Recomputed from attention and values at the times that the notes name."""
    ratio = judged("flow-competition", real, monkeypatch)
    middle = np.sqrt(21.742 * 167.452)
    attention = real.heads(np.array([middle])).attention[0]
    assert ratio.measured == pytest.approx((attention[:, 0] / np.sort(attention[:, 1:], -1)[:, -1]).min(), rel=1e-3)
    loss = judged("flow-exchange", real, monkeypatch)
    assert "head 3 goes" in loss.note, "head 3 leaves first"
    assert "; head 1 goes" in loss.note
    rest = judged("flow-values-first", real, monkeypatch)
    assert rest.measured is not None
    assert rest.measured < 0.25


def shifted_overlay(shift: float, *, end: float = 100.0) -> Overlay:
    """A theory that is the flow itself, later by `shift`."""
    times = np.linspace(0, end, 1001)

    def curve(t: np.ndarray) -> np.ndarray:
        grown = 1 / (1 + np.exp(-(t - 40) / 3))
        return np.stack([np.stack([1 - grown, grown], -1), np.stack([np.ones_like(t), 0 * t], -1)], 1)

    return Overlay(2, "printed", times, curve(times), curve(times), curve(times - shift), curve(times - shift), 0)


@pytest.mark.parametrize("shift", [-13.0, 0.0, 8.5])
def test_clocks_set_alike_forgive_a_shift_and_nothing_else(shift: float) -> None:
    found = shifted_overlay(shift)
    aligned = aligned_deviations(found, strength=1.0, until=80.0)
    assert aligned is not None
    assert aligned.shift == pytest.approx(-shift, abs=1e-3)
    assert max(aligned.attention, aligned.value) < 1e-3
    if shift:
        assert found.attention_deviation > 0.5
    wrong = Overlay(**{**vars(found), "theory_alignment": found.theory_alignment + 0.3})
    again = aligned_deviations(wrong, strength=1.0, until=80.0)
    assert again is not None
    assert again.value > 0.25


def test_a_theory_that_never_learns_or_is_shifted_away_is_not_near() -> None:
    found = shifted_overlay(0.0)
    idle = Overlay(**{**vars(found), "theory_alignment": 0 * found.theory_alignment})
    assert aligned_deviations(idle, strength=1.0, until=80.0) is None
    late = shifted_overlay(-39.0)
    assert aligned_deviations(late, strength=1.0, until=60.0) is None


def test_an_overlay_is_cut_at_a_time() -> None:
    found = shifted_overlay(5.0)
    cut = found.until(30.0)
    assert cut.times[-1] == pytest.approx(30.0)
    assert len(cut.flow_attention) == len(cut.theory_alignment) == len(cut.times)


def test_a_theory_that_traces_the_flow_would_pass(monkeypatch: pytest.MonkeyPatch, real: SolvedFlow) -> None:
    """The judge with the flow itself for a theory, and with values that are off alone."""
    plain = overlay_module.overlay
    off = 0.0

    def perfect(solved_flow: SolvedFlow, **given):
        found = plain(solved_flow, **{**given, "theory": "two-group"})
        assert found is not None
        return Overlay(
            **{
                **vars(found),
                "theory_attention": found.flow_attention,
                "theory_alignment": found.flow_alignment + off,
            }
        )

    monkeypatch.setattr(overlay_module, "overlay", perfect)
    monkeypatch.setattr(flow, "solved", lambda config, seed: real)
    monkeypatch.setattr(flow, "EPSILONS", (0.005,))
    flow._theory.cache_clear()
    assert flow.judge_theory(CASE).passed is True
    off = 0.2 * STRENGTHS[0]
    flow._theory.cache_clear()
    judgement = flow.judge_theory(CASE)
    assert judgement.passed is False
    assert judgement.measured == pytest.approx(0.2)
    flow._theory.cache_clear()
