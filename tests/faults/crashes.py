"""Crash states of training, sweeps, recovery, collecting and probing: read each, and resume a sample of them."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq
import xarray as xr

from headwise.core.errors import CorruptData
from tests.faults.counts import Counts, Found
from tests.faults.file_system import Record, Tree, crash_states, read_tree, recording, tree_digest, write_tree
from tests.faults.models import save_checkpoints
from tests.faults.readers import read, require_beginning, require_tidy, statuses
from tests.faults.workplace import (
    command,
    data_below,
    difference,
    probe_line,
    run_folders,
    tiny_options,
    train_line,
    without_git,
    workplace,
)

RESUMED_SHARE = 0.02
SECOND_CRASHES = 12
COMMANDS_EVERY = 40
FEW = 200


@dataclass(frozen=True)
class Scene:
    """A command that writes: how it is called below a root, what lies there before, and what it leaves."""

    name: str
    lines: Callable[[Path], list[list[str]]]
    before: Tree
    record: Record
    data: dict[str, dict[str, bytes]]
    trajectories: dict[str, xr.Dataset]
    tables: dict[str, list[bytes]]


def run(counts: Counts) -> None:
    """Try states of every scene in turn until the count is reached."""
    with workplace() as place, without_git():
        scenes = list(make_scenes(place, counts.seed, short=counts.wanted < FEW))
        queues = _queues(scenes, counts)
        rng = random.Random(counts.seed)
        resume_all = max(len(scenes), round(RESUMED_SHARE * counts.wanted))
        checked: set[bytes] = set()
        seconds_left = min(SECOND_CRASHES, max(1, counts.wanted // 50))
        while queues and counts.go_on():
            for queue in list(queues):
                scene, states = queue
                state = next(states, None)
                if state is None:
                    queues.remove(queue)
                    continue
                _try_state(counts, scene, state, place / "state", checked=checked)
                if rng.random() < resume_all / counts.wanted:
                    again = seconds_left > 0 and rng.random() < 0.3
                    seconds_left -= again
                    _try_resume(counts, scene, state[1], place / "resumed", rng=rng, second=again)


def _queues(scenes: Sequence[Scene], counts: Counts) -> list[tuple[Scene, Iterator[tuple[int, Tree]]]]:
    """States of every scene: all of them, or where there are more than its share, evenly over what was asked."""
    totals = [sum(1 for _ in crash_states(scene.record, seed=counts.seed)) for scene in scenes]
    share = 0
    while sum(min(total, share) for total in totals) < min(counts.wanted, sum(totals)):
        share += 1
    return [
        (scene, _evenly(crash_states(scene.record, seed=counts.seed), total=total, count=min(total, share)))
        for scene, total in zip(scenes, totals, strict=True)
    ]


def _evenly(states: Iterator[tuple[int, Tree]], *, total: int, count: int) -> Iterator[tuple[int, Tree]]:
    for place, state in enumerate(states):
        if (place + 1) * count // total > place * count // total:
            yield state


def make_scenes(place: Path, seed: int, *, short: bool = False) -> Iterator[Scene]:
    """Record what each command asks of the file system; for a few states the first scenes are enough."""
    models = place / "models" / "trained"
    plain = [lambda root: train_line(root)]
    sweep = [
        lambda root: [
            "sweep",
            "minimal",
            *tiny_options(measure__windows="2"),
            "--seeds",
            "0,1",
            "--out",
            str(root),
            "-q",
        ]
    ]
    collect = [lambda root: ["collect", str(root), "-o", str(root / "collected")]]
    flow = [lambda root: ["flow", "--T", "5", "--t-end", "3", "--out", str(root)]]
    probe = [lambda root: probe_line(models, root)]
    second = [lambda root: train_line(root, seed=1)]
    halfway = _halfway(_record("training", plain, place), seed)
    recover = [lambda root: train_line(root, extra=["--recover"])]
    yield _record("training", plain, place)
    yield _record("training resumed", plain, place, before=halfway)
    yield _record("collecting, and collecting again", [*plain, *collect, *second, *collect], place)
    if short:
        return
    save_checkpoints(models, [5, 10, 20])
    yield _record("training recovered", recover, place, before=_with_damage(halfway))
    yield _record("a sweep with models it compares with", sweep, place)
    yield _record("probing checkpoints", probe, place)
    yield _record("a flow", flow, place)


def _record(name: str, parts: list[Callable[[Path], list[str]]], place: Path, *, before: Tree | None = None) -> Scene:
    root = place / "recorded"
    write_tree(root, before or {})
    finished: set[str] = set()
    with recording(root) as record:
        for part in parts:
            answer = command(*part(root))
            if answer.code != 0:
                raise Found("lost", f"{name}: {part(root)[0]} ended with {answer.code}: {answer.err}")
            for run in run_folders(root):
                if (run / "manifest.json").exists() and str(run.relative_to(root)) not in finished:
                    finished.add(str(run.relative_to(root)))
                    record.promise(f"finished {run.relative_to(root)}")
    trajectories = {str(run.relative_to(root)): found for run in run_folders(root) if (found := read(run)) is not None}
    scene = Scene(
        name,
        lambda where: [part(where) for part in parts],
        before or {},
        record,
        data_below(root),
        trajectories,
        _tables(record),
    )
    shutil.rmtree(root)
    return scene


def _tables(record: Record) -> dict[str, list[bytes]]:
    """Every content that a collected table was meant to have, by its place; one may lie there from the start."""
    tables: dict[str, list[bytes]] = {}
    for path, content in record.start.items():
        if content is not None and _is_table(path):
            tables.setdefault(path, []).append(content)
    for step in record.steps:
        if step.kind == "rename" and _is_table(step.to):
            whole = max((s.content for s in record.steps if s.kind == "write" and s.file == step.file), key=len)
            tables.setdefault(step.to, []).append(whole)
    return tables


def _is_table(path: str) -> bool:
    return path.startswith("collected") and path.endswith(".parquet")


def _halfway(scene: Scene, seed: int) -> Tree:
    """A state with some checkpoints and no end, as a crash left it."""
    states = [tree for _, tree in crash_states(scene.record, seed=seed)]
    return next(
        tree
        for tree in reversed(states)
        if sum("checkpoint-" in path and path.endswith(".safetensors") for path in tree) >= 2
        and not any(path.endswith("manifest.json") for path in tree)
    )


def _with_damage(tree: Tree) -> Tree:
    """The newest checkpoint loses a bit."""
    newest = max(path for path in tree if "checkpoint-" in path and path.endswith(".safetensors"))
    content = bytearray(tree[newest] or b"")
    content[len(content) // 2] ^= 1
    return {**tree, newest: bytes(content)}


def _try_state(counts: Counts, scene: Scene, state: tuple[int, Tree], where: Path, *, checked: set[bytes]) -> None:
    done, tree = state
    promised = scene.record.promised(done)
    key = tree_digest(tree) + str(sorted(promised)).encode() + scene.name.encode()
    if key in checked:
        return
    checked.add(key)
    with counts.case(scene.name, f"state after {done} of {len(scene.record.steps)} calls"):
        write_tree(where, tree)
        try:
            check_state(scene, where, promised)
            if counts.tried % COMMANDS_EVERY == 0:
                for line in (
                    ["list", "--runs", str(where)],
                    ["verify", str(where)],
                    ["collect", str(where), "-o", str(where / "c")],
                ):
                    answer = command(*line)
                    require_tidy(answer, line[0])
                    if answer.code == 3 and "recovered" not in scene.name:
                        raise Found("wrong", f"{line[0]} calls a crash damage: {answer.last}")
        finally:
            shutil.rmtree(where, ignore_errors=True)


def check_state(scene: Scene, where: Path, promised: set[str]) -> None:
    """No reader takes wrong for right, none calls a crash damage, and what was finished is there."""
    found = statuses(where)
    for path in run_folders(where):
        place = str(path.relative_to(where))
        status = found.get(path)
        if status == "damaged" and scene.name == "training recovered":
            continue
        if status not in ("finished", "interrupted"):
            raise Found("wrong", f"{place} is called {status}")
        try:
            require_beginning(path, scene.trajectories[place], finished=status == "finished")
        except CorruptData as error:
            raise Found("wrong", f"a crash is called damage: {error}") from None
    for what in promised:
        place = what.removeprefix("finished ")
        if found.get(where / place) != "finished":
            raise Found("lost", f"{place} was finished and is now {found.get(where / place)}")
    for place, versions in scene.tables.items():
        table = where / place
        if table.exists() and table.read_bytes() not in versions:
            try:
                pq.read_table(table)
            except Exception:
                raise Found("wrong", f"{place} is half written") from None
            raise Found("wrong", f"{place} is readable and is not what was written")


def _try_resume(counts: Counts, scene: Scene, tree: Tree, where: Path, *, rng: random.Random, second: bool) -> None:
    """The same commands again end with the bytes of one never stopped; perhaps after a second crash on the way."""
    with counts.case(f"{scene.name}, resumed", "the same command again"):
        write_tree(where, tree)
        try:
            if not second:
                _finish(scene, where)
                return
            start = read_tree(where)
            with recording(where) as record:
                _finish(scene, where)
        finally:
            shutil.rmtree(where, ignore_errors=True)
    if second and counts.tried:
        again = Scene(scene.name, scene.lines, start, record, scene.data, scene.trajectories, _tables(record))
        states = list(crash_states(record, seed=counts.seed))
        rng.shuffle(states)
        for number, (done, state) in enumerate(states[:120]):
            if not counts.go_on():
                return
            with counts.case(f"{scene.name}, second crash", f"state after {done} calls of the second start"):
                write_tree(where, state)
                try:
                    check_state(again, where, set())
                    if number < 4:
                        _finish(scene, where)
                finally:
                    shutil.rmtree(where, ignore_errors=True)


def _finish(scene: Scene, where: Path) -> None:
    for line in scene.lines(where):
        answer = command(*line)
        require_tidy(answer, line[0])
        if answer.code != 0:
            raise Found("lost", f"{line[0]} again ended with {answer.code}: {answer.last}")
    left = {place: _without_dropped(scene, place, files) for place, files in data_below(where).items()}
    if unlike := difference(scene.data, left):
        raise Found("wrong", f"resumed, {unlike}")


def _without_dropped(scene: Scene, place: str, files: dict[str, bytes]) -> dict[str, bytes]:
    """Without old checkpoints that were to be dropped and came back with the crash, as whole as they were written."""
    written = {(step.to, step.file) for step in scene.record.steps if step.kind == "rename"}
    contents: dict[str, set[bytes]] = {}
    for to, file in written:
        contents.setdefault(to, set()).update(s.content for s in scene.record.steps if s.file == file)
    for path, content in scene.record.start.items():
        contents.setdefault(path, set()).add(content or b"")
    return {
        name: content
        for name, content in files.items()
        if name in scene.data.get(place, {})
        or not name.startswith("checkpoint-")
        or content not in contents.get(f"{place}/{name}", set())
    }
