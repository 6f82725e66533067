"""A checkpoint is data: whatever it says, none of its code runs, nothing is fetched or asked; each refusal is a line.

Everything here goes through the command itself; the watch sees connections, programs and pickles, whoever starts them.
"""

from __future__ import annotations

import builtins
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hostile_checkpoints import change_config, lay_trap, pickled, save_gpt2, transformers, watched, write_index
from packaging.version import Version

from headwise.cli.main import main

MAP = dict.fromkeys(("AutoConfig", "AutoModel", "AutoModelForCausalLM", "AutoModelForSpeechSeq2Seq"), "evil.X")
NESTED = {"auto_map": MAP, "_attn_implementation": "org/kernel", "model_type": "llama"}


def since(release: str, changes: dict[str, Any]) -> Any:
    """Settings that the library follows from this release on; before it they are names that mean nothing to it."""
    early = Version(transformers.__version__) < Version(release)
    reason = f"transformers before {release} knows no {', '.join(changes)}"
    return pytest.param(changes, marks=pytest.mark.skipif(early, reason=reason))


class Answer:
    """What a command printed and did."""

    def __init__(self, code: int, out: str, errors: list[str], events: list[str], seconds: float) -> None:
        self.code, self.out, self.errors, self.events, self.seconds = code, out, errors, events, seconds


@pytest.fixture
def probe(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Answer]:
    """Runs `headwise probe` on a folder; whoever asks on the terminal is told yes, and the question counts."""

    def run(folder: Path, *arguments: str) -> Answer:
        command = ["probe", str(folder), "--sequences", "2", "--length", "8", "--out", str(tmp_path / "runs")]
        with watched() as events:
            monkeypatch.setattr(builtins, "input", lambda *asked: events.append(f"asked {asked}") or "y")
            began = time.process_time()
            code = main([*command, *arguments, "-q"])
            seconds = time.process_time() - began
        out, err = capsys.readouterr()
        return Answer(code, out, err.strip().splitlines(), events, seconds)

    return run


