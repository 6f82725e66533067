"""Options that several commands take, each declared once, and the types of their values."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from headwise.core.errors import ConfigError
from headwise.core.given_path import given_path


def add_runs_folder(parser: argparse.ArgumentParser) -> None:
    """`--out`, of every command that keeps runs."""
    parser.add_argument(
        "--out",
        type=path_argument,
        default=Path("runs"),
        metavar="DIR",
        help="folder that holds the runs (default: runs)",
    )


def path_argument(text: str) -> Path:
    """The type of every argument that names a file or directory."""
    try:
        return given_path(text)
    except ConfigError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def figure_file(text: str) -> Path:
    """The type of every option that names a figure, so that a wrong ending is refused before anything is computed."""
    from headwise.view.write import figure_path

    return figure_path(path_argument(text))


def add_figure(parser: argparse.ArgumentParser, drawn: str, *, option: str = "--figure") -> None:
    """`--figure`, of every command that draws; `drawn` says what, the kinds of file and the CSV are said here."""
    parser.add_argument(
        option,
        type=figure_file,
        metavar="FILE",
        help=f"{drawn} (png, pdf, svg), with the numbers beside it as CSV",
    )


def add_json(parser: argparse.ArgumentParser, printed: str = "the result") -> None:
    """`--json`, of every command with a result."""
    parser.add_argument("--json", action="store_true", help=f"print {printed} as one JSON document")


def add_quiet(parser: argparse.ArgumentParser) -> None:
    """`--quiet`, of every command that shows how far it is."""
    parser.add_argument("-q", "--quiet", action="store_true", help="do not show progress")


def add_recover(parser: argparse.ArgumentParser, kind: str = "run") -> None:
    """`--recover`, of every command that goes on with what is stored; `kind` says what that is."""
    parser.add_argument(
        "--recover",
        dest="on_damage",
        action="store_const",
        const="recover",
        default="refuse",
        help=f"resume a damaged {kind} from its newest undamaged checkpoint",
    )


class Several(argparse.Action):
    """An option that may be given several times; what is given replaces the default."""

    def __call__(self, parser: Any, namespace: argparse.Namespace, values: Any, option_string: Any = None) -> None:
        before = getattr(namespace, self.dest)
        setattr(namespace, self.dest, [values] if before is self.default else [*before, values])
