"""torch's own attention, in and out of its fused path, against softmax written out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from probe_references import Remembered, naive_by_lag
from torch import Tensor, nn
from torch.nn import functional

from headwise.core.errors import ConfigError
from headwise.probe import watch


def by_hand(module: nn.MultiheadAttention, x_BSD: Tensor, hidden: Tensor | None = None) -> Tensor:
    """Attention weights, (B, H, S, S), from the module's matrices alone; `hidden` is True where attention is masked."""
    query, key, _ = functional.linear(x_BSD, module.in_proj_weight, module.in_proj_bias).chunk(3, -1)
    heads = module.num_heads
    q, k = (t.unflatten(-1, (heads, -1)).transpose(1, 2) for t in (query, key))
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    return (scores if hidden is None else scores.masked_fill(hidden, -math.inf)).softmax(-1)


def sequence(rows: int = 3, length: int = 9, width: int = 16) -> Tensor:
    return torch.randn(rows, length, width, generator=torch.Generator().manual_seed(2))


def check_shares(found: object, maps: Tensor) -> None:
    assert np.abs(found["attention_by_lag"].values[0] - naive_by_lag(maps.detach(), found["lag"].values)).max() < 1e-5


@pytest.mark.parametrize("mode", ["train", "eval"])
@pytest.mark.parametrize("batch_first", [True, False])
def test_multihead_attention_by_itself(mode: str, batch_first: bool) -> None:
    torch.manual_seed(0)
    module = nn.MultiheadAttention(16, 4, dropout=0.5, batch_first=batch_first).train(mode == "train")
    x = sequence()
    given = x if batch_first else x.transpose(0, 1)
    kept = Remembered(module)
    with watch(module, tokens=given) as w:
        pass
    kept.require_same()
    check_shares(w.trajectory, by_hand(module, x)[None])


def test_the_fused_encoder_layer_is_opened_for_the_look_only() -> None:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(16, 4, 24, dropout=0.3, batch_first=True).eval()
    encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval()
    x = sequence()

    def fused_calls() -> tuple[Tensor, int]:
        with torch.no_grad(), torch.profiler.profile() as profile:
            output = encoder(x)
        return output, sum(e.count for e in profile.key_averages() if e.key == "aten::_transformer_encoder_layer_fwd")

    before, calls = fused_calls()
    assert calls == 2
    kept = Remembered(encoder)
    with watch(encoder, tokens=x) as w:
        pass
    kept.require_same()
    after, calls = fused_calls()
    assert calls == 2
    assert torch.equal(after, before)
    with torch.no_grad():
        first = by_hand(encoder.layers[0].self_attn, x)
        second = by_hand(encoder.layers[1].self_attn, encoder.layers[0](x))
    check_shares(w.trajectory, torch.stack([first, second]))
    assert w.seen.layers == ("layers.0.self_attn", "layers.1.self_attn")


def test_padding_given_to_the_encoder_is_left_out() -> None:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(16, 4, 24, batch_first=True)
    x = sequence(2, 6)
    padding = torch.tensor([[False] * 6, [False] * 4 + [True] * 2])
    with watch(layer, tokens={"src": x, "src_key_padding_mask": padding}) as w:
        pass
    maps = by_hand(layer.self_attn, x, padding[:, None, None]).double().detach().numpy()
    found = w.trajectory
    total = np.zeros((4, found.sizes["lag"]))
    for b, length in enumerate((6, 4)):
        for query in range(length):
            for i, lag in enumerate(found["lag"].values):
                if 0 <= query + 1 - lag < 6:
                    total[:, i] += maps[b, :, query, query + 1 - lag]
    assert np.allclose(found["attention_by_lag"].values[0, 0], total / 10, atol=1e-5)


