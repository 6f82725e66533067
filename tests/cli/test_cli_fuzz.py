"""Three hundred made-up command lines: each succeeds or is refused in one line, none ends in a traceback."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headwise.cli.main import main
from headwise.core.keys import known_keys
from headwise.study.config import RunConfig

SIZES = {
    "task.d": 4,
    "task.T": 3,
    "task.w": 6,
    "model.width": 6,
    "model.mlp": 4,
    "train.batch": 5,
    "train.samples": 9,
    "train.steps": 2,
    "measure.test_samples": 4,
}
GROWING = {*SIZES, "task.h", "model.heads", "model.blocks", "compute.threads"}
"""Keys whose honest large values would only take long; they get small numbers and nonsense."""

KEYS = [key for key in known_keys(RunConfig) if key not in ("experiment", "preset", "compute.device")]
NONSENSE = (
    '|nan|inf|-inf|1e999|null|none|[]|{}|[[|"|[1,2]|[[1,2],[3]]|0x10|on|off|zero|1_000|--|-1|-0.0|0|true|é|'
    "</script>|[null]|1,2,3"
)
CHOICES = (
    "one_hot learned sinusoidal relative merged product input head none post pre uniform xavier torch sum haar "
    "frobenius correlated singleton reversed contiguous allow fresh plateau SGD Adam RMSprop Adafactor Muon identity "
    "reference kernel float64 [[1],[2],[3]] [[1,2,3],[4],[6]] [0.7,0.3]"
)

nonsense = st.one_of(
    st.sampled_from(NONSENSE.split("|")),
    st.text(max_size=8).filter(lambda s: "\x00" not in s),
    st.floats().map(repr),
)
small = st.integers(-2, 9).map(str)
choices = st.sampled_from(CHOICES.split())


@st.composite
def command_lines(draw: st.DrawFn) -> list[str]:
    keys = draw(st.lists(st.sampled_from(KEYS), max_size=4, unique=True))
    arguments = ["train", draw(st.sampled_from(["minimal", "minimal", "full", "full", "mini"])), "--preset", "redrawn"]
    values = dict(SIZES)
    for key in keys:
        values[key] = draw(st.one_of(small, nonsense) if key in GROWING else st.one_of(small, nonsense, choices))
    if draw(st.integers(0, 5)) == 0:
        values[draw(st.sampled_from(["task.q", "trian.lr", "model", "x.y.z", "seeds.all"]))] = draw(nonsense)
    for key, value in values.items():
        arguments += [f"--{key}={value}"] if draw(st.booleans()) else [f"--{key}", str(value)]
    if draw(st.integers(0, 3)) == 0:
        arguments.append(draw(st.sampled_from(["--dry-run", "--json", "--preset=text", "--what", "-q", "--seed=3"])))
    return arguments


@settings(max_examples=300, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(arguments=command_lines())
def test_fuzzed_command_lines(arguments: list[str]) -> None:
    patch = pytest.MonkeyPatch()
    lines: list[str] = []
    patch.setattr("headwise.cli.main.say", lines.append)
    try:
        with tempfile.TemporaryDirectory() as out:
            code = main([*arguments, "--out", out, "-q"])
            assert code in (0, 1, 2), arguments
            if code == 2:
                assert len(lines) == 1, arguments
                assert "\n" not in lines[0]
                assert len(lines[0]) > len("headwise: ")
                assert not list(Path(out).iterdir()), f"refused, but wrote something: {arguments}"
            if code == 1:
                manifests = [json.loads(p.read_text())["status"] for p in Path(out).glob("*/*/manifest.json")]
                assert manifests == ["diverged"], arguments
    finally:
        patch.undo()
