"""A folder of Hugging Face checkpoints: which steps it has, and each one's model, as data alone.

Neither code that comes with a checkpoint nor code that it names elsewhere is run, nothing is downloaded and nothing is
asked on the terminal: `foreign_config` chooses the model's class among the library's own, `weights` reads the tensors,
and the library only fills the one with the other.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from torch import Tensor

from headwise.core.errors import ConfigError, CorruptData
from headwise.core.extras import require_library
from headwise.probe.built_model import LENGTHS, SUFFIXES, OpenedFile, build_function, open_file, sizes_of, step_inside
from headwise.probe.checkpoint_names import ALONE, LAST_STEP, StepOf, step_reader
from headwise.probe.foreign_config import build_config, first_line, model_class, read_settings
from headwise.probe.hub import fetched, find_revisions, is_hub, repository_of
from headwise.probe.model_size import require_reasonable_size
from headwise.probe.weights import PICKLED, SAFE, Pickle, read_weights, weights_digest


@dataclass(frozen=True)
class StoredModel:
    """One checkpoint: a folder of a Hugging Face model, a file and the function that builds its model, or a revision on
    the hub, whose `path` is only a name until it is fetched.
    """

    step: int
    path: Path
    build: str | None = None
    revision: tuple[str, str] | None = None
    """Repository and revision on the hub."""


@contextmanager
def at_hand(stored: StoredModel) -> Iterator[StoredModel]:
    """The checkpoint on this disk: as it is, or fetched from the hub and gone afterwards."""
    if stored.revision is None:
        yield stored
        return
    with fetched(*stored.revision) as place:
        yield StoredModel(stored.step, place)


@dataclass(frozen=True)
class OpenedModel:
    """What a checkpoint holds: its settings, without all that is not data, and its tensors."""

    path: Path
    settings: dict[str, Any]
    tensors: dict[str, Tensor]

    def identity(self) -> dict[str, str]:
        """Digests of the content: the weights, and the settings that say how they are used."""
        settings = json.dumps(self.settings, sort_keys=True).encode()
        return {"weights": weights_digest(self.tensors), "config": hashlib.sha256(settings).hexdigest()}

    def model(self, device: str) -> Any:
        """The model, ready to be shown something."""
        return load_model(self, device=device)


def find_checkpoints(
    folder: Path, *, step_pattern: str | None = None, build: str | None = None, revisions: str | None = None
) -> list[StoredModel]:
    """The checkpoints of a folder in order of step; a folder that is itself a model is its own only checkpoint.

    `build` names the function for files of torch instead, `revisions` those of a model on the hub (`hf:ORG/MODEL`).
    """
    step_of = step_reader(step_pattern)
    if is_hub(folder):
        if revisions is None:
            raise ConfigError(
                f"{folder}: say which revisions to fetch, such as --revisions 'step*' or --revisions main"
            )
        repository = repository_of(folder)
        found = [
            StoredModel(step, Path(f"{folder}@{name}"), revision=(repository, name))
            for step, name in find_revisions(repository, revisions, step_of)
        ]
        return _in_order(folder, found)
    if revisions is not None:
        raise ConfigError(f"--revisions are those of a model on the hub, such as hf:ORG/MODEL; {folder} is a folder")
    if build is not None:
        build_function(build)
        return _in_order(folder, _files(folder, step_of, build))
    if not folder.is_dir():
        raise ConfigError(f"{folder} is not a directory; give a folder of checkpoints")
    own_names = step_pattern is not None
    found = [
        StoredModel(step, path)
        for path in folder.iterdir()
        if path.is_dir()
        and (step := step_of(path.name)) is not None
        and (own_names or ALONE.fullmatch(path.name) or _holds_model(path))
    ]
    if found:
        return _in_order(folder, found)
    if any((folder / name).exists() for name in (*SAFE, *PICKLED)):
        return [StoredModel(step_of(folder.resolve().name) or 0, folder)]
    files = next((path for path in folder.iterdir() if path.suffix in SUFFIXES), None)
    if files is not None:
        raise ConfigError(f"{folder} holds {files.name}; say how its model is built with --build module:function")
    raise ConfigError(
        f"{folder} has no checkpoints: no folders like checkpoint-100, and no model.safetensors of its own; "
        "say how others are named with --step-pattern"
    )


def _holds_model(path: Path) -> bool:
    return any((path / name).exists() for name in ("config.json", *SAFE, *PICKLED))


def _files(folder: Path, step_of: StepOf, build: str) -> list[StoredModel]:
    """Files of torch: of a folder, or the one that is named."""
    paths = [folder] if folder.is_file() else sorted(folder.iterdir()) if folder.is_dir() else []
    files = [path for path in paths if path.suffix in SUFFIXES and path.is_file()]
    if not files:
        raise ConfigError(f"{folder} has no files that end in {', '.join(SUFFIXES)}; give one, or a folder of them")
    found = []
    for path in files:
        step = step_of(path.stem)
        step = step_inside(path) if step is None else step
        found.append(StoredModel(0 if step is None else step, path, build=build))
    return found


def _in_order(folder: Path, found: list[StoredModel]) -> list[StoredModel]:
    """In order of step, each step once."""
    found = sorted(found, key=lambda stored: (stored.step, stored.path.name))
    if found and found[-1].step > LAST_STEP:
        raise ConfigError(f"{found[-1].path} is named by a step beyond {LAST_STEP}; rename or remove it")
    twice = next((pair for pair in pairwise(found) if pair[0].step == pair[1].step), None)
    if twice is not None:
        fix = "choose with --revisions" if twice[0].revision is not None else "keep one"
        raise ConfigError(
            f"{folder} has two checkpoints of step {twice[0].step}, {twice[0].path.name} and {twice[1].path.name}; "
            f"{fix}, or say with --step-pattern which number is the step"
        )
    return found


def load_config(stored: StoredModel) -> Any:
    """The model's config, from the checkpoint or, failing that, from the folder it lies in."""
    transformers = require_library("transformers")
    with offline(), _quiet(transformers):
        return build_config(read_settings(stored.path), path=stored.path)


