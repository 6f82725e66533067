"""Checkpoints by any name, files of torch and what builds them, revisions on a hub; refusals leave nothing."""

from __future__ import annotations

import functools
import http.server
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from torch import nn

import headwise
from headwise.core.errors import ConfigError, CorruptData
from headwise.probe.checkpoint_names import step_of, step_reader
from headwise.probe.checkpoints import find_checkpoints

NAMES = {
    "checkpoint-100": 100,
    "step1000": 1000,
    "step-001000-2BT": 1000,
    "stage1-step1000-tokens5B": 1000,
    "epoch=0-step=500": 500,
    "global_step7": 7,
    "iter_0000020": 20,
    "143000": 143000,
    "final": None,
    "steps": None,
    "misstep4": None,
}


@pytest.mark.parametrize("name", NAMES)
def test_steps_in_names(name: str) -> None:
    assert step_of(name) == NAMES[name]


def test_a_pattern_of_ones_own() -> None:
    read = step_reader(r"model_(\d+)k")
    assert [read(name) for name in ("model_5k", "model_12k-best", "step5")] == [5, 12, None]
    for pattern, sentence in (("(", "is no regular expression"), (r"\d+", "has 0 groups"), (r"(\w+)", "is no whole")):
        with pytest.raises(ConfigError, match=sentence):
            step_reader(pattern)("model_x")


def tiny_gpt2(seed: int = 0) -> Any:
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(seed)
    shape = {"n_embd": 8, "n_layer": 1, "n_head": 2, "vocab_size": 20, "n_positions": 16}
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(**shape, bos_token_id=0, eos_token_id=0))


def test_folders_by_other_names_are_probed(tmp_path: Path) -> None:
    for number, name in enumerate(("step-000010-1BT", "epoch=1-step=20", "30")):
        tiny_gpt2(number).save_pretrained(tmp_path / "run" / name)
    (tmp_path / "run" / "step99-notes").mkdir()
    found = headwise.probe_folder(tmp_path / "run", sequences=2, length=8, out=tmp_path / "runs")
    assert found.to_json()["checkpoints"] == [10, 20, 30]
    (tmp_path / "run" / "step-000010-1BT").rename(tmp_path / "run" / "weights_10")
    names = find_checkpoints(tmp_path / "run", step_pattern=r"weights_(\d+)")
    assert [(one.step, one.path.name) for one in names] == [(10, "weights_10")]


def test_sequences_are_cut_to_the_positions_of_the_model(tmp_path: Path) -> None:
    tiny_gpt2().save_pretrained(tmp_path / "run" / "checkpoint-5")
    lines: list[str] = []
    found = headwise.probe_folder(tmp_path / "run", sequences=2, out=tmp_path / "runs", notify=lines.append)
    assert json.loads(found.trajectory.attrs["shown"])["positions"] == 16
    assert "sequences are cut to the 16 positions of the model" in lines
    ids = tmp_path / "ids.npy"
    np.save(ids, np.random.default_rng(0).integers(20, size=(3, 40)))
    given = headwise.probe_folder(tmp_path / "run", tokens=ids, out=tmp_path / "runs")
    assert json.loads(given.trajectory.attrs["shown"])["positions"] == 16


@pytest.mark.parametrize("fault", ["no weights", "pickle", "tokens", "corrupt"])
def test_a_refused_probe_leaves_nothing_behind(tmp_path: Path, fault: str) -> None:
    model, folder = tiny_gpt2(), tmp_path / "run" / "checkpoint-5"
    model.save_pretrained(folder)
    options: dict[str, Any] = {"sequences": 2, "length": 8}
    weights = folder / "model.safetensors"
    if fault == "no weights":
        weights.unlink()
    elif fault == "pickle":
        weights.unlink()
        torch.save(model.state_dict(), folder / "pytorch_model.bin")
    elif fault == "corrupt":
        weights.write_bytes(weights.read_bytes()[:100])
    else:
        np.save(tmp_path / "ids.npy", np.full((2, 8), 99))
        options["tokens"] = tmp_path / "ids.npy"
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises((ConfigError, CorruptData)):
        headwise.probe_folder(tmp_path / "run", out=tmp_path / "some" / "runs", **options)
    left = [path for path in sorted(tmp_path.rglob("*")) if path not in before and path != tmp_path / "some"]
    assert left == []


class Tiny(nn.Module):
    """A model as nanoGPT has them: a config of its own, embeddings, one block."""

    def __init__(self, vocab_size: int, block_size: int) -> None:
        super().__init__()
        self.config = type("Config", (), {"vocab_size": vocab_size, "block_size": block_size})()
        self.words, self.places = nn.Embedding(vocab_size, 8), nn.Embedding(block_size, 8)
        self.block = nn.TransformerEncoderLayer(8, nhead=2, batch_first=True, dropout=0.0)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.block(self.words(ids) + self.places(torch.arange(ids.shape[1])))


