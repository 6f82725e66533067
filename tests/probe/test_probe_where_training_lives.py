"""Compiled models, autocast, half precision, data-parallel training, and attention written by hand."""

from __future__ import annotations

import socket
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import headwise
from headwise.core.errors import ConfigError


class ByHand(nn.Module):
    """Attention as tutorials write it: scores, softmax, a dropout, values."""

    def __init__(self, heads: int = 2, width: int = 8, layers: int = 2) -> None:
        super().__init__()
        self.embed, self.heads = nn.Embedding(11, width), heads
        self.layers = nn.ModuleList(Layer(width, heads) for _ in range(layers))
        self.head = nn.Linear(width, 11)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.embed(ids)
        for layer in self.layers:
            x = x + layer(x)
        return self.head(x)


class Layer(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.qkv, self.out, self.heads = nn.Linear(width, 3 * width), nn.Linear(width, width), heads
        self.attn_dropout = nn.Dropout(0.3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows, length, width = x.shape
        q, k, v = self.qkv(x).view(rows, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) / (width / self.heads) ** 0.5
        scores = scores.masked_fill(torch.ones(length, length, dtype=torch.bool).triu(1), -torch.inf)
        weights = self.attn_dropout(scores.softmax(-1))
        return self.out((weights @ v).transpose(1, 2).reshape(rows, length, width))


IDS = torch.randint(11, (4, 9), generator=torch.Generator().manual_seed(0))


def test_attention_written_by_hand_by_the_name_of_its_dropout() -> None:
    torch.manual_seed(0)
    model = ByHand().train()
    with headwise.watch(model, tokens=IDS, every=1, attention="layers.*.attn_dropout") as w:
        w.step()
    assert model.layers[0].attn_dropout.training
    assert not model.layers[0].attn_dropout._forward_hooks
    x = model.embed(IDS)
    layer = model.layers[0]
    q, k, _ = layer.qkv(x).view(4, 9, 3, 2, -1).permute(2, 0, 3, 1, 4)
    scores = (q @ k.transpose(-2, -1) / 2).masked_fill(torch.ones(9, 9, dtype=torch.bool).triu(1), -torch.inf)
    weights = scores.softmax(-1)
    for lag in (1, 2, 5):
        # Mean over the queries: those that do not reach so far back count as none.
        share = torch.diagonal(weights, offset=1 - lag, dim1=-2, dim2=-1).sum(-1).mean(0) / 9
        shown = w.trajectory["attention_by_lag"].sel(lag=lag, block=1).values[0]
        assert np.allclose(shown, share.detach().numpy(), atol=1e-6)
    assert w.trajectory.sizes["block"] == 2
    assert np.isfinite(w.trajectory["loss"].sel(split="look").values).all(), "its logits give a loss too"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"attention": "blocks.*"}, r"fits no module of ByHand; it has layers\.0\.attn_dropout"),
        ({"attention": "layers.*.out"}, r"layers\.0\.out returns \(4, 9, 8\); the module behind"),
        ({"attention": 3}, "must be the name of modules"),
    ],
)
def test_names_that_are_none_are_one_sentence(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence) as caught, headwise.watch(ByHand(), tokens=IDS, **options):
        pass
    assert "\n" not in str(caught.value)


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(11, 8)
        self.layer = nn.TransformerEncoderLayer(8, nhead=2, batch_first=True, dropout=0.0)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.layer(self.embed(ids))


