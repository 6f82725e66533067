"""Made-up command lines and config files: each succeeds or is refused in one line, and a refusal writes nothing."""

from __future__ import annotations

import contextlib
import random
import shutil
import string
from collections.abc import Callable
from pathlib import Path

from headwise.core.keys import known_keys
from headwise.study.config import RunConfig
from tests.faults.counts import Counts, Found
from tests.faults.readers import require_tidy
from tests.faults.workplace import EXIT_CODES, SIZES, command, train_line, without_git, workplace

KEYS = [key for key in known_keys(RunConfig) if key not in ("experiment", "preset", "compute.device")]
GROWING = {*SIZES, "task.h", "model.heads", "model.blocks", "model.mlp", "compute.threads", "compute.chunk"}
"""Keys whose honest large values would only take long; where something is computed they get small numbers."""

WORDS = (
    "one_hot", "learned", "sinusoidal", "relative", "merged", "product", "input", "head", "none", "post", "pre",
    "uniform", "xavier", "torch", "sum", "haar", "frobenius", "correlated", "singleton", "reversed", "contiguous",
    "allow", "fresh", "plateau", "SGD", "Adam", "AdamW", "RMSprop", "Adafactor", "Muon", "identity", "reference",
    "kernel", "float64", "float32", "published", "text", "on", "off", "zero", "null", "true", "false",
    "[[1],[2],[3]]", "[0.7,0.3]", "random", "markov",
)  # fmt: skip
NONSENSE = (
    "",
    "nan",
    "inf",
    "-inf",
    "1e999",
    "1e300",
    "-1",
    "-0.0",
    "0",
    "0.999999",
    "[]",
    "{}",
    "[[",
    '"',
    "[1,2]",
    "[[1,2],[3]]",
    "0x10",
    "1_000",
    "--",
    "-",
    "[/red]",
    "[bold]x",
    "</script>",
    "модель",
    "\udcff",
    "a\nb",
    "\x1b[31m",
    "[" * 3000,
    '{"a":' * 2000,
    "x" * 300,
    "9" * 400,
    "../..",
    "/dev/full",
    "/dev/null/x",
    "%s%n",
    "é" * 140,
)
COMMANDS = (
    "train", "show", "report", "phases", "probe", "flow", "check", "reproduce", "sweep", "collect", "diagram", "list",
    "bench", "verify", "help", "trian", "--", "--version",
)  # fmt: skip
OPTIONS = (
    "--seed", "--steps", "--out", "--preset", "--config", "--dry-run", "--json", "-q", "--recover", "--init-scale",
    "--path", "--device", "--threads", "--over", "--zip", "--seeds", "--workers", "--executor", "--cluster", "--to",
    "-o", "--figure", "--tokens", "--synthetic", "--sequences", "--length", "--lags", "--on-corrupt", "--pickle",
    "--run", "--runs", "--into", "--scale", "--list", "--all", "--start", "--noise", "--system", "--t-end", "--T",
    "--h", "--m", "--groups", "--trials", "--what", "--help",
)  # fmt: skip


def run(counts: Counts) -> None:
    """Draw command lines and files; a few of them train."""
    rng = random.Random(counts.seed)
    with workplace() as place, without_git(), contextlib.ExitStack() as stack:
        stored = place / "stored"
        command(*train_line(stored))
        made = next(stored.glob("*/*"))
        (place / "here").mkdir()
        stack.enter_context(contextlib.chdir(place / "here"))
        while counts.go_on():
            kind = rng.choices(list(KINDS), weights=[weight for weight, _ in KINDS.values()])[0]
            out = place / "out"
            line = KINDS[kind][1](rng, out, place, made)
            shown = " ".join(line).encode("utf-8", "backslashreplace").decode()[:300]
            with counts.case(kind, shown):
                _try(line, out)
            _clean(out, place)


def _try(line: list[str], out: Path) -> None:
    answer = command(*line)
    require_tidy(answer, "it")
    if answer.code not in EXIT_CODES - {75, 130}:
        raise Found("traceback", f"ended with {answer.code}")
    if answer.code == 2:
        if len(answer.err.strip().splitlines()) != 1:
            raise Found("traceback", f"refused in {len(answer.err.strip().splitlines())} lines: {answer.err[:300]!r}")
        if out.exists() and any(out.iterdir()):
            raise Found("wrong", "refused, and wrote something")


def _clean(out: Path, place: Path) -> None:
    shutil.rmtree(out, ignore_errors=True)
    for litter in place.iterdir():
        if litter.is_file():
            litter.unlink()


def _value(rng: random.Random, key: str = "") -> str:
    draw = rng.random()
    if draw < 0.4 or (key in GROWING and draw < 0.6):
        return str(rng.randrange(-2, 10))
    if draw < 0.6 and key not in GROWING:
        return rng.choice(WORDS)
    if draw < 0.7 and key not in GROWING:
        return repr(rng.choice((rng.uniform(-3, 3), rng.gauss(0, 1e6), 10.0 ** rng.randrange(-320, 308))))
    if draw < 0.8:
        alphabet = string.ascii_letters + string.digits + ".,-_[]{}='\"\\ \téß漢\u202e"
        return "".join(rng.choice(alphabet) for _ in range(rng.randrange(12)))
    return rng.choice(NONSENSE)


