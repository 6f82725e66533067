"""Head importance of watched models against the same model with the head cut out of its output matrix by hand.

Replacing a head's output by a constant m is the same as setting its columns of the output matrix to zero and adding
(those columns) m to the bias. So the reference is a copy of the model with other weights, run as it is: no hook.
"""

from __future__ import annotations

import copy
import random
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from probe_references import Remembered
from test_probe_live import Model as Encoder
from test_probe_live import even
from test_probe_torch_modules import Nano
from torch import Tensor, nn
from torch.nn import functional

from headwise.core.errors import ConfigError
from headwise.model.config import FULL_PUBLISHED, ModelConfig
from headwise.model.decoder import Decoder
from headwise.model.initialise import initialise
from headwise.probe import Watch, watch

COSTS = "ignore:headwise. head importance takes:UserWarning"
pytestmark = pytest.mark.filterwarnings(COSTS)

VOCABULARY, HEADS, BLOCKS = 12, 4, 2


def gpt2() -> nn.Module:
    transformers = pytest.importorskip("transformers")
    config = transformers.GPT2Config(
        n_embd=16, n_layer=2, n_head=4, vocab_size=12, n_positions=16, bos_token_id=0, eos_token_id=0
    )
    return transformers.GPT2LMHeadModel(config)


def llama() -> nn.Module:
    transformers = pytest.importorskip("transformers")
    config = transformers.LlamaConfig(
        hidden_size=16,
        intermediate_size=20,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        vocab_size=12,
        max_position_embeddings=16,
        attention_bias=True,
    )
    return transformers.LlamaForCausalLM(config)


class TwoEncoders(nn.Module):
    """`nn.MultiheadAttention`, in its fused encoder layers."""

    def __init__(self, *, batch_first: bool) -> None:
        super().__init__()
        self.batch_first = batch_first
        self.embedding = nn.Embedding(VOCABULARY, 16)
        layer = nn.TransformerEncoderLayer(16, HEADS, 20, dropout=0.2, batch_first=batch_first)
        self.blocks = nn.TransformerEncoder(layer, BLOCKS, enable_nested_tensor=False)
        self.read = nn.Linear(16, VOCABULARY)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embedding(tokens)
        hidden = torch.ones(tokens.shape[1], tokens.shape[1], dtype=torch.bool).triu(1)
        x = x if self.batch_first else x.transpose(0, 1)
        x = self.blocks(x, mask=hidden)
        return self.read(x if self.batch_first else x.transpose(0, 1))


class TwoFused(nn.Module):
    """`scaled_dot_product_attention` in a module of one's own."""

    def __init__(self, heads: tuple[int, ...] = (HEADS,) * BLOCKS) -> None:
        super().__init__()
        self.heads = heads
        self.embedding = nn.Embedding(VOCABULARY, 16)
        self.mix = nn.ModuleList(nn.Linear(16, 48) for _ in range(BLOCKS))
        self.out = nn.ModuleList(nn.Linear(16, 16) for _ in range(BLOCKS))
        self.read = nn.Linear(16, VOCABULARY)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embedding(tokens)
        for mix, out, heads in zip(self.mix, self.out, self.heads, strict=True):
            q, k, v = (t.unflatten(-1, (heads, -1)).transpose(1, 2) for t in mix(x).chunk(3, -1))
            z = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + out(z.transpose(1, 2).flatten(2))
        return self.read(x)


Matrix = Callable[[nn.Module, int], nn.Module]
"""The output matrix of a layer; its weights are (out, in) but for GPT-2's."""

MODELS: dict[str, tuple[Callable[[], nn.Module], Matrix, bool]] = {
    "gpt2": (gpt2, lambda model, b: model.transformer.h[b].attn.c_proj, True),
    "llama": (llama, lambda model, b: model.model.layers[b].self_attn.o_proj, False),
    "encoder": (lambda: TwoEncoders(batch_first=True), lambda m, b: m.blocks.layers[b].self_attn.out_proj, False),
    "sequence first": (
        lambda: TwoEncoders(batch_first=False),
        lambda m, b: m.blocks.layers[b].self_attn.out_proj,
        False,
    ),
    "fused function": (TwoFused, lambda model, b: model.out[b], False),
}


def made(name: str) -> tuple[nn.Module, Matrix, bool]:
    build, matrix, turned = MODELS[name]
    torch.manual_seed(0)
    model = build()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return model.train(), matrix, turned


def losses(model: nn.Module, tokens: Tensor) -> Tensor:
    """Mean loss of each sequence on its next tokens."""
    model.eval()
    with torch.no_grad():
        output = model(tokens)
    logits = getattr(output, "logits", output)
    each = functional.cross_entropy(logits[:, :-1].transpose(1, 2), tokens[:, 1:], reduction="none")
    return each.mean(1).double()


