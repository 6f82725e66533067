"""A threshold's text comes from the number that decides: change the number, and the text changes."""

from __future__ import annotations

import ast
import importlib
import inspect
import math
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from headwise.paper import head_stages, stages
from headwise.paper.entry import Claim
from headwise.paper.limit import COMPARE, Limit
from headwise.paper.manifest import ENTRIES
from headwise.paper.verdict_file import read_verdicts

CLAIM_MODULES = tuple(
    sys.modules[name]
    for name in dict.fromkeys(entry.judge.__module__ for entry in ENTRIES.values() if isinstance(entry, Claim))
)
SHARED = (stages, head_stages)
RESULTS = Path(__file__).parents[2] / "results"


def limits_of(module: ModuleType) -> dict[str, ast.Call]:
    """The limits that a module itself defines, by name."""
    return {
        node.targets[0].id: node.value
        for node in ast.parse(inspect.getsource(module)).body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Name)
        and node.value.func.id == "Limit"
    }


ALL_LIMITS = [(module, name) for module in (*SHARED, *CLAIM_MODULES) for name in limits_of(module)]


class Changed(ast.NodeTransformer):
    """Replaces the value of one limit."""

    def __init__(self, name: str, value: float) -> None:
        self.name, self.value = name, value

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        if isinstance(node.targets[0], ast.Name) and node.targets[0].id == self.name:
            assert isinstance(node.value, ast.Call)
            node.value.args[1] = ast.Constant(self.value)
        return node


def imported_again(module: ModuleType, change: Changed | None = None) -> ModuleType:
    """The module as its source makes it, with one limit changed."""
    tree = ast.parse(inspect.getsource(module))
    if change is not None:
        tree = ast.fix_missing_locations(change.visit(tree))
    again = ModuleType(module.__name__)
    exec(compile(tree, module.__name__, "exec"), again.__dict__)
    return again


def thresholds(modules: list[ModuleType]) -> dict[str, tuple[str, Limit | None]]:
    return {claim.name: (claim.threshold, claim.limit) for module in modules for claim in module.CLAIMS}


@pytest.mark.parametrize(("module", "name"), ALL_LIMITS, ids=[f"{m.__name__}.{n}" for m, n in ALL_LIMITS])
def test_a_changed_limit_changes_the_text(module: ModuleType, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    changed = imported_again(module, Changed(name, 0.123))
    if module in SHARED:
        monkeypatch.setitem(sys.modules, module.__name__, changed)
        monkeypatch.setattr(module.__name__, changed)
        found = thresholds([imported_again(one) for one in CLAIM_MODULES])
    else:
        found = thresholds([changed])
    different = {claim: text for claim, (text, _) in found.items() if text != ENTRIES[claim].threshold}
    assert different, f"no threshold mentions {name}"
    assert all("0.123" in text for text in different.values())
    before = getattr(module, name)
    for claim, (_, limit) in found.items():
        if limit == Limit(before.relation, 0.123):
            assert ENTRIES[claim].limit == before, "the limit of the measured quantity changes along"


def test_every_limit_decides() -> None:
    """One that only prints would be a second copy of a number."""
    sources = [inspect.getsource(module) for module in (*SHARED, *CLAIM_MODULES)]
    assert len(ALL_LIMITS) >= len(CLAIM_MODULES)
    for _, name in ALL_LIMITS:
        assert any(re.search(rf"\b{name}(\.opposite)?\.holds\(", source) for source in sources), name


def test_no_threshold_has_a_number_typed_into_its_text() -> None:
    for module in CLAIM_MODULES:
        for node in ast.walk(ast.parse(inspect.getsource(module))):
            if isinstance(node, ast.keyword) and node.arg == "threshold":
                for part in ast.walk(node.value):
                    if isinstance(part, ast.Constant) and isinstance(part.value, str):
                        assert not re.search(r"\d?\.\d|\de-?\d", part.value), part.value


@pytest.mark.parametrize("relation", list(COMPARE))
def test_a_limit_and_its_opposite_share_every_number(relation: str) -> None:
    limit = Limit(relation, 0.4)  # type: ignore[arg-type]
    for number in (0.39, 0.4, 0.41):
        assert limit.holds(number) != limit.opposite.holds(number)
        assert limit.holds(number) == eval(f"{number} {relation} 0.4")
    assert not limit.holds(math.nan)
    assert not limit.opposite.holds(math.nan)
    assert str(limit) == f"{relation} 0.4"


def test_numbers_are_printed_as_one_writes_them() -> None:
    assert [Limit("<", value).number for value in (1e-6, 1e-9, -0.05, 0, 2, 1e12)] == [
        "1e-6", "1e-9", "-0.05", "0", "2", "1e+12",
    ]  # fmt: skip


@pytest.mark.parametrize("folder", sorted(path.parent.name for path in RESULTS.glob("*/verdicts.json")))
def test_stored_verdicts_were_judged_by_the_present_thresholds(folder: str) -> None:
    """A changed threshold needs the stored runs judged again; what names no test was judged by an earlier one."""
    verdicts = read_verdicts(RESULTS / folder / "verdicts.json")
    assert verdicts
    for verdict in (one for one in verdicts if one.test):
        claim = ENTRIES[verdict.claim]
        assert isinstance(claim, Claim)
        assert (verdict.threshold, verdict.quantity, verdict.limit) == (claim.threshold, claim.quantity, claim.limit)
        if verdict.outcome == "reproduced" and claim.limit is not None:
            assert verdict.measured is not None
            assert claim.limit.holds(verdict.measured), "the median of values that all keep a limit keeps it"


def test_importing_again_changes_nothing_by_itself() -> None:
    for module in CLAIM_MODULES:
        assert thresholds([imported_again(module)]) == thresholds([importlib.import_module(module.__name__)])