def from_checkpoint(checkpoint: dict[str, Any]) -> Tiny:
    """What a user writes for `--build`."""
    model = Tiny(**checkpoint["model_args"])
    model.load_state_dict(checkpoint["model"])
    return model


def write_files(folder: Path) -> None:
    folder.mkdir()
    size = {"vocab_size": 13, "block_size": 12}
    for number, (name, inside) in enumerate((("ckpt_10.pt", 999), ("best.pt", 20))):
        torch.manual_seed(number)
        torch.save(
            {
                "model": Tiny(**size).state_dict(),
                "model_args": size,
                "iter_num": inside,
                "best_val_loss": torch.ones(1),
            },
            folder / name,
        )


def test_files_of_torch_with_the_function_that_builds_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    write_files(tmp_path / "out")
    build = f"{Path(__file__).stem}:from_checkpoint"
    found = headwise.probe_folder(tmp_path / "out", build=build, sequences=3, out=tmp_path / "runs")
    assert found.to_json()["checkpoints"] == [10, 20], "the name tells the step, or else the file does"
    assert found.to_json()["model"] == "Tiny"
    content = torch.load(tmp_path / "out" / "best.pt", weights_only=True)
    with headwise.watch(from_checkpoint(content), tokens=np.zeros((1, 2), int)):
        pass
    again = headwise.probe_folder(tmp_path / "out", build=build, sequences=3, out=tmp_path / "runs")
    assert again.run == found.run
    assert again.trajectory.equals(found.trajectory)


@pytest.mark.parametrize(
    ("build", "sentence"),
    [
        ("nocolon", "must be module:function"),
        ("no_such_module:f", "cannot be imported"),
        ("json:no_such", "json has no function no_such"),
        ("json:dumps", "failed on"),
        ("builtins:len", "returned a int; it returns a torch module"),
    ],
)
def test_a_function_that_builds_nothing_is_one_sentence(tmp_path: Path, build: str, sentence: str) -> None:
    write_files(tmp_path / "out")
    with pytest.raises(ConfigError, match=sentence) as caught:
        headwise.probe_folder(tmp_path / "out", build=build, out=tmp_path / "runs")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "runs").exists()


