"""Where the paper's text and its figures differ, in words; every number is read from the presets themselves."""

from __future__ import annotations

from dataclasses import dataclass

from headwise.flow.config import DEFAULT_NOISE, FlowConfig
from headwise.flow.presets import published_flow, text_flow
from headwise.study.config import Preset, RunConfig
from headwise.study.experiments import experiment
from headwise.task.config import group_lags


@dataclass(frozen=True)
class Difference:
    """One thing that the text and the figures do differently.

    `claims` and `levels` name the verdicts and the tables of published numbers that depend on it.
    """

    what: str
    text: str
    published: str
    claims: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()


def differences() -> tuple[Difference, ...]:
    """What differs, in the text's words and as published."""
    text, published = experiment("minimal", "text"), experiment("minimal", "published")
    inputs = published.task.d + published.task.w + published.task.T - 1
    weights = ", ".join(f"{weight:g}" for weight in experiment("alpha", "published").task.alpha)
    base = ("order", "competition", "offshoot", "specialisation")
    full = ("order-full", "competition-full", "offshoot-full", "specialisation-full")
    depth, depth_full, sgd = (experiment(name, "published") for name in ("depth-minimal", "depth-full", "sgd"))
    lags = depth.task.w // depth.task.h
    return (
        Difference(
            "task",
            "Haar features, drawn by the seed",
            "one for all seeds: torch's CPU generator with seed 0, three standard normal matrices, each replaced by "
            "U·(Vh)ᵀ of its singular value decomposition, the first for the furthest group",
            base,
            ("minimal", "init", "data"),
        ),
        Difference(
            "weights within a group",
            "1/|I(k)|",
            f"1 for every lag; only the run with ({weights}) is normalised",
            (*base, "alpha"),
            ("minimal",),
        ),
        Difference("rate of the minimal model", f"{text.train.lr:g}", f"{published.train.lr:g}", base, ("minimal",)),
        Difference(
            "attention logits of the minimal model",
            "as they are",
            f"divided by √(d + S), √{inputs} here",
            base,
            ("minimal",),
        ),
        Difference(
            "schedule", "ReduceLROnPlateau stepped once a pass on the test loss", "constant rate", base, ("minimal",)
        ),
        Difference(
            "start of the minimal model",
            f"scores in ±{text.model.init_scale:g}, zero values",
            "the same; Xavier-uniform for hierarchy, alpha, overlap and depth",
            ("hierarchy", "hierarchy-small"),
            ("ratio",),
        ),
        Difference(
            "full decoder",
            "torch's own encoder layer",
            "no attention biases, Xavier start; dropout on embeddings, attention weights and both branches, in the "
            "first step of each pass alone",
            full,
            ("full",),
        ),
        Difference(
            "last curve of the restricted contexts",
            f"a trained model of context {experiment('windows', 'text').measure.windows[-1]}",
            "the exact law",
            ("windows",),
        ),
        Difference(
            "ratio of importance in the reversed run",
            f"m = {experiment('reverse', 'text').task.m:g}, lags {_lags('text')}",
            f"m = {experiment('reverse', 'published').task.m:g}, the same lags: with the text's ratio no predictor "
            "from them has the loss of the figure's plateaus",
            ("reverse", "heads-reverse"),
            ("reverse",),
        ),
        Difference(
            "overlapping groups", "the furthest group the most important", "the most recent group", ("overlap",)
        ),
        Difference(
            "two minimal blocks",
            "rate and data adjusted",
            f"{_training(depth)}, groups of {lags}, m = {depth.task.m:g}",
            ("depth",),
        ),
        Difference(
            "two full blocks", "as the tables", f"not public; our choice: {_training(depth_full)}", ("depth-full",)
        ),
        Difference(
            "SGD",
            "in place of AdamW",
            f"rate {sgd.train.lr:g}, momentum {sgd.train.momentum:g}, m = {sgd.task.m:g}, {sgd.train.steps} steps",
            ("sgd",),
            ("sgd",),
        ),
        Difference(
            "features of the head-dynamics run",
            "Haar",
            "the same, made Frobenius-orthogonal in the order drawn",
            ("head-dynamics",),
        ),
        Difference(
            "largest initial scale",
            f"scores in ±{experiment('init-xavier', 'text').model.init_scale:g}, zero values",
            "Xavier-uniform scores and values",
            ("init-scale",),
            ("init",),
        ),
        Difference(
            "regression flow",
            f"Π², noise of covariance {_noise(text_flow())} on s",
            f"Π, noise of deviation {_noise(published_flow())} on s, "
            f"Euler steps of {published_flow().euler_step:g} with clipping",
            ("flow-stages", "flow-compensation"),
            ("flow",),
        ),
    )


def _lags(preset: Preset) -> str:
    """The first and last lag of each group of the reversed run."""
    return ", ".join(f"{group[0]}-{group[-1]}" for group in group_lags(experiment("reverse", preset).task))


def _training(config: RunConfig) -> str:
    return f"rate {config.train.lr:g}, {config.train.samples} sequences"


def _noise(config: FlowConfig) -> str:
    return f"{DEFAULT_NOISE[config.noise] if config.noise_scale is None else config.noise_scale:g}"
