"""`headwise probe` over folders of checkpoints: order, resume after a kill, damage, pickle, and what it prints."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from probe_references import naive_by_lag

from headwise.cli.main import main
from headwise.core.errors import ConfigError, CorruptData, Interrupted
from headwise.probe.checkpoints import find_checkpoints
from headwise.probe.folder import probe_checkpoints
from headwise.probe.folder_config import folder_config
from headwise.probe.probe_identity import probe_path
from headwise.probe.token_file import read_tokens
from headwise.store import RunDirectory, load_trajectory, run_status

transformers = pytest.importorskip("transformers")

SHOWN = {"sequences": 2, "length": 8, "lags": 8, "induction": "off", "seed": 0}


def save_checkpoints(folder: Path, steps: list[int]) -> None:
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        n_embd=8, n_layer=1, n_head=2, vocab_size=20, n_positions=16, bos_token_id=0, eos_token_id=0
    )
    model = transformers.GPT2LMHeadModel(config)
    transformers.utils.logging.disable_progress_bar()
    for step in steps:
        model.save_pretrained(folder / f"checkpoint-{step}")
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(0.2 * torch.randn_like(parameter))


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("folder") / "trained"
    save_checkpoints(folder, [5, 10, 100, 20])
    return folder


def probe(folder: Path, out: Path, **settings: object) -> RunDirectory:
    config = folder_config(folder, tokens="markov", **SHOWN)
    return probe_checkpoints(folder, config, tokens="markov", out=out, **settings)


def test_records_are_the_checkpoints_own_attention_in_order_of_step(checkpoints: Path, tmp_path: Path) -> None:
    run = probe(checkpoints, tmp_path)
    found = load_trajectory(run.path)
    assert found["step"].values.tolist() == [5, 10, 20, 100]
    assert run_status(run.path, care="full") == "finished"
    from headwise.probe.sequences import synthetic

    tokens = torch.from_numpy(synthetic("markov", vocabulary=20, sequences=2, length=8, seed=0))
    for i, step in enumerate([5, 10, 20, 100]):
        path = checkpoints / f"checkpoint-{step}"
        model = transformers.GPT2LMHeadModel.from_pretrained(path, attn_implementation="eager").eval()
        with torch.no_grad():
            maps = torch.stack(model(tokens, output_attentions=True).attentions)
            loss = float(model(tokens, labels=tokens).loss)
        assert np.abs(found["attention_by_lag"].values[i] - naive_by_lag(maps, found["lag"].values)).max() < 1e-6
        assert float(found["loss"].sel(split="look")[i]) == pytest.approx(loss, abs=1e-5)
        assert float(found["loss_time"].sel(split="look")[i]) == step
        on_own = maps.diagonal(dim1=-2, dim2=-1).double().mean((1, -1)).numpy()
        chance = np.mean([1 / n for n in range(1, 9)])
        score = found["role_score"].sel(role="self").values[i]
        assert score == pytest.approx((on_own - chance) / (1 - chance), abs=1e-5)


def test_an_interrupted_probe_goes_on_and_ends_the_same(checkpoints: Path, tmp_path: Path) -> None:
    asked = iter([False, False, True])
    with pytest.raises(Interrupted, match="checkpoint-20"):
        probe(checkpoints, tmp_path / "a", stop_asked=lambda: next(asked))
    said: list[str] = []
    resumed = probe(checkpoints, tmp_path / "a", notify=said.append)
    assert said[0] == "resuming after step 10: 2 of 4 checkpoints to go"
    whole = probe(checkpoints, tmp_path / "b")
    for name in (path.name for path in whole.data_files()):
        assert (resumed.path / name).read_bytes() == (whole.path / name).read_bytes()
    said.clear()
    probe(checkpoints, tmp_path / "a", notify=said.append)
    assert said == []


def test_checkpoints_that_appear_later_are_added(checkpoints: Path, tmp_path: Path) -> None:
    folder = tmp_path / "growing"
    for step in (5, 10):
        shutil.copytree(checkpoints / f"checkpoint-{step}", folder / f"checkpoint-{step}")
    run = probe(folder, tmp_path)
    assert load_trajectory(run.path)["step"].values.tolist() == [5, 10]
    shutil.copytree(checkpoints / "checkpoint-20", folder / "checkpoint-20")
    assert load_trajectory(probe(folder, tmp_path).path)["step"].values.tolist() == [5, 10, 20]
    assert run_status(run.path, care="full") == "finished"


@pytest.mark.parametrize(
    "damage", ["cut", "not safetensors", "no weights", "other config", "no config", "lacks a tensor"]
)
def test_a_damaged_checkpoint_is_named_and_stops_or_is_skipped(checkpoints: Path, tmp_path: Path, damage: str) -> None:
    folder = tmp_path / "damaged"
    for step in (5, 10, 20):
        shutil.copytree(checkpoints / f"checkpoint-{step}", folder / f"checkpoint-{step}")
    victim = folder / "checkpoint-10" / "model.safetensors"
    if damage == "cut":
        victim.write_bytes(victim.read_bytes()[:1000])
    elif damage == "not safetensors":
        victim.write_bytes(b"\0" * 1000)
    elif damage == "no weights":
        victim.unlink()
    elif damage == "other config":
        config = json.loads((folder / "checkpoint-10/config.json").read_text())
        (folder / "checkpoint-10/config.json").write_text(json.dumps({**config, "n_embd": 16}))
    elif damage == "no config":
        (folder / "checkpoint-10/config.json").write_text("{")
    else:
        from safetensors.torch import load_file, save_file

        tensors = load_file(victim)
        del tensors["transformer.h.0.attn.c_attn.weight"]
        save_file(tensors, victim, metadata={"format": "pt"})
    with pytest.raises(CorruptData, match=r"checkpoint-10.*--on-corrupt skip"):
        probe(folder, tmp_path)
    said: list[str] = []
    run = probe(folder, tmp_path, on_corrupt="skip", notify=said.append)
    assert load_trajectory(run.path)["step"].values.tolist() == [5, 20]
    assert any("checkpoint-10" in line and line.startswith("skipped") for line in said)


class Trap:
    """Unpickling this writes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return (Path.touch, (self.path,))


