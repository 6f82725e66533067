"""Files of the packaging agree with the project: workflows name targets and files that exist, and the same checks."""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from headwise.cli.main import COMMANDS

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


def test_every_command_is_tried_with_a_wheel() -> None:
    smoke = runpy.run_path(str(ROOT / "scripts" / "smoke_wheel.py"))
    assert set(smoke["COMMANDS"]) == set(COMMANDS)
    for name, lines in smoke["COMMANDS"].items():
        assert all(line.split()[0] == name for line in lines)


README = (ROOT / "README.md").read_text(encoding="utf-8")
index = runpy.run_path(str(ROOT / "scripts" / "index_readme.py"))


def test_the_text_for_an_index_points_nowhere_without_a_repository() -> None:
    text = index["for_index"](README, source=None)
    assert "](" not in text
    assert "<!--" not in text
    assert text.count("*Picture: ") == README.count("![") > 0
    assert text.count("```") == README.count("```")


def test_the_text_for_an_index_has_addresses_where_there_is_a_repository() -> None:
    text = index["for_index"](README, source="https://example.org/headwise/")
    targets = re.findall(r"(!?)\[[^\]]*\]\(([^)]+)\)", text)
    assert len(targets) == len(re.findall(r"\]\(([^)]+)\)", README))
    for picture, target in targets:
        before = f"https://example.org/headwise/{'raw' if picture else 'blob'}/main/"
        assert target.startswith(before), target
        assert (ROOT / target.removeprefix(before).partition("#")[0]).exists(), target


def test_the_metadata_has_the_text_for_an_index(tmp_path: Path) -> None:
    """What an index would show, asked from the build backend itself, in a copy of the files that it reads."""
    model = Path("src/headwise/model")
    read = ["pyproject.toml", "setup.py", "README.md", "LICENSE", "scripts/index_readme.py"]
    read += [str(model / file.name) for file in (ROOT / model).iterdir() if file.suffix in (".h", ".cpp")]
    read += [str(model / "kernel_sources.py"), "src/headwise/view/report/vendor/LICENSE-uPlot"]
    for name in read:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    look = "import setuptools.build_meta as b; print(b.prepare_metadata_for_build_wheel('.'))"
    done = subprocess.run([sys.executable, "-c", look], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    metadata = (tmp_path / done.stdout.splitlines()[-1] / "METADATA").read_text(encoding="utf-8")
    head, _, body = metadata.partition("\n\n")
    assert body.strip() == index["long_description"]().strip()
    assert "Description-Content-Type: text/markdown" in head
    assert "License-Expression: Apache-2.0 AND MIT" in head
    assert head.count("License-File: ") == 2


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