def test_callers_get_the_weights_they_asked_for() -> None:
    class Curious(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.attention = nn.MultiheadAttention(16, 4, batch_first=True)
            self.answers: list[object] = []

        def forward(self, x: Tensor) -> Tensor:
            for asked in ({}, {"need_weights": False}, {"average_attn_weights": False}):
                self.answers.append(self.attention(x, x, x, **asked)[1])
            return x

    module = Curious().eval()
    x = sequence()
    with torch.no_grad():
        module(x)
    expected, module.answers = module.answers, []
    with watch(module, tokens=x) as w:
        pass
    assert len(w.seen.layers) == 3
    assert module.answers[1] is expected[1] is None
    for mine, theirs in ((0, 0), (2, 2)):
        assert torch.allclose(module.answers[mine], expected[theirs], atol=1e-6)


def test_attention_to_another_sequence_is_left_out_and_said() -> None:
    layer = nn.TransformerDecoderLayer(16, 4, 24, batch_first=True)
    x = sequence()
    with pytest.warns(UserWarning, match="another sequence"), watch(layer, tokens={"x": x}, adapter=Decoder()) as w:
        pass
    assert w.seen.layers == ("self_attn",)
    check_shares(w.trajectory, by_hand(layer.self_attn, x)[None])


class Decoder:
    """A user's adapter: torch's, with a memory beside the sequence."""

    name = "decoder with memory"

    def claims(self, model: object) -> bool:
        return isinstance(model, nn.TransformerDecoderLayer)

    def show(self, model: nn.Module, batch: object, observer: object) -> None:
        from headwise.probe import Batch
        from headwise.probe.adapters.torch_modules import ADAPTER

        memory = torch.zeros(batch.tokens.shape[0], 4, 16)
        ADAPTER.show(model, Batch(batch.tokens, "tgt", {"memory": memory}), observer)

    def advice(self, model: object) -> str:
        return ""


class Nano(nn.Module):
    """Attention as people write it: one projection, torch's fused function, tokens in."""

    def __init__(self, *, grouped: bool = False) -> None:
        super().__init__()
        self.embedding = nn.Embedding(20, 16)
        self.queries = nn.Linear(16, 16)
        self.keys = nn.Linear(16, 8 if grouped else 16)
        self.grouped = grouped

    def split(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        x = self.embedding(tokens)
        return tuple(t.unflatten(-1, (-1, 4)).transpose(1, 2) for t in (self.queries(x), self.keys(x)))

    def forward(self, tokens: Tensor) -> Tensor:
        q, k = self.split(tokens)
        options = {"enable_gqa": True} if self.grouped else {}
        return functional.scaled_dot_product_attention(q, k, k, is_causal=True, **options)


GROUPED = "enable_gqa" in (functional.scaled_dot_product_attention.__doc__ or "")


@pytest.mark.parametrize(
    "grouped",
    [False, pytest.param(True, marks=pytest.mark.skipif(not GROUPED, reason="torch has grouped queries from 2.5 on"))],
)
def test_torchs_fused_function_in_anybodys_module(grouped: bool) -> None:
    torch.manual_seed(0)
    model = Nano(grouped=grouped)
    tokens = torch.randint(0, 20, (3, 9))
    kept = Remembered(model)
    with watch(model, tokens=tokens) as w:
        pass
    kept.require_same()
    with torch.no_grad():
        q, k = model.split(tokens)
        k = k.repeat_interleave(2, 1) if grouped else k
        ahead = torch.ones(9, 9, dtype=torch.bool).triu(1)
        expected = (q @ k.transpose(-2, -1) / 2).masked_fill(ahead, -math.inf).softmax(-1)
    check_shares(w.trajectory, expected[None])
    assert w.trajectory["lag"].values[0] == 1


def test_a_compiled_model_is_looked_at_inside() -> None:
    model = Nano()
    tokens = torch.randint(0, 20, (3, 9))
    compiled = torch.compile(model, backend="eager")
    before = compiled(tokens)
    with watch(compiled, tokens=tokens) as w, watch(model, tokens=tokens) as plain:
        pass
    assert np.array_equal(w.trajectory["attention_by_lag"], plain.trajectory["attention_by_lag"])
    assert torch.equal(compiled(tokens), before)


def test_modules_that_cannot_be_shown_raise() -> None:
    x = sequence()
    for module, words in (
        (nn.Linear(16, 16), "no attention was seen"),
        (nn.MultiheadAttention(16, 4, add_zero_attn=True, batch_first=True), "add_zero_attn"),
        (nn.MultiheadAttention(16, 4, batch_first=True, device="meta"), "meta device"),
    ):
        with pytest.raises(ConfigError, match=words), watch(module, tokens=x):
            pass


def test_an_error_in_the_model_leaves_it_as_it_was() -> None:
    class Broken(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.attention = nn.MultiheadAttention(16, 4, batch_first=True)

        def forward(self, x: Tensor) -> Tensor:
            self.attention(x, x, x)
            raise KeyError("broken")

    module = Broken()
    kept = Remembered(module)
    words = r"^Broken cannot be run on tokens of shape \(.*\) \(float32\): KeyError: 'broken'$"
    with pytest.raises(ConfigError, match=words) as caught, watch(module, tokens=sequence()):
        pass
    assert isinstance(caught.value.__cause__, KeyError), "what was raised is there for whoever looks for it"
    kept.require_same()
