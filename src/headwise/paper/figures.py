"""Every figure and table of the paper as a composition of panels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from headwise.core.predictors import predictors_of_kind
from headwise.paper.claims.architecture import LADDER
from headwise.paper.entry import Evidence, Figure
from headwise.paper.flows import OVERLAID, flow_config, solved
from headwise.paper.quantities import best_index, judge_order, prefixes
from headwise.view.learning import (
    best_loss_panel,
    divergence_panel,
    excess_panel,
    head_panels,
    loss_panel,
    map_row,
)
from headwise.view.panels import Curve, Grid, Panel, Sheet
from headwise.view.style import LINES, head_colour

if TYPE_CHECKING:
    import xarray as xr

KL_TITLE = "KL from each predictor to the model"
U_LABELS = {"init-xavier": "Xavier", "init-1e-3": "$u=10^{-3}$", "init-1e-6": "$u=10^{-6}$", "minimal": "$u=10^{-9}$"}
SHOWN_FROM = 0.5
"""Time from which a flow is drawn on a logarithmic axis; nothing happens before."""

SIZES = {600: "samples-600", 2000: "samples-2000", 9000: "samples-9000"}


def _distances(runs: Sequence[xr.Dataset], title: str = KL_TITLE) -> Panel:
    return divergence_panel(runs, prefixes(runs[0]), title=title)


def overview(evidence: Evidence) -> Sheet:
    """Distances, excess loss and attention of the minimal model."""
    runs = evidence.runs["minimal"]
    return Sheet(((_distances(runs), excess_panel({"minimal model": runs}, title="Excess loss")), map_row(runs)))


def attention(evidence: Evidence) -> Sheet:
    """Attention of the full decoder at the paper's four moments."""
    return Sheet((map_row(evidence.runs["full"], at=(0, 60, 300, 1000)),))


def divergences(evidence: Evidence) -> Sheet:
    """Exact predictors left, trained restricted contexts right."""
    runs = evidence.runs["windows"]
    windows = predictors_of_kind(runs[0]["predictor"].values, "window")
    last = ["prefix_3"] if evidence.preset == "published" else []
    return Sheet(
        (
            (
                _distances(evidence.runs["full"], "KL from the exact predictors"),
                divergence_panel(runs, [*windows, *last], title="KL from restricted contexts"),
            ),
        )
    )


def ablations(evidence: Evidence) -> Sheet:
    """Excess loss by initial scale and by importance ratio."""
    runs = evidence.runs
    scales = {label: runs[name] for name, label in U_LABELS.items()} | {"$u=0$": runs["init-0"]}
    default = runs["init-xavier" if evidence.preset == "published" else "minimal"]
    ratios = {f"$m={name.removeprefix('ratio-')}$": runs[name] for name in ("ratio-1", "ratio-1.3", "ratio-1.5")}
    left = excess_panel(scales, title="Initial scale")
    right = excess_panel({**ratios, "$m=1.7$": default}, title="Importance ratio")
    return Sheet(((left, right),))


def generalization(evidence: Evidence) -> Sheet:
    """Best excess loss by number of sequences; distances to restricted contexts with the best step marked."""
    runs = evidence.runs
    left = best_loss_panel({float(size): runs[name] for size, name in SIZES.items()}, runs["online"])
    panels = []
    for size, name in SIZES.items():
        windows = predictors_of_kind(runs[name][0]["predictor"].values, "window")
        best = float(np.median([run["step"].values[best_index(run)] for run in runs[name]]))
        panels.append(divergence_panel(runs[name], windows, title=f"{size} sequences", marks=(best,)))
    return Sheet(((left, panels[0]), (panels[1], panels[2])))