def test_pickle_is_refused_unless_tensors_alone_are_read(checkpoints: Path, tmp_path: Path) -> None:
    folder = tmp_path / "pickled"
    shutil.copytree(checkpoints / "checkpoint-5", folder / "checkpoint-5")
    from safetensors.torch import load_file

    weights = folder / "checkpoint-5" / "model.safetensors"
    tensors = load_file(weights)
    weights.unlink()
    torch.save(tensors, folder / "checkpoint-5" / "pytorch_model.bin")
    with pytest.raises(ConfigError, match="--pickle weights-only"):
        probe(folder, tmp_path)
    run = probe(folder, tmp_path, pickle="weights-only")
    assert load_trajectory(run.path)["step"].values.tolist() == [5]
    trap = tmp_path / "sprung"
    torch.save({**tensors, "trap": Trap(trap)}, folder / "checkpoint-5" / "pytorch_model.bin")
    with pytest.raises(CorruptData, match="checkpoint-5"):
        probe(folder, tmp_path / "again", pickle="weights-only")
    assert not trap.exists()


def test_folders_that_hold_no_checkpoints(tmp_path: Path, checkpoints: Path) -> None:
    for folder, words in ((tmp_path / "absent", "not a directory"), (tmp_path, "no checkpoints")):
        with pytest.raises(ConfigError, match=words):
            find_checkpoints(folder)
    assert [stored.step for stored in find_checkpoints(checkpoints / "checkpoint-20")] == [20]
    for name in ("step7", "checkpoint-7"):
        (tmp_path / name).mkdir()
    with pytest.raises(ConfigError, match="two checkpoints of step 7"):
        find_checkpoints(tmp_path)
    (tmp_path / f"step{10**30}").mkdir()
    with pytest.raises(ConfigError, match="beyond"):
        find_checkpoints(tmp_path)


@pytest.mark.slow
def test_a_probe_killed_half_way_resumes(tmp_path: Path) -> None:
    """Fifty checkpoints, SIGKILL after about half of them, the same command again."""
    folder = tmp_path / "many"
    save_checkpoints(folder, list(range(1, 51)))
    shown = ["--synthetic", "repeated", "--sequences", "2", "--length", "8", "--out", str(tmp_path)]
    command = [sys.executable, "-m", "headwise", "probe", str(folder), *shown, "--json"]
    config = folder_config(folder, tokens="repeated", sequences=2, length=8, lags=64, induction="on", seed=0)
    run = RunDirectory(probe_path(folder, config, tmp_path))
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment)
    while len(run.metrics.ends()) < 20 and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    # A record counts once the digest of its checkpoint is on disk, right after it; the kill may fall between the two.
    complete = [end for end in run.metrics.ends() if end <= run.checkpoints.steps()[-1]]
    kept = {path: path.stat().st_mtime_ns for path in map(run.metrics.path, complete)}
    assert 19 <= len(kept) < 50
    answer = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    document = json.loads(answer.stdout)
    assert document["checkpoints"] == list(range(1, 51))
    assert all(path.stat().st_mtime_ns == written for path, written in kept.items())
    assert run_status(run.path, care="full") == "finished"


