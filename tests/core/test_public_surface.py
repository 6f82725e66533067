"""Every name of the Python surface is there, lazy, and does what its example says."""

from __future__ import annotations

import ast
import doctest
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import tiny

import headwise


def test_every_name_resolves() -> None:
    for name in headwise.__all__:
        assert getattr(headwise, name) is not None
    assert set(dir(headwise)) == set(headwise.__all__)
    with pytest.raises(AttributeError, match="headwise has no 'trian'"):
        headwise.trian  # noqa: B018


def test_type_checkers_see_the_same_names() -> None:
    """The imports that only type checkers read, the table of homes and `__all__` are one list."""
    tree = ast.parse(Path(headwise.__file__).read_text())
    imports = {
        alias.asname or alias.name: (node.module, alias.name)
        for block in tree.body
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    homes = {name: (home, headwise._OWN_NAMES.get(name, name)) for name, home in headwise._HOME.items()}
    assert imports == homes
    assert sorted(headwise.__all__) == sorted(homes)
    for name, (home, own) in homes.items():
        thing = getattr(headwise, name)
        assert (thing.__module__, thing.__name__) == (home, own), f"{name} is not at home in {home}"


@pytest.mark.parametrize("name", headwise.__all__)
def test_every_name_is_explained_by_an_example_that_runs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if name == "probe_folder":
        pytest.importorskip("transformers")
    thing = getattr(headwise, name)
    [found] = doctest.DocTestFinder(recurse=False).find(thing, name, globs={})
    assert len(found.docstring.partition(">>>")[0].split()) >= 5, "the docstring says what it is for"
    assert any(name in example.source for example in found.examples)
    results = doctest.DocTestRunner().run(found)
    assert results.failed == 0
    assert list(tmp_path.iterdir()) == [], "an example leaves nothing behind"


@pytest.mark.parametrize("name", [name for name in headwise.__all__ if name[0].islower()])
def test_no_function_shares_its_name_with_a_package(name: str) -> None:
    assert importlib.util.find_spec(f"headwise.{name}") is None


def test_importing_is_light() -> None:
    program = "import sys, headwise; assert not {'torch', 'numpy', 'xarray'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_train_load_and_detect(tmp_path: Path) -> None:
    trained = headwise.train(tiny(), out=tmp_path)
    [run] = (tmp_path / "minimal").iterdir()
    assert headwise.load(run).identical(trained)
    report = headwise.detect(trained).to_json()
    assert set(report["stages"]) == {"function", "loss", "heads"}
