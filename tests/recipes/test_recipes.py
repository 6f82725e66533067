"""The recipes of CONTRIBUTING.md, each carried out to the letter in a copy of the package."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.recipes.recipe_steps import Recipe, carry_out, recipes

ROOT = Path(__file__).parents[2]
RECIPES = recipes(ROOT / "CONTRIBUTING.md")
EXPECTED = {
    "experiment",
    "claim",
    "variable",
    "action",
    "adapter",
    "statement",
    "model switch",
    "command",
    "task variant",
    "figure",
    "role",
    "training to the zoo",
}


def test_there_is_a_recipe_for_everything_that_grows() -> None:
    assert {recipe.title.split(" ", 2)[2] for recipe in RECIPES} == EXPECTED


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.title.replace(" ", "-"))
def test_recipe(recipe: Recipe, tmp_path: Path) -> None:
    """Every step applies, every command succeeds, and the last of them shows what the recipe promises."""
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    commands = tmp_path / "bin"
    commands.mkdir()
    for name, module in (("headwise", "-m headwise"), ("python", "")):
        launcher = commands / name
        launcher.write_text(f'#!/bin/sh\nexec "{sys.executable}" {module} "$@"\n', encoding="utf-8")
        launcher.chmod(0o755)
    environment = {
        **os.environ,
        "PYTHONPATH": str(tmp_path / "src"),
        "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}",
        "COLUMNS": "80",
    }
    shown = [step for step in recipe.steps if step.shows]
    assert shown, f"{recipe.title}: no step says what can be seen afterwards"
    for step in recipe.steps:
        if not step.command:
            carry_out(step, tmp_path)
            continue
        done = subprocess.run(
            ["sh", "-ec", step.command], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=240
        )
        assert done.returncode == 0, f"{step.command}\n{done.stdout}{done.stderr}"
        assert step.shows in done.stdout + done.stderr, f"{step.command}\n{done.stdout}{done.stderr}"