def mean_outputs(model: nn.Module, tokens: Tensor, matrix: Matrix, block: int) -> Tensor:
    """Mean over all tokens of what goes into an output matrix: what comes out of it once it is the identity."""
    model = copy.deepcopy(model).eval()
    out = matrix(model, block)
    seen: list[Tensor] = []
    with torch.no_grad():
        out.weight.copy_(torch.eye(len(out.weight)))
        out.bias.zero_()
        owner = next(
            module
            for module in model.modules()
            if any(child is out for child in module.children()) and not isinstance(module, nn.ModuleList)
        ) if not isinstance(model, TwoFused) else out  # fmt: skip
        owner.register_forward_hook(lambda module, args, output: seen.append(_first(output)))
        torch.backends.mha.set_fastpath_enabled(False)
        try:
            model(tokens)
        finally:
            torch.backends.mha.set_fastpath_enabled(True)
    return seen[0].double().mean((0, 1))


def _first(output: object) -> Tensor:
    found = output[0] if isinstance(output, tuple) else output
    assert isinstance(found, Tensor)
    return found


def cut_out(model: nn.Module, out: nn.Module, constant: Tensor, heads: tuple[int, ...], *, turned: bool) -> None:
    """Put a constant in the place of some heads' outputs, by the weights of the output matrix."""
    size = len(constant) // HEADS
    with torch.no_grad():
        weight = out.weight.T if turned else out.weight
        for head in heads:
            part = slice(head * size, (head + 1) * size)
            out.bias.add_(weight[:, part] @ constant[part].to(weight))
            weight[:, part] = 0.0


def direct_rise(name: str, tokens: Tensor, block: int, heads: tuple[int, ...], by: str) -> np.ndarray:
    """Rise of each sequence's loss without these heads."""
    model, matrix, turned = made(name)
    constant = mean_outputs(model, tokens, matrix, block)
    without = copy.deepcopy(model)
    cut_out(
        without, matrix(without, block), constant if by == "mean" else torch.zeros_like(constant), heads, turned=turned
    )
    return (losses(without, tokens) - losses(model, tokens)).numpy()


def tokens_of(rows: int = 5, length: int = 11) -> Tensor:
    return torch.randint(0, VOCABULARY, (rows, length), generator=torch.Generator().manual_seed(1))


def importance_of(model: object, tokens: object, **options: object) -> Watch:
    with watch(model, tokens=tokens, importance="last", induction="off", **options) as w:
        pass
    return w


@pytest.mark.parametrize("name", MODELS)
def test_importance_is_the_loss_of_the_model_without_the_head(name: str) -> None:
    tokens = tokens_of()
    model, _, _ = made(name)
    random.seed(3)
    kept = Remembered(model)
    found = importance_of(model, tokens, importance_of="pairs").trajectory.isel(step=0)
    kept.require_same()
    for block in range(BLOCKS):
        for head in range(HEADS):
            mean, zero = (direct_rise(name, tokens, block, (head,), by) for by in ("mean", "zero"))
            assert abs(float(found["head_importance"][block, head]) - mean.mean()) < 1e-5
            assert abs(float(found["head_importance_zero"][block, head]) - zero.mean()) < 1e-5
            error = mean.std(ddof=1) / np.sqrt(len(tokens))
            assert abs(float(found["head_importance_error"][block, head]) - error) < 1e-5
        one, two = (direct_rise(name, tokens, block, (head,), "mean") for head in (0, 2))
        both = direct_rise(name, tokens, block, (0, 2), "mean")
        redundancy = found["pair_redundancy"].values[block]
        assert abs(redundancy[0, 2] - (both - one - two).mean()) < 2e-5
        assert np.array_equal(redundancy, redundancy.T, equal_nan=True)
    assert np.abs(found["head_importance"].values).max() > 0.01, "heads that do nothing would test nothing"


@pytest.mark.parametrize("config", [ModelConfig(), FULL_PUBLISHED.changed({"width": 12, "mlp": 16, "blocks": 2})])
def test_our_own_decoder_is_watched_alike(config: ModelConfig) -> None:
    decoder = Decoder(config, dictionary=VOCABULARY, positions=10)
    initialise(decoder, 0)
    with torch.no_grad():
        for parameter in decoder.parameters():
            noise = torch.Generator().manual_seed(parameter.numel())
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=noise))
    tokens = tokens_of(length=10)
    kept = Remembered(decoder)
    found = importance_of(decoder, tokens, importance_of="pairs").trajectory.isel(step=0)
    kept.require_same()

    def loss() -> float:
        with torch.no_grad():
            logits = decoder(tokens, tokens.shape[1])[0]
        return float(functional.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten()))

    whole = loss()
    for block, layer in enumerate(decoder.layers):
        for head in range(config.heads):
            layer.attention.written_by = MeanOf(layer.attention.written_by, head)  # type: ignore[method-assign]
            assert abs(float(found["head_importance"][block, head]) - (loss() - whole)) < 1e-5
            del layer.attention.written_by


