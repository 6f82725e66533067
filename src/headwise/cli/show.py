"""`headwise show`: what a stored run came to, as a table, a figure or JSON; torch is not needed."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from headwise.cli.command import Command, print_json, refuse_extra, say


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", type=Path, metavar="RUN", help="a run directory")
    parser.add_argument(
        "--figure", type=Path, metavar="FILE", help="also draw KL curves and attention maps (png, pdf, svg)"
    )
    parser.add_argument("--json", action="store_true", help="print the result as one JSON document")


def run(arguments: argparse.Namespace, extra: list[str]) -> int:
    refuse_extra(extra)
    from headwise.study.summary import summarise

    summary = summarise(arguments.run)
    if arguments.figure is not None:
        from headwise.store import load_trajectory
        from headwise.view.overview import draw_overview

        draw_overview(load_trajectory(arguments.run), arguments.figure)
        say(f"wrote {arguments.figure}")
    if arguments.json:
        print_json(summary)
    else:
        print_summary(summary)
        print_moments(arguments.run)
    return 0


def print_summary(summary: dict[str, Any]) -> None:
    """The result of a run in a few lines and a table of its heads."""
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    console.print(f"{summary['run']}  {summary['status']} at step {summary['steps']}", soft_wrap=True)
    final = summary["final"]
    if not final:
        return
    told = [f"excess loss {_shown(final['excess_loss'])}"] if "excess_loss" in final else []
    if final.get("kl"):
        told.append("KL from " + "  ".join(f"{name} {_shown(value)}" for name, value in final["kl"].items()))
    if told:
        console.print("   ".join(told), soft_wrap=True)
    if "attention_by_group" not in final:
        return
    blocks = final["attention_by_group"]
    table = Table(title="attention by group", title_justify="left")
    for column in ("block", "head", *(f"I({k})" for k in range(1, len(blocks[0][0]) + 1)), "copies"):
        table.add_column(column, justify="left" if column == "copies" else "right")
    copied = final["copies"] or [[None] * len(heads) for heads in blocks]
    for block, (heads, patterns) in enumerate(zip(blocks, copied, strict=True), start=1):
        for head, (shares, pattern) in enumerate(zip(heads, patterns, strict=True), start=1):
            table.add_row(str(block), str(head), *(_shown(share) for share in shares), _pattern(pattern))
    console.print(table)


def print_moments(path: Path) -> None:
    """What each head looked at over the run, at about ten moments."""
    from rich.console import Console
    from rich.table import Table

    from headwise.store import load_trajectory

    trajectory = load_trajectory(path)
    if "attention_by_group" not in trajectory:
        return
    shares = trajectory["attention_by_group"]
    blocks, heads = shares.sizes["block"], shares.sizes["head"]
    table = Table(title="which group each head looks at most, over training", title_justify="left")
    table.add_column("step", justify="right")
    for block in range(blocks):
        for head in range(heads):
            table.add_column(f"head {head + 1}" if blocks == 1 else f"{block + 1}.{head + 1}")
    table.add_column("excess loss", justify="right")
    chosen = sorted({round(i * (shares.sizes["step"] - 1) / 10) for i in range(11)})
    for index in chosen:
        now = shares.isel(step=index)
        cells = []
        for block in range(blocks):
            for head in range(heads):
                values = now.isel(block=block, head=head).values
                best = int(values.argmax())
                cells.append(f"I({best + 1}) {values[best]:.2f}")
        excess = float(trajectory["excess_loss"].isel(step=index)) if "excess_loss" in trajectory else float("nan")
        table.add_row(f"{now['step'].item():g}", *cells, f"{excess:.3f}")
    Console(highlight=False).print(table)


def _pattern(label: int | str | None) -> str:
    return "nothing" if label is None else f"I({label})" if isinstance(label, int) else f"lags {label}"


def _shown(value: float | None) -> str:
    return "not finite" if value is None else f"{value:.3f}"


COMMAND = Command("show", "what a stored run came to", add, run)