def simulations(evidence: Evidence) -> Sheet:
    """Attention, values and loss of the regression flow."""
    from headwise.flow.simulate import to_trajectory

    run = to_trajectory(solved(flow_config(evidence.preset), evidence.seeds[0]))
    run = run.isel(step=run["step"].values >= SHOWN_FROM)
    heads = head_panels([run], "attention_by_group", title="position", ylabel="attention", xlabel="time", xscale="log")
    values = head_panels(
        [run],
        "value_alignment",
        title="feature",
        ylabel=r"$\langle V_k, V_j^\star\rangle$",
        xlabel="time",
        xscale="log",
    )
    parts = run["loss_part"].values
    times = run["step"].values
    own = [
        Curve(f"feature {k + 1} at position {k + 1}", times, parts[:, k, k], colour=head_colour(k), style=LINES[k + 1])
        for k in range(parts.shape[1])
    ]
    loss = Curve("loss", times, run["excess_loss"].values)
    return Sheet((heads, values, (Panel("Loss", "time", "loss", (loss, *own), (0, None), xscale="log"),)))


def theory(evidence: Evidence) -> Sheet:
    """The simplified systems, dashed, over the full flow, solid, stage by stage."""
    from headwise.flow.overlay import overlay
    from headwise.flow.stages import stage_times

    flow = solved(OVERLAID, evidence.seeds[0])
    times = stage_times(flow.target, flow.heads_at, flow.solution)
    if times[1] is None or times[2] is None:
        return Sheet((), notes=("the flow does not reach three stages",))
    between = float(np.sqrt(times[1] * times[2]))
    rows = []
    for stage, (start, end) in {2: (25.0, between), 3: (between, min(2 * times[2], OVERLAID.t_end))}.items():
        for name in ("printed", "two-group"):
            told = overlay(flow, stage=stage, start=start, end=end, theory=name)
            if told is None:
                continue
            row = []
            for title, ours, theirs in (
                (f"attention on ({stage}), stage {stage}, {name}", told.flow_attention, told.theory_attention),
                (f"value on feature {stage}, stage {stage}, {name}", told.flow_alignment, told.theory_alignment),
            ):
                curves = []
                for head in range(ours.shape[1]):
                    label = f"head {head + 1}"
                    curves.append(
                        Curve(f"{label}, flow", told.times, ours[:, head, stage - 1], colour=head_colour(head))
                    )
                    curves.append(
                        Curve(
                            f"{label}, theory",
                            told.times,
                            theirs[:, head, stage - 1],
                            colour=head_colour(head),
                            style="--",
                        )
                    )
                row.append(Panel(title, "time", "", tuple(curves), legend=stage == 3 and name == "two-group"))
            rows.append(tuple(row))
    return Sheet(tuple(rows))


def collaboration(evidence: Evidence) -> Sheet:
    """Attention and values of the minimal model, head by head."""
    runs = evidence.runs["head-dynamics"]
    heads = head_panels(runs, "attention_by_group", title="group", ylabel="attention")
    values = head_panels(runs, "value_coefficient", title="feature", ylabel="value coefficient")
    return Sheet((heads, values))


def run_figure(name: str, *, maps: bool = True, loss: bool = True) -> Figure:
    """Loss, distances and attention maps of one experiment."""

    def compose(evidence: Evidence) -> Sheet:
        runs = evidence.runs[name]
        panels = (loss_panel(runs, title="Test loss"), _distances(runs)) if loss else (_distances(runs),)
        return Sheet((panels, map_row(runs)) if maps else (panels,))

    labels = {
        "online": ("fig-online", "fig:attention-infinite-data, fig:plots-infinite-data", "fresh data at every step"),
        "reverse": ("fig-reversed", "fig:attention-reversed, fig:plots-reversed", "the furthest group first"),
        "depth-minimal": ("fig-depth-minimal", "fig:2layer-minimal", "two minimal blocks"),
        "depth-full": ("fig-depth-full", "fig:2layer-full", "two full blocks"),
        "alpha": ("fig-alpha", "fig:kl-non-uniform-alphas, fig:attention-non-uniform-alphas", "weights (0.7, 0.3)"),
        "sgd": ("fig-sgd", "fig:kl-sgd-full-one-layer, fig:attention-sgd-full-one-layer", "SGD with momentum"),
    }
    entry, label, about = labels[name]
    return Figure(entry, label, f"distances and attention: {about}", (name,), compose=compose)