def _keys(rng: random.Random, most: int = 5) -> dict[str, str]:
    return {key: _value(rng, key) for key in rng.sample(KEYS, rng.randrange(most))}


def _as_options(values: dict[str, str], rng: random.Random) -> list[str]:
    line: list[str] = []
    for key, value in values.items():
        line += [f"--{key}={value}"] if rng.random() < 0.5 else [f"--{key}", value]
    return line


def _planned(rng: random.Random, out: Path, place: Path, made: Path) -> list[str]:
    name = rng.choice(("minimal", "full", "ladder", "data-size", "mini", _value(rng)))
    line = ["train", name, *_as_options(_keys(rng), rng), "--dry-run", "--out", str(out)]
    return _mutated(line, rng) if rng.random() < 0.2 else line


def _trained(rng: random.Random, out: Path, place: Path, made: Path) -> list[str]:
    values = {**SIZES, "train.steps": "2", "train.checkpoint_every": "1", **_keys(rng, 4)}
    return [
        "train",
        rng.choice(("minimal", "full")),
        "--preset",
        "redrawn",
        *_as_options(values, rng),
        "--out",
        str(out),
        "-q",
    ]


def _swept(rng: random.Random, out: Path, place: Path, made: Path) -> list[str]:
    line = ["sweep", "minimal", *_as_options(_keys(rng, 3), rng), "--dry-run", "--out", str(out)]
    for _ in range(rng.randrange(3)):
        option = rng.choice(("--over", "--zip"))
        line += [option, f"{rng.choice(KEYS)}={','.join(_value(rng) for _ in range(rng.randrange(4)))}"]
    if rng.random() < 0.3:
        line += ["--seeds", rng.choice(("0..3", "3..0", "0,0", "-1", "1..", "0..99999999999", _value(rng)))]
    return line


def _file(rng: random.Random, out: Path, place: Path, made: Path) -> list[str]:
    """A config file from the schema, then damaged."""
    sections: dict[str, list[str]] = {}
    for key, value in _keys(rng, 6).items():
        section, _, name = key.rpartition(".")
        text = value if rng.random() < 0.6 else f'"{value}"'
        sections.setdefault(section, []).append(f"{name} = {text}")
    body = "\n".join(sections.pop("", []))
    body += "".join(f"\n[{section}]\n" + "\n".join(lines) for section, lines in sections.items())
    content = bytearray(body.encode("utf-8", "surrogateescape"))
    for _ in range(rng.choice((0, 0, 1, 3))):
        if content:
            content[rng.randrange(len(content))] = rng.randrange(256)
    if rng.random() < 0.05:
        content += b"\na = " + b"[" * 5000
    path = place / "config.toml"
    path.write_bytes(content)
    return ["train", "minimal", "--config", str(path), "--dry-run", "--out", str(out)]


def _any_command(rng: random.Random, out: Path, place: Path, made: Path) -> list[str]:
    """Commands and options in combinations that nobody meant; none of these may compute for long."""
    name = rng.choice([one for one in COMMANDS if one not in ("check", "bench", "reproduce", "flow", "sweep", "train")])
    places = (str(made), str(place), str(made.parent), _value(rng), str(made / "config.json"))
    line = [name, *(rng.choice(places) for _ in range(rng.randrange(3)))]
    for _ in range(rng.randrange(3)):
        line.append(rng.choice(OPTIONS))
        if rng.random() < 0.6:
            line.append(_value(rng))
    return _kept_inside(line, place)


def _refused(rng: random.Random, out: Path, place: Path, made: Path) -> list[str]:
    """Options that do not exist, in the commands that would compute."""
    name = rng.choice(("check", "bench", "reproduce", "flow", "sweep", "train", "diagram"))
    line = [name, *(_value(rng) for _ in range(rng.randrange(2))), f"--{rng.choice(('what', 'x.y', 'task.q', 'éé'))}"]
    return [*line, _value(rng), "--out", str(out)]


def _mutated(line: list[str], rng: random.Random) -> list[str]:
    line = list(line)
    place = rng.randrange(1, len(line))
    change = rng.randrange(4)
    if change == 0:
        del line[place]
    elif change == 1:
        line.insert(place, rng.choice((*OPTIONS, _value(rng))))
    elif change == 2:
        line[place] = _value(rng)
    else:
        text = line[place]
        at = rng.randrange(len(text) + 1)
        line[place] = text[:at] + rng.choice("=-.,[é\t") + text[at:]
    return [*line, "--dry-run"]


def _kept_inside(line: list[str], place: Path) -> list[str]:
    """What these commands write by default goes to the place that is removed afterwards."""
    target = {"report": ["-o", str(place / "page.html")], "collect": ["-o", str(place / "out")]}
    return [*line, *target.get(line[0], [])]


KINDS: dict[str, tuple[float, Callable[[random.Random, Path, Path, Path], list[str]]]] = {
    "a config on the command line": (0.36, _planned),
    "a training": (0.04, _trained),
    "a sweep": (0.15, _swept),
    "a config file": (0.25, _file),
    "any command with any option": (0.12, _any_command),
    "options that do not exist": (0.08, _refused),
}
