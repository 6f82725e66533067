"""Without an extra the core works, and what needs it says so in one line."""

from __future__ import annotations

import ast
import doctest
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tests.conftest import tiny

import headwise.core.extras
from headwise.core.errors import ConfigError
from headwise.core.extras import EXTRAS, require_library
from headwise.model import kernel
from headwise.study import runner
from headwise.study.runner import execute

ROOT = Path(__file__).parents[2]
RUN = ROOT / "tests" / "browser" / "data" / "minimal" / "0ea5daec-s0"
WITHOUT = f"""
import sys
for name in {tuple(EXTRAS)}: sys.modules[name] = None
"""
BROUGHT_BY = {
    "huggingface_hub": "transformers",
    "tokenizers": "transformers",
    "pytorch_lightning": "lightning",
    "mlflow": "mlflow_skinny",
}
"""Libraries that come with another distribution."""
LEAN = (
    ["phases", str(RUN)],
    ["show", str(RUN), "--figure", "run.png"],
    ["report", str(RUN), "-o", "run.html"],
    ["flow", "--T", "5", "--t-end", "20"],
    ["check", "ordering", "--trials", "2", "--workers", "1"],
    ["reproduce", "--run", str(RUN)],
)


def without_extras(program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", WITHOUT + program], cwd=folder, capture_output=True, text=True)


def test_reading_detecting_drawing_and_theory_need_no_extra(tmp_path: Path) -> None:
    program = f"from headwise.cli.main import main\nfor line in {LEAN!r}: assert main(line) == 0, line"
    done = without_extras(program, tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("line", [["train", "minimal"], ["sweep", "minimal"], ["bench", "--quick"], ["probe", "."]])
def test_a_command_names_the_extra_that_it_misses(line: list[str], tmp_path: Path) -> None:
    done = without_extras(f"from headwise.cli.main import main\nsys.exit(main({line!r}))", tmp_path)
    assert done.returncode == 2
    assert done.stderr == (
        "headwise: this needs torch, which is not installed; install it with: pip install 'headwise[train]'\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_python_names_it_too(tmp_path: Path) -> None:
    done = without_extras("import headwise\nheadwise.watch", tmp_path)
    assert "ConfigError: this needs torch" in done.stderr


def test_every_extra_that_is_named_exists_and_brings_the_library() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    for library, extra in EXTRAS.items():
        names = {re.split(r"[<>=\[;]", one)[0].replace("-", "_") for one in extras[extra]}
        assert BROUGHT_BY.get(library, library) in names, f"{extra} does not bring {library}"
    core = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    assert not {re.split(r"[<>=]", one)[0].replace("-", "_") for one in core} & set(EXTRAS)


def test_the_lowest_versions_that_the_page_names_are_those_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    page = (ROOT / "docs" / "reference" / "extras.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([\w-]+) \| (?:the core|`(\w+)`) \| ([\d.]+) \|", page, re.MULTILINE)
    tried = {extra for _, extra, _ in rows}
    assert {"", "train", "probe"} <= tried
    asked = {
        (*one.split(">="), extra)
        for extra in tried
        for one in (project["optional-dependencies"][extra] if extra else project["dependencies"])
        if not one.startswith("headwise")
    }
    assert {(library, lowest, extra) for library, extra, lowest in rows} == asked


def imported(file: Path) -> set[str]:
    """Libraries that a file of the package imports, anywhere in it, or asks for by name."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {one.name for one in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "require_library":
            found |= {one.value for one in node.args if isinstance(one, ast.Constant)}
    return {name.partition(".")[0] for name in found}


def test_every_library_is_of_the_core_or_has_its_extra() -> None:
    core = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    known = {re.split(r"[<>=]", one)[0].replace("-", "_") for one in core} | sys.stdlib_module_names | {"headwise"}
    files = sorted((ROOT / "src").rglob("*.py"))
    assert len(files) > 100
    for file in files:
        assert imported(file) <= known | set(EXTRAS), file


@pytest.mark.parametrize("name", sorted(EXTRAS))
def test_every_library_that_is_missing_is_named_with_its_extra(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [one for one in sys.modules if one.partition(".")[0] == name]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, name, None)
    said = f"this needs {name}, which is not installed; install it with: pip install 'headwise[{EXTRAS[name]}]'"
    for asked in (name, f"{name}.inner"):
        with pytest.raises(ConfigError) as refused:
            require_library(asked)
        assert str(refused.value) == said


def test_a_library_that_is_broken_says_how(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "trackio.py").write_text("import a_library_that_is_not_there\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "trackio", raising=False)
    with pytest.raises(ConfigError, match=r"cannot be imported .*a_library_that_is_not_there.*headwise.trackio"):
        require_library("trackio")


def test_training_names_the_missing_kernel_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "missing", lambda: "the kernel was not built")
    monkeypatch.setattr(runner, "_NAMED", set())
    said: list[str] = []
    for seed in (0, 1):
        execute(tiny(seed=seed, train__steps=2), tmp_path, notify=said.append)
    assert said == ["computed by torch alone, several times slower than by the kernel: the kernel was not built"]


def test_examples() -> None:
    assert doctest.testmod(headwise.core.extras).failed == 0
