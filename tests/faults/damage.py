"""Damage of every kind to every kind of file: found, with the file named, or without effect on any reader."""

from __future__ import annotations

import hashlib
import random
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import xarray as xr

from headwise.core.errors import CorruptData
from headwise.store import run_status
from tests.faults.counts import Counts, Found
from tests.faults.file_system import Tree, read_tree
from tests.faults.models import save_checkpoints
from tests.faults.readers import commands_on, is_beginning, read, require_tidy
from tests.faults.workplace import Answer, command, data_of, probe_line, run_folders, train_line, without_git, workplace

BLOCK = 512
NUMBERED = re.compile(r"(metrics|snapshots|checkpoint)-(\d+)\.(parquet|safetensors)")


@dataclass(frozen=True)
class Sound:
    """A run before anything happened to it: its files and what every reader says of it."""

    files: Tree
    data: dict[str, bytes]
    status: str
    trajectory: xr.Dataset
    answers: dict[str, Answer]
    line: list[str]
    ended: dict[str, bytes]
    """The data that the same command leaves: the same, or of an unfinished run all of it."""


def run(counts: Counts) -> None:
    """Draw a run, a file of it and what happens to it; then ask every reader."""
    with workplace() as place, without_git():
        root, pages = place / "runs", place / "pages"
        sound = _make_runs(place, root, pages)
        rng = random.Random(counts.seed)
        runs = list(sound)
        while counts.go_on():
            run = rng.choice(runs)
            other = rng.choice([one for one in runs if one != run and one.parent == run.parent] or [run])
            kind = rng.choice(list(DAMAGES))
            what = DAMAGES[kind](run, other, rng)
            if what is None:
                continue
            with counts.case(kind, f"{run.parent.name}: {what}"):
                _ask(run, sound[run], pages, rng)
            for touched in {run, other}:
                _restore(touched, sound[touched].files)
            shutil.rmtree(root / "foreign", ignore_errors=True)


def _make_runs(place: Path, root: Path, pages: Path) -> dict[Path, Sound]:
    models = place / "models" / "trained"
    save_checkpoints(models, [5, 10, 20])
    lines = [
        train_line(root),
        train_line(root, seed=1),
        train_line(root, seed=0, train__lr="0.05"),
        train_line(root, seed=2, train__keep_every="2"),
        ["flow", "--T", "5", "--t-end", "3", "--out", str(root)],
        ["flow", "--T", "5", "--t-end", "3", "--m", "1.5", "--out", str(root)],
        probe_line(models, root),
    ]
    line_of: dict[Path, list[str]] = {}
    for line in [*lines, train_line(root, seed=3)]:
        before = set(run_folders(root))
        answer = command(*line)
        if answer.code:
            raise Found("lost", f"{line[0]}: {answer.err}")
        line_of |= {run: line for run in run_folders(root) if run not in before}
    ended = {run: data_of(run) for run in line_of}
    unfinished = next(run for run in line_of if run.name.endswith("-s3"))
    for path in [*unfinished.glob("manifest.json*"), *unfinished.glob("checkpoint-00000006*")]:
        path.unlink()
    sound = {}
    for run, line in line_of.items():
        trajectory = read(run)
        assert trajectory is not None
        answers = {name: _answer(arguments) for name, arguments in commands_on(run, pages).items()}
        sound[run] = Sound(
            read_tree(run), data_of(run), run_status(run, care="full"), trajectory, answers, line, ended[run]
        )
    return sound


def _ask(run: Path, sound: Sound, pages: Path, rng: random.Random) -> None:
    """Every cheap reader, one of the commands, and now and then the command that made the run."""
    status = run_status(run, care="full")
    found_by = "list" if status == "damaged" else ""
    try:
        trajectory = read(run)
    except CorruptData as error:
        _require_named(str(error), run, "load")
        found_by = found_by or "load"
    else:
        if trajectory is None:
            raise Found("wrong", f"called {status}, and load says that nothing was measured")
        if not is_beginning(trajectory, sound.trajectory):
            raise Found("wrong", "load gives other values")
        if trajectory.sizes != sound.trajectory.sizes and status in ("finished", "diverged"):
            raise Found("wrong", f"load gives {dict(trajectory.sizes)} of {dict(sound.trajectory.sizes)}")
    verified = command("verify", str(run))
    require_tidy(verified, "verify")
    if verified.code == 3:
        _require_named(verified.out + verified.err, run, "verify")
    elif verified.code != 0:
        raise Found("wrong", f"verify ended with {verified.code}: {verified.last}")
    elif found_by:
        raise Found("wrong", f"{found_by} finds damage that verify does not")
    _ask_command(run, sound, pages, rng.choice(list(sound.answers)), status=status, verified=verified)
    if rng.random() < 0.25:
        _ask_again(run, sound, verified=verified)