def overlap(evidence: Evidence) -> Sheet:
    """Distances for three and four heads, attention of both."""
    three, four = evidence.runs["overlap-3-heads"], evidence.runs["overlap-4-heads"]
    return Sheet(((_distances(three, "Three heads"), _distances(four, "Four heads")), map_row(three), map_row(four)))


def ladder(evidence: Evidence) -> Sheet:
    """Distances for every removal."""
    panels = [_distances(evidence.runs[name], name.replace("-", " ")) for name in LADDER]
    return Sheet(tuple(tuple(panels[i : i + 2]) for i in range(0, len(panels), 2)))


def ladder_table(evidence: Evidence) -> Sheet:
    """Where each removal is nearest to each predictor, how far the first two rise, and whether the order holds."""
    rows = []
    for name in LADDER:
        for seed, run in zip(evidence.seeds, evidence.runs[name], strict=False):
            judged = judge_order(run)
            kl = run["kl"].sel(predictor=prefixes(run)).values
            steps = run["step"].values[kl.argmin(0)]
            rises = kl[-1] - kl.min(0)
            rows.append(
                (
                    name.replace("-", " "),
                    str(seed),
                    *(f"{step:g}" for step in steps),
                    *(f"{rise:.2f}" for rise in rises[:-1]),
                    f"{float(run['excess_loss'].values[-1]):.2f}",
                    "yes" if judged.passed else "no",
                )
            )
    columns = ("removed", "seed", "nearest A1", "A1:2", "A1:3", "rise A1", "rise A1:2", "final excess", "order holds")
    return Sheet(((Grid(columns, tuple(rows)),),))


FIGURES = (
    Figure("fig-overview", "fig:main", "the minimal model at a glance", ("minimal",), compose=overview),
    Figure(
        "fig-attention", "fig:attention", "attention of the full decoder over training", ("full",), compose=attention
    ),
    Figure(
        "fig-kl", "fig:kl", "distances to exact and to trained predictors", ("full", "windows"), compose=divergences
    ),
    Figure(
        "fig-ablations",
        "fig:ablations",
        "excess loss by initial scale and by importance ratio",
        (*U_LABELS, "init-0", "ratio-1", "ratio-1.3", "ratio-1.5"),
        compose=ablations,
    ),
    Figure(
        "fig-generalization",
        "fig:generalization",
        "best excess loss and distances by number of sequences",
        (*SIZES.values(), "online"),
        compose=generalization,
    ),
    Figure("fig-simulations", "fig:simulations", "attention, values and loss of the flow", compose=simulations),
    Figure("fig-theory", "fig:theory_vs_regression", "theory over simulation", compose=theory),
    Figure(
        "fig-collaboration",
        "fig:collaboration",
        "heads of the minimal model",
        ("head-dynamics",),
        compose=collaboration,
    ),
    run_figure("online"),
    run_figure("reverse"),
    run_figure("depth-minimal", maps=False),
    run_figure("depth-full", maps=False),
    run_figure("alpha", loss=False),
    Figure(
        "fig-overlap",
        "fig:kl-overlapping-4heads, fig:attention-three-heads-overlapping-intervals, "
        "fig:attention-four-heads-overlapping-intervals",
        "distances and attention with overlapping groups",
        ("overlap-3-heads", "overlap-4-heads"),
        compose=overlap,
    ),
    run_figure("sgd", loss=False),
    Figure("fig-ladder", "sec:minimal", "distances for every removal of a component", LADDER, compose=ladder),
    Figure("table-ladder", "sec:minimal", "stages for every removal", LADDER, compose=ladder_table, form="table"),
)
