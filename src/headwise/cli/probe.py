"""`headwise probe`: the heads of somebody's own model over a folder of its checkpoints; again resumes."""

from __future__ import annotations

import argparse

from headwise.cli.command import Command, print_result, quietly, refuse_extra, say_drawn
from headwise.cli.options import add_figure, add_json, add_quiet, add_runs_folder, path_argument
from headwise.cli.signals import stop_on_signal


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder",
        type=path_argument,
        metavar="DIR",
        help="Hugging Face checkpoints: checkpoint-100, step1000, ... or one model",
    )
    parser.add_argument(
        "--tokens", type=path_argument, metavar="FILE", help="what to show: ids (.npy, .json) or text (.txt)"
    )
    parser.add_argument(
        "--synthetic",
        choices=("repeated", "markov", "random"),
        help="or draw sequences (default: random; repeated: a random half twice; markov: few successors per token)",
    )
    parser.add_argument("--sequences", type=int, default=16, metavar="N", help="sequences shown (default: 16)")
    parser.add_argument("--length", type=int, default=64, metavar="N", help="tokens of a drawn sequence (default: 64)")
    parser.add_argument(
        "--lags", type=int, default=64, metavar="N", help="how far back attention is kept (default: 64)"
    )
    parser.add_argument(
        "--corpus",
        type=path_argument,
        metavar="FILE",
        help="text like the model's, as ids or text: compare it with n-gram predictors",
    )
    parser.add_argument(
        "--classes",
        type=path_argument,
        metavar="FILE",
        help='token ids by name as JSON, such as {"newline": [10]}: each class is a role of its own',
    )
    parser.add_argument(
        "--examples", type=int, default=2, metavar="N", help="sequences whose attention maps are kept (default: 2)"
    )
    parser.add_argument(
        "--step-pattern",
        metavar="REGEX",
        help=r"where the step is in the names of checkpoints, as in 'model_(\d+)'; usual names need none",
    )
    parser.add_argument(
        "--revisions",
        metavar="PATTERN",
        help="with hf:ORG/MODEL for DIR: download these revisions, such as 'step*', one at a time, and remove each",
    )
    parser.add_argument(
        "--build",
        metavar="MODULE:FUNCTION",
        help="for .pt, .pth and .ckpt files: your function from a file's content to the model; no code in files is run",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of drawn sequences (default: 0)")
    parser.add_argument(
        "--no-induction",
        dest="induction",
        action="store_const",
        const="off",
        default="on",
        help="leave out the induction score",
    )
    parser.add_argument(
        "--importance",
        type=_cadence,
        metavar="N",
        help="also measure how the loss rises without each head, at every N-th checkpoint and the last one, or `last`",
    )
    parser.add_argument(
        "--importance-of",
        choices=("heads", "pairs"),
        default="heads",
        help="with --importance: also without any two heads of a block together (default: heads alone)",
    )
    parser.add_argument(
        "--on-corrupt", choices=("stop", "skip"), default="stop", help="what a damaged checkpoint does (default: stop)"
    )
    parser.add_argument(
        "--pickle",
        choices=("refuse", "weights-only"),
        default="refuse",
        help="checkpoints without safetensors: refuse (default), or unpickle tensors and nothing else",
    )
    parser.add_argument("--device", default="cpu", metavar="NAME", help="a torch device (default: cpu)")
    add_runs_folder(parser)
    add_figure(parser, "also draw which lags each head looks at")
    add_json(parser)
    add_quiet(parser)


def _cadence(text: str) -> int | str:
    """A number of checkpoints, or a word; what it may be is checked where it is used."""
    return int(text) if text.isascii() and text.isdecimal() else text


def run(arguments: argparse.Namespace, extra: list[str]) -> int:
    refuse_extra(extra)
    from headwise.probe.probe_folder import probe_folder

    with stop_on_signal() as stop_asked:
        found = probe_folder(
            arguments.folder,
            tokens=arguments.tokens,
            synthetic=arguments.synthetic,
            sequences=arguments.sequences,
            length=arguments.length,
            lags=arguments.lags,
            corpus=arguments.corpus,
            classes=arguments.classes,
            examples=arguments.examples,
            step_pattern=arguments.step_pattern,
            revisions=arguments.revisions,
            build=arguments.build,
            seed=arguments.seed,
            induction=arguments.induction,
            importance=arguments.importance,
            importance_of=arguments.importance_of,
            on_corrupt=arguments.on_corrupt,
            pickle=arguments.pickle,
            device=arguments.device,
            out=arguments.out,
            notify=quietly(arguments),
            stop_asked=stop_asked,
        )
    if arguments.figure is not None:
        from headwise.view.figures import draw_run

        draw_run(found.trajectory, arguments.figure)
        say_drawn(arguments.figure)
    print_result(found, arguments)
    return 0


COMMAND = Command(
    "probe",
    "the heads of your own model, from a folder of its checkpoints",
    add,
    run,
    functions=(
        "probe_folder",
        "draw_run",
    ),
    instead={
        "figure": "draw_run(probe_folder(DIR).trajectory, to=FILE)",
    },
    words=("lag", "pattern", "offshoot", "n-gram predictor"),
)
