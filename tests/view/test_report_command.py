"""`headwise report` as a person meets it."""

from __future__ import annotations

import json
import shutil
import threading
import time
from pathlib import Path

import pytest

from headwise.cli.main import main
from headwise.store import RunDirectory, RunIdentity

RUN = Path(__file__).parents[1] / "browser" / "data" / "minimal" / "0ea5daec-s0"


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = main([str(a) for a in arguments])
    out, err = capsys.readouterr()
    return code, out, err


def test_one_run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    page = tmp_path / "deep" / "page.html"
    code, stdout, stderr = run(capsys, "report", RUN, "-o", page, "--json")
    assert code == 0, stderr
    assert json.loads(stdout) == {"page": str(page), "bytes": page.stat().st_size, "runs": [str(RUN)]}
    assert f"headwise report {RUN} -o {page}" in page.read_text()


def test_a_directory_of_runs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for folder in (RUN.parent, RUN.parent.parent):
        code, stdout, _ = run(capsys, "report", folder, RUN, "-o", tmp_path / "page.html", "--json", "--title", "Mine")
        assert code == 0
        assert json.loads(stdout)["runs"] == [str(RUN)], "each run once"
    assert "<h1>Mine</h1>" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize(
    "name", ["metrics-00001000.parquet", "snapshots-00001000.safetensors", "manifest.json", "config.json"]
)
def test_a_damaged_file_is_named_with_exit_3(capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str) -> None:
    copy = tmp_path / "run"
    shutil.copytree(RUN, copy)
    content = bytearray((copy / name).read_bytes())
    content[len(content) // 2] ^= 1
    (copy / name).write_bytes(content)
    code, stdout, stderr = run(capsys, "report", copy, "-o", tmp_path / "page.html")
    assert code == 3
    assert stdout == ""
    assert str(copy / name) in stderr
    assert len(stderr.strip().splitlines()) == 1
    assert not (tmp_path / "page.html").exists()


def test_a_missing_file_is_named_with_exit_3(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    copy = tmp_path / "run"
    shutil.copytree(RUN, copy)
    (copy / "metrics-00001000.parquet").unlink()
    code, _, stderr = run(capsys, "report", copy, "-o", tmp_path / "page.html")
    assert (code, "metrics-00001000.parquet" in stderr) == (3, True)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere"], ["nowhere", "does not exist"]),
        (["."], ["not a run"]),
        ([RUN, "-o", "page.txt"], [".html"]),
        ([RUN, "--watch", "--every", "0"], ["--every"]),
        ([RUN, "--nonsense"], ["--nonsense"]),
        ([], ["RUN"]),
    ],
)
def test_mistakes_are_one_line(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[object],
    words: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    code, stdout, stderr = run(capsys, "report", *arguments)
    assert code == 2
    assert stdout == ""
    assert len(stderr.strip().splitlines()) == 1
    for word in words:
        assert word in stderr
    assert list(tmp_path.iterdir()) == []


def test_watching_a_run_to_its_end(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Another thread writes the run segment by segment; the page follows, and the last one is not live any more."""
    source, copy = RunDirectory(RUN), RunDirectory(tmp_path / "run")
    coordinates, attributes = source.read_coordinates()
    metrics, snapshots, manifest = source.read_metrics(), source.read_snapshots(), source.read_manifest()
    page = tmp_path / "page.html"
    seen: list[bool] = []

    def part(history, first: int, last: int):
        chosen = (history.steps > first) & (history.steps <= last)
        return {"steps": history.steps[chosen], "variables": {k: v[chosen] for k, v in history.variables.items()}}

    def write() -> None:
        with copy.writing():
            time.sleep(0.5)
            for first, last in ((-1, 400), (400, 700), (700, 1000)):
                copy.write_metrics(last, **part(metrics, first, last))
                copy.write_snapshots(last, **part(snapshots, first, last))
                end = time.monotonic() + 30
                while time.monotonic() < end:
                    time.sleep(0.05)
                    if page.exists() and f"{last - 50}.0,{last}.0]" in page.read_text():
                        break
                seen.append('id="live"' in page.read_text())
            manifest.pop("files")
            copy.finish(manifest)

    with copy.writing():
        identity = RunIdentity({"copied": True}, 0)
        copy.start(source.read_config(), identity=identity, coordinates=coordinates, attributes=attributes)
    writer = threading.Thread(target=write)
    writer.start()
    code, _, stderr = run(capsys, "report", copy.path, "-o", page, "--watch", "--every", "0.1")
    writer.join()
    assert code == 0, stderr
    assert seen == [True, True, True], "the page of each segment was live"
    assert 'id="live"' not in page.read_text()
    lines = stderr.strip().splitlines()
    assert lines[0] == "no measurements yet; waiting"
    assert lines[-1].endswith("at step 1000: all runs are over")


def test_watching_a_damaged_run_ends(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    copy = tmp_path / "run"
    shutil.copytree(RUN, copy)
    (copy / "metrics-00001000.parquet").write_bytes(b"nothing")
    code, _, stderr = run(capsys, "report", copy, "-o", tmp_path / "page.html", "--watch", "--every", "0.1")
    assert (code, "metrics-00001000.parquet" in stderr) == (3, True)
