"""`reproduce`: compute what claims and figures of the paper need, draw them and decide whether they hold."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from headwise.core.errors import ConfigError
from headwise.core.named_options import named_options
from headwise.core.seeds import require_seeds
from headwise.paper.compute import compute_runs
from headwise.paper.draw import Drawn
from headwise.paper.entry import Claim
from headwise.paper.judge import judge_run
from headwise.paper.levels import TABLES
from headwise.paper.manifest import ENTRIES, HEADLINE, select
from headwise.paper.plan import Plan, describe, describe_missing
from headwise.paper.published_numbers import PublishedNumbers, published_numbers
from headwise.paper.results import write_results
from headwise.paper.scale import Scale
from headwise.paper.standing import Standing, describe_standing, elsewhere, standing, without
from headwise.paper.verdicts import Verdicts
from headwise.store import check_writable
from headwise.study.config import Preset
from headwise.study.many import Outcome, StopAsked, never

ON_ONE_RUN = ("order", "competition", "offshoot", "specialisation")
"""Claims that can be decided on one training run of the minimal or the full model."""

Names = Sequence[str] | Literal["all"]
READINGS: dict[str, tuple[Preset, ...]] = {
    "published": ("published",),
    "redrawn": ("redrawn",),
    "text": ("text",),
    "both": ("published", "text"),
    "all": ("published", "redrawn", "text"),
}


@dataclass(frozen=True)
class Reproduction:
    """Verdicts, and the folder's files that show them; `str` of this is what `headwise reproduce` prints."""

    verdicts: Verdicts = field(repr=False)
    numbers: tuple[PublishedNumbers, ...] = field(repr=False)
    """The published numbers beside ours, by reading; of the tables that were asked for and are there."""
    file: Path
    page: Path
    failed: tuple[Outcome, ...] = ()
    """Runs that could not be computed."""

    def to_json(self) -> dict[str, Any]:
        """`schema` and `verdicts`, ready for JSON."""
        return self.verdicts.to_json()

    def __str__(self) -> str:
        return "\n\n".join(text for part in (self.verdicts, *self.numbers) if (text := str(part)))


@named_options
def reproduce(
    names: Names = (),
    *,
    preset: Literal["published", "redrawn", "text", "both", "all"] = "published",
    scale: Scale = "quick",
    seeds: Sequence[int] | None = None,
    workers: int = 2,
    out: Path | str = "runs",
    into: Path | str = "reproduction",
    missing: Literal["compute", "leave"] = "compute",
    undecided: bool = False,
    stored: Path | str | None = None,
    notify: Callable[[str], None] = lambda line: None,
    progress: Callable[[str], None] = lambda line: None,
    while_computing: Callable[[], AbstractContextManager[StopAsked]] = lambda: nullcontext(never),
) -> Reproduction:
    """Verdicts and figures of the named claims and figures, of all of them ("all"), or of the headline set.

    Runs are kept under `out` and computed only where they are missing; with `missing="leave"` none is computed, and
    what is there is judged. Verdicts, figures and the page go into the folder `into`. With `undecided` what stands
    in `into` or in the folder `stored` (by default `results/quick` or `results/paper`) is left out: verdicts by the
    present tests on these seeds, and figures of them, which need no run any more. Unless `seeds` are given
    they are three, one for variations of the full decoder and five for redrawn tasks at paper scale; they begin at 0,
    and at paper scale at 6, as nobody had seen those runs when the tests were fixed. "all" leaves out the full decoder
    and restricted contexts on redrawn tasks, which are computed when named. `notify` is called with lines about the
    whole, `progress` with one about each part. `while_computing` is entered while runs are computed and gives a
    function that says whether to save them and stop, by `Interrupted`. With several workers a script must stand under
    `if __name__ == "__main__":`.

    >>> import tempfile
    >>> from headwise import reproduce
    >>> with tempfile.TemporaryDirectory() as out:
    ...     found = reproduce(["order"], seeds=[0], missing="leave", out=f"{out}/runs", into=f"{out}/into")
    >>> [(one.claim, one.outcome, one.notes["0"]) for one in found.verdicts]
    [('order', 'inconclusive', 'minimal has not run')]
    """
    if workers < 1:
        raise ConfigError(f"--workers {workers} must be at least 1")
    if seeds is not None:
        require_seeds(seeds)
    chosen = list(ENTRIES) if names == "all" else list(names) or list(HEADLINE)
    plan = Plan(
        entries=tuple(select(chosen)),
        presets=READINGS[preset],
        scale=scale,
        seeds=None if seeds is None else tuple(seeds),
        out=Path(out),
        everything=names == "all",
    )
    if not any(plan.pairs()):
        raise ConfigError(f"--preset {preset}: {', '.join(chosen)} is made in the other reading only")
    into = Path(into)
    check_writable(plan.out)
    check_writable(into, "--into")
    asked = plan
    known = known_already(plan, [into, stored_folder(stored, scale)], undecided=undecided, leave=missing == "leave")
    plan = without(plan, known)
    for line in describe_standing(known, left=sum(1 for _ in plan.pairs())):
        notify(line)
    unfinished = plan.unfinished()
    if any(plan.pairs()):
        notify(describe(plan, unfinished, workers))
    failed: list[Outcome] = []
    if missing == "leave":
        for line in describe_missing(plan, unfinished):
            notify(line)
    elif unfinished:
        with while_computing() as stop_asked:
            failed = compute_runs(
                plan, unfinished, workers=workers, notify=notify, ended=progress, stop_asked=stop_asked
            )
    results = write_results(
        plan,
        into,
        command=command_line(names, preset=preset, scale=scale, seeds=seeds, out=plan.out, into=into),
        missing=unfinished if missing == "leave" else (),
        besides=elsewhere(known, into, scale),
        notify=progress,
    )
    found = {(one.claim, one.preset): one for one in results.verdicts} | known.verdicts
    shown = [found[entry.name, preset] for entry, preset in asked.pairs() if isinstance(entry, Claim)]
    return Reproduction(
        Verdicts(tuple(shown)),
        tuple(published_numbers(tables_of(asked, known, results.drawn), scale)),
        results.file,
        results.page,
        tuple(failed),
    )


