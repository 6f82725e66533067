"""The judged curves of a claim as a small sketch for its row of the page, kept beside the verdicts.

`sketches.json` holds the sketches of every command that wrote into a folder, so that the page of a later command still
shows those of an earlier one. A sketch is thinned to a few dozen places: the figures have the whole curves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from headwise.core.errors import HeadwiseError
from headwise.core.foreign_text import parse_json, read_foreign
from headwise.core.predictors import SUBSCRIPTS, predictor_label, predictor_order, predictors_of_kind
from headwise.paper.entry import HEADS, Claim
from headwise.paper.folder import locked, write_json
from headwise.paper.plan import Plan
from headwise.paper.runs import load_seed
from headwise.view.report import Sketch, SketchCurve

if TYPE_CHECKING:
    import xarray as xr

SCHEMA = 1
NAME = "sketches.json"
PLACES = 61
"""Places of a sketch, evenly over the run."""

MOST = 6
"""Curves of a sketch; more cannot be told apart in a row."""


@dataclass(frozen=True)
class Kept:
    """A sketch with the verdict that it belongs to."""

    claim: str
    preset: str
    scale: str
    sketch: Sketch


Runs = dict[str, "xr.Dataset"]


def distances(runs: Runs) -> Sketch | None:
    """How far the run is from the best predictors b_i of the first i groups, by which stages are judged.

    A run that was not compared with them shows its distances to f_{A_1:i}.
    """
    run = next(iter(runs.values()))
    if "kl" not in run:
        return None
    names = run["predictor"].values
    if best := predictors_of_kind(names, "bayes"):
        shown = {name: f"b{predictor_order(name)}".translate(SUBSCRIPTS) for name in best}
        return _to_predictors(run, shown, title="KL from the best predictor of the first groups")
    return _to_predictors(run, _labels(predictors_of_kind(names, "prefix")))


def to_contexts(runs: Runs) -> Sketch | None:
    """How far the run is from trained models of restricted context, and from the exact law."""
    run = next(iter(runs.values()))
    contexts = predictors_of_kind(run["predictor"].values, "window") if "kl" in run else []
    return _to_predictors(run, _labels(contexts)) if contexts else distances(runs)


def on_first_group(runs: Runs) -> Sketch | None:
    """Attention of every head on I(1): heads compete for it, and then leave it."""
    return _heads(runs, "attention on I(1)", lambda shares: shares[:, :, 0])


def on_own_group(runs: Runs) -> Sketch | None:
    """Attention of every head on the group that it looks at most in the end."""
    return _heads(
        runs,
        "attention on its group at the end",
        lambda shares: np.take_along_axis(shares, shares[-1].argmax(-1)[None, :, None], axis=2)[..., 0],
    )


def losses(runs: Runs) -> Sketch | None:
    """Excess losses of all runs of the claim, on the steps of the shortest."""
    if any("excess_loss" not in run for run in runs.values()):
        return None
    curves = {name: (run["step"].values.astype(float), run["excess_loss"].values) for name, run in runs.items()}
    return _sketch("excess loss", curves, colour="head", unit="nats")


KINDS: dict[str, Callable[[Runs], Sketch | None]] = {
    "windows": to_contexts,
    "early-stop-ample": to_contexts,
    "specialisation": on_own_group,
    "specialisation-full": on_own_group,
    "extra-heads": on_own_group,
    "gauge": on_own_group,
    "joint": on_own_group,
    "joint-full": on_own_group,
    "overfit-structure": on_own_group,
    "uniform-start": on_first_group,
    "uniform-start-full": on_first_group,
    "diagonal": on_own_group,
}
"""Claims whose curves do not follow from what they concern."""


def sketch_of(claim: Claim, runs: Runs) -> Sketch | None:
    """The curves that a claim is about; nothing for claims without runs or whose runs do not have them.

    Claims about heads alone show the heads, others the distances of one run or the losses of several.
    """
    if not runs:
        return None
    if claim.name in KINDS:
        return KINDS[claim.name](runs)
    if claim.concerns == HEADS:
        return on_first_group(runs)
    return distances(runs) if len(runs) == 1 else losses(runs)


def sketch_all(plan: Plan) -> list[Kept]:
    """Sketches of the first seed that can be read, for every claim of the plan under every reading."""
    found = []
    for entry, preset in plan.pairs():
        if not isinstance(entry, Claim) or not entry.experiments:
            continue
        for seed in plan.seeds_of(entry, preset):
            runs = load_seed(entry.configs(preset, plan.scale, seed), plan.out)
            if isinstance(runs, str):
                continue
            if (sketch := sketch_of(entry, runs)) is not None:
                found.append(Kept(entry.name, preset, plan.scale, sketch))
            break
    return found


def add_sketches(new: Sequence[Kept], into: Path) -> list[Kept]:
    """Enter sketches into a folder's file and return all that it then holds."""
    replaced = {(one.claim, one.preset, one.scale) for one in new}
    with locked(into):
        kept = [one for one in read_sketches(into) if (one.claim, one.preset, one.scale) not in replaced]
        kept += new
        write_json(into / NAME, {"schema": SCHEMA, "sketches": [asdict(one) for one in kept]})
    return kept


