"""Every code block and every command of the pages: run, or, where it is marked as long or remote, parsed."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tests.docs.page_blocks import LANGUAGES, PAGES, ROOT, Block, blocks, command_lines, inline_commands

from headwise.cli.command import COMMANDS
from headwise.cli.main import build_parser
from headwise.cli.overrides import parse_overrides, take_config_options
from headwise.core.config import validated
from headwise.study.cluster_config import ClusterConfig
from headwise.study.experiments import experiment

BLOCKS = [block for page in PAGES for block in blocks(page)]
every_block = pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.place)
WITH_RUNS = [page for page in PAGES if any(block.runs for block in blocks(page))]
MAKE_TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
MARKS = ("long", "remote", "run by ", "part of ", "file: ", "first:", "measured by ", "section: ")
SHELL_WORDS = ("cd", "export", "git", "pip", "eval", "echo", "sh")


@every_block
def test_a_block_says_its_language(block: Block) -> None:
    assert block.language in LANGUAGES, f"{block.place}: write one of {', '.join(LANGUAGES)} after ```"
    assert not block.mark or block.mark.startswith(MARKS), f"{block.place}: <!-- {block.mark} --> is not known"


@every_block
def test_a_command_is_not_hidden_as_text(block: Block) -> None:
    """What a reader may type is a block of `sh`, run or parsed; `text` has capitals for what is to be put in."""
    if block.language == "text":
        for line in command_lines(block.code):
            typed = line.split()[0] in ("headwise", "make", "pip", "python")
            assert not typed or re.search(r"\b[A-Z]{3,}\b", line), f"{block.place}: `{line}` is a command"


@every_block
def test_a_block_can_be_read(block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python compiles; commands are parsed by the parsers they are for; data are what they say."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cluster.toml").write_text("[cluster]\n", encoding="utf-8")
    if block.language == "python":
        compile(block.code, block.place, "exec")
    elif block.language == "sh":
        for line in command_lines(block.code):
            check_command(line)
    elif block.language == "toml":
        content = tomllib.loads(block.code)
        if "cluster" in content:
            validated(ClusterConfig, content["cluster"])
        else:
            experiment("minimal", "redrawn", changes=content)
    elif block.language == "json":
        json.loads(block.code)
    if block.mark.startswith("run by "):
        test = ROOT / block.mark.removeprefix("run by ")
        assert block.page.name in test.read_text(encoding="utf-8"), f"{test} does not read {block.page.name}"
    if block.mark.startswith("part of "):
        whole = {line.strip() for line in (ROOT / block.mark.removeprefix("part of ")).read_text().splitlines()}
        assert {line.strip() for line in block.code.splitlines()} <= whole


def check_command(line: str) -> None:
    """One command line: headwise and python -m are parsed or looked up, scripts and targets must exist."""
    words = shlex.split(line.partition(" > ")[0].partition(" && ")[0])
    first = words[0]
    if first == "headwise":
        parse(words[1:])
    elif first == "make":
        assert set(words[1:]) <= MAKE_TARGETS, line
    elif first in ("python", "python3") and words[1] == "-m":
        assert importlib.util.find_spec(words[2]) is not None, line
    elif first == "python":
        assert words[1] == "-c" or (ROOT / words[1]).is_file(), line
    elif first.startswith("scripts/"):
        assert (ROOT / first).is_file(), line
    else:
        assert first in SHELL_WORDS, f"{line}: neither headwise nor a known command"
    for file in re.findall(r"\b(?:tests|scripts|examples)/[\w/.-]+\w", line):
        assert (ROOT / file).exists(), line


def parse(arguments: list[str]) -> None:
    rest, keys = take_config_options(arguments)
    given, unknown = build_parser().parse_known_args(rest)
    schema = COMMANDS[given.command].keys
    if schema is None:
        assert [*unknown, *keys] == []
    else:
        parse_overrides([*unknown, *keys], [], schema)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_in_the_text_exist(page: Path) -> None:
    """The command is one, and takes the options that are named with it."""
    for line in inline_commands(page):
        name = line.split()[1]
        if name.isupper():
            continue
        assert name in COMMANDS, f"{page.name}: `{line}`"
        offered = options(name)
        for option in re.findall(r"(?<![\w-])--?[a-zA-Z][\w.-]*", line):
            key = option.removeprefix("--").replace("-", "_")
            schema = COMMANDS[name].keys
            known = (
                option in offered or (schema is not None and "." in key) or key in getattr(schema, "model_fields", {})
            )
            assert known, f"{page.name}: `{line}` has no {option}"


def options(command: str) -> set[str]:
    import argparse

    parser = argparse.ArgumentParser()
    COMMANDS[command].add(parser)
    return {flag for action in parser._actions for flag in action.option_strings} | {"--debug"}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=lambda command: command.name)
def test_examples_of_the_help_are_parsed(command) -> None:  # type: ignore[no-untyped-def]
    import argparse

    parser = argparse.ArgumentParser()
    command.add(parser)
    for line in (parser.epilog or "").splitlines():
        if line.startswith("  headwise "):
            check_command(re.sub(r"\s#.*", "", line).strip())


@pytest.mark.slow
@pytest.mark.timeout(2400)
@pytest.mark.parametrize("page", WITH_RUNS, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_blocks_of_a_page_run(page: Path, tmp_path: Path) -> None:
    """From top to bottom, in one folder, as a reader would: shell blocks by sh, Python blocks in one interpreter."""
    commands = tmp_path / "bin"
    commands.mkdir()
    for name, module in (("headwise", "-m headwise"), ("python", "")):
        launcher = commands / name
        launcher.write_text(f'#!/bin/sh\nexec "{sys.executable}" {module} "$@"\n', encoding="utf-8")
        launcher.chmod(0o755)
    work = tmp_path / "work"
    work.mkdir()
    environment = {
        **os.environ,
        "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]),
        "MPLBACKEND": "agg",
    }
    so_far = ""
    for block in blocks(page):
        if block.mark.startswith("file: "):
            (work / block.mark.removeprefix("file: ")).write_text(block.code, encoding="utf-8")
        if not block.runs:
            continue
        if block.language == "sh":
            program = ["sh", "-ec", block.code]
        else:
            # One program per page, run anew up to each block, so that shell blocks in between find its files.
            so_far += block.mark.removeprefix("first:").strip() + "\n" if block.mark.startswith("first:") else ""
            so_far += block.code
            program = [sys.executable, "-c", so_far]
        done = subprocess.run(program, cwd=work, env=environment, capture_output=True, text=True, timeout=1200)
        assert done.returncode == 0, f"{block.place}\n{done.stdout}{done.stderr}"
