"""Compute the runs that a reproduction needs and that are not there yet."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence

from headwise.paper.plan import Plan
from headwise.study.config import RunConfig
from headwise.study.cost import estimate_seconds, readable
from headwise.study.executors import open_pool
from headwise.study.many import Outcome, StopAsked, never, run_on_pool
from headwise.study.run_location import run_location


def compute_runs(
    plan: Plan,
    unfinished: Sequence[RunConfig],
    *,
    workers: int,
    notify: Callable[[str], None],
    ended: Callable[[str], None],
    stop_asked: StopAsked = never,
) -> list[Outcome]:
    """Compute the unfinished runs of a plan and return those that failed; `ended` gets a line about each that ends.

    Once `stop_asked` returns true the runs that are being computed are saved and `Interrupted` is raised.
    """
    expected = {run_location(config, plan.out): estimate_seconds(config) for config in unfinished}
    total, begun = sum(expected.values()), time.monotonic()
    done: list[Outcome] = []

    def count(outcome: Outcome) -> None:
        done.append(outcome)
        share = sum(expected.get(one.run, 0.0) for one in done) / total
        spent = time.monotonic() - begun
        left = readable(spent / share - spent) if share > 0 else "?"
        why = f" ({outcome.reason})" if outcome.reason else ""
        ended(
            f"[{len(done)}/{len(unfinished)}] {outcome.status} {outcome.run}{why}  {share:.0%} of the work, {left} left"
        )

    run_on_pool(
        unfinished,
        plan.out,
        pool=lambda: open_pool("local", workers=workers),
        argv=sys.argv,
        ended=count,
        notify=notify,
        stop_asked=stop_asked,
    )
    return [outcome for outcome in done if outcome.status == "failed"]
