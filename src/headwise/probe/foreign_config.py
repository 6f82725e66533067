"""The config.json of a foreign checkpoint: taken as data, never as instructions.

The transformers library lets a config name Python files beside it, kernels and models on a server, quantisers that
import further libraries. None of that is followed here: names of code are dropped, what cannot be dropped without
changing the model is refused by its key, and the model is one of the library's own classes for its family. Numbers are
bounded before any of them becomes the length of a list.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from headwise.core.errors import ConfigError, CorruptData
from headwise.core.extras import require_library
from headwise.probe.foreign_json import printable, read_foreign_json

PLAIN_ATTENTION = ("eager", "sdpa")
BUILT_IN_ATTENTION = (*PLAIN_ATTENTION, "flex_attention", *(f"flash_attention_{version}" for version in (2, 3, 4)))
"""The first two are kept; for the others the library may fetch a kernel, so its default takes their place."""
ATTENTION_KEYS = ("attn_implementation", "_attn_implementation", "_attn_implementation_internal")
DROPPED = (
    "auto_map",
    "custom_pipelines",
    "transformers_weights",
    "transformers_version",
    "name_or_path",
    "_name_or_path",
    "_commit_hash",
    "_attn_implementation_autoset",
    "task_specific_params",
    "id2label",
    "label2id",
    "use_return_dict",
)
"""Names of code, of files, of places and of labels, which say nothing about the model."""
REFUSED = (
    "quantization_config",
    "compression_config",
    "fusion_config",
    "kernel_config",
    "use_kernels",
    "distributed_config",
    "device_map",
    "tp_plan",
    "gguf_file",
    "backbone",
    "backbone_config",
    "backbone_kwargs",
    "use_timm_backbone",
    "use_pretrained_backbone",
)
"""Settings that make the library import, fetch or rewrite something before there is a model."""
SETTABLE = ("model_type", "num_labels", "rope_scaling", "torch_dtype", "output_attentions", "per_layer_config")
"""Attributes of the library's base class that a config may set although they are no fields of it."""
SPECIAL_FLOATS = ("NaN", "Infinity", "-Infinity")
"""As the library writes them, since JSON has none."""
DTYPES = ("float64", "float32", "float16", "bfloat16")
DEEPEST = 12

LARGEST = 2**27
LIMITS = (
    (re.compile(r"theta|base|freq|_token_id$|_token$|seed"), 2**63),
    (re.compile(r"layers?$|blocks?$|depths?$|stages?$|hops?$"), 4096),
    (re.compile(r"labels$"), 10**5),
    (re.compile(r"vocab"), 2**24),
)
"""Largest number by what its key is called; the first that fits."""
TEXT = ("CAUSAL_LM", "MASKED_LM", "SEQUENCE_CLASSIFICATION", "TOKEN_CLASSIFICATION", "QUESTION_ANSWERING")
"""Tasks whose models take tokens; the library's tables of them list the families that can be probed."""


def read_settings(folder: Path) -> dict[str, Any]:
    """The settings of the checkpoint in this folder, or in the one above it, without all that is not data."""
    place = next((p for p in (folder, folder.parent) if (p / "config.json").exists()), None)
    if place is None:
        raise CorruptData(f"{folder}: config.json is missing, here and in the folder above")
    path = place / "config.json"
    return _cleaned(read_foreign_json(path), path=path, depth=0)


def build_config(settings: Mapping[str, Any], *, path: Path) -> Any:
    """The library's config object; `ConfigError` where the library has no code of its own for the family."""
    transformers = require_library("transformers")
    family = settings.get("model_type")
    # As the library does: layers of several kinds are the mark of the later family of this name.
    family = "ministral" if family == "mistral" and "layer_types" in settings else family
    if not isinstance(family, str) or family not in _text_families():
        raise ConfigError(
            f"{path}: model_type {printable(family)!r} is no model of text in transformers {transformers.__version__}; "
            "code that comes with a checkpoint is never run"
        )
    try:
        config = transformers.CONFIG_MAPPING[family].from_dict(dict(settings))
    except Exception as error:  # what strange values make a library raise is open-ended
        raise CorruptData(f"{path}: config.json cannot be used: {first_line(error)}") from error
    _require_plain(config, path)
    return config