def open_checkpoint(stored: StoredModel, *, pickle: Pickle) -> OpenedModel | OpenedFile:
    """The checkpoint's content; `CorruptData` names it when it is damaged."""
    if stored.build is not None:
        return open_file(stored.path, stored.build)
    return OpenedModel(stored.path, read_settings(stored.path), read_weights(stored.path, pickle=pickle))


def load_model(opened: OpenedModel, *, device: str) -> Any:
    """The checkpoint's model; `CorruptData` names it when its weights are incomplete."""
    transformers = require_library("transformers")
    path = opened.path
    with offline(), _quiet(transformers):
        config = build_config(opened.settings, path=path)
        kind = model_class(config, path=path)
        require_reasonable_size(kind, config, opened.tensors, path=path)
        try:
            model, about = kind.from_pretrained(
                None,
                config=config,
                state_dict=opened.tensors,
                local_files_only=True,
                trust_remote_code=False,
                output_loading_info=True,
            )
        except (OSError, MemoryError):
            raise
        except Exception as error:
            raise CorruptData(f"{path} cannot be loaded: {first_line(error)}") from error
    # The library fills in what is missing with random numbers; a probe of those would report on nothing.
    wrong = sorted(about["missing_keys"]) or sorted(str(key) for key in about["mismatched_keys"])
    if wrong:
        raise CorruptData(f"{path} lacks {len(wrong)} of the model's weights, such as {wrong[0]}")
    try:
        return model.to(device).eval()
    except Exception as error:  # torch knows many ways in which a device is missing
        raise ConfigError(f"--device {device} cannot be used: {first_line(error)}") from error


def model_sizes(stored: StoredModel) -> tuple[int, int | None]:
    """How many token ids the model has, and how many positions, where it says so."""
    if stored.build is not None:
        model = open_file(stored.path, stored.build).model("cpu")
        size, longest = sizes_of(model)
        name = type(model).__name__
    else:
        config = load_config(stored).get_text_config()
        size, name = getattr(config, "vocab_size", None), type(config).__name__
        longest = next((n for key in LENGTHS if isinstance(n := getattr(config, key, None), int) and n > 0), None)
    if not isinstance(size, int):
        raise ConfigError(f"{name} does not give the size of its vocabulary; give its config a vocab_size")
    return size, longest


@contextmanager
def offline() -> Iterator[None]:
    """Let the library's client of its server refuse every request, whatever a checkpoint may lead it to ask for."""
    constants: Any = importlib.import_module("huggingface_hub.constants")
    before = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before


@contextmanager
def _quiet(transformers: Any) -> Iterator[None]:
    """The library's bars and reports for each checkpoint would drown the probe's own lines, which say what matters."""
    logging = transformers.utils.logging
    bars, level = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