class MeanOf:
    """What one head writes is its mean, over sequences and positions; the output matrix is linear."""

    def __init__(self, own: Callable[[int, Tensor, Tensor], Tensor], head: int) -> None:
        self.own, self.head = own, head

    def __call__(self, head: int, x_BSD: Tensor, used_BQS: Tensor) -> Tensor:
        y = self.own(head, x_BSD, used_BQS)
        return y.mean((0, 1)).expand(y.shape) if head == self.head else y


def test_looks_that_do_not_measure_it_are_the_same_and_the_last_one_does() -> None:
    torch.manual_seed(0)
    model, tokens = Encoder(), tokens_of()

    def looked(**options: object) -> Watch:
        with watch(model, tokens=tokens, every=1, **options) as w:
            for _ in range(4):
                w.step()
        return w

    plain, seconds, last = looked(), looked(importance=2), looked(importance="last")
    for found in (seconds, last):
        for name, values in plain.trajectory.data_vars.items():
            np.testing.assert_array_equal(found.trajectory[name].values, values.values)
    measured = np.isfinite(seconds.trajectory["head_importance"].values).all((1, 2))
    assert measured.tolist() == [True, False, True, False, True]
    assert np.isfinite(last.trajectory["head_importance"].values).all((1, 2)).tolist() == [False] * 4 + [True]
    assert not {"head_importance", "pair_redundancy"} & set(plain.trajectory.data_vars)
    assert plain.trajectory.attrs == last.trajectory.attrs


def test_a_last_step_on_the_schedule_is_measured_once() -> None:
    with watch(Encoder(), tokens=tokens_of(), every=3, importance=2) as w:
        for _ in range(4):
            w.step()
    assert w.trajectory["step"].values.tolist() == [0, 3, 4]
    assert np.isfinite(w.trajectory["head_importance"].values).all((1, 2)).tolist() == [True, False, True]


def test_the_cost_is_said_once_and_beforehand() -> None:
    passes = 0
    model = TwoFused()

    def count(module: nn.Module, args: object) -> None:
        nonlocal passes
        passes += 1

    model.register_forward_pre_hook(count)
    said: list[int] = []
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, *rest: said.append(passes)  # type: ignore[assignment]
        with watch(model, tokens=tokens_of(), every=1, induction="off", importance=1, importance_of="pairs") as w:
            w.step()
    assert said == [1], "after the look itself, before the first pass without a head"
    assert passes == 2 * (1 + 29)
    assert np.isfinite(w.trajectory["head_importance"].values).all()
    with pytest.warns(UserWarning, match="takes 29 forward passes .* at the last look"):
        importance_of(TwoFused(), tokens_of(), importance_of="pairs")


def test_padding_and_uncounted_tokens_are_in_no_mean_and_no_loss() -> None:
    model, _, _ = made("gpt2")
    tokens = tokens_of(rows=4, length=12)
    mask = torch.ones_like(tokens)
    mask[1, 8:] = 0
    other = torch.where(mask.bool(), tokens, 0)
    one = importance_of(model, {"input_ids": tokens, "attention_mask": mask}).trajectory
    two = importance_of(model, {"input_ids": other, "attention_mask": mask}).trajectory
    np.testing.assert_allclose(one["head_importance"].values, two["head_importance"].values, atol=1e-6)
    whole = importance_of(model, tokens).trajectory["head_importance"].values
    assert np.abs(one["head_importance"].values - whole).max() > 1e-4


def test_blocks_may_have_different_numbers_of_heads() -> None:
    torch.manual_seed(0)
    model, tokens = TwoFused((4, 2)), tokens_of()
    w = importance_of(model, tokens, importance_of="pairs")
    found = w.trajectory["head_importance_zero"].values[0]
    assert np.isfinite(found).tolist() == [[True] * 4, [True, True, False, False]]
    for head in range(2):
        without = copy.deepcopy(model)
        with torch.no_grad():
            without.out[1].weight[:, head * 8 : (head + 1) * 8] = 0.0
        assert abs(found[1, head] - float((losses(without, tokens) - losses(model, tokens)).mean())) < 1e-5
    told = w.report().importance
    assert told is not None
    assert len(told.heads) == 6
    assert "L1H3" not in str(w)


