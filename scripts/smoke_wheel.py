"""A built wheel, tried from outside: an empty virtual environment, a folder of its own, every command once.

    python scripts/smoke_wheel.py dist/headwise-0.1.0-py3-none-any.whl
    python scripts/smoke_wheel.py dist/*.whl --extras train --python python3.13

Where a library is missing, the commands that need it must name its extra in one line. Prints what it installed
(distributions and megabytes), how long that took, and a line per command; ends with 1 where one did not do as it
should.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SMALL = "--preset redrawn --task.d 6 --task.T 5 --train.samples 60 --train.batch 20 --measure.test_samples 30 --steps 4"
COMMANDS: dict[str, tuple[str, ...]] = {
    "flow": ("flow --T 5 --t-end 30 --points 40 --figure flow.png", "flow --T 6 --t-end 30 --points 40"),
    "list": ("list", "list --runs runs"),
    "show": ("show FLOW --figure run.png",),
    "phases": ("phases FLOW",),
    "report": ("report FLOW -o run.html",),
    "check": ("check ordering --trials 3",),
    "reproduce": ("reproduce --list", "reproduce order --dry-run"),
    "collect": ("collect runs -o collected",),
    "diagram": ("diagram collected/runs.parquet --x T --y m -o diagram.png",),
    "export": ("export FLOW --to parquet -o run.parquet", "export FLOW --to zarr -o run.zarr"),
    "schema": ("schema", "schema flow", "schema cluster"),
    "completion": ("completion bash", "completion zsh", "completion fish"),
    "train": (f"train minimal {SMALL} -q", f"train minimal {SMALL} --dry-run"),
    "sweep": (f"sweep minimal {SMALL} --seeds 0..1 -q", f"sweep minimal {SMALL} --seeds 0..1 --dry-run"),
    "branch": ("branch TRAINED --at 2 --do sham -q",),
    "bench": ("bench --quick --batch 20 --repeats 1",),
    "probe": ("probe model --length 16 --sequences 4 -q",),
    "verify": ("verify runs",),
}
"""Command lines for every command; FLOW and TRAINED stand for the first run of `flow` and of `train`."""

WITH_TORCH = {"torch": "train"}
NEEDS = {
    **dict.fromkeys((COMMANDS["train"][0], COMMANDS["sweep"][0]), WITH_TORCH),
    **dict.fromkeys((*COMMANDS["branch"], *COMMANDS["bench"]), WITH_TORCH),
    COMMANDS["export"][1]: {"zarr": "track"},
    COMMANDS["probe"][0]: {**WITH_TORCH, "transformers": "probe"},
}
"""Libraries that a line needs, and the extra that must be named where one is not there."""

MODEL = """
from transformers import GPT2Config, GPT2LMHeadModel
size = {"vocab_size": 16, "n_positions": 32, "n_embd": 8, "n_layer": 1, "n_head": 2}
GPT2LMHeadModel(GPT2Config(**size, bos_token_id=0, eos_token_id=0)).save_pretrained("model")
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--extras", default="", help="such as train or train,probe")
    parser.add_argument("--python", default=sys.executable, help="the Python to try it with")
    parser.add_argument(
        "--venv", type=Path, help="an environment with everything the wheel needs; only it is installed"
    )
    parser.add_argument("--constraints", type=Path, help="a file of exact versions")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        return try_wheel(given, Path(folder))


def try_wheel(given: argparse.Namespace, folder: Path) -> int:
    venv = given.venv or folder / "venv"
    if given.venv is None:
        subprocess.run([given.python, "-m", "venv", str(venv)], check=True)
    what = f"{given.wheel.resolve()}[{given.extras}]" if given.extras else str(given.wheel.resolve())
    began = time.monotonic()
    exact = ["-c", str(given.constraints.resolve())] if given.constraints else []
    install = [venv / "bin" / "python", "-m", "pip", "install", "-q", "--disable-pip-version-check", *exact, what]
    subprocess.run([*install, *(["--no-deps", "--force-reinstall"] if given.venv else [])], check=True)
    seconds = time.monotonic() - began
    packages = next((venv / "lib").glob("python*/site-packages"))
    size = sum(file.stat().st_size for file in packages.rglob("*") if file.is_file())
    count = len(list(packages.glob("*.dist-info"))) - 1
    print(
        f"{given.wheel.name} [{given.extras}]: {count} distributions, {size / 1e6:.0f} MB, installed in {seconds:.0f} s"
    )
    work = folder / "work"
    work.mkdir()
    if has(venv, "transformers"):
        subprocess.run([(venv / "bin" / "python").absolute(), "-c", MODEL], cwd=work, check=True, capture_output=True)
    else:
        (work / "model").mkdir()
        (work / "model" / "config.json").write_text('{"model_type": "gpt2"}', encoding="utf-8")
        (work / "model" / "model.safetensors").touch()
    answers = [one(venv, work, line) for line in lines(venv)]
    print(f"{given.wheel.name} [{given.extras}]: {sum(answers)} of {len(answers)} lines as they should")
    return 0 if all(answers) else 1


def has(venv: Path, library: str) -> bool:
    look = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({library!r}) is None)"
    return subprocess.run([venv / "bin" / "python", "-I", "-c", look]).returncode == 0


def lines(venv: Path) -> list[str]:
    """Every command line; a command that is not listed above is an error."""
    shown = subprocess.run([venv / "bin" / "headwise", "--help"], capture_output=True, text=True, check=True).stdout
    there = set(re.findall(r"^    ([a-z]+)(?:  |$)", shown, re.MULTILINE))
    if there != set(COMMANDS):
        raise SystemExit(f"commands without a line here, or lines without a command: {there ^ set(COMMANDS)}")
    return [line for several in COMMANDS.values() for line in several]


def one(venv: Path, work: Path, line: str) -> bool:
    """Run one command line and say whether it did as it should."""
    first = {"FLOW": "runs/flow", "TRAINED": "runs/minimal"}
    there = {word: sorted((work / folder).glob("*")) for word, folder in first.items()}
    words = [str(there[word][0]) if there.get(word) else word for word in line.split()]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    began = time.monotonic()
    done = subprocess.run(
        [(venv / "bin" / "headwise").absolute(), *words],
        cwd=work, env=environment, capture_output=True, text=True, timeout=900,
    )  # fmt: skip
    error = done.stderr.strip()
    extra = next((extra for library, extra in NEEDS.get(line, {}).items() if not has(venv, library)), None)
    if extra:
        well = done.returncode == 2 and f"headwise[{extra}]" in error and len(error.splitlines()) == 1
    else:
        well = done.returncode == 0 and "Traceback" not in error
    verdict = "as it should" if well else "WRONG"
    print(f"  {verdict}  {done.returncode}  {time.monotonic() - began:4.0f} s  headwise {line}", flush=True)
    if not well:
        print(done.stdout[-2000:], error)
    elif done.returncode or "kernel" in error:
        print(f"    {error.splitlines()[0]}")
    return well


if __name__ == "__main__":
    sys.exit(main())
