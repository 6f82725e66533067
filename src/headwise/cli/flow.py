"""`headwise flow`: the regression flow of §3 as a stored run, with its stage times beside the predicted ones."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwise.cli.command import Command, print_json, say
from headwise.cli.overrides import describe_keys, literal, parse_overrides
from headwise.cli.seeds import parse_seeds
from headwise.core.config import validated
from headwise.core.errors import ConfigError
from headwise.flow.config import FlowConfig

if TYPE_CHECKING:
    from headwise.flow.simulate import SolvedFlow

SHORTCUTS = ("start", "noise", "system", "t_end")


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--start", metavar="A|B|noise", help="q = 0, the fixed perturbation B, or q = 0 plus noise")
    parser.add_argument("--noise", metavar="KIND", help="logit, s-std, s-cov or none")
    parser.add_argument("--system", metavar="NAME", help="heads, coupled, cooperative, two-scale, nth-head, two-group")
    parser.add_argument("--t-end", metavar="T", help="end time (default: 3000)")
    parser.add_argument("--seed", metavar="N", help="seed of the noise and of drawn features (default: 0)")
    parser.add_argument("--seeds", metavar="LIST", help="an ensemble, such as 0..99: a table instead of a stored run")
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="processes for an ensemble (default: 1)")
    parser.add_argument("--out", type=Path, default=Path("runs"), metavar="DIR", help="root of runs (default: runs)")
    parser.add_argument("--figure", type=Path, metavar="FILE", help="draw attention, values and loss (png, pdf, svg)")
    parser.add_argument(
        "--overlay", type=Path, metavar="FILE", help="draw the theory over the flow, deviations printed"
    )
    parser.add_argument("--json", action="store_true", help="print the result as one JSON document")
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = (
        "Further keys of a flow:\n"
        + describe_keys(FlowConfig())
        + (
            "\n\nExamples:\n"
            "  headwise flow --start B\n"
            "  headwise flow --m 1.3 --T 20 --seed 4 --figure flow.png\n"
            "  headwise flow --seeds 0..99 --workers 2\n"
        )
    )


def run(arguments: argparse.Namespace, extra: list[str]) -> int:
    options = [f"--{name.replace('_', '-')}" for name in (*SHORTCUTS, "seed", "seeds", "out", "json", "figure")]
    values = parse_overrides(extra, options, FlowConfig)
    values |= {name: literal(text) for name in SHORTCUTS if (text := getattr(arguments, name)) is not None}
    if arguments.noise is not None:
        values["noise"] = arguments.noise
    config = validated(FlowConfig, values)
    if arguments.seeds is not None:
        if arguments.seed is not None:
            raise ConfigError("--seed and --seeds exclude each other; give one")
        return _ensemble(config, parse_seeds(arguments.seeds), arguments)
    seed = parse_seeds(arguments.seed if arguments.seed is not None else "0", "--seed")
    if len(seed) != 1:
        raise ConfigError("--seed takes one number; --seeds takes several")
    return _single(config, seed[0], arguments)


def _single(config: FlowConfig, seed: int, arguments: argparse.Namespace) -> int:
    from headwise.flow.simulate import solve_flow, summarise, to_trajectory
    from headwise.study.flows import keep_flow

    flow = solve_flow(config, seed)
    trajectory = to_trajectory(flow)
    path = keep_flow(trajectory, config, seed=seed, out=arguments.out)
    summary = {"run": str(path), **summarise(flow, seed)}
    if arguments.figure is not None:
        from headwise.view.flow import draw_flow

        draw_flow(trajectory, arguments.figure)
        say(f"wrote {arguments.figure}")
    if arguments.overlay is not None:
        _draw_overlay(flow, arguments.overlay)
    if arguments.json:
        print_json(summary)
    else:
        print(_text(summary))
    return 0


def _draw_overlay(flow: SolvedFlow, path: Path) -> None:
    from headwise.flow.overlay import Theory, overlay
    from headwise.view.flow import draw_overlays

    end = float(flow.solution.steps[-1])
    if end <= 300:
        raise ConfigError("--overlay shows the stages that start at t = 25 and t = 300; give --t-end above 300")
    overlays = []
    theories: tuple[Theory, ...] = ("printed", "two-group")
    for theory in theories:
        for stage, start, until in ((2, 25.0, 300.0), (3, 300.0, end)):
            found = overlay(flow, stage=stage, start=start, end=until, theory=theory)
            if found is None:
                say(f"stage {stage}: nobody leaves, so there is nothing to overlay")
                continue
            overlays.append(found)
            attention, value = found.median_deviations
            say(
                f"{theory:>9} over stage {stage}: largest deviation {found.attention_deviation:.2f} in attention, "
                f"{found.value_deviation:.2f} in values; median over time {attention:.2f} and {value:.2f}"
            )
    draw_overlays(overlays, path)
    say(f"wrote {path}")


def _ensemble(config: FlowConfig, seeds: list[int], arguments: argparse.Namespace) -> int:
    from dataclasses import asdict

    from headwise.flow.ensemble import ensemble

    def progress(done: int, total: int) -> None:
        say(f"{done}/{total} flows")

    if arguments.workers < 1:
        raise ConfigError(f"--workers {arguments.workers} must be at least 1")
    summaries = ensemble([(config, seed) for seed in seeds], workers=arguments.workers, progress=progress)
    if arguments.json:
        print_json({"flows": [{**asdict(summary), "in_order": summary.in_order} for summary in summaries]})
        return 0
    for summary in summaries:
        times = "  ".join("never" if t is None else f"{t:8.2f}" for t in summary.stage_times)
        heads = " ".join("-" if head is None else str(head) for head in summary.stage_heads)
        print(f"seed {summary.seed:<5} stage times {times}   heads {heads}   final loss {summary.final_loss:.4g}")
    print(f"in order, each by a head of its own: {sum(s.in_order for s in summaries)} of {len(summaries)}")
    return 0


def _text(summary: dict[str, Any]) -> str:
    predicted = summary["predicted"]
    lines = [summary["run"]]
    lines.append("stage times " + "  ".join("never" if t is None else f"{t:.3f}" for t in summary["stage_times"]))
    if predicted["t1"] is not None:
        second = "none" if predicted["t2"] is None else f"{predicted['t2']:.2f} by head {predicted['t2_head']}"
        lines.append(f"predicted   t1 {predicted['t1']:.3f}  t2 {second}")
    lines += [
        f"head {left['head']} leaves group {left['from']} for group {left['to']} at {left['step']:.1f}"
        for left in summary["offshoots"]
    ]
    lines.append("plateaus    " + "  ".join(f"{level:.5g}" for level in summary["plateaus"]))
    lines.append("loss at     " + "  ".join(f"{t}: {value:.6f}" for t, value in summary["loss_at"].items()))
    return "\n".join(lines)


COMMAND = Command("flow", "solve the regression flow of §3 and keep it as a run", add, run)