@pytest.fixture(autouse=True, scope="module")
def libraries_imported(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What libraries do while they are imported is not the checkpoint's doing."""
    tmp = tmp_path_factory.mktemp("first")
    assert main(["probe", str(save_gpt2(tmp / "model")), "--length", "8", "--out", str(tmp), "-q"]) == 0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return save_gpt2(tmp_path / "model")


def require_refused(answer: Answer, mark: Path, codes: tuple[int, ...] = (2, 3)) -> None:
    assert not mark.exists()
    assert answer.events == []
    assert answer.code in codes, answer.errors
    assert len(answer.errors) == 1, answer.errors
    assert answer.seconds < 20


def test_an_honest_checkpoint_is_probed_and_reaches_nothing(folder: Path, probe: Callable[..., Answer]) -> None:
    answer = probe(folder)
    assert (answer.code, answer.events, answer.errors) == (0, [], [])


def test_the_command_asks_nothing_and_prints_one_line(folder: Path, tmp_path: Path) -> None:
    """In a process of its own, with somebody who answers yes to everything."""
    mark = lay_trap(folder)
    change_config(folder, architectures=["AutoModelForSpeechSeq2Seq"], auto_map=MAP)
    command = [sys.executable, "-m", "headwise", "probe", str(folder), "--length", "8", "--out", str(tmp_path / "runs")]
    done = subprocess.run(command, input="y\n" * 100, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert "AutoModelForSpeechSeq2Seq" in done.stderr
    assert not mark.exists()
    change_config(folder, architectures=["GPT2LMHeadModel"], n_embd=16)
    done = subprocess.run(command, input="y\n" * 100, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (3, "")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    "architectures",
    [
        ["AutoModelForSpeechSeq2Seq"],
        ["AutoModel"],
        ["AutoModelForCausalLM"],
        ["evil.X"],
        ["X"],
        ["../evil"],
        ["PreTrainedModel"],
        ["GPT2PreTrainedModel"],
        ["GPT2Config"],
        ["Trainer"],
        ["LlamaForCausalLM"],
        ["modeling_gpt2"],
        ["__class__"],
        ["pipeline"],
        [None],
        [{"a": "b"}],
        "GPT2LMHeadModel",
        {"GPT2LMHeadModel": 1},
        7,
    ],
    ids=str,
)
def test_only_the_librarys_own_models_are_built(folder: Path, probe: Callable[..., Answer], architectures: Any) -> None:
    mark = lay_trap(folder)
    change_config(folder, architectures=architectures, auto_map=MAP)
    require_refused(probe(folder), mark)


@pytest.mark.parametrize(
    "changes",
    [
        {"model_type": "evil", "auto_map": MAP},
        {"model_type": None, "auto_map": MAP},
        {"model_type": ["gpt2"]},
        {"model_type": "timm_wrapper", "architecture": "hf_hub:org/model"},
        {"model_type": "detr", "backbone": "org/model", "use_timm_backbone": False},
        {"model_type": "gemma3", "architectures": ["Gemma3ForConditionalGeneration"], "text_config": NESTED},
        {"model_type": "llava", "architectures": ["LlavaForConditionalGeneration"], "text_config": NESTED},
        {"model_type": "encoder-decoder", "encoder": NESTED, "decoder": NESTED},
        {"attn_implementation": "org/kernel"},
        {"_attn_implementation": "kernels-community/flash-attn2"},
        {"_attn_implementation_internal": "org/kernel"},
        {"attn_implementation": {"": "org/kernel", "text_config": "eager"}},
        {"attribute_map": {"harmless": "_attn_implementation_internal"}, "harmless": "org/kernel"},
        {"__class__": "evil.X"},
        {"__dict__": {"_attn_implementation_internal": "org/kernel"}},
        since("5.20", {"sub_configs_defaults": {"text_config": "evil.X"}}),
        {"quantization_config": {"quant_method": "torchao", "quant_type": {"default": {"_type": "evil.X"}}}},
        {"quantization_config": {"quant_method": "bitsandbytes", "load_in_4bit": True}},
        {"kernel_config": {"kernel_mapping": {"RMSNorm": "org/kernel:X"}}, "use_kernels": True},
        {"fusion_config": {"patch_embeddings": True}},
        {"distributed_config": {"tp_size": 2}},
        {"torch_dtype": "save"},
        {"dtype": "hub"},
    ],
    ids=lambda changes: ",".join(changes),
)
def test_settings_that_ask_for_code_are_refused(folder: Path, probe: Callable[..., Answer], changes: Any) -> None:
    mark = lay_trap(folder)
    change_config(folder, **changes)
    require_refused(probe(folder), mark)


@pytest.mark.parametrize(
    "changes",
    [
        {"auto_map": MAP},
        {"attn_implementation": "sdpa"},
        {"_attn_implementation": "flash_attention_2"},
        {"quantization_config": None, "backbone": None},
        {"transformers_weights": "weights.bin"},
        {"architectures": None, "auto_map": MAP},
        {"custom_pipelines": {"text-generation": {"impl": "evil.X"}}},
        {"name_or_path": "org/model", "_name_or_path": "org/model"},
        {"id2label": {"0": "update", "1": "to_dict"}, "label2id": {"update": 0, "to_dict": 1}},
        {"some_limit": {"__float__": "Infinity"}},
    ],
    ids=lambda changes: ",".join(changes),
)
def test_settings_that_do_not_matter_are_left_aside(folder: Path, probe: Callable[..., Answer], changes: Any) -> None:
    """Many published checkpoints carry some of these though the library has their model."""
    mark = lay_trap(folder)
    (folder / "weights.bin").write_bytes(b"not read")
    change_config(folder, **changes)
    answer = probe(folder)
    assert (answer.code, answer.events, answer.errors) == (0, [], [])
    assert not mark.exists()


@pytest.mark.parametrize(
    "changes",
    [
        {"n_layer": 100_000},
        {"n_layer": 4000},
        {"n_layer": 10**18},
        {"n_embd": 10**9},
        {"n_embd": 2 * 10**6},
        {"n_embd": 10**300},
        {"vocab_size": 10**12},
        {"vocab_size": 10**7},
        {"n_positions": 10**9},
        {"n_positions": 10**8},
        {"n_inner": 10**8},
        {"num_labels": 10**9},
        {"architectures": ["GPT2ForSequenceClassification"], "num_labels": 10**6},
        {"n_head": 10**8, "n_embd": 10**8},
        {"n_layer": [100_000]},
        {"n_layer": 1e5},
        since("5.14", {"per_layer_config": {str(i): {"n_inner": 10**8} for i in range(100)}}),
    ],
    ids=str,
)
def test_a_model_that_its_weights_cannot_fill_is_not_built(
    folder: Path, probe: Callable[..., Answer], changes: Any, tmp_path: Path
) -> None:
    change_config(folder, **changes)
    require_refused(probe(folder), tmp_path / "sprung")


def test_other_families_sizes_are_counted_too(tmp_path: Path, probe: Callable[..., Answer], folder: Path) -> None:
    """Position tables that Python computes, experts, layers of several kinds: whatever the key is called."""
    common = {"vocab_size": 20, "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2}
    for changes in (
        {"model_type": "distilbert", "architectures": ["DistilBertModel"], "sinusoidal_pos_embds": True, "dim": 8}
        | {"n_heads": 2, "max_position_embeddings": 10**8},
        {"model_type": "mixtral", "architectures": ["MixtralModel"], "num_local_experts": 10**8, **common},
        {"model_type": "deepseek_v3", "architectures": ["DeepseekV3Model"], "n_routed_experts": 10**8, **common},
        {"model_type": "llama", "architectures": ["LlamaModel"], **common, "num_hidden_layers": 4096},
        {"model_type": "gpt_neo", "architectures": ["GPTNeoModel"], **common, "num_layers": 4096}
        | {"attention_types": [[["global"], 4096]], "max_position_embeddings": 10**5},
        {"model_type": "jamba", "architectures": ["JambaModel"], **common, "num_hidden_layers": 4096},
    ):
        change_config(folder, **changes)
        require_refused(probe(folder), tmp_path / "sprung")


def test_words_of_a_checkpoint_cannot_steer_the_terminal(folder: Path, probe: Callable[..., Answer]) -> None:
    steer = "\x1b]0;title\x07\x1b[2J\nheadwise: finished\u202e"
    for changes in (
        {"architectures": [steer]},
        {"model_type": steer},
        {"attn_implementation": steer},
        {steer: 10**18},
        {"torch_dtype": steer},
        {"activation_function": steer},
    ):
        before = (folder / "config.json").read_bytes()
        change_config(folder, **changes)
        answer = probe(folder)
        require_refused(answer, folder.parent / "sprung")
        assert answer.errors[0].isprintable()
        (folder / "config.json").write_bytes(before)


def test_what_is_missing_is_told_before_it_is_made_up(
    tmp_path: Path, probe: Callable[..., Answer], folder: Path
) -> None:
    """A model of 150 million weights with a file of a thousand: random numbers for all of them took a minute."""
    (folder / "config.json").write_text('{"model_type": "modernbert", "architectures": ["ModernBertModel"]}')
    answer = probe(folder)
    require_refused(answer, tmp_path / "sprung", codes=(2,))
    assert answer.seconds < 5


NOT_CONFIGS: dict[str, bytes] = {
    "nested lists": b"[" * 100_000,
    "nested objects": b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
    "nested value": b'{"model_type":"gpt2","a":' + b"[" * 200 + b"]" * 200 + b"}",
    "long number": b'{"model_type":"gpt2","n_layer":' + b"9" * 10_000 + b"}",
    "not UTF-8": b'{"model_type":"\xff\xfe"}',
    "a list": b"[1, 2]",
    "a number": b"7",
    "empty": b"",
    "null bytes": b"\0" * 100,
    "NaN": b'{"model_type":"gpt2","architectures":["GPT2LMHeadModel"],"n_layer":NaN}',
    "infinity": b'{"model_type":"gpt2","architectures":["GPT2LMHeadModel"],"n_head":1e999}',
    "text": b'{"model_type":"gpt2","architectures":["GPT2LMHeadModel"],"n_layer":"many"}',
    "negative": b'{"model_type":"gpt2","architectures":["GPT2LMHeadModel"],"n_layer":-3,"n_embd":8,"n_head":2}',
    "zero": b'{"model_type":"gpt2","architectures":["GPT2LMHeadModel"],"n_head":0}',
    "objects for numbers": b'{"model_type":"gpt2","vocab_size":{},"n_embd":[],"n_head":null}',
}


@pytest.mark.parametrize("content", NOT_CONFIGS.values(), ids=NOT_CONFIGS)
def test_a_config_that_is_none_is_one_line(
    folder: Path, probe: Callable[..., Answer], content: bytes, tmp_path: Path
) -> None:
    (folder / "config.json").write_bytes(content)
    require_refused(probe(folder), tmp_path / "sprung")


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_what_is_no_ordinary_file_is_not_waited_for(
    folder: Path, probe: Callable[..., Answer], name: str, tmp_path: Path
) -> None:
    (folder / name).unlink()
    os.mkfifo(folder / name)
    require_refused(probe(folder), tmp_path / "sprung", codes=(3,))
    (folder / name).unlink()
    (folder / name).symlink_to("/dev/zero")
    require_refused(probe(folder), tmp_path / "sprung", codes=(3,))


@pytest.mark.parametrize(
    "name",
    [
        "weights.bin",
        "pytorch_model.bin",
        "weights.pt",
        "weights",
        "shard.safetensors.bin",
        "flax_model.msgpack",
        "x.h5",
    ],
)
def test_an_index_leads_to_no_pickle(folder: Path, probe: Callable[..., Answer], name: str) -> None:
    mark = pickled(folder, name)
    write_index(folder, name)
    require_refused(probe(folder), mark, codes=(2,))


@pytest.mark.parametrize("name", ["shard.safetensors", "model.safetensors"])
def test_a_pickle_by_the_name_of_safetensors_is_damage(folder: Path, probe: Callable[..., Answer], name: str) -> None:
    mark = pickled(folder, name)
    if name != "model.safetensors":
        write_index(folder, name)
    require_refused(probe(folder), mark, codes=(3,))


@pytest.mark.parametrize(
    "name", ["../other/model.safetensors", "/elsewhere/model.safetensors", "a/b.safetensors", "..", "", "\0"]
)
@pytest.mark.parametrize("kind", ["model.safetensors", "pytorch_model.bin"])
def test_an_index_stays_in_its_folder(
    folder: Path, probe: Callable[..., Answer], name: str, kind: str, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    os.rename(folder / "model.safetensors", tmp_path / "other" / "model.safetensors")
    write_index(folder, name.replace("safetensors", kind.rpartition(".")[2]), index=f"{kind}.index.json")
    require_refused(probe(folder, "--pickle", "weights-only"), tmp_path / "sprung", codes=(2,))


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"weight_map": []}', '{"weight_map": {"a": 3}}', "[" * 100_000])
def test_an_index_that_is_none_is_damage(
    folder: Path, probe: Callable[..., Answer], content: str, tmp_path: Path
) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors.index.json").write_text(content)
    require_refused(probe(folder), tmp_path / "sprung", codes=(3,))


def test_shards_are_read_and_must_hold_what_the_index_says(
    folder: Path, probe: Callable[..., Answer], tmp_path: Path
) -> None:
    from safetensors.torch import load_file, save_file

    whole = load_file(folder / "model.safetensors")
    os.remove(folder / "model.safetensors")
    names = sorted(whole)
    index = {name: f"model-{i % 2}.safetensors" for i, name in enumerate(names)}
    for shard in set(index.values()):
        save_file({name: whole[name] for name in names if index[name] == shard}, folder / shard)
    path = folder / "model.safetensors.index.json"
    path.write_text(json.dumps({"weight_map": index}))
    assert probe(folder).code == 0
    path.write_text(json.dumps({"weight_map": {**index, "absent.weight": "model-0.safetensors"}}))
    require_refused(probe(folder, "--seed", "1"), tmp_path / "sprung", codes=(3,))
    path.write_text(json.dumps({"weight_map": index}))
    save_file(whole, folder / "model-1.safetensors")
    require_refused(probe(folder, "--seed", "1"), tmp_path / "sprung", codes=(3,))


def test_what_else_lies_in_a_checkpoint_is_not_looked_at(folder: Path, probe: Callable[..., Answer]) -> None:
    """Adapters, generation with code of its own, optimiser pickles."""
    mark = lay_trap(folder, "custom_generate/generate.py", "modeling.py", "__init__.py", "setup.py")
    (folder / "adapter_config.json").write_text('{"base_model_name_or_path": "org/model", "peft_type": "LORA"}')
    (folder / "generation_config.json").write_text('{"custom_generate": "custom_generate"}')
    for name in ("adapter_model.bin", "optimizer.pt", "training_args.bin"):
        (folder / name).write_bytes(b"\x80\x04.")
    answer = probe(folder)
    assert (answer.code, answer.events) == (0, [])
    assert not mark.exists()


def test_tokenizers_are_data(folder: Path, probe: Callable[..., Answer], tmp_path: Path) -> None:
    mark = lay_trap(folder, "evil.py", "question_encoder_tokenizer/evil.py", "generator_tokenizer/evil.py")
    text = tmp_path / "text.txt"
    text.write_text("a text of some words " * 20)
    named = {"tokenizer_class": "X", "auto_map": {"AutoTokenizer": ["evil.X", "evil.X"]}}
    (folder / "vocab.json").write_text("{}")
    (folder / "merges.txt").write_text("")
    for place in (folder, folder / "question_encoder_tokenizer", folder / "generator_tokenizer"):
        (place / "tokenizer_config.json").write_text(json.dumps(named))
    for kind in ("X", "RagTokenizer", "AutoTokenizer", "GPT2Tokenizer"):
        change_config(folder, tokenizer_class=kind)
        require_refused(probe(folder, "--tokens", str(text)), mark, codes=(2,))
    for content in (b"{", b"[" * 100_000, b"\0" * 100, b'{"model": {"type": "BPE"}}', b'{"version": "9.0"}'):
        (folder / "tokenizer.json").write_bytes(content)
        require_refused(probe(folder, "--tokens", str(text)), mark, codes=(2,))