@pytest.mark.parametrize("way", ["in place", "wrapped", "one part"])
def test_a_look_at_a_compiled_model_compiles_nothing(way: str) -> None:
    """Counted by a backend of our own: the graphs that training needs, and not one for a look."""
    torch._dynamo.reset()
    graphs: list[int] = []

    def counting(graph: Any, inputs: Any) -> Any:
        graphs.append(len(inputs))
        return graph.forward

    torch.manual_seed(0)
    plain = Encoder()
    with headwise.watch(plain, tokens=IDS, every=1) as expected:
        pass
    model: nn.Module = plain
    if way == "in place":
        plain.compile(backend=counting)
    elif way == "wrapped":
        model = torch.compile(plain, backend=counting)
    else:
        plain.layer = torch.compile(plain.layer, backend=counting)
    model(IDS).sum().backward()
    trained = len(graphs)
    assert trained > 0
    with headwise.watch(model, tokens=IDS, every=1) as w:
        for _ in range(3):
            model(IDS).sum().backward()
            w.step()
    assert len(graphs) == trained, "neither the looks nor the steps after them compile anything"
    shares = w.trajectory["attention_by_lag"].values[0]
    assert np.allclose(shares, expected.trajectory["attention_by_lag"].values[0], atol=1e-6)


def test_half_precision_and_autocast_give_the_same_shares_to_their_digits() -> None:
    torch.manual_seed(0)
    model = ByHand()
    with headwise.watch(model, tokens=IDS, every=1, attention="layers.*.attn_dropout") as full:
        pass
    with (
        torch.autocast("cpu", dtype=torch.bfloat16),
        headwise.watch(model, tokens=IDS, every=1, attention="layers.*.attn_dropout") as mixed,
    ):
        mixed.step(model(IDS).float().mean())
    with headwise.watch(model.to(torch.bfloat16), tokens=IDS, every=1, attention="layers.*.attn_dropout") as half:
        pass
    exact = full.trajectory["attention_by_lag"].values[0]
    for other in (mixed, half):
        shares = other.trajectory["attention_by_lag"].values[0]
        assert np.abs(shares - exact).max() < 0.02
        assert np.allclose(shares.sum(-1), 1, atol=0.02)


PARALLEL = """
    import sys, torch, torch.distributed as dist
    from torch import nn
    import headwise
    rank, port, kind = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(11, 8), nn.TransformerEncoderLayer(8, 2, batch_first=True, dropout=0.0))
    ids = torch.randint(11, (4, 9), generator=torch.Generator().manual_seed(0))
    with headwise.watch(model, tokens=ids, every=1) as alone:
        pass
    if kind == "ddp":
        model = nn.parallel.DistributedDataParallel(model)
    else:
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard
        mesh = init_device_mesh("cpu", (2,))
        fully_shard(model[1], mesh=mesh)
        fully_shard(model, mesh=mesh)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
    with headwise.watch(model, tokens=ids, every=1) as w:
        for step in range(2):
            loss = model(ids + 0 * rank).pow(2).mean()
            optimiser.zero_grad(); loss.backward(); optimiser.step()
            w.step(loss)
    first = abs(w.trajectory["attention_by_lag"].values[0] - alone.trajectory["attention_by_lag"].values[0]).max()
    moved = abs(w.trajectory["attention_by_lag"].values[-1] - w.trajectory["attention_by_lag"].values[0]).max()
    print(kind, rank, w.trajectory.sizes["step"], bool(first < 1e-6), bool(moved > 0), flush=True)
    dist.destroy_process_group()
"""


@pytest.mark.parametrize("kind", ["ddp", "fsdp"])
def test_two_processes_train_together(kind: str, tmp_path: Path) -> None:
    if kind == "fsdp" and not hasattr(torch.cpu.Stream, "record_event"):
        pytest.skip(f"torch {torch.__version__} cannot shard on processors: its streams there record no event")
    script = tmp_path / "parallel.py"
    script.write_text(textwrap.dedent(PARALLEL))
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = str(found.getsockname()[1])
    command = [sys.executable, str(script)]
    both = [
        subprocess.Popen([*command, str(rank), port, kind], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for rank in range(2)
    ]
    answers = [process.communicate(timeout=250) for process in both]
    for rank, (out, error) in enumerate(answers):
        assert out.split() == [kind, str(rank), "3", "True", "True"], error[-2000:]
