"""Revisions of a model on the Hugging Face hub, `hf:ORG/MODEL`: the only thing that headwise ever downloads, and only
when it is named so.

One revision at a time is fetched into a folder of its own, read as any checkpoint is, and removed again. Only settings,
safetensors weights and the tokenizer are asked for. `HF_ENDPOINT` and tokens are the library's own matter.
"""

from __future__ import annotations

import fnmatch
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from headwise.core.errors import ConfigError
from headwise.core.extras import require_library
from headwise.probe.checkpoint_names import StepOf
from headwise.probe.foreign_config import first_line

PREFIX = "hf:"
WANTED = ("config.json", "*.safetensors", "*.safetensors.index.json", "tokenizer.json")


def is_hub(folder: Path | str) -> bool:
    """Whether this names a model on the hub rather than a folder."""
    return str(folder).startswith(PREFIX)


def repository_of(folder: Path | str) -> str:
    """ORG/MODEL."""
    name = str(folder).removeprefix(PREFIX)
    if not name or name.count("/") > 1 or name.startswith("/"):
        raise ConfigError(f"{folder} is no model of the hub; write {PREFIX}ORG/MODEL")
    return name


def find_revisions(repository: str, wanted: str, step_of: StepOf) -> list[tuple[int, str]]:
    """Steps and names of the branches and tags that fit the pattern, in order of step."""
    hub = require_library("huggingface_hub")
    try:
        refs = hub.HfApi().list_repo_refs(repository)
    except Exception as error:  # the library and the network know many ways to fail
        raise ConfigError(f"{PREFIX}{repository} cannot be reached: {first_line(error)}") from error
    names = dict.fromkeys(ref.name for ref in (*refs.branches, *refs.tags))
    fitting = [name for name in names if fnmatch.fnmatchcase(name, wanted)]
    if not fitting:
        shown = ", ".join(list(names)[:5])
        raise ConfigError(f"--revisions {wanted}: {repository} has no such revision; it has {shown}")
    found = [(step, name) for name in fitting if (step := step_of(name)) is not None]
    if not found and len(fitting) == 1:
        return [(0, fitting[0])]
    if not found:
        raise ConfigError(f"--revisions {wanted}: {fitting[0]} names no step; say where it is with --step-pattern")
    return sorted(found)


@contextmanager
def fetched(repository: str, revision: str) -> Iterator[Path]:
    """A folder with the revision's files, gone afterwards."""
    hub = require_library("huggingface_hub")
    folder = Path(tempfile.mkdtemp(prefix="headwise-"))
    try:
        place = folder / revision.replace("/", "-")
        try:
            _download(hub, repository, revision, place)
        except (OSError, MemoryError):
            raise
        except Exception as error:  # the library and the network know many ways to fail
            raise ConfigError(f"{PREFIX}{repository}@{revision} cannot be fetched: {first_line(error)}") from error
        yield place
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _download(hub: Any, repository: str, revision: str, place: Path) -> None:
    utilities = require_library("huggingface_hub.utils")
    silent = utilities.are_progress_bars_disabled()
    utilities.disable_progress_bars()
    try:
        hub.snapshot_download(repository, revision=revision, allow_patterns=list(WANTED), local_dir=place)
    finally:
        if not silent:
            utilities.enable_progress_bars()