def model_class(config: Any, *, path: Path) -> Any:
    """The library's own class that the config names; without a name, the bare model of its family."""
    transformers = require_library("transformers")
    names = getattr(config, "architectures", None)
    if not names:
        bare = transformers.MODEL_MAPPING.get(type(config), None)
        if bare is None:
            raise ConfigError(f"{path}: architectures is missing; name the model's class in config.json")
        return bare[0] if isinstance(bare, tuple) else bare
    package = type(config).__module__.rpartition(".")[0]
    for name in names if isinstance(names, list) else ():
        kind: Any = getattr(importlib.import_module(package), str(name), None)
        own = isinstance(kind, type) and issubclass(kind, transformers.PreTrainedModel)
        if own and kind.__module__.startswith(f"{package}.") and isinstance(config, kind.config_class or ()):
            return kind
    raise ConfigError(
        f"{path}: architectures {printable(names)} are no models of transformers' family {config.model_type!r}, and "
        "code that comes with a checkpoint is never run; if it is one of that family's, name it so in config.json"
    )


def first_line(error: BaseException) -> str:
    """What an error of a library says, in one line."""
    return printable(error, most=300) or type(error).__name__


def _cleaned(settings: Mapping[str, Any], *, path: Path, depth: int) -> dict[str, Any]:
    if depth > DEEPEST:
        raise CorruptData(f"{path} cannot be read: nested too deeply")
    own = _own_attributes()
    kept: dict[str, Any] = {}
    for key, value in settings.items():
        if key in ATTENTION_KEYS:
            _require_built_in(value, key=key, path=path)
            if value in PLAIN_ATTENTION:
                kept["attn_implementation"] = value
        elif key in DROPPED:
            continue
        elif value is not None and value is not False and (key in REFUSED or key in own or key.startswith("__")):
            raise ConfigError(
                f"{path}: {printable(key)} asks for more than the model itself, which is never done; remove it"
            )
        elif value is not None or key not in REFUSED:
            kept[key] = _checked(value, key=key, path=path, depth=depth)
    # What labels are called says nothing about attention; how many there are is the size of a classifier's last matrix.
    if isinstance(labels := settings.get("id2label"), dict):
        kept["num_labels"] = _checked(len(labels), key="num_labels", path=path, depth=depth)
    return kept


def _checked(value: Any, *, key: str, path: Path, depth: int) -> Any:
    if isinstance(value, dict):
        if set(value) == {"__float__"} and value["__float__"] in SPECIAL_FLOATS:
            return float(value["__float__"])
        return _cleaned(value, path=path, depth=depth + 1)
    if isinstance(value, list):
        if depth > DEEPEST:
            raise CorruptData(f"{path} cannot be read: nested too deeply")
        return [_checked(item, key=key, path=path, depth=depth + 1) for item in value]
    if isinstance(value, int | float) and not isinstance(value, bool):
        limit = next((most for pattern, most in LIMITS if pattern.search(key)), LARGEST)
        if abs(value) > limit and value not in (float("inf"), float("-inf")):
            named = f"{printable(key)} = {printable(value, most=20)}"
            raise ConfigError(f"{path}: {named} is more than {limit}, so no model of it is built")
    if key in ("dtype", "torch_dtype") and value is not None and str(value).removeprefix("torch.") not in DTYPES:
        raise ConfigError(f"{path}: {key} {printable(value)!r} is none of {', '.join(DTYPES)}")
    return value


def _require_built_in(value: Any, *, key: str, path: Path) -> None:
    for name in value.values() if isinstance(value, dict) else [value]:
        if name is not None and name not in BUILT_IN_ATTENTION:
            raise ConfigError(
                f"{path}: {key} {printable(name)!r} is no implementation of the library itself "
                f"({', '.join(BUILT_IN_ATTENTION)}); others are never fetched"
            )


def _require_plain(config: Any, path: Path) -> None:
    """What a config became, whatever way its keys took: no name of code or of a kernel is left in any part of it."""
    transformers = require_library("transformers")
    waiting, seen = [config], set()
    while waiting:
        part = waiting.pop()
        seen.add(id(part))
        named = [name for key in ATTENTION_KEYS if (name := vars(part).get(key)) not in (None, *PLAIN_ATTENTION)]
        if named or "auto_map" in vars(part) or getattr(part, "quantization_config", None) is not None:
            raise ConfigError(f"{path}: config.json names code or a kernel, which is never run; remove it")
        inside = [value for value in vars(part).values() if isinstance(value, transformers.PreTrainedConfig)]
        waiting += [value for value in inside if id(value) not in seen]


def _own_attributes() -> set[str]:
    """Names that the library's base class uses for itself; a config that sets them would change how it is read."""
    base = require_library("transformers").PreTrainedConfig
    return set(dir(base)) - {field.name for field in fields(base)} - {*SETTABLE, *DROPPED, *ATTENTION_KEYS}


def _text_families() -> set[str]:
    tables = importlib.import_module("transformers.models.auto.modeling_auto")
    return {family for task in TEXT for family in getattr(tables, f"MODEL_FOR_{task}_MAPPING_NAMES")}
