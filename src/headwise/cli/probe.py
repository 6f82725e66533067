"""`headwise probe`: the heads of somebody's own model over a folder of its checkpoints; again resumes."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from headwise.cli.command import Command, print_json, refuse_extra, say
from headwise.core.errors import ConfigError


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder", type=Path, metavar="DIR", help="Hugging Face checkpoints: checkpoint-100, ... or one model"
    )
    parser.add_argument("--tokens", type=Path, metavar="FILE", help="what to show: ids (.npy, .json) or text (.txt)")
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
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of drawn sequences (default: 0)")
    parser.add_argument("--no-induction", action="store_true", help="leave out the induction score")
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
    parser.add_argument("--out", type=Path, default=Path("runs"), metavar="DIR", help="root of runs (default: runs)")
    parser.add_argument("--json", action="store_true", help="print the result as one JSON document")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress")


def run(arguments: argparse.Namespace, extra: list[str]) -> int:
    refuse_extra(extra)
    if arguments.tokens is not None and arguments.synthetic is not None:
        raise ConfigError("--tokens and --synthetic exclude each other; give one")
    from headwise.cli.train import stop_on_signal
    from headwise.phases.detection import detect
    from headwise.probe.folder import folder_config, probe_folder, skipped_steps
    from headwise.store import load_trajectory

    shown: Any = arguments.tokens or arguments.synthetic or "random"
    config = folder_config(
        arguments.folder,
        tokens=shown,
        sequences=arguments.sequences,
        length=arguments.length,
        lags=arguments.lags,
        induction="off" if arguments.no_induction else "on",
        seed=arguments.seed,
    )
    with stop_on_signal() as stop:
        finished = probe_folder(
            arguments.folder,
            config,
            tokens=shown,
            out=arguments.out,
            on_corrupt=arguments.on_corrupt,
            pickle=arguments.pickle,
            device=arguments.device,
            say=(lambda text: None) if arguments.quiet else say,
            stop_asked=stop.asked,
        )
    trajectory = load_trajectory(finished.path)
    document = {
        "run": str(finished.path),
        "checkpoints": [int(step) for step in trajectory["step"].values],
        "skipped": [{"step": step, "reason": reason} for step, reason in skipped_steps(finished).items()],
        "model": trajectory.attrs["model"],
        "blocks": trajectory.sizes["block"],
        "heads": trajectory.sizes["head"],
        "final": _final(trajectory),
        "report": detect(trajectory, groups="found").to_json(),
    }
    if arguments.json:
        print_json(document)
    else:
        _print(document)
    return 0


def _final(trajectory: Any) -> list[dict[str, Any]]:
    """Each head at the last checkpoint: its strongest lag, named places, entropy; null where nothing finite."""
    from headwise.core.plain import plain

    last = trajectory.isel(step=-1)
    heads = []
    for block in last["block"].values:
        for head in last["head"].values:
            one = last.sel(block=block, head=head)
            shares = one["attention_by_lag"].fillna(0.0)
            best = int(shares.values.argmax())
            heads.append(
                {
                    "block": int(block),
                    "head": int(head),
                    "lag": int(shares["lag"][best]),
                    "share": plain(shares.values[best]),
                    "entropy": plain(one["attention_entropy"].values),
                    **{str(p): plain(one["attention_on"].sel(place=p).values) for p in one["place"].values},
                }
            )
    return heads


def _print(document: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    counted = f"{len(document['checkpoints'])} checkpoints, {document['blocks']} blocks of {document['heads']} heads"
    console.print(f"{document['run']}  {document['model']}: {counted}", soft_wrap=True)
    for item in document["skipped"]:
        console.print(f"skipped step {item['step']}: {item['reason']}", soft_wrap=True)
    columns = ("block", "head", "lag", "share", "self", "previous", "first", "induction", "entropy")
    table = Table(title="heads at the last checkpoint (lag 1 is the token itself)", title_justify="left")
    for column in columns:
        table.add_column(column, justify="right")
    for head in document["final"]:
        table.add_row(*(_shown(head[column]) for column in columns))
    console.print(table)
    for offshoot in document["report"]["offshoots"]:
        block = f"block {offshoot['block']} " if "block" in offshoot else ""
        move = f"leaves lags {offshoot['from']} for {offshoot['to']}"
        console.print(f"step {offshoot['step']:g}: {block}head {offshoot['head']} {move}")
    for note in document["report"]["agreement"]["notes"]:
        console.print(f"note: {note}", soft_wrap=True)


def _shown(value: float | int | None) -> str:
    return "-" if value is None else str(value) if isinstance(value, int) else f"{value:.3f}"


COMMAND = Command("probe", "the heads of your own model, from a folder of its checkpoints", add, run)