def test_the_command_prints_one_document_and_one_line_errors(
    checkpoints: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = ["--sequences", "3", "--length", "10", "--out", str(tmp_path)]
    assert main(["probe", str(checkpoints), *shown, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["checkpoints"] == [5, 10, 20, 100]
    assert (document["model"], document["blocks"], document["heads"]) == ("GPT2LMHeadModel", 1, 2)
    assert {"lag", "share", "self", "previous", "first", "induction", "entropy"} <= set(document["final"][0])
    assert set(document["report"]) >= {"stages", "offshoots", "specialised"}
    assert main(["show", document["run"], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["status"] == "finished"
    assert main(["probe", str(checkpoints), *shown]) == 0
    assert "GPT2LMHeadModel: 4 checkpoints, 1 block of 2 heads" in capsys.readouterr().out.replace("\n", " ")
    for arguments, code in (
        (["probe", str(tmp_path / "absent")], 2),
        (["probe", str(checkpoints), "--tokens", "x.npy", "--synthetic", "random"], 2),
        (["probe", str(checkpoints), "--tokens", str(tmp_path / "absent.npy")], 2),
        (["probe", str(checkpoints), "--length", "0", "--out", str(tmp_path)], 2),
    ):
        assert main([*arguments, "-q"]) == code
        assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_tokens_from_files(tmp_path: Path, checkpoints: Path) -> None:
    ids = np.arange(20).reshape(4, 5)
    np.save(tmp_path / "a.npy", ids)
    (tmp_path / "b.json").write_text(json.dumps(ids.ravel().tolist()))
    read = {"sequences": 3, "length": 5, "tokenizer": checkpoints / "checkpoint-5"}
    assert np.array_equal(read_tokens(tmp_path / "a.npy", **read), ids[:3])
    assert np.array_equal(read_tokens(tmp_path / "b.json", **read), ids[:3])
    np.save(tmp_path / "real.npy", np.zeros((2, 2)))
    np.save(tmp_path / "pickle.npy", np.array([{}]), allow_pickle=True)
    (tmp_path / "c.json").write_text("[[1, 2], [3]]")
    (tmp_path / "d.txt").write_text("text")
    for name, words in (
        ("real.npy", "whole numbers"),
        ("pickle.npy", "cannot be read"),
        ("c.json", "cannot be read"),
        ("d.txt", "no tokenizer"),
        ("e.csv", "npy or"),
    ):
        with pytest.raises(ConfigError, match=words):
            read_tokens(tmp_path / name, **read)
    with pytest.raises(ConfigError, match="lower it"):
        read_tokens(tmp_path / "b.json", **{**read, "length": 30})


def test_token_files_that_promise_too_much_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save_checkpoints(tmp_path / "folder", [5])

    def npy(header: str) -> bytes:
        text = header.encode().ljust(-(10 + len(header)) % 64 + len(header))
        return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(64)

    many = str(10**9)
    files = {
        "huge.npy": npy(f"{{'descr': '<i8', 'fortran_order': False, 'shape': ({many}, {many}), }}"),
        "large.npy": npy(f"{{'descr': '<i8', 'fortran_order': False, 'shape': ({many}0,), }}"),
        "negative.npy": npy("{'descr': '<i8', 'fortran_order': False, 'shape': (-1, 4), }"),
        "object.npy": npy("{'descr': '|O', 'fortran_order': False, 'shape': (2,), }"),
        "fields.npy": npy("{'descr': [('a', '<i8')], 'fortran_order': False, 'shape': (2,), }"),
        "open bracket.npy": npy("{'descr': '<i8', 'fortran_order': False, 'shape': (2,"),
        "nested.npy": npy("(" * 3000 + ")" * 3000),
        "no header.npy": b"\x93NUMPY",
        "empty.npy": b"",
        "zip.npy": b"PK\x03\x04" + bytes(100),
        "nested.json": b"[" * 100_000,
        "deep.json": b"[" * 900 + b"1" + b"]" * 900,
        "long.json": b"[" + b"9" * 5000 + b"]",
        "large.json": b"[[1e400, 2]]",
        "bytes.json": b"\xff\xfe[1]",
        "bytes.txt": b"\xff\xfe\x00text",
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    os.mkfifo(tmp_path / "pipe.npy")
    (tmp_path / "zero.npy").symlink_to("/dev/zero")
    for name in (*files, "pipe.npy", "zero.npy"):
        shown = ["--tokens", str(tmp_path / name), "--length", "4", "--out", str(tmp_path / "runs")]
        assert main(["probe", str(tmp_path / "folder"), *shown, "-q"]) == 2, name
        errors = capsys.readouterr().err.strip().splitlines()
        assert len(errors) == 1, errors
        assert name in errors[0]


def test_text_becomes_the_tokens_that_the_library_makes_of_it(tmp_path: Path) -> None:
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

    text = "The heads of a model, one by one, leave for other lags; 12 of them – naïve or not – stay. " * 3
    (tmp_path / "text.txt").write_text(text, encoding="utf-8")
    special = ["[UNK]", "[CLS]", "[SEP]"]
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer, bpe.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    bpe.train_from_iterator([text], trainers.BpeTrainer(vocab_size=300, special_tokens=special))
    words = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    words.normalizer, words.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    words.train_from_iterator([text], trainers.WordPieceTrainer(vocab_size=120, special_tokens=special))
    words.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    words.enable_truncation(5)
    words.enable_padding(length=9)
    for name, made in (("bpe", bpe), ("words", words)):
        library = transformers.PreTrainedTokenizerFast(tokenizer_object=made, unk_token="[UNK]")
        library.save_pretrained(tmp_path / name)
        expected = transformers.AutoTokenizer.from_pretrained(tmp_path / name)(text, add_special_tokens=False)
        found = read_tokens(tmp_path / "text.txt", sequences=10**6, length=2, tokenizer=tmp_path / name)
        ids = expected["input_ids"]
        assert found.ravel().tolist() == ids[: len(ids) // 2 * 2]
        assert len(ids) > 40
