"""Files of the packaging agree with the project: workflows name targets and files that exist, and the same checks."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def commands(workflow: Path) -> list[str]:
    jobs = yaml.safe_load(workflow.read_text(encoding="utf-8"))["jobs"]
    return [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_names_what_exists(workflow: Path) -> None:
    for line in commands(workflow):
        for target in re.findall(r"\bmake ([a-z-]+)", line):
            assert f"\n{target}:" in MAKEFILE, line
        for file in re.findall(r"\b(?:tests|scripts)(?:/\w[\w.-]*)+", line):
            assert (ROOT / file).exists(), line


def test_pre_commit_runs_the_checks_of_make_lint() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"][0]["hooks"]
    entries = {" ".join(hook["entry"].split()[:2]).removeprefix(".venv/bin/") for hook in hooks}
    lint = re.search(r"^lint:.*?\n((?:\t.*\n)+)", MAKEFILE, re.MULTILINE)
    assert lint is not None
    asked = {line.strip().removeprefix("$(BIN)/") for line in lint[1].splitlines()}
    for entry in entries:
        assert any(line.startswith(entry) for line in asked), entry
    assert len(entries) == len(asked)


@pytest.mark.slow
@pytest.mark.parametrize("extras", ["", "train"])
def test_a_wheel_works_from_outside(extras: str, tmp_path: Path) -> None:
    """Built here, installed from the package index into an empty environment, every command once."""
    build = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", tmp_path, ROOT]
    subprocess.run(build, check=True)
    [wheel] = tmp_path.glob("*.whl")
    smoke = [sys.executable, ROOT / "scripts" / "smoke_wheel.py", wheel, "--extras", extras]
    done = subprocess.run(smoke, cwd=tmp_path, capture_output=True, text=True)
    if "No matching distribution" in done.stderr or "ConnectionError" in done.stderr:
        pytest.skip("no package index within reach")
    assert done.returncode == 0, done.stdout + done.stderr