def read_sketches(into: Path) -> list[Kept]:
    """The sketches of a folder; nothing where there are none."""
    path = into / NAME
    if not path.exists():
        return []
    try:
        return [
            Kept(item["claim"], item["preset"], item["scale"], _read_sketch(item["sketch"]))
            for item in parse_json(read_foreign(path))["sketches"]
        ]
    except (ValueError, TypeError, KeyError) as error:
        raise HeadwiseError(f"{path} is not a file of sketches ({error}); move it away") from None


def _read_sketch(item: dict[str, object]) -> Sketch:
    given = dict(item)
    curves = tuple(
        SketchCurve(curve["name"], curve["colour"], int(curve["index"]), tuple(map(float, curve["y"])))
        for curve in given.pop("curves")  # type: ignore[attr-defined]
    )
    places = tuple(map(float, given.pop("x")))  # type: ignore[call-overload]
    return Sketch(curves=curves, x=places, **given)  # type: ignore[arg-type]


def _labels(names: Sequence[str]) -> dict[str, str]:
    return {name: predictor_label(name, "unicode") for name in names}


def _to_predictors(run: xr.Dataset, names: dict[str, str], *, title: str = "KL from") -> Sketch | None:
    steps = run["step"].values.astype(float)
    curves = {label: (steps, run["kl"].sel(predictor=name).values) for name, label in names.items()}
    return _sketch(title, curves, colour="group", unit="nats")


def _heads(runs: Runs, title: str, read: Callable[[np.ndarray], np.ndarray]) -> Sketch | None:
    run = next(iter(runs.values()))
    if "attention_by_group" not in run:
        return None
    shares = run["attention_by_group"].isel(block=-1).transpose("step", "head", "group").values
    values, steps = read(shares), run["step"].values.astype(float)
    curves = {f"head {head + 1}": (steps, values[:, head]) for head in range(values.shape[1])}
    return _sketch(title, curves, colour="head", top=1.0)


def _sketch(
    title: str,
    curves: dict[str, tuple[np.ndarray, np.ndarray]],
    *,
    colour: str,
    unit: str = "",
    top: float | None = None,
) -> Sketch | None:
    """Curves on common places up to the end of the shortest; nothing where a curve has no finite number."""
    shown = dict(list(curves.items())[:MOST])
    if not shown or any(not np.isfinite(values).any() for _, values in shown.values()):
        return None
    places = np.linspace(0.0, min(steps[-1] for steps, _ in shown.values()), PLACES)
    drawn = []
    for index, (name, (steps, values)) in enumerate(shown.items(), start=1):
        finite = np.isfinite(values)
        y = np.interp(places, steps[finite], values[finite])
        drawn.append(SketchCurve(name, "group" if colour == "group" else "head", index, _short(y)))
    return Sketch(title, "step", _short(places), tuple(drawn), unit, top)


def _short(values: np.ndarray) -> tuple[float, ...]:
    """Four digits: more cannot be seen."""
    return tuple(float(f"{value:.4g}") for value in values)
