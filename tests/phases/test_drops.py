"""Drops of a loss without a lower end: against curves whose drops are known, and against curves that only slow down."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lag_runs import STEPS, falling, lag_run, ramp

from headwise.core.trajectory import assemble
from headwise.phases.config import DEFAULT
from headwise.phases.detection import detect
from headwise.phases.drops import find_drops
from headwise.phases.loss import read_loss, read_loss_source
from headwise.phases.loss_source import LossSource
from headwise.phases.plateaus import find_plateaus
from headwise.phases.series import Series, noise_level


def drops(loss: np.ndarray, steps: np.ndarray = STEPS) -> list[tuple[float, tuple[float, float]]]:
    noise = float(noise_level(loss[:, None])[0])
    return [(d.middle, d.interval) for d in find_drops(Series(steps, loss), noise, DEFAULT) if d.framed]


@settings(max_examples=60, deadline=None)
@given(
    rates=st.lists(st.floats(0.2, 300), min_size=1, max_size=4),
    weights=st.lists(st.floats(0.05, 1), min_size=4, max_size=4),
    floor=st.floats(0, 2),
)
def test_what_only_slows_down_has_no_drop(rates: list[float], weights: list[float], floor: float) -> None:
    """Mixtures of decaying exponentials are convex, with or without the logarithm."""
    time = STEPS / STEPS[-1]
    assert drops(floor + sum(w * np.exp(-r * time) for r, w in zip(rates, weights, strict=False))) == []


@settings(max_examples=40, deadline=None)
@given(
    places=st.lists(st.floats(150, 850), min_size=1, max_size=3).filter(
        lambda p: len(p) == 1 or np.diff(sorted(p)).min() > 150
    ),
    falls=st.lists(st.floats(0.1, 1), min_size=3, max_size=3),
    descent=st.floats(0, 1),
)
def test_drops_are_found_where_they_are(places: list[float], falls: list[float], descent: float) -> None:
    loss = 3 + descent * np.exp(-STEPS / 20)
    for place, fall in zip(sorted(places), falls, strict=False):
        loss = loss - fall * ramp(place, width=50)
    found = drops(loss)
    assert len(found) == len(places)
    for (middle, (low, high)), place in zip(found, sorted(places), strict=True):
        assert middle == pytest.approx(place, abs=15)
        assert low <= place <= high


@pytest.mark.parametrize("sigma", [0.002, 0.02])
def test_noise_is_no_drop(sigma: float) -> None:
    rng = np.random.default_rng(0)
    slow = [np.exp(-STEPS / 100), (1 + STEPS / 10) ** -0.5, 0 * STEPS]
    false = [bool(drops(3 + shape + sigma * rng.normal(size=len(STEPS)))) for shape in slow for _ in range(40)]
    assert np.mean(false) <= 0.05


def test_the_wobble_of_an_optimiser_is_no_stage() -> None:
    """A loss that falls steadily and wobbles more and more, looked at ever less often."""
    steps = np.unique(np.geomspace(1, 600, 90).round())
    invented = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        wobble = np.convolve(rng.normal(size=601), np.ones(25) / 5, mode="same")[steps.astype(int)]
        invented.append(bool(drops(3.4 - 1.2 * steps / 600 + 0.05 * np.sqrt(steps / 600) * wobble, steps)))
    assert np.mean(invented) <= 0.1


def test_a_run_that_ends_while_the_loss_falls_does_not_end_a_stage() -> None:
    report = detect(lag_run([[{}, {}]], loss=falling(400, 990)))
    assert report.loss.boundaries == pytest.approx((400,), abs=15)
    (item,) = report.undecided
    assert (item.what, item.block, item.head) == ("a drop of the loss of its own", None, None)
    assert "falling fast at the end" in item.reason
    assert item.step == pytest.approx(990, abs=20)
    assert report.to_json()["undecided"][0]["reason"] == item.reason


def test_a_drop_right_after_another_one_cannot_be_told_from_it() -> None:
    report = detect(lag_run([[{}, {}]], loss=falling(400, 480)))
    assert report.loss.boundaries == pytest.approx((400,), abs=15)
    (item,) = report.undecided
    assert item.step == pytest.approx(480, abs=15)
    assert "both may be one" in item.reason
    assert f"cannot tell: {item.what} at" in " ".join(str(report).split())


@pytest.mark.parametrize("place", [3, 10, 40])
@pytest.mark.parametrize("height", [0.5, 3.0])
def test_a_single_spike_on_a_falling_loss_is_no_drop(place: int, height: float) -> None:
    """A running median would put the spike on its neighbour, which makes a step on a steep slope."""
    loss = 1 + 4 * np.exp(-STEPS / 150)
    loss[place] += height
    assert drops(loss) == []


@pytest.mark.parametrize("height", [-1.9, 10.0])
def test_a_spike_where_a_drop_begins_makes_no_plateau_less_flat(height: float) -> None:
    """The drop is found without it, but its size was taken from what was measured there."""
    steps = np.arange(100.0)
    curve = 1 + 2 / (1 + np.exp((steps - 50) / 3)) - 0.002 * steps
    curve += 0.02 * np.random.default_rng(0).normal(size=len(steps))

    def scores(values: np.ndarray) -> list[float]:
        source = LossSource(Series(steps, values[:, None]), float(noise_level(values[:, None])[0]), False, ())
        return [stage.score for stage in read_loss_source(source, DEFAULT).stages]

    spiked = curve.copy()
    spiked[42] += height
    (drop,) = find_drops(Series(steps, spiked), float(noise_level(spiked[:, None])[0]), DEFAULT)
    assert drop.first == 42, "otherwise this tests nothing"
    assert scores(spiked) == pytest.approx(scores(curve), abs=0.03)


def test_an_excess_loss_that_rests_nowhere_is_read_by_its_drops() -> None:
    """From a large start the loss falls all the time, at a rate that rises and sinks again twice."""
    faster = 0.006 * np.exp(-(((STEPS - 145) / 30) ** 2)) + 0.006 * np.exp(-(((STEPS - 300) / 40) ** 2))
    excess = 0.09 + 1.9 * np.exp(-STEPS / 30) + 1.5 * np.exp(-10 * np.cumsum(0.004 + faster))
    found = read_loss(STEPS, excess, DEFAULT)
    assert len(find_plateaus(Series(STEPS, excess[:, None]), DEFAULT)) == 1
    assert found.boundaries == pytest.approx((145, 300), abs=25)
    assert read_loss(STEPS, 7 * excess, DEFAULT).boundaries == pytest.approx(found.boundaries)
    assert read_loss(STEPS, np.exp(-STEPS / 100) + 0.02, DEFAULT).stages == ()


def test_no_drop_is_no_stage_and_no_agreement() -> None:
    report = detect(lag_run([[{3: 0.8 * ramp(20)}, {3: 0.8 * ramp(20)}]], loss=3 * np.exp(-STEPS / 200)))
    assert report.loss.stages == ()
    assert report.loss.possible
    assert report.agreement.agrees is None
    assert any("no stage found" in note for note in report.notes)
    assert "before anything is learned" not in str(report)
    assert "agree" not in str(report)


def split_run(**losses: np.ndarray) -> dict[str, np.ndarray]:
    return {name: np.asarray(values, dtype=float) for name, values in losses.items()}


def boundaries(losses: dict[str, np.ndarray], **more: np.ndarray) -> tuple[float, ...]:
    run = assemble({"loss": np.stack(list(losses.values()), axis=1), **more}, {"step": STEPS, "split": list(losses)})
    return detect(run).loss.boundaries


def test_validation_is_read_before_the_looks_batch_before_training() -> None:
    losses = split_run(train=falling(200), look=falling(500), validation=falling(800))
    assert boundaries(losses) == pytest.approx((800,), abs=15)
    losses["validation"][:] = np.nan
    assert boundaries(losses) == pytest.approx((500,), abs=15)
    losses["look"][:] = np.nan
    assert boundaries(losses) == pytest.approx((200,), abs=15)


def test_a_training_mean_belongs_to_the_middle_of_its_interval() -> None:
    times = (STEPS - 50)[:, None]
    assert boundaries(split_run(train=falling(500)), loss_time=times) == pytest.approx((450,), abs=15)


def test_a_training_mean_is_as_noisy_as_its_standard_error_says() -> None:
    """A drop of one standard error is none, however smooth the curve happens to be."""
    curve = split_run(train=falling(500, noise=0))
    spread, count = np.full((len(STEPS), 1), 5.0), np.full((len(STEPS), 1), 100.0)
    assert boundaries(curve, loss_spread=spread / 1000, loss_count=count) == pytest.approx((500,), abs=15)
    assert boundaries(curve, loss_spread=spread, loss_count=count) == ()


def test_a_loss_that_is_only_logged_now_and_then_is_not_read_twice() -> None:
    """Logged every 300 steps and held between: four values are too few for stages, whatever plateaus they make."""
    held = falling(60)[(STEPS // 300).astype(int) * 30]
    run = assemble({"loss": held[:, None]}, {"step": STEPS, "split": ["train"]})
    report = detect(run)
    assert report.loss.stages == ()
    assert any("too few" in note for note in report.notes)
