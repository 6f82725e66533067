"""One reader of foreign files under atheris: `python -m tests.faults.fuzz_target NAME FOLDER [libFuzzer options]`.

Atheris mutates a file's bytes by which branches of headwise they reach. A reader refuses with an error of headwise's
own or accepts; anything else is written to FOLDER/findings, one line each, and fuzzing goes on. Files of a run get a
sidecar that fits, so that the readers behind the digest are reached as well.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

import atheris

os.environ["PATH"] = ""  # no git for every run that is described
with atheris.instrument_imports(include=["headwise"]):
    import headwise.cli.main
    import headwise.paper.verdict_file
    import headwise.probe.probe_folder
    import headwise.probe.token_file
    import headwise.store
    import headwise.study.collect
    import headwise.study.sweep
    import headwise.view.report.pages

from headwise.core.errors import HeadwiseError
from tests.faults.models import save_checkpoints
from tests.faults.workplace import EXIT_CODES, command, run_folders, train_line

Reader = Callable[[bytes], None]
SECONDS = 20


def tokens(folder: Path, suffix: str) -> tuple[Reader, list[bytes]]:
    import io

    import numpy as np

    path = folder / f"tokens{suffix}"

    def read(content: bytes) -> None:
        path.write_bytes(content)
        headwise.probe.token_file.read_tokens(path, sequences=4, length=4, tokenizer=folder)

    buffer = io.BytesIO()
    np.save(buffer, np.arange(40).reshape(4, 10))
    return read, [buffer.getvalue()] if suffix == ".npy" else [b"[[1, 2, 3, 4], [5, 6, 7, 8]]", b"[1,2,3,4,5]"]


def by_command(path: Path, line: list[str], seeds: list[bytes]) -> tuple[Reader, list[bytes]]:
    def read(content: bytes) -> None:
        path.write_bytes(content)
        answer = command(*line)
        if answer.code not in EXIT_CODES or "Traceback" in answer.err:
            raise RuntimeError(f"exit code {answer.code}: {answer.last}")

    return read, seeds


def checkpoint(folder: Path, name: str) -> tuple[Reader, list[bytes]]:
    models = folder / "models"
    save_checkpoints(models, [5])
    path = models / "checkpoint-5" / name
    line = ["probe", str(models), "--sequences", "1", "--length", "4", "--lags", "4", "--no-induction",
            "--out", str(folder / "probed"), "-q"]  # fmt: skip
    seed = path.read_bytes() if path.exists() else b'{"weight_map": {"a": "model.safetensors"}, "metadata": {}}'
    read, seeds = by_command(path, line, [seed])

    def read_anew(content: bytes) -> None:
        shutil.rmtree(folder / "probed", ignore_errors=True)
        read(content)

    return read_anew, seeds


def run_file(folder: Path, pattern: str) -> tuple[Reader, list[bytes]]:
    root = folder / "runs"
    command(*train_line(root))
    [run] = run_folders(root)
    path = sorted(run.glob(pattern))[0]

    def read(content: bytes) -> None:
        path.write_bytes(content)
        signed = f"{hashlib.sha256(content).hexdigest()}  {path.name}\n"
        path.with_name(path.name + ".sha256").write_text(signed)
        for reader in (headwise.store.load_trajectory, lambda at: headwise.store.run_status(at, care="full")):
            try:
                reader(run)
            except HeadwiseError:
                continue

    return read, [path.read_bytes()]


def unsigned(folder: Path, name: str) -> tuple[Reader, list[bytes]]:
    root = folder / "runs"
    command(*train_line(root))
    [run] = run_folders(root)
    path = run / name
    return by_command(path, ["show", str(run), "--json"], [path.read_bytes()])


def verdicts(folder: Path) -> tuple[Reader, list[bytes]]:
    path = folder / "verdicts.json"
    stored = json.loads((Path(__file__).parents[2] / "results" / "paper" / "verdicts.json").read_text())
    stored["verdicts"] = stored["verdicts"][:3]

    def read(content: bytes) -> None:
        path.write_bytes(content)
        headwise.paper.verdict_file.read_verdicts(path)

    return read, [json.dumps(stored).encode(), b'{"schema": 1, "verdicts": []}', b"[]"]


TOML = [b"seed = 3\n[task]\nm = 1.5\ngroups = [[1],[2]]\n[train]\nlr = 0.01\n", b"[model.dropout]\nmlp = 0.1\n"]
TARGETS: dict[str, Callable[[Path], tuple[Reader, list[bytes]]]] = {
    "token ids as .npy": lambda folder: tokens(folder, ".npy"),
    "token ids as .json": lambda folder: tokens(folder, ".json"),
    "config file": lambda folder: by_command(
        folder / "c.toml", ["train", "minimal", "--config", str(folder / "c.toml"), "--dry-run"], TOML
    ),
    "cluster file": lambda folder: by_command(
        folder / "c.toml",
        ["sweep", "minimal", "--cluster", str(folder / "c.toml"), "--dry-run", "--out", str(folder / "o")],
        [b'[cluster]\nqueue = "cpu"\ntime = "01:00:00"\n'],
    ),
    "a checkpoint's config.json": lambda folder: checkpoint(folder, "config.json"),
    "a checkpoint's model.safetensors": lambda folder: checkpoint(folder, "model.safetensors"),
    "a checkpoint's index": lambda folder: checkpoint(folder, "model.safetensors.index.json"),
    "a run's config.json": lambda folder: run_file(folder, "config.json"),
    "a run's coordinates.json": lambda folder: run_file(folder, "coordinates.json"),
    "a run's manifest.json": lambda folder: run_file(folder, "manifest.json"),
    "a run's metrics": lambda folder: run_file(folder, "metrics-*.parquet"),
    "a run's snapshots": lambda folder: run_file(folder, "snapshots-*.safetensors"),
    "a run's checkpoint": lambda folder: run_file(folder, "checkpoint-*.safetensors"),
    "a run's log": lambda folder: unsigned(folder, "log.jsonl"),
    "a sidecar": lambda folder: unsigned(folder, "config.json.sha256"),
    "verdicts": verdicts,
}


class TooLong(BaseException):
    """Raised into a reader that takes too long."""


def main() -> None:
    """Fuzz one reader until libFuzzer's options say that it is enough."""
    name, folder = sys.argv[1], Path(sys.argv[2])
    reader, seeds = TARGETS[name](folder)
    corpus = folder / "corpus"
    corpus.mkdir()
    for number, seed in enumerate(seeds):
        (corpus / str(number)).write_bytes(seed)
    findings, seen = folder / "findings", set()

    def too_long(number: int, frame: object) -> None:
        raise TooLong

    def note(fault: str, what: str, content: bytes) -> None:
        if what not in seen:
            seen.add(what)
            (folder / f"input-{len(seen)}").write_bytes(content)
        with findings.open("a") as file:
            file.write(f"{fault}\t{what}\n")

    def one(content: bytes) -> None:
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        try:
            reader(content)
        except HeadwiseError:
            pass
        except TooLong:
            note("hang", name, content)
        except BaseException as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            what = f"{type(error).__name__} at {Path(place.filename).name}:{place.lineno}: {str(error)[:200]!r}"
            note("traceback", what, content)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)

    for seed in seeds:
        one(seed)
    atheris.Setup([sys.argv[0], *sys.argv[3:], str(corpus)], one)
    signal.signal(signal.SIGPROF, too_long)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
