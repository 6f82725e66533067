"""A kernel is used only where it was built from the sources that are installed with it."""

from __future__ import annotations

import _ctypes
import ctypes
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from path_grid import MINIMAL

from headwise.core.errors import ConfigError
from headwise.model import kernel, kernel_sources
from headwise.model.compute import ComputeConfig
from headwise.model.config import DropoutConfig
from headwise.model.dropout import Site
from headwise.model.kernel_sources import HEADERS, SOURCE, sources_hash
from headwise.model.kernel_structures import Attended, Batch, Block, Drop, Gradients
from headwise.model.paths import choose

FOLDER = Path(kernel.__file__).parent
needs_kernel = pytest.mark.skipif(kernel.missing() is not None, reason=str(kernel.missing()))


@pytest.fixture
def changeable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the sources that `kernel` takes for the installed ones."""
    for name in (SOURCE, *HEADERS):
        shutil.copy(FOLDER / name, tmp_path)
    monkeypatch.setattr(kernel, "sources_hash", lambda folder: sources_hash(tmp_path))
    kernel.load.cache_clear()
    yield tmp_path
    monkeypatch.undo()
    kernel.load.cache_clear()


def test_the_hash_covers_every_file_that_is_compiled() -> None:
    included = {
        name for path in FOLDER.glob("kernel*.[ch]*") for name in re.findall(r'#include "(.+)"', path.read_text())
    }
    assert included == set(HEADERS) == {path.name for path in FOLDER.glob("*.h")}
    assert {SOURCE} == {path.name for path in FOLDER.glob("*.cpp")}


@pytest.mark.parametrize("name", [SOURCE, *HEADERS])
def test_one_character_in_any_file_changes_the_hash(name: str, changeable: Path) -> None:
    before = sources_hash(changeable)
    assert before == sources_hash(FOLDER)
    content = (changeable / name).read_text()
    (changeable / name).write_text(content.replace(" ", "  ", 1))
    assert sources_hash(changeable) != before
    (changeable / name).write_text(content.replace("\n", "\r\n"), newline="")
    assert sources_hash(changeable) == before
    (changeable / name).unlink()
    assert sources_hash(changeable) is None


def test_flags_are_part_of_the_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    before = sources_hash(FOLDER)
    monkeypatch.setattr(kernel_sources, "FLAGS", (*kernel_sources.FLAGS, "-ffast-math"))
    assert sources_hash(FOLDER) != before


@needs_kernel
def test_the_library_here_is_of_the_sources_here() -> None:
    found = kernel.identity()
    assert found["sources"] == sources_hash(FOLDER)
    assert found["instructions"] in kernel.LEVELS
    assert found["compiler"]


@needs_kernel
def test_a_library_of_other_sources_is_refused(changeable: Path) -> None:
    assert kernel.missing() is None
    kernel.load.cache_clear()
    header = changeable / HEADERS[0]
    header.write_text(header.read_text() + "// one line more\n")
    assert "built from other sources" in str(kernel.missing())
    assert "install headwise again" in str(kernel.missing())
    choice = choose(MINIMAL, ComputeConfig())
    assert choice.path == "torch"
    assert "other sources" in choice.why
    with pytest.raises(ConfigError, match="other sources"):
        choose(MINIMAL, ComputeConfig(path="kernel"))


@needs_kernel
def test_without_sources_to_compare_with_it_is_refused(changeable: Path) -> None:
    (changeable / HEADERS[-1]).unlink()
    assert "cannot be checked" in str(kernel.missing())
    assert choose(MINIMAL, ComputeConfig()).path == "torch"


def test_a_library_without_a_hash_and_a_broken_one_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "library_path", lambda: Path(_ctypes.__file__))
    assert "older sources" in str(kernel.missing())
    broken = tmp_path / "broken.so"
    broken.write_bytes(b"no library")
    monkeypatch.setattr(kernel, "library_path", lambda: broken)
    assert "does not load" in str(kernel.missing())


@needs_kernel
def test_structures_have_the_sizes_of_the_kernels() -> None:
    sizes = (ctypes.c_int64 * 4)()
    kernel.library().headwise_sizes(sizes)
    assert list(sizes) == [ctypes.sizeof(structure) for structure in (Block, Batch, Gradients, Attended)]


def test_dropout_sites_are_the_same_on_both_sides() -> None:
    """In the same order: a structure holds one rate and one key per site."""
    listed = re.search(r"enum Site {(.+?), SITES = (\d+) }", (FOLDER / "kernel_common.h").read_text())
    assert listed is not None
    assert listed[1].strip() == ", ".join(f"{site.name} = {site.value}" for site in Site)
    assert int(listed[2]) == len(Site) == len(Block().drops)
    assert {name.upper() for name in DropoutConfig.model_fields} == {site.name for site in Site}
    assert isinstance(Block().drops[0], Drop)


USE = """
import sys
sys.path.insert(0, sys.argv[1])
from headwise.model import kernel
assert kernel.__file__.startswith(sys.argv[1]), kernel.__file__
print(kernel.missing())
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux" or shutil.which("g++") is None, reason="needs g++ on Linux")
def test_a_wheel_carries_a_kernel_that_is_checked(tmp_path: Path) -> None:
    """Built from a copy, unpacked elsewhere: the kernel is used, and refused once a header beside it changes."""
    pytest.importorskip("setuptools")
    project, wheels, installed = tmp_path / "project", tmp_path / "wheels", tmp_path / "installed"
    root = FOLDER.parents[2]
    project.mkdir()
    for name in ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE"):
        shutil.copy(root / name, project)
    (project / "scripts").mkdir()
    shutil.copy(root / "scripts" / "index_readme.py", project / "scripts")  # setup.py runs it
    shutil.copytree(root / "src", project / "src", ignore=shutil.ignore_patterns("*.so", "*.egg-info", "__pycache__"))
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        wheels,
        project,
    ]
    subprocess.run(command, check=True)
    with zipfile.ZipFile(next(wheels.glob("*.whl"))) as wheel:
        wheel.extractall(installed)

    def missing() -> str:
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        use = [sys.executable, "-c", USE, str(installed)]
        return subprocess.run(use, check=True, capture_output=True, text=True, env=environment).stdout.strip()

    assert missing() == "None"
    header = installed / "headwise" / "model" / HEADERS[0]
    header.write_text(header.read_text() + "// changed\n")
    assert "built from other sources" in missing()
    header.unlink()
    assert "cannot be checked" in missing()
