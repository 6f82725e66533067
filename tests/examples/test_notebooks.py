"""The notebooks, executed as they are; they are stored without outputs."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "examples").glob("*.ipynb"))

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
pytest.importorskip("transformers")


def test_there_are_three_and_they_hold_no_outputs() -> None:
    assert [path.name for path in NOTEBOOKS] == [
        "change_the_task.ipynb",
        "probe_checkpoints.ipynb",
        "watch_a_gpt2.ipynb",
    ]
    for path in NOTEBOOKS:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        assert all(not cell["outputs"] and cell["execution_count"] is None for cell in cells if "outputs" in cell)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_what_it_says(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    notebook = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(notebook, timeout=280, kernel_name="python3").execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    data = [output["data"] for output in outputs if "data" in output]
    pictures = [base64.b64decode(one["image/png"]) for one in data if "image/png" in one]
    assert pictures
    assert all(picture.startswith(b"\x89PNG") and len(picture) > 5000 for picture in pictures)
    pages = [one["text/html"] for one in data if "<iframe srcdoc=" in one.get("text/html", "")]
    assert len(pages) == 1
    assert not [output for output in outputs if output.output_type == "error"]
    told = "".join(output["text"] for output in outputs if output.output_type == "stream")
    lines = [line.split() for line in told.splitlines()]
    if path.stem == "watch_a_gpt2":
        assert any(line[:1] in (["L0H0"], ["L0H1"]) and line[3:5] == ["lag", "3"] for line in lines), told
    if path.stem == "probe_checkpoints":
        assert any(line[:1] == ["1"] and line[2:3] == ["5"] for line in lines), told
    if path.stem == "change_the_task":
        assert "comparison of 3" in pages[0], "three tasks, not three seeds of one"
