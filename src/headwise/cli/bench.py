"""`headwise bench`: how fast each path is here, beside plain torch, and which one is in use and why."""

from __future__ import annotations

import argparse

from headwise.cli.command import Command, print_result, refuse_extra
from headwise.cli.options import add_json
from headwise.cli.streams import say


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--batch", type=int, default=3000, metavar="N", help="sequences per step (default: 3000)")
    parser.add_argument(
        "--repeats", type=int, default=7, metavar="N", help="how often each is timed, taking turns (default: 7)"
    )
    parser.add_argument(
        "--quick",
        dest="extent",
        action="store_const",
        const="times",
        default="all",
        help="only times: leaves out accuracy, memory, growth and other instruction levels, half of the minutes",
    )
    parser.add_argument(
        "--study",
        dest="extent",
        action="store_const",
        const="study",
        default="all",
        help="time whole runs instead: start-up, overhead of each, two processes side by side; five minutes",
    )
    parser.add_argument(
        "--peers",
        action="store_true",
        help="also time plain torch in its best chunk, torch.compile, and JAX where installed",
    )
    parser.add_argument(
        "--sizes",
        action="store_true",
        help="also compare what `auto` chooses with every other way, at many sizes; ten minutes more",
    )
    parser.add_argument(
        "--level", metavar="NAME", help="hold the kernel to an instruction level: plain, avx2 or avx512"
    )
    add_json(parser)
    parser.epilog = "Needs a machine that does nothing else. Everything is measured on one thread."


def run(arguments: argparse.Namespace, extra: list[str]) -> int:
    refuse_extra(extra)
    from headwise.bench.benchmark import benchmark

    if arguments.extent == "all":
        say("about twenty minutes; --quick leaves out accuracy, memory and growth")
    measured = benchmark(
        batch=arguments.batch,
        repeats=arguments.repeats,
        extent=arguments.extent,
        peers=arguments.peers,
        sizes=arguments.sizes,
        level=arguments.level,
        report=say,
    )
    print_result(measured, arguments)
    return 0


COMMAND = Command(
    "bench",
    "how fast each way to compute the models is on this machine",
    add,
    run,
    functions=("benchmark",),
)
