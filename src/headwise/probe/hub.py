"""Revisions of a model on the Hugging Face hub, `hf:ORG/MODEL`: the only thing that headwise ever downloads, and only
when it is named so.

One revision at a time is fetched into a folder of its own, read as any checkpoint is, and removed again. Only settings,
safetensors weights and the tokenizer are asked for. `HF_ENDPOINT` and tokens are the library's own matter. With
`HF_HUB_OFFLINE=1` nothing is fetched: revisions are those that the library keeps on this disk, and they stay there.
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


def is_offline() -> bool:
    """Whether the library's own setting forbids every request."""
    return bool(require_library("huggingface_hub.constants").HF_HUB_OFFLINE)


def announcement(folder: Path | str, count: int) -> str:
    """What is about to happen to so many revisions, said before it does."""
    some = f"{count} revision{'s' * (count > 1)} of {folder}"
    if is_offline():
        return f"reading {some} from the library's cache on this disk; nothing is downloaded (HF_HUB_OFFLINE)"
    return f"downloading {some}, one at a time; each is removed after it was looked at"


def find_revisions(repository: str, wanted: str, step_of: StepOf) -> list[tuple[int, str]]:
    """Steps and names of the branches and tags that fit the pattern, in order of step."""
    names = list(_cached(repository)) if is_offline() else _on_hub(repository)
    fitting = [name for name in names if fnmatch.fnmatchcase(name, wanted)]
    if not fitting:
        shown = ", ".join(names[:5])
        raise ConfigError(f"--revisions {wanted}: {repository} has no such revision; it has {shown}")
    found = [(step, name) for name in fitting if (step := step_of(name)) is not None]
    if not found and len(fitting) == 1:
        return [(0, fitting[0])]
    if not found:
        raise ConfigError(f"--revisions {wanted}: {fitting[0]} names no step; say where it is with --step-pattern")
    return sorted(found)


def _on_hub(repository: str) -> list[str]:
    """Branches and tags."""
    hub = require_library("huggingface_hub")
    try:
        refs = hub.HfApi().list_repo_refs(repository)
    except Exception as error:  # the library and the network know many ways to fail
        raise ConfigError(f"{PREFIX}{repository} cannot be reached: {first_line(error)}") from error
    return list(dict.fromkeys(ref.name for ref in (*refs.branches, *refs.tags)))


def _cached(repository: str) -> dict[str, Path]:
    """Folders of the revisions that the library keeps on this disk, by branch or tag, or by commit without one."""
    hub = require_library("huggingface_hub")
    try:
        kept = hub.scan_cache_dir().repos
    except hub.CacheNotFound:
        kept = ()
    own = [repo for repo in kept if repo.repo_id == repository and repo.repo_type == "model"]
    found = {
        name: Path(revision.snapshot_path)
        for repo in own
        for revision in repo.revisions
        for name in (revision.refs or (revision.commit_hash,))
    }
    if not found:
        raise ConfigError(
            f"{PREFIX}{repository} is not in the library's cache on this disk, and HF_HUB_OFFLINE forbids to ask the "
            "hub; unset it to download"
        )
    return dict(sorted(found.items()))


@contextmanager
def fetched(repository: str, revision: str) -> Iterator[Path]:
    """A folder with the revision's files, gone afterwards unless it is the library's own."""
    if is_offline():
        yield _cached(repository)[revision]
        return
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
