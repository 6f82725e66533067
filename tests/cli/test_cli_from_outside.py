"""Whatever comes from outside, a command answers in one line and with the right exit code."""

from __future__ import annotations

import io
import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from headwise.cli import last_resort, streams
from headwise.cli.main import COMMANDS, main
from headwise.core.errors import HeadwiseError
from headwise.flow.config import FlowConfig
from headwise.study.flows import keep_flow
from headwise.view.report.members import read_member

LONG = "x" * 300
SMALL = FlowConfig(T=5, t_end=30.0, points=20)
NAMES = {
    "not UTF-8": b"bad-\xff",
    "Cyrillic": "модель".encode(),
    "markup": b"[/red]",
    "mathematics": b"$x_{$\\frac",
    "two lines": b"a\nb",
    "control": b"\x1b[31mred",
    "script": b"<script>alert(1)<\\script>",
    "format": b"%s%n{0}",
}


@pytest.fixture(scope="module")
def flow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The root of one small run."""
    root = tmp_path_factory.mktemp("runs")
    keep_flow(SMALL, out=root)
    return root


@pytest.fixture(params=NAMES.values(), ids=NAMES)
def hostile(request: pytest.FixtureRequest, tmp_path: Path, flow: Path) -> Path:
    """The same root under a name that somebody else chose."""
    root = tmp_path / os.fsdecode(request.param)
    shutil.copytree(flow, root)
    return root


def only_run(root: Path) -> Path:
    return next(root.glob("flow/*"))


def one_line(capfd: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str]:
    code = main([str(a) for a in arguments])
    err = capfd.readouterr().err
    assert "Traceback" not in err
    assert len(err.splitlines()) == 1, err
    assert err.startswith("headwise: ")
    return code, err


@pytest.mark.parametrize(
    "arguments",
    [
        ["show", LONG],
        ["phases", LONG],
        ["report", LONG],
        ["report", "x", "-o", f"{LONG}.html"],
        ["collect", LONG],
        ["collect", "x", "-o", LONG],
        ["list", "--runs", LONG],
        ["diagram", LONG, "--x", "a", "--y", "b"],
        ["show", "x", "--figure", f"{LONG}.png"],
        ["train", "minimal", "--out", LONG],
        ["train", "minimal", "--config", LONG],
        ["sweep", "minimal", "--out", LONG],
        ["flow", "--out", LONG],
        ["probe", LONG],
        ["probe", "x", "--tokens", LONG],
        ["reproduce", "--run", LONG],
        ["reproduce", "--into", LONG],
        ["train", "minimal", "--out", "a\0b"],
        ["train", "minimal", "--out", ""],
    ],
    ids=lambda line: " ".join(line)[:40].replace("\0", "0"),
)
def test_names_that_cannot_be(arguments: list[str], capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, err = one_line(capfd, *arguments)
    assert code == 2
    assert "shorten it" in err or "plain path" in err or "is empty" in err


def test_every_path_of_every_command_is_checked() -> None:
    import argparse

    for name, command in COMMANDS.items():
        parser = argparse.ArgumentParser()
        command.add(parser)
        for action in parser._actions:
            if action.metavar in ("DIR", "FILE", "RUN", "TABLE") and action.type is not None:
                with pytest.raises((argparse.ArgumentTypeError, HeadwiseError)):
                    action.type(f"{LONG}.png")  # type: ignore[operator]
            assert action.type is not Path, f"{name} {action.dest}: take path_argument"


@pytest.mark.parametrize("name", list(COMMANDS))
def test_two_hyphens_are_no_value_of_any_option(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Python 3.11 takes them for an empty list, which no option means."""
    import argparse

    parser = argparse.ArgumentParser()
    COMMANDS[name].add(parser)
    options = [action.option_strings[-1] for action in parser._actions if action.option_strings and action.nargs != 0]
    for option in options:
        code, err = one_line(capfd, name, f"{option}=--")
        assert code == 2
        assert err == f"headwise: {option} needs a value; -- is none\n"