def test_code_in_a_file_is_never_run(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    torch.save({"model": {}, "trap": Trap(tmp_path / "sprung")}, tmp_path / "out" / "step5.pt")
    with pytest.raises(CorruptData, match="cannot be read as tensors and plain values"):
        headwise.probe_folder(tmp_path / "out", build="builtins:dict", out=tmp_path / "runs")
    assert not (tmp_path / "sprung").exists()
    with pytest.raises(ConfigError, match="say how its model is built with --build module:function"):
        headwise.probe_folder(tmp_path / "out", out=tmp_path / "runs")


class Trap:
    """Unpickled as code, this leaves a folder behind."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return os.mkdir, (str(self.place),)


class Hub(http.server.BaseHTTPRequestHandler):
    """As much of the hub as a client asks for: refs, trees and files of one repository."""

    protocol_version = "HTTP/1.1"
    asked: ClassVar[list[str]] = []

    def __init__(self, *args: Any, root: Path) -> None:
        self.root = root
        super().__init__(*args)

    def log_message(self, *args: Any) -> None:
        """Silence."""

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = self.path.split("?")[0]
        Hub.asked.append(path)
        revisions = {
            folder.name: f"{number:040x}" for number, folder in enumerate(sorted(self.root.iterdir()), start=1)
        }
        by_commit = {commit: name for name, commit in revisions.items()}
        if path == "/api/models/org/model/refs":
            branches = [{"name": n, "ref": f"refs/heads/{n}", "targetCommit": c} for n, c in revisions.items()]
            self.reply(json.dumps({"branches": branches, "tags": [], "converts": []}).encode())
        elif path.startswith("/api/models/org/model/revision/"):
            name = path.rsplit("/", 1)[1]
            name = by_commit.get(name, name)
            files = [{"rfilename": file.name} for file in sorted((self.root / name).iterdir())]
            about = {"id": "org/model", "sha": revisions[name], "siblings": files, "private": False, "tags": []}
            self.reply(json.dumps({**about, "downloads": 0, "likes": 0}).encode())
        elif path.startswith("/api/models/org/model/tree/"):
            name = path.split("/tree/")[1].split("/")[0]
            name = by_commit.get(name, name)
            tree = [
                {"type": "file", "path": file.name, "size": file.stat().st_size, "oid": "0" * 40}
                for file in sorted((self.root / name).iterdir())
            ]
            self.reply(json.dumps(tree).encode())
        elif path.startswith("/org/model/resolve/"):
            name, file = path.removeprefix("/org/model/resolve/").split("/", 1)
            name = by_commit.get(name, name)
            self.reply((self.root / name / file).read_bytes(), commit=revisions[name], etag=f'"{name}-{file}"')
        else:
            self.send_response(404)
            self.send_header("Content-Length", "0")
            self.end_headers()

    def reply(self, content: bytes, **about: str) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        if about:
            self.send_header("X-Repo-Commit", about["commit"])
            self.send_header("ETag", about["etag"])
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[str]:
    for number, name in enumerate(("main", "step10", "step20", "other")):
        tiny_gpt2(number).save_pretrained(tmp_path / "hub" / name)
        (tmp_path / "hub" / name / "modeling.py").write_text("raise SystemExit('code of a checkpoint was run')")
    Hub.asked = []
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Hub, root=tmp_path / "hub"))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()


def probe_hub(endpoint: str, folder: Path, *options: str, offline: str = "0") -> subprocess.CompletedProcess[str]:
    """In a process of its own: the client reads its endpoint when it is imported."""
    (folder / "tmp").mkdir(exist_ok=True)
    mine = {
        "HF_ENDPOINT": endpoint,
        "HF_HOME": str(folder / "home"),
        "TMPDIR": str(folder / "tmp"),
        "HF_HUB_OFFLINE": offline,
    }
    arguments = ["probe", "hf:org/model", "--sequences", "2", "--length", "8", "--out", str(folder / "runs"), *options]
    return subprocess.run(
        [sys.executable, "-m", "headwise", *arguments],
        env={**os.environ, **mine, "HF_HUB_DISABLE_XET": "1"},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_revisions_of_the_hub_one_at_a_time(hub: str, tmp_path: Path) -> None:
    done = probe_hub(hub, tmp_path, "--revisions", "step*", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["checkpoints"] == [10, 20]
    assert "downloading 2 revisions of hf:org/model, one at a time" in done.stderr.splitlines()[0], (
        "said before it starts"
    )
    assert not any("modeling.py" in path and "resolve" in path for path in Hub.asked), "no code is fetched"
    assert list((tmp_path / "tmp").iterdir()) == [], "each revision is removed again"
    kept = list((tmp_path / "home").rglob("*.safetensors")) if (tmp_path / "home").exists() else []
    assert kept == []
    asked = len(Hub.asked)
    again = probe_hub(hub, tmp_path, "--revisions", "step*", "--json")
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["run"] == json.loads(done.stdout)["run"]
    assert not any("resolve" in path for path in Hub.asked[asked:]), "what has a record is not fetched again"
    refused = probe_hub(hub, tmp_path)
    assert refused.returncode == 2
    assert "say which revisions to fetch" in refused.stderr
    absent = probe_hub(hub, tmp_path, "--revisions", "nothing*")
    assert absent.returncode == 2
    assert absent.stderr.count("\n") == 1


def test_revisions_that_the_library_keeps_on_this_disk_are_read_there_and_stay(hub: str, tmp_path: Path) -> None:
    """With the library's own switch for it, and no server."""
    fetch = "import huggingface_hub as h; [h.snapshot_download('org/model', revision=r) for r in ('step10', 'step20')]"
    mine = {"HF_ENDPOINT": hub, "HF_HOME": str(tmp_path / "home"), "HF_HUB_DISABLE_XET": "1", "HF_HUB_OFFLINE": "0"}
    subprocess.run([sys.executable, "-c", fetch], env={**os.environ, **mine}, check=True, capture_output=True)
    kept = sorted((tmp_path / "home").rglob("snapshots/*/*.safetensors"))
    assert len(kept) == 2
    asked = len(Hub.asked)
    done = probe_hub(hub, tmp_path, "--revisions", "step*", "--json", offline="1")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["checkpoints"] == [10, 20]
    first = done.stderr.splitlines()[0]
    assert "reading 2 revisions of hf:org/model from the library's cache on this disk; nothing is downloaded" in first
    assert len(Hub.asked) == asked, "the server is not asked for anything"
    assert sorted((tmp_path / "home").rglob("snapshots/*/*.safetensors")) == kept, (
        "what headwise did not fetch it does not remove"
    )
    assert list((tmp_path / "tmp").iterdir()) == []
    absent = probe_hub(hub, tmp_path, "--revisions", "main", offline="1")
    assert absent.returncode == 2
    assert "--revisions main: org/model has no such revision; it has step10, step20" in absent.stderr
    (tmp_path / "home").rename(tmp_path / "elsewhere")
    unknown = probe_hub(hub, tmp_path, "--revisions", "step*", offline="1")
    assert unknown.returncode == 2
    assert unknown.stderr.count("\n") == 1
    assert "hf:org/model is not in the library's cache on this disk" in unknown.stderr


def test_a_hub_that_cannot_be_reached_is_one_line(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    done = probe_hub("http://127.0.0.1:9", tmp_path, "--revisions", "main")
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("\n") == 1
    assert "hf:org/model cannot be reached" in done.stderr
    assert not (tmp_path / "runs").exists()