def _ask_command(run: Path, sound: Sound, pages: Path, name: str, *, status: str, verified: Answer) -> None:
    answer = _answer(commands_on(run, pages)[name])
    require_tidy(answer, name)
    if answer.code == 3:
        _require_named(answer.out + answer.err, run, name)
        return
    if (answer.code, answer.out) == (sound.answers[name].code, sound.answers[name].out):
        return
    if name in ("list", "collect") and (run.name in answer.err or f'"{status}"' in answer.out):
        return  # the run is named as damaged or not finished
    if name == "verify":
        return  # its code is the same; it may name litter
    if status in ("interrupted", "damaged") and sound.status != status:
        return
    if status == "interrupted" and verified.code == 0 and _beyond_the_newest_checkpoint(run, sound):
        return  # what a crash leaves that came before this file was written; it is computed anew
    raise Found("wrong", f"{name} says something else, without a word about damage: {answer.last}")


def _beyond_the_newest_checkpoint(run: Path, sound: Sound) -> bool:
    """Whether all that is missing of an unfinished run was written after its newest checkpoint."""
    steps = {name: int(match[2]) for name in sound.data if (match := NUMBERED.fullmatch(name))}
    newest = max(step for name, step in steps.items() if name.startswith("checkpoint-"))
    return all(steps.get(name, 0) > newest for name in sound.data if not (run / name).exists())


def _ask_again(run: Path, sound: Sound, *, verified: Answer) -> None:
    """The command that made the run: refused with the file, or ends with the same bytes.

    A run that is over is not computed on, so the command may leave its checkpoints unread: `verify` then names them.
    """
    answer = command(*sound.line)
    require_tidy(answer, sound.line[0])
    if answer.code == 3:
        _require_named(answer.err, run, sound.line[0])
    elif answer.code == 0:
        left = data_of(run)
        # A copy of a file that nobody reads may stay where it is, and an old checkpoint may have gone.
        wrong = [
            n for n, content in sound.ended.items() if left.get(n, content if "checkpoint-" in n else b"") != content
        ]
        if sound.status == "finished" and verified.code == 3:
            wrong = [name for name in wrong if not (name.startswith("checkpoint-") and name in verified.out)]
        if wrong:
            raise Found("wrong", f"{sound.line[0]} again accepts {', '.join(wrong)}")
    else:
        raise Found("wrong", f"{sound.line[0]} again ends with {answer.code}: {answer.last}")


def _answer(arguments: list[str]) -> Answer:
    return command(*arguments)


def _require_named(text: str, run: Path, reader: str) -> None:
    if run.name not in text:
        raise Found("wrong", f"{reader} finds damage and does not name the run: {text.strip()[-300:]}")


def _restore(run: Path, files: Tree) -> None:
    shutil.rmtree(run, ignore_errors=True)
    run.mkdir(parents=True)
    for name, content in files.items():
        (run / name).write_bytes(content or b"")


def _pick(run: Path, rng: random.Random, *, data_only: bool = False) -> Path:
    files = sorted(path for path in run.iterdir() if path.is_file())
    if data_only:
        files = [path for path in files if (path.with_name(path.name + ".sha256")).exists()]
    return rng.choice(files)


def _flip(run: Path, other: Path, rng: random.Random) -> str | None:
    path = _pick(run, rng)
    content = bytearray(path.read_bytes())
    if not content:
        return None
    place = rng.randrange(len(content))
    content[place] ^= 1 << rng.randrange(8)
    path.write_bytes(content)
    return f"{path.name}, byte {place}"


