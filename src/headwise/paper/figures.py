"""Every figure and table of the paper: which runs go into which sheet of `view.sheets`."""

from __future__ import annotations

from headwise.paper.claims.architecture import LADDER
from headwise.paper.entry import Evidence, Figure
from headwise.paper.flows import drawn_under_theory, flow_config, solved
from headwise.paper.quantities import prefixes
from headwise.paper.stages import judge_stages
from headwise.study.config import Preset
from headwise.study.experiments import experiment
from headwise.task.config import importance
from headwise.view.panels import Sheet, Table
from headwise.view.sheets.attention import attention_sheet
from headwise.view.sheets.data_size import data_size_sheet
from headwise.view.sheets.distances import distances_sheet, exact_and_trained_sheet
from headwise.view.sheets.flow import flow_sheet
from headwise.view.sheets.heads import heads_sheet
from headwise.view.sheets.losses import losses_sheet
from headwise.view.sheets.main_figure import main_sheet
from headwise.view.sheets.theory import theory_sheet
from headwise.view.sheets.training import training_sheet

U_LABELS = {"init-xavier": "Xavier", "init-1e-3": "$u=10^{-3}$", "init-1e-6": "$u=10^{-6}$", "minimal": "$u=10^{-9}$"}
RATIOS = ("ratio-1", "ratio-1.3", "ratio-1.5")
OF_FLOWS: tuple[Preset, ...] = ("published", "text")
"""A flow has no tokens that could be drawn again."""

SIZES = {600: "samples-600", 2000: "samples-2000", 9000: "samples-9000"}


def main_figure(evidence: Evidence) -> Sheet:
    """The task, its solution, distances, heads and attention of the minimal model."""
    task = experiment("minimal", evidence.preset).task
    return main_sheet(evidence.runs["minimal"], importance=importance(task))


def attention(evidence: Evidence) -> Sheet:
    """Attention of the full decoder at the paper's four moments."""
    return attention_sheet(evidence.runs["full"], at=(0, 60, 300, 1000))


def divergences(evidence: Evidence) -> Sheet:
    """Exact predictors left, trained restricted contexts right; published, the last of those is the exact law."""
    last = [] if evidence.preset == "text" else ["prefix_3"]
    return exact_and_trained_sheet(evidence.runs["full"], evidence.runs["windows"], last=last)


def ablations(evidence: Evidence) -> Sheet:
    """Excess loss by initial scale and by importance ratio."""
    runs = evidence.runs
    scales = {label: runs[name] for name, label in U_LABELS.items()} | {"$u=0$": runs["init-0"]}
    default = runs["minimal" if evidence.preset == "text" else "init-xavier"]
    ratios = {f"$m={name.removeprefix('ratio-')}$": runs[name] for name in RATIOS} | {"$m=1.7$": default}
    return losses_sheet({"Initial scale": scales, "Importance ratio": ratios})


def generalization(evidence: Evidence) -> Sheet:
    """Best excess loss by number of sequences; distances to restricted contexts with the best step marked."""
    return data_size_sheet({size: evidence.runs[name] for size, name in SIZES.items()}, evidence.runs["online"])


def simulations(evidence: Evidence) -> Sheet:
    """Attention, values and loss of the regression flow."""
    from headwise.flow.simulate import to_trajectory

    return flow_sheet(to_trajectory(solved(flow_config(evidence.preset), evidence.seeds[0])))


def theory(evidence: Evidence) -> Sheet:
    """The simplified systems over the full flow, started at the paper's t = 25 and t = 300.

    In the text's words the flow is that of its simulation, whose stages do not begin there; otherwise it is the one
    that fits these two times.
    """
    from headwise.flow.overlay import overlay_stages
    from headwise.flow.simulate import to_trajectory

    flow = solved(drawn_under_theory(evidence.preset), evidence.seeds[0])
    return theory_sheet(overlay_stages(flow), to_trajectory(flow))


def run_figure(name: str, *, maps: bool = True, loss: bool = True) -> Figure:
    """Loss, distances and attention maps of one experiment."""

    def compose(evidence: Evidence) -> Sheet:
        return training_sheet(evidence.runs[name], maps=maps, loss=loss)

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
    runs = evidence.runs
    return distances_sheet({"Three heads": runs["overlap-3-heads"], "Four heads": runs["overlap-4-heads"]}, maps=True)


def ladder(evidence: Evidence) -> Sheet:
    """Distances for every removal."""
    return distances_sheet({name.replace("-", " "): evidence.runs[name] for name in LADDER})


def ladder_table(evidence: Evidence) -> Sheet:
    """Where each removal is nearest to each predictor, how far the first two rise, and whether its stages hold."""
    rows = []
    for name in LADDER:
        for seed, run in zip(evidence.seeds, evidence.runs[name], strict=False):
            judged = judge_stages(run)
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
                    {True: "yes", False: "no", None: "open"}[judged.passed],
                )
            )
    columns = ("removed", "seed", "nearest A1", "A1:2", "A1:3", "rise A1", "rise A1:2", "final excess", "stages hold")
    return Sheet(((Table(columns, tuple(rows)),),))


FIGURES = (
    Figure(
        "fig-overview",
        "fig:main",
        "the task, its solution, and the minimal model on the way to it",
        ("minimal",),
        compose=main_figure,
    ),
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
        (*U_LABELS, "init-0", *RATIOS),
        compose=ablations,
    ),
    Figure(
        "fig-generalization",
        "fig:generalization",
        "best excess loss and distances by number of sequences",
        (*SIZES.values(), "online"),
        compose=generalization,
    ),
    Figure(
        "fig-simulations",
        "fig:simulations",
        "attention, values and loss of the flow",
        presets=OF_FLOWS,
        compose=simulations,
    ),
    Figure("fig-theory", "fig:theory_vs_regression", "theory over simulation", presets=OF_FLOWS, compose=theory),
    Figure(
        "fig-collaboration",
        "fig:collaboration",
        "heads of the minimal model",
        ("head-dynamics",),
        compose=lambda evidence: heads_sheet(evidence.runs["head-dynamics"]),
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
