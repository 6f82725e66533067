"""The completion scripts, asked by the shells themselves."""

from __future__ import annotations

import argparse
import shutil
import subprocess
from pathlib import Path

import pytest

from headwise.cli.command import COMMANDS
from headwise.cli.main import main
from headwise.cli.overrides import FIXED
from headwise.core.keys import known_keys

pytest.importorskip("shtab")

ASK = {
    "bash": """source "$0"
line="$1"; read -ra COMP_WORDS <<< "$line"
[[ "$line" == *" " ]] && COMP_WORDS+=("")
COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 )); COMPREPLY=()
asked=$(complete -p headwise | sed -E 's/.* -F ([^ ]+) .*/\\1/'); $asked
printf '%s\\n' "${COMPREPLY[@]}" """,
    "fish": 'source $argv[1]; complete -C "$argv[2]"',
}
"""How each shell is asked what it would offer after a line."""


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    from headwise import completion_script

    folder = tmp_path_factory.mktemp("completion")
    made = {}
    for shell in ("bash", "zsh", "fish"):
        made[shell] = folder / f"headwise.{shell}"
        made[shell].write_text(completion_script(shell), encoding="utf-8")  # type: ignore[arg-type]
    return made


@pytest.fixture(params=ASK)
def shell(request: pytest.FixtureRequest) -> str:
    if shutil.which(request.param) is None:
        pytest.skip(f"{request.param} is not installed")
    return str(request.param)


def offered(shell: str, script: Path, line: str) -> set[str]:
    answer = subprocess.run([shell, "-c", ASK[shell], str(script), line], capture_output=True, text=True, check=True)
    assert answer.stderr == ""
    return {word.partition("\t")[0] for word in answer.stdout.splitlines()} - {""}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("headwise tr", {"train"}),
        ("headwise train min", {"minimal"}),
        ("headwise train minimal --task.fe", {"--task.features", "--task.features_digest"}),
        ("headwise train minimal --model.score ", {"product", "merged"}),
        ("headwise flow --he", {"--help", "--heads"}),
        ("headwise check order", {"ordering"}),
        ("headwise completion ", {"bash", "zsh", "fish"}),
    ],
)
def test_a_shell_offers(shell: str, scripts: dict[str, Path], line: str, words: set[str]) -> None:
    if line.endswith("order"):
        from headwise import list_statements

        words = {name for name in list_statements() if name.startswith("order")}
    assert offered(shell, scripts[shell], line) == words


def test_every_command_and_option_is_offered(shell: str, scripts: dict[str, Path]) -> None:
    assert set(COMMANDS) <= offered(shell, scripts[shell], "headwise ")
    for command in COMMANDS.values():
        parser = argparse.ArgumentParser()
        command.add(parser)
        options = {flag for action in parser._actions for flag in action.option_strings if flag.startswith("--")}
        if command.keys is not None:
            short = {option.removeprefix("--").replace("-", "_") for option in options}
            options |= {f"--{key}" for key in known_keys(command.keys) if key not in (*FIXED, *short)}
        assert offered(shell, scripts[shell], f"headwise {command.name} --") == options


def test_zsh_reads_its_script(scripts: dict[str, Path]) -> None:
    if shutil.which("zsh") is None:
        pytest.skip("zsh is not installed")
    subprocess.run(["zsh", "-n", str(scripts["zsh"])], check=True)


def test_the_command_prints_the_script(scripts: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "fish"]) == 0
    assert capsys.readouterr().out.strip() == scripts["fish"].read_text(encoding="utf-8").strip()


def test_an_unknown_shell_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "tcsh"]) == 2
    assert "tcsh" in capsys.readouterr().err
