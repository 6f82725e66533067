"""No module writes a file under its final name: what is killed in the middle must not leave a half."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

ALLOWED = {
    "src/headwise/core/atomic.py": "the mechanism itself",
    "src/headwise/store/files.py": "the files of a run, beside and renamed with their digests",
    "src/headwise/store/lock.py": "who holds a lock: nothing is read back from it but a name for a message",
    "src/headwise/store/log.py": "the log of a run grows by lines; a torn one is left out when it is read",
    "scripts/find_floors.py": "into an environment made for one trial; without the package, which is what is tried",
    "scripts/smoke_wheel.py": "into a folder made for one trial; without the package, which is what is tried",
}
"""Modules that may open files for writing, and why."""

TO_MEMORY = {
    ("src/headwise/view/notebook_figure.py", "savefig"): "into a buffer",
    ("src/headwise/view/write.py", "savefig"): "into a buffer",
    ("src/headwise/store/tables.py", "write_table"): "into a buffer",
    ("src/headwise/zoo/replay.py", "savez_compressed"): "into a buffer",
    ("src/headwise/paper/dated_tests.py", "dump"): "a syntax tree as text",
    ("src/headwise/cli/streams.py", "open"): "the null device",
    ("src/headwise/study/collect.py", "ParquetWriter"): "into the file that `replacing` gives",
    ("src/headwise/study/collect.py", "write_table"): "into the file that `replacing` gives",
    ("src/headwise/track/exporting.py", "to_netcdf"): "into memory",
    ("src/headwise/track/exporting.py", "to_zarr"): "into a folder beside, which is renamed",
    ("src/headwise/track/exporting.py", "ParquetWriter"): "into the file that `replacing` gives",
    ("src/headwise/track/exporting.py", "write_table"): "into the file that `replacing` gives",
}
"""Calls by which a file could be written, and where they go instead."""

WRITERS = {
    *("write_text", "write_bytes", "savefig", "imsave", "tofile", "savez", "savez_compressed", "savetxt", "save_file"),
    *("to_parquet", "to_pickle", "to_json_file", "to_netcdf", "to_zarr", "to_feather", "write_table", "write_feather"),
    *("ParquetWriter", "dump", "copyfile", "copy2", "copytree", "move", "fdopen", "truncate", "NamedTemporaryFile"),
}
"""Functions and methods that write a file, by name."""

MODES = frozenset("wax+")


def writing_calls(source: str) -> list[tuple[int, str]]:
    """Line and name of every call that may write a file."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        owner = ast.unparse(node.func.value) if isinstance(node.func, ast.Attribute) else ""
        saves = called == "save" and owner in ("np", "numpy", "torch")
        opens = called == "open" and _for_writing(node, owner)
        # pandas' methods; our own function `to_csv` returns text.
        exports = called in ("to_csv", "to_html", "to_excel") and owner
        if called in WRITERS or saves or opens or exports:
            found.append((node.lineno, called))
    return found


def _for_writing(node: ast.Call, owner: str) -> bool:
    """Whether the mode that is given writes; one that is not a constant counts as if it did."""
    if owner == "os":
        return any("O_WRONLY" in ast.unparse(one) or "O_RDWR" in ast.unparse(one) for one in node.args)
    modes = [one.value for one in node.keywords if one.arg == "mode"]
    modes += node.args[0 if isinstance(node.func, ast.Attribute) and owner != "io" else 1 :][:1]
    return any(not isinstance(one, ast.Constant) or MODES & set(str(one.value)) for one in modes)


@pytest.mark.parametrize(
    "line",
    [
        "open(path, 'w')",
        "open(path, mode='ab')",
        "path.open('x')",
        "path.open(mode)",
        "path.write_text(text)",
        "figure.savefig('x.png')",
        "frame.to_csv(path)",
        "np.save(path, array)",
        "pq.write_table(table, path)",
        "pq.ParquetWriter(path, schema)",
        "json.dump(document, file)",
        "os.open(path, os.O_WRONLY | os.O_CREAT)",
    ],
)
def test_the_search_finds_each_way(line: str) -> None:
    assert writing_calls(line)


@pytest.mark.parametrize(
    "line", ["open(path)", "path.open('rb')", "path.open()", "os.open(p, os.O_RDONLY)", "to_csv(s)"]
)
def test_the_search_leaves_readers_alone(line: str) -> None:
    assert not writing_calls(line)


def test_everything_goes_through_one_function() -> None:
    used, wrong = set(), []
    for path in sorted([*(ROOT / "src").rglob("*.py"), *(ROOT / "scripts").rglob("*.py")]):
        name = path.relative_to(ROOT).as_posix()
        for line, called in writing_calls(path.read_text(encoding="utf-8")):
            if name in ALLOWED or (name, called) in TO_MEMORY:
                used |= {name, (name, called)}
            else:
                wrong.append(f"{name}:{line} {called}")
    assert not wrong, f"write these through headwise.core.atomic: {wrong}"
    assert {*ALLOWED, *TO_MEMORY} <= used, "take what is no longer there off the lists"