def test_large_batches_go_in_parts_with_one_mean(monkeypatch: pytest.MonkeyPatch) -> None:
    model, _, _ = made("gpt2")
    tokens = tokens_of(rows=8)
    whole = importance_of(model, tokens).trajectory
    monkeypatch.setattr("headwise.probe.sequences.LARGEST_MAPS", 3 * tokens.shape[1] ** 2)
    parts = importance_of(model, tokens).trajectory
    for name in ("head_importance", "head_importance_zero", "head_importance_error"):
        np.testing.assert_allclose(parts[name].values, whole[name].values, atol=1e-6)


class ByHand(nn.Module):
    """Attention written out, whose weights alone can be seen."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, 8)
        self.drop = nn.Dropout(0.0)
        self.read = nn.Linear(8, VOCABULARY)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embedding(tokens)
        return self.read(self.drop(even(tokens)).mean(1) @ x)


def test_where_it_cannot_be_measured_it_says_why() -> None:
    def warned(model: object, reason: str, **options: object) -> Watch:
        with pytest.warns(UserWarning, match=reason):
            w = importance_of(model, tokens_of(), **options)
        assert "head_importance" not in w.trajectory
        (item,) = [item for item in w.report().undecided if "heads the model needs" in item.what]
        assert reason in item.reason
        assert f"cannot tell: {item.what}: {item.reason}" in " ".join(str(w.report()).split())
        return w

    warned(even, "the adapter function does not know where the output of each head lies")
    warned(ByHand(), "the adapter named modules does not know where", attention="drop")
    transformers = pytest.importorskip("transformers")
    base = made("gpt2")[0].transformer
    assert isinstance(base, transformers.GPT2Model)
    warned(base, "the look has no loss to compare with")


def test_mistakes_are_named_at_once() -> None:
    for options, named in (
        ({"importance": 0}, "importance = 0"),
        ({"importance": "first"}, "'first'"),
        ({"importance": 1, "importance_of": "triples"}, "importance_of"),
        ({"importance_of": "pairs"}, "needs importance"),
    ):
        with pytest.raises(ConfigError, match=named):
            watch(Nano(), tokens=tokens_of(), **options)  # type: ignore[arg-type]


def test_training_is_the_same_to_the_last_bit() -> None:
    def trained(**options: object) -> list[float]:
        torch.manual_seed(0)
        model, batch, found = Encoder(), tokens_of(), []
        optimiser = torch.optim.AdamW(model.parameters(), lr=1e-2)
        with watch(model, tokens=batch, every=2, **options) as w:
            for _ in range(5):
                loss = functional.cross_entropy(model(batch)[:, :-1].flatten(0, 1), batch[:, 1:].flatten())
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
                found.append(loss.item())
                w.step(loss)
        return found

    assert trained() == trained(importance=1, importance_of="pairs")


def test_it_is_kept_with_a_saved_watch(tmp_path: Path) -> None:
    from headwise.store import load_trajectory

    w = importance_of(Encoder(), tokens_of(), importance_of="pairs")
    stored = load_trajectory(w.save(tmp_path))
    for name in ("head_importance", "head_importance_zero", "head_importance_error", "pair_redundancy"):
        np.testing.assert_array_equal(stored[name].values, w.trajectory[name].values)


def test_a_probe_measures_it_at_some_checkpoints_and_the_last_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from test_probe_folder import save_checkpoints

    from headwise.cli.main import main
    from headwise.store import load_trajectory

    save_checkpoints(tmp_path / "trained", [5, 10, 20, 40])
    shown = [
        "--synthetic",
        "markov",
        "--sequences",
        "4",
        "--length",
        "8",
        "--no-induction",
        "--out",
        str(tmp_path / "r"),
    ]
    asked = ["probe", str(tmp_path / "trained"), *shown]
    assert main([*asked, "--importance", "2", "--importance-of", "pairs"]) == 0
    printed = capsys.readouterr()
    assert "head importance takes 6 forward passes" in printed.err
    assert " importance" in printed.out
    assert main(asked) == 0
    assert "importance" not in capsys.readouterr().out, "a probe of its own"
    found = {len(run.data_vars): run for run in map(load_trajectory, (tmp_path / "r" / "probe-trained").iterdir())}
    without, measured = (found[count] for count in sorted(found))
    assert np.isfinite(measured["head_importance"].values).all((1, 2)).tolist() == [True, False, True, True]
    for name, values in without.data_vars.items():
        np.testing.assert_array_equal(measured[name].values, values.values)
    assert main([*asked, "--importance", "0"]) == 2
    assert "importance = 0 must be" in capsys.readouterr().err
