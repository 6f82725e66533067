"""The settings of a probe over a folder of checkpoints."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from headwise.core.config import Config, validated
from headwise.core.errors import ConfigError
from headwise.measure.ablations import Cadence, ImportanceOf, check_importance
from headwise.probe.probing import Induction
from headwise.probe.sequences import Kind
from headwise.probe.token_classes import Classes, classes_digest


class FolderConfig(Config):
    """What is shown to every checkpoint and what is kept of it."""

    source: Annotated[str, Field(description="name of the folder of checkpoints")]
    tokens: Annotated[str, Field(description="kind of synthetic sequences, or the digest of the token file")]
    sequences: Annotated[int, Field(ge=1, le=100_000)] = 16
    length: Annotated[int, Field(ge=2, le=1_000_000)] = 64
    lags: Annotated[int, Field(ge=1, le=4096)] = 64
    induction: Induction = "on"
    measured: Annotated[
        Literal["roles, windows and examples"],
        Field(description="what a record holds; a probe that held less is another run"),
    ] = "roles, windows and examples"
    examples: Annotated[int, Field(ge=0, le=64, description="sequences whose attention is kept whole")] = 2
    corpus: Annotated[str | None, Field(description="digest of the file that n-grams are counted on")] = None
    classes: Annotated[str | None, Field(description="digest of the token classes")] = None
    step_pattern: Annotated[str | None, Field(description="where a name has its step, if not as usual")] = None
    build: Annotated[str | None, Field(description="module:function that builds the model of a file")] = None
    importance: Annotated[
        Annotated[int, Field(ge=1)] | Literal["last"] | None,
        Field(description="at which checkpoints head importance is measured: every so many and the last one"),
    ] = None
    importance_of: Annotated[ImportanceOf | None, Field(description="of heads alone, or of pairs too")] = None
    seed: Annotated[int, Field(ge=0)] = 0


def folder_config(
    folder: Path,
    *,
    tokens: Path | Kind,
    sequences: int,
    length: int,
    lags: int,
    induction: Induction,
    seed: int,
    corpus: Path | None = None,
    classes: Classes | None = None,
    examples: int = 2,
    step_pattern: str | None = None,
    build: str | None = None,
    importance: Cadence | None = None,
    importance_of: ImportanceOf = "heads",
) -> FolderConfig:
    """The settings of a probe; files of tokens are named by their content."""
    check_importance(importance, importance_of)
    shown = file_digest(tokens, option="--tokens") if isinstance(tokens, Path) else tokens
    counted = None if corpus is None else file_digest(corpus, option="--corpus")
    values = {"source": folder.resolve().name, "tokens": shown, "sequences": sequences, "length": length}
    named = None if classes is None else classes_digest(classes)
    kept = {"lags": lags, "induction": induction, "corpus": counted, "classes": named}
    kept |= {"examples": examples, "seed": seed, "step_pattern": step_pattern, "build": build}
    measured = {"importance": importance, "importance_of": None if importance is None else importance_of}
    return validated(FolderConfig, {**values, **kept, **measured})


def file_digest(path: Path, *, option: str) -> str:
    """SHA-256 of a file's content."""
    if path.exists() and not path.is_file():
        raise ConfigError(f"{option} {path} is not an ordinary file; give ids as .npy or .json, or text as .txt")
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ConfigError(f"{option} {path} cannot be read: {error.strerror or error}") from None