@pytest.mark.parametrize("option", ["--config", "--cluster"])
@pytest.mark.parametrize("text", [f"a = {'[' * 5000}{']' * 5000}", f"a = {'9' * 5000}", "\ufeff"])
def test_settings_that_are_none(option: str, text: str, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(text)
    code, err = one_line(capfd, "sweep", "minimal", option, tmp_path / "a.toml", "--dry-run")
    assert code == 2
    assert "a.toml" in err


@pytest.mark.parametrize("name", ["verdicts.json", "figures.json", "statements.json"])
def test_lists_of_a_reproduction_that_are_nested_too_deeply(
    name: str, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / name).write_text("[" * 100_000)
    code = main(["reproduce", "order", "--dry-run", "--out", str(tmp_path / "r"), "--into", str(tmp_path), "-q"])
    err = capfd.readouterr().err
    assert code == 1
    assert f"{name} is not a" in err.splitlines()[-1]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--model.dropout.attention", "0.999999"], "model.dropout.attention: Input should be less than 0.99999"),
        (["--task.b0", "1e300"], "keep norms between 1e-100 and 1e+100"),
        (["--task.b0", "1e-300"], "keep norms between 1e-100 and 1e+100"),
        (["--task.m", "1e200"], "task.m and task.b0 give a norm of inf"),
        (["--task.norms", "[1,1e200,1]"], "task.norms has a norm of 1e+200"),
    ],
)
def test_values_that_cannot_be_computed_with(
    arguments: list[str], words: str, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, err = one_line(capfd, "train", "minimal", *arguments, "--out", tmp_path / "r")
    assert code == 2
    assert words in err
    assert not (tmp_path / "r").exists()


def test_hostile_folders_are_read_and_written(hostile: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    run, page = only_run(hostile), hostile / "page.html"
    for line in (
        ["show", run],
        ["phases", run],
        ["list", "--runs", hostile],
        ["report", run, "-o", page],
        ["collect", hostile, "-o", hostile / "tables"],
    ):
        assert main([str(word) for word in line]) == 0, capfdbinary.readouterr().err
    out = capfdbinary.readouterr().out
    assert b"\x1b" not in out
    if b"\xff" in os.fsencode(hostile):
        assert b"bad-\xff" in out
    text = page.read_text(encoding="utf-8")
    assert "<script>alert(1)" not in text
    assert text.rstrip().endswith("</html>")
    for name in ("runs", "curves"):  # opened here: pyarrow takes no path that is not valid Unicode
        table = pq.read_table(io.BytesIO((hostile / "tables" / f"{name}.parquet").read_bytes()))
        [named] = set(table["run"].to_pylist())
        assert named.endswith(run.name)


def test_hostile_folders_in_json(hostile: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """A program that reads the JSON finds the folder again."""
    assert main(["show", str(only_run(hostile)), "--json"]) == 0
    document = json.loads(capfdbinary.readouterr().out)
    assert Path(document["run"]) == only_run(hostile)
    assert read_member(document["run"]).trajectory.sizes["step"] > 0


def test_hostile_folders_that_are_missing(hostile: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    for command in ("show", "report", "phases"):
        assert main([command, str(hostile / "missing")]) == 2
        err = capfdbinary.readouterr().err
        assert len(err.splitlines()) == 1
        assert b"\x1b" not in err


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(24, "Too many open files", "x\x1b"), "x\\x1b: too many open files"),
        (OSError(28, "No space left on device"), "no space left on device"),
        (PermissionError(13, "Permission denied", "é".encode()), "é: permission denied"),
        (MemoryError(), "out of memory"),
        (RecursionError("maximum recursion depth exceeded"), "nested too deeply"),
        (UnicodeEncodeError("ascii", "§", 0, 1, "ordinal not in range"), "encoding"),
        (ImportError("libx.so: cannot open shared object file: Too many open files"), "libx.so"),
        (RuntimeError("can't start new thread"), "no more threads"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes"), "out of memory"),
    ],
)
def test_the_last_resort(
    error: Exception, words: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object) -> int:
        raise error

    assert words in (last_resort.explain_error(error) or "")
    monkeypatch.setitem(COMMANDS, "list", _with_run(fail))
    code, _ = one_line(capfd, "list")
    assert code == 1
    with pytest.raises(type(error)):
        main(["list", "--debug"])


def test_a_mistake_of_ours_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object) -> int:
        return 1 // 0

    monkeypatch.setitem(COMMANDS, "list", _with_run(fail))
    with pytest.raises(ZeroDivisionError):
        main(["list"])


def _with_run(run: Callable[..., int]) -> object:
    from dataclasses import replace

    return replace(COMMANDS["list"], run=run)


def test_a_working_directory_that_is_gone(
    flow: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    for line in (["flow", "--T", "5"], ["train", "minimal"], ["sweep", "minimal", "-q"], ["probe", "x"]):
        code = main(line)
        assert code == 1
        assert "the working directory no longer exists" in capfd.readouterr().err
    assert main(["show", str(only_run(flow))]) == 0
    assert main(["report", str(only_run(flow)), "-o", str(tmp_path / "page.html")]) == 0


@pytest.mark.parametrize("most", [0, 1, 2, 4, 8])
def test_few_file_descriptors(most: int, flow: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Each command works or says in one line that it cannot; what it wrote is whole."""
    lines = (
        ["list", "--runs", flow],
        ["show", only_run(flow)],
        ["report", only_run(flow), "-o", tmp_path / "page.html"],
        ["collect", flow, "-o", tmp_path / "tables"],
        ["show", only_run(flow), "--figure", tmp_path / "a.png"],
        ["flow", "--T", 5, "--t-end", 31, "--points", 20, "--out", tmp_path / "r"],
    )
    for line in lines:  # what is loaded once is loaded before
        main([str(word) for word in line])
    shutil.rmtree(tmp_path / "r", ignore_errors=True)
    capfd.readouterr()
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = max(int(number) for number in os.listdir("/proc/self/fd"))
    codes = []
    for line in lines:
        resource.setrlimit(resource.RLIMIT_NOFILE, (used + most, limits[1]))
        try:
            codes.append(main([str(word) for word in line]))
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        err = capfd.readouterr().err
        assert "Traceback" not in err
        assert codes[-1] in (0, 1), err
        if codes[-1]:
            assert "too many open files" in err
            assert len(err.splitlines()) == 1, err
    assert most < 8 or codes == [0] * len(lines)


def command(*arguments: object, **changes: str) -> subprocess.CompletedProcess[bytes]:
    """A process of its own, for what is decided when the interpreter starts or ends."""
    words = [sys.executable, "-m", "headwise", *(os.fsencode(str(a)) for a in arguments)]
    return subprocess.run(words, capture_output=True, env={**os.environ, **changes}, timeout=120)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("line", [["list"], ["list", "--json"], ["--help"], ["--version"]], ids=" ".join)
def test_a_full_disk_behind_stdout(line: list[str], unbuffered: str) -> None:
    with open("/dev/full", "wb") as full:
        words = [sys.executable, "-m", "headwise", *line]
        ended = subprocess.run(
            words, stdout=full, stderr=subprocess.PIPE, env={**os.environ, "PYTHONUNBUFFERED": unbuffered}, timeout=120
        )
    assert ended.returncode == 1
    assert ended.stderr == b"headwise: cannot write to stdout: no space left on device\n"


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams(closed: str, tmp_path: Path) -> None:
    script = f'"{sys.executable}" -m headwise show nowhere {closed}'
    ended = subprocess.run(["bash", "-c", script], capture_output=True, cwd=tmp_path, timeout=120)
    assert ended.returncode == 2
    assert ended.stdout == b""
    assert ended.stderr.count(b"\n") == ("2>&-" not in closed)


def test_a_reader_that_has_had_enough() -> None:
    script = f'"{sys.executable}" -m headwise train --help | head -1; echo "${{PIPESTATUS[0]}}"'
    ended = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=120)
    assert ended.stdout.splitlines()[-1] == "0"
    assert ended.stderr == ""


@pytest.mark.parametrize(
    "changes",
    [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, {"LC_ALL": "C"}],
    ids=["ascii", "C without UTF-8", "C"],
)
def test_output_that_takes_no_unicode(changes: dict[str, str], flow: Path, tmp_path: Path) -> None:
    ended = command("reproduce", "--list", **changes)
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert b"representation" in ended.stdout
    root = tmp_path / "модель"
    shutil.copytree(flow, root)
    ended = command("list", "--runs", root, **changes)
    assert ended.returncode == 0, ended.stderr
    assert "модель".encode() in ended.stdout or b"\\u043c" in ended.stdout


def test_variables_of_the_environment(flow: Path, tmp_path: Path) -> None:
    """In one process, because each takes a second to start."""
    ended = command(
        "show",
        only_run(flow),
        "--figure",
        tmp_path / "a.png",
        HOME="/nonexistent",
        TMPDIR="/nonexistent",
        MPLBACKEND="nonsense",
        COLUMNS="²",
        LINES="-1",
        TERM="nonsense",
        OMP_NUM_THREADS="abc",
    )
    assert ended.returncode == 0, ended.stderr
    assert b"OMP_NUM_THREADS is 'abc', which is no number of threads; 1 is taken\n" in ended.stderr
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_progress_takes_names_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    from headwise.cli.progress import _bar
    from headwise.study.train_run import Progress

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with _bar() as report:
        for step in (1, 2):
            report(Progress("a[/red]", step, 2, 1.0, 0.5, "[/b]:smile:"))
    assert "a[/red]" in terminal.getvalue()
    assert "nearest [/b]:smile:" in terminal.getvalue()


def test_lines_on_stderr_that_nobody_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(sys, "stderr", Full())
    streams.say("nobody hears this")
    assert main(["show", "nowhere"]) == 2
