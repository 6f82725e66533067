"""docs/performance.md, written from the benchmark's own output.

`python -m headwise.bench.page` runs the benchmark, with peers and sizes, which takes about half an hour and needs a
quiet machine. It writes docs/performance.json and the page beside it after each part; `--to` names another file,
`--continue` measures only what the file does not have, and `--parts` some parts alone. `--again NAME ...` continues
too, after forgetting some of what the file has: cases (`minimal`), sizes (`pre_norm.batch.300`) or `study`. `--write`
measures nothing and writes the page of a file.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from headwise.bench.cases import NAMES, Name
from headwise.bench.limits import AUTO_WORST, FASTER, MOST_GIGABYTES, Held, auto, faster, memory
from headwise.bench.run import LEVELS_BATCH, PARTS, run_benchmark
from headwise.core.atomic import replace_file
from headwise.core.markdown import markdown_table

RESULT = Path("docs/performance.json")
OF_A_CASE = (
    *("ratio", "ratio_chunked", "ratio_pairwise", "ratio_spread", "floor", "profile"),
    *("ratio_peers", "ratio_peers_spread", "best_chunk", "others"),
)
"""What is measured together with the seconds of a case."""
BUSY, REPEATS = 0.5, 5
BUSY_OTHERS = 0.25
"""Cores that other processes may keep busy while something is measured."""
PEER_CASES: tuple[Name, ...] = ("minimal", "full", "full_embedding_dropout")
TITLES: dict[Name, str] = {
    "minimal": "step of the minimal model",
    "full": "step of the full model",
    "full_embedding_dropout": "step of the full model, dropout on embeddings",
    "evaluation": "evaluation of the full model",
    "two_blocks": "step of two full blocks, dropout on embeddings",
    "two_minimal_blocks": "step of two minimal blocks",
    "pre_norm": "step of the full model, norms before its branches",
    "pre_norm_embedding_dropout": "step of the full model, norms before its branches, dropout on embeddings",
}
WORDS = {
    "plain": "plain torch, whole batch",
    "plain_chunked": "plain torch, chunks of 50",
    "plain_pairwise": "plain torch, pairwise einsum",
    "reference": "reference",
    "torch": "torch path",
    "kernel": "kernel",
}


def page(result: dict[str, Any]) -> str:
    """The whole page as Markdown."""
    machine, settings = result["machine"], result["settings"]
    paths = [path for path in ("torch", "kernel") if path in next(iter(result["ratio"].values()))]
    parts = [
        "# Performance",
        "Every model has three paths that compute the same function: the **reference** decoder under autograd, a "
        "chunk at a time; the **torch path**, which replaces the projections of attention by small tables; and the "
        "**kernel**, which runs the whole decoder in C++ (`--compute.path auto|kernel|torch|reference`). The kernel is "
        "built at installation where a compiler is found; nothing else needs it. Tables serve the first block where no "
        "norm comes before it; a norm before it makes them tables of pairs of token and position, and later blocks are "
        "products in chunks that fit the cache.",
        f"Measured on {machine['processor']} ({machine['cores']} cores seen, one "
        f"thread used, load {machine['load']:.1f} at the start), {machine['system']}, Python {machine['python']}, "
        f"torch {machine['torch']}; batch {settings['batch']}, medians of {settings['repeats']} interleaved repeats, "
        f"{settings['clock']} time. Path in use: {result['path']['path']}, {result['path']['why']}.",
        *_caution(result),
        "## Seconds",
        markdown_table(
            ["", *WORDS.values(), "floor"],
            [
                [
                    TITLES[case],
                    *(_seconds(seconds.get(name)) for name in WORDS),
                    _seconds(result["floor"][case]),
                ]
                for case, seconds in result["seconds"].items()
            ],
        ),
        "Plain torch is what one would write: `nn.TransformerEncoderLayer` with a causal mask for the full model, "
        "one-hot inputs and einsum for the minimal one. The floor is the number of operations in unavoidable matrix "
        f"products at the rate of torch's own, {result['floor']['operations_per_second'] / 1e9:.0f} billion a second "
        "here; lookups, softmax, norms and dropout come on top of it.",
        "## Times faster",
        markdown_table(
            ["", *(f"{WORDS[p]} over {what}" for what in ("plain", "plain in chunks", "reference") for p in paths)],
            [
                [
                    TITLES[case],
                    *(_ratio(ratios[p], result["ratio_spread"][case][p]) for p in paths),
                    *(f"{result['ratio_chunked'][case][p]:.1f}" for p in paths),
                    *(f"{result['seconds'][case]['reference'] / result['seconds'][case][p]:.1f}" for p in paths),
                ]
                for case, ratios in result["ratio"].items()
            ],
        ),
        "In parentheses: the smallest and the largest ratio within one repeat." + _pairwise(result),
    ]
    if limits := _limits(result):
        parts += ["## What it is held to", limits]
    if result["profile"]:
        parts += ["## Where the kernel's time goes", _profile(result)]
    if result["grad_error"]:
        parts += ["## Exactness", _exactness(result)]
    if result["memory"]:
        rows = [[TITLES[c], *(f"{peaks[p]:.2f}" for p in ("plain", *paths))] for c, peaks in result["memory"].items()]
        parts += ["## Peak memory", markdown_table(["GB, process", "plain", *paths], rows)]
        parts.append("The interpreter with torch loaded is part of every number.")
    if result["growth"]:
        parts += ["## Growth", _growth(result)]
    if any(result.get("ratio_peers", {}).values()):
        parts += ["## Against the strongest alternatives", _peers(result)]
    if result.get("levels"):
        parts += ["## Instruction levels", _levels(result)]
    if result.get("study"):
        parts += ["## Whole runs", _study(result)]
    if result.get("auto"):
        parts += ["## What `auto` chooses", _auto(result)]
    return "\n\n".join(parts) + "\n"


def _caution(result: dict[str, Any]) -> list[str]:
    """What keeps these numbers from being the ones to quote, if anything does."""
    settings, load = result["settings"], result["machine"]["load"]
    others = {part: cores for part, cores in result.get("others", {}).items() if cores is not None}
    problems = []
    if others and max(others.values()) > BUSY_OTHERS:
        part = max(others, key=lambda name: others[name])
        problems.append(f"other work kept {others[part]:.1f} cores busy during {TITLES.get(part, part)}")
    if not others and load is not None and load >= BUSY:
        problems.append(f"other work was running (load {load:.1f})")
    if settings["repeats"] < REPEATS:
        problems.append(f"only {settings['repeats']} repeats")
    if settings["clock"] != "wall":
        problems.append("processor time instead of elapsed time")
    return [f"**Provisional**: {'; '.join(problems)}."] if problems else []


OVER = {"plain": "plain torch", "plain_chunked": "plain torch in chunks", "reference": "the reference"}


def _limits(result: dict[str, Any]) -> str:
    """Limits that stood before the measurement, and whether it keeps them; empty without a kernel."""
    held: list[tuple[str, str, Held | None, int]] = []
    for limit in FASTER:
        what = f"{TITLES[limit.case]}, times faster than {OVER[limit.over]}"
        held.append((what, f"at least {limit.least}", faster(result, limit), 1))
    held.append(("`auto` over the best other way, largest of all sizes", f"at most {AUTO_WORST:.2f}", auto(result), 2))
    held.append(("peak memory of the kernel, GB", f"below {MOST_GIGABYTES}", memory(result), 2))
    rows = [
        [
            what,
            limit,
            _ratio(found.measured, found.spread, digits=digits) if found.spread else f"{found.measured:.{digits}f}",
            found.kept if found.kept == "yes" else f"**{found.kept}**",
        ]
        for what, limit, found, digits in held
        if found is not None
    ]
    if not rows:
        return ""
    text = "Limits that were set before this measurement; the first four are what an earlier kernel reached."
    return text + "\n\n" + markdown_table(["", "limit", "measured", "kept"], rows)


DISTANCE = (
    "What keeps a step from its floor. In the minimal model, by samples of the processor, half of the time is in "
    "products; the other half looks up and scatters the table entries of each pair of query and key (a quarter), "
    "and computes softmax and loss (a fifth). With dropped inputs two fifths of the time project them by the rows "
    "of their dropped coordinates, which lie at random places: a tile of five sequences instead of nine and "
    "slopes in a quarter of the memory made the step a tenth faster, twice as many columns at once made it no "
    "faster. Windows cost more than they should: one query fills one of eight lanes, and windows that overlap "
    "share nothing; a minimal step on windows of six took twice that of the whole sequences. "
    "These shares and factors were seen beside other work, in trials that took turns."
)


def _profile(result: dict[str, Any]) -> str:
    stages = list(next(iter(result["profile"].values())))
    rows = [
        [
            TITLES[case],
            *(f"{100 * shares[stage] / sum(shares.values()):.0f} %" for stage in stages),
            f"{result['seconds'][case]['kernel'] / result['floor'][case]:.1f}",
        ]
        for case, shares in result["profile"].items()
    ]
    text = (
        "The last column is the distance to the floor. Matrix products are those of MLP, unembedding and, with many "
        "heads, output matrix; the products of attention weights with values count as attention, together with table "
        "lookups, softmax and scatters."
    )
    return "\n\n".join([markdown_table(["", *stages, "over floor"], rows), text, DISTANCE])


def _exactness(result: dict[str, Any]) -> str:
    names = [name for name in next(iter(result["grad_error"].values())) if name != "relu_flips"]
    rows = [
        [TITLES[case], *(f"{errors[name]:.1e}" for name in names), str(errors["relu_flips"])]
        for case, errors in result["grad_error"].items()
    ]
    return (
        "Relative error of the whole gradient in float32 against the plain model in float64, with the same dropout "
        "masks. A ReLU unit that rounding turns on or off would move the gradient by more than rounding; the last "
        "column counts them.\n\n"
        + markdown_table(["", *(WORDS.get(n, n).split(",")[0] for n in names), "units flipped"], rows)
    )


def _growth(result: dict[str, Any]) -> str:
    rows = [
        [
            quantity,
            ", ".join(f"{v}: {s:.3f} s" for v, s in zip(found["values"], found["seconds"], strict=True)),
            f"{found['exponent']:.2f}",
            f"{found['operations_exponent']:.2f}",
        ]
        for quantity, found in result["growth"].items()
    ]
    return (
        "A step of the full model with one size changed at a time. Exponents are those of a power law from the first "
        "to the last value, of the time and of the operations in matrix products.\n\n"
        + markdown_table(["size", "seconds", "exponent of time", "of operations"], rows)
    )


PEERS = {"best_chunk": "plain torch in its best chunk", "compile": "torch.compile", "jax": "JAX, jitted and scanned"}


def _pairwise(result: dict[str, Any]) -> str:
    ratios = result["ratio_pairwise"].get("minimal")
    if not ratios:
        return ""
    return (
        " Plain torch for the minimal model is one einsum of three factors for each line of the model; written "
        "pairwise it is faster itself, and over that "
        + ", ".join(f"the {WORDS[p]} is {v:.1f}" for p, v in ratios.items())
        + " times faster."
    )


def _peers(result: dict[str, Any]) -> str:
    present = [peer for peer in PEERS if any(peer in found for found in result["ratio_peers"].values())]
    spreads = result.get("ratio_peers_spread", {})
    rows = [
        [TITLES[case], *(_peer(found.get(peer), spreads.get(case, {}).get(peer)) for peer in present)]
        for case, found in result["ratio_peers"].items()
        if found
    ]
    chunks = ", ".join(
        f"{TITLES[case]}: {'the whole batch' if chunk is None else chunk}"
        for case, chunk in result.get("best_chunk", {}).items()
    )
    text = "How many times faster the kernel is than each, in chunks of 50 where it is compiled."
    text += f" The best chunks of plain torch: {chunks}." if chunks else ""
    return text + "\n\n" + markdown_table(["", *(PEERS[peer] for peer in present)], rows)


def _peer(value: float | None, spread: list[float] | None) -> str:
    if value is None:
        return "-"
    return f"{value:.1f}" if spread is None else _ratio(value, spread)


def _levels(result: dict[str, Any]) -> str:
    levels = list(next(iter(result["levels"].values())))
    rows = [[TITLES[case], *(f"{took[level]:.3f}" for level in levels)] for case, took in result["levels"].items()]
    text = (
        f"Seconds of the kernel held to each level, {LEVELS_BATCH} sequences; `plain` is what any processor can do "
        "(`headwise bench --level`)."
    )
    return text + "\n\n" + markdown_table(["", *levels], rows)


def _study(result: dict[str, Any]) -> str:
    rows = [
        [
            name,
            f"{found['start_up']:.1f}",
            f"{found['first_step']:.1f}",
            f"{found['overhead']:.2f}",
            f"{found['step']:.3f}",
            f"{found['run']:.0f}",
            _ratio(found["side_by_side"], found["side_by_side_spread"], digits=2),
            "yes" if found["same"] else "**no**",
        ]
        for name, found in result["study"].items()
    ]
    columns = ["seconds", "start-up", "first step", "each run", "step", "run on a core", "two at once", "same weights"]
    return (
        "Commands as people type them (`headwise bench --study`). Start-up: what a process or a worker of a sweep has "
        "once. First step: a whole command of one step, measured and saved. Each run: what every further run of one "
        "step takes in the same worker. Step: with its share of measuring and saving. Run on a core: with the paper's "
        "2000 steps, without start-up. Two at once: two processes side by side over one alone. Same weights: whether a "
        "seed ends alike alone, beside another and in a sweep.\n\n" + markdown_table(columns, rows)
    )


def _auto(result: dict[str, Any]) -> str:
    rows = [
        [
            f"{case}, {axis} = {value}",
            str(found["batch"]),
            found["choice"],
            f"{found['seconds']['auto']:.4f}",
            found["best"],
            f"{found['ratio']:.2f} ({found['interval'][0]:.2f} to {found['interval'][1]:.2f})",
        ]
        for case, axes in result["auto"]["sizes"].items()
        for axis, values in axes.items()
        for value, found in values.items()
    ]
    columns = ["one size changed", "batch", "auto takes", "seconds", "best other way", "times that"]
    return (
        "A cost model with fixed constants (`model/cost.py`) chooses what the first block reads: the same sizes give "
        "the same choice at every moment. At worst it takes "
        f"{result['auto']['worst']:.2f} times the best other way.\n\n" + markdown_table(columns, rows)
    )


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _ratio(value: float, spread: list[float], *, digits: int = 1) -> str:
    return f"{value:.{digits}f} ({spread[0]:.{digits}f} to {spread[1]:.{digits}f})"


def _print(line: str) -> None:
    print(line, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure, and write the page of performance.")
    parser.add_argument("--to", type=Path, default=RESULT, metavar="FILE", help=f"the result (default: {RESULT})")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="measure these alone")
    parser.add_argument("--continue", dest="continued", action="store_true", help="keep what the file has")
    parser.add_argument("--again", nargs="+", default=[], metavar="NAME", help="continue, and measure these anew")
    parser.add_argument("--write", action="store_true", help="measure nothing: write the page of the file")
    arguments = parser.parse_args()
    there = arguments.to.exists() and (arguments.continued or arguments.write or arguments.again)
    before = json.loads(arguments.to.read_text()) if there else None
    if arguments.again:
        if before is None:
            parser.error(f"--to {arguments.to}: no such file")
        for name in arguments.again:
            try:
                forget(before, name)
            except KeyError:
                parser.error(f"--again {name}: the file has no such measurement")
    if arguments.write:
        if before is None:
            parser.error(f"--to {arguments.to}: no such file")
        write(before, arguments.to)
        return
    run_benchmark(
        repeats=REPEATS,
        parts=arguments.parts,
        peers=PEER_CASES,
        before=before,
        keep=lambda result: write(result, arguments.to),
        report=_print,
    )


def forget(result: dict[str, Any], name: str) -> None:
    """Take a case, one of the sizes or the study out of a result; `KeyError` if it has none of this name."""
    if name == "study":
        if not result["study"]:
            raise KeyError(name)
        result["study"] = {}
    elif name in NAMES:
        del result["seconds"][name]
        for key in OF_A_CASE:
            result[key].pop(name, None)
    else:
        case, _, place = name.partition(".")
        axis, _, value = place.partition(".")
        del result["auto"]["sizes"][case][axis][value]


def write(result: dict[str, Any], to: Path) -> None:
    """The result, and its page beside it once there are times."""
    replace_file(to, json.dumps(result, indent=1) + "\n")
    if result["ratio"]:
        replace_file(to.with_suffix(".md"), page(result))


if __name__ == "__main__":
    main()