def tables_of(plan: Plan, known: Standing, drawn: Sequence[Drawn]) -> list[tuple[Preset, Path]]:
    """The tables of published numbers that a plan asks for, each with its reading: those drawn now, and those known."""
    new = {(one.name, one.preset): one.picture.with_suffix(".csv") for one in drawn}
    found = []
    for entry, preset in plan.pairs():
        if entry in TABLES:
            pair = (entry.name, preset)
            path = new.get(pair) or (
                known.folders[pair] / f"{entry.name}-{preset}.csv" if pair in known.folders else None
            )
            if path is not None and path.exists():
                found.append((preset, path))
    return found


def stored_folder(given: Path | str | None, scale: Scale) -> Path:
    """The folder of results that others have computed: the one given, or that of this scale below `results`."""
    if given is not None and not Path(given).is_dir():
        raise ConfigError(f"--stored {given} is no folder; name one that holds verdicts.json")
    return Path("results", scale) if given is None else Path(given)


def known_already(plan: Plan, folders: Sequence[Path], *, undecided: bool, leave: bool) -> Standing:
    """What stands and is not made again: all of it where only the undecided is asked for.

    Where nothing is computed it is what could not be judged from its runs, because they are gone or none are needed.
    """
    if not undecided and not leave:
        return Standing({}, {})
    found = standing(plan, folders)
    if undecided:
        return found
    waiting = plan.incomplete(plan.unfinished())
    exact = {entry.name for entry in plan.entries if not entry.experiments}
    return found.only([pair for pair in found.folders if pair in waiting or pair[0] in exact])


@named_options
def judge(run: Path | str, names: Sequence[str] = ()) -> Verdicts:
    """Verdicts on one stored run, for the named claims or for order, competition, offshoot and specialisation.

    Only claims that need no other run can be decided.

    >>> import tempfile
    >>> from headwise import experiment, judge, list_runs, train
    >>> small = {"task.d": 6, "task.T": 5, "train.samples": 60, "train.steps": 8, "measure.test_samples": 30}
    >>> with tempfile.TemporaryDirectory() as out:
    ...     _ = train(experiment("minimal", "redrawn", changes=small), out=out)
    ...     verdicts = judge(list_runs(out)[0].path, ["specialisation"])
    >>> [one.outcome for one in verdicts]
    ['inconclusive']
    """
    claims = []
    for entry in select(names or ON_ONE_RUN):
        if not isinstance(entry, Claim):
            raise ConfigError(f"{entry.name} is a {entry.kind}; --run judges claims")
        claims.append(entry)
    return Verdicts(tuple(judge_run(Path(run), claims)))


def command_line(names: Names, *, preset: str, scale: str, seeds: Sequence[int] | None, out: Path, into: Path) -> str:
    """What to type to make this reproduction again."""
    words = ["headwise", "reproduce", *(["--all"] if names == "all" else names)]
    words += ["--preset", preset, "--scale", scale]
    words += [] if seeds is None else ["--seeds", ",".join(map(str, seeds))]
    return shlex.join([*words, "--out", str(out), "--into", str(into)])