def _truncate(run: Path, other: Path, rng: random.Random) -> str | None:
    path = _pick(run, rng)
    content = path.read_bytes()
    if not content:
        return None
    length = rng.randrange(len(content))
    path.write_bytes(content[:length])
    return f"{path.name} cut to {length} of {len(content)} bytes"


def _zero(run: Path, other: Path, rng: random.Random) -> str | None:
    path = _pick(run, rng)
    content = bytearray(path.read_bytes())
    start = rng.randrange(0, len(content) + 1, BLOCK)
    if not any(content[start : start + BLOCK]):
        return None
    content[start : start + BLOCK] = bytes(len(content[start : start + BLOCK]))
    path.write_bytes(content)
    return f"{path.name} from byte {start}"


def _grow(run: Path, other: Path, rng: random.Random) -> str | None:
    path = _pick(run, rng)
    with path.open("ab") as file:
        file.write(rng.randbytes(rng.randrange(1, BLOCK)))
    return path.name


def _delete(run: Path, other: Path, rng: random.Random) -> str | None:
    path = _pick(run, rng)
    path.unlink()
    return path.name


def _delete_both(run: Path, other: Path, rng: random.Random) -> str | None:
    path = _pick(run, rng, data_only=True)
    path.unlink()
    _sidecar(path).unlink()
    return path.name


def _swap(run: Path, other: Path, rng: random.Random) -> str | None:
    """With the sidecar, so that every digest fits."""
    path = _pick(run, rng, data_only=True)
    twin = other / path.name
    if other == run or not twin.exists() or twin.read_bytes() == path.read_bytes():
        return None
    for one, two in ((path, twin), (_sidecar(path), _sidecar(twin))):
        ours, theirs = one.read_bytes(), two.read_bytes()
        one.write_bytes(theirs)
        two.write_bytes(ours)
    return f"{path.name} with that of {other.name}"


def _swap_without_sidecar(run: Path, other: Path, rng: random.Random) -> str | None:
    path = _pick(run, rng, data_only=True)
    twin = other / path.name
    if other == run or not twin.exists() or twin.read_bytes() == path.read_bytes():
        return None
    path.write_bytes(twin.read_bytes())
    return f"{path.name} from {other.name}"


def _older(run: Path, other: Path, rng: random.Random) -> str | None:
    """Another file of the same kind of the same run, with a sidecar that fits."""
    path = _pick(run, rng, data_only=True)
    match = NUMBERED.fullmatch(path.name)
    if match is None:
        return None
    others = [p for p in run.glob(f"{match[1]}-*.{match[3]}") if p.read_bytes() != path.read_bytes()]
    if not others:
        return None
    source = rng.choice(sorted(others))
    path.write_bytes(source.read_bytes())
    _sign(path)
    return f"{path.name} is now {source.name}"


def _duplicate(run: Path, other: Path, rng: random.Random) -> str | None:
    """A copy under another number, with a sidecar that fits."""
    path = _pick(run, rng, data_only=True)
    match = NUMBERED.fullmatch(path.name)
    if match is None:
        return None
    number = rng.choice((int(match[2]) + 1, int(match[2]) + 2, 99, 99999999))
    copy = path.with_name(f"{match[1]}-{number:08d}.{match[3]}")
    if copy.exists():
        return None
    copy.write_bytes(path.read_bytes())
    _sign(copy)
    return f"{path.name} again as {copy.name}"


def _folder(run: Path, other: Path, rng: random.Random) -> str | None:
    """The whole of another run under this one's name."""
    if other == run:
        return None
    shutil.rmtree(run)
    shutil.copytree(other, run)
    return f"the folder of {other.name} in its place"


def _sidecar(path: Path) -> Path:
    return path.with_name(path.name + ".sha256")


def _sign(path: Path) -> None:
    _sidecar(path).write_text(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n")


DAMAGES: dict[str, Callable[[Path, Path, random.Random], str | None]] = {
    "bit flipped": _flip,
    "cut short": _truncate,
    "block of zeros": _zero,
    "something appended": _grow,
    "file deleted": _delete,
    "file and sidecar deleted": _delete_both,
    "exchanged with another run's, sidecar too": _swap,
    "replaced by another run's": _swap_without_sidecar,
    "replaced by an older one, sidecar too": _older,
    "copied under another number": _duplicate,
    "folder replaced by another run's": _folder,
}
