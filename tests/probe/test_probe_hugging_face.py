"""Hugging Face models from their configs: what the probe sees is the model's own explicit attention, and only looks."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable

import numpy as np
import pytest
import torch
from packaging.version import Version
from probe_references import Remembered, naive_by_lag

from headwise.core.errors import ConfigError, RunFailed
from headwise.probe import watch

transformers = pytest.importorskip("transformers")

COMMON = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 40,
    "vocab_size": 50,
    "max_position_embeddings": 32,
}
GPT2 = {
    "n_embd": 32,
    "n_layer": 2,
    "n_head": 4,
    "vocab_size": 50,
    "n_positions": 32,
    "bos_token_id": 0,
    "eos_token_id": 0,
}
DECODERS = {
    "GPT2": lambda: transformers.GPT2Config(**GPT2),
    "Llama with grouped queries": lambda: transformers.LlamaConfig(**COMMON, num_key_value_heads=2),
    "GPTNeoX": lambda: transformers.GPTNeoXConfig(**COMMON),
    "Qwen3": lambda: transformers.Qwen3Config(**COMMON, num_key_value_heads=2, head_dim=16),
    "Mistral with a sliding window": lambda: transformers.MistralConfig(
        **COMMON, num_key_value_heads=2, sliding_window=5
    ),
    "Gemma2 with soft caps": lambda: transformers.Gemma2Config(
        **COMMON, num_key_value_heads=2, head_dim=16, sliding_window=5
    ),
    "Qwen2": lambda: transformers.Qwen2Config(**COMMON, num_key_value_heads=2),
    "OPT": lambda: transformers.OPTConfig(**{**COMMON, "ffn_dim": 40, "word_embed_proj_dim": 32}),
    "Gemma": lambda: transformers.GemmaConfig(**COMMON, num_key_value_heads=2, head_dim=8),
    "Phi": lambda: transformers.PhiConfig(**COMMON),
    "Mixtral": lambda: transformers.MixtralConfig(**COMMON, num_key_value_heads=2, num_local_experts=2),
    "Bloom with ALiBi": lambda: transformers.BloomConfig(hidden_size=32, n_layer=2, n_head=4, vocab_size=50),
}
ENCODERS = {
    "BERT": lambda: transformers.BertConfig(**COMMON),
    "DistilBERT": lambda: transformers.DistilBertConfig(
        dim=32, n_layers=2, n_heads=4, hidden_dim=40, vocab_size=50, max_position_embeddings=32
    ),
    "ModernBERT": lambda: transformers.ModernBertConfig(**COMMON, pad_token_id=0, bos_token_id=1, eos_token_id=2),
    "ALBERT with shared layers": lambda: transformers.AlbertConfig(**COMMON, embedding_size=16),
    "DeBERTa, weights on request only": lambda: transformers.DebertaV2Config(
        **COMMON, relative_attention=True, pos_att_type=["c2p", "p2c"]
    ),
}


def model_of(config: object) -> torch.nn.Module:
    torch.manual_seed(3)
    model = transformers.AutoModel.from_config(config)
    with torch.no_grad():
        for parameter in model.parameters():
            # Fresh weights attend almost evenly, where mistakes would not show.
            parameter.add_(0.3 * torch.randn_like(parameter))
    return model


def explicit_maps(model: torch.nn.Module, tokens: torch.Tensor, **arguments: torch.Tensor) -> torch.Tensor:
    """The model's own attention, (blocks, B, H, S, S), from a copy built for the eager implementation."""
    config = copy.deepcopy(model.config)
    eager = transformers.AutoModel.from_config(config, attn_implementation="eager").eval()
    eager.load_state_dict(model.state_dict())
    with torch.no_grad():
        return torch.stack(eager(tokens, output_attentions=True, **arguments).attentions)


def tokens_of(rows: int = 3, length: int = 12) -> torch.Tensor:
    return torch.randint(3, 50, (rows, length), generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("name", [*DECODERS, *ENCODERS])
def test_attention_is_the_models_own_and_nothing_is_left_behind(name: str) -> None:
    model = model_of({**DECODERS, **ENCODERS}[name]()).train()
    tokens = tokens_of()
    model(tokens).last_hidden_state.square().mean().backward()
    next(model.children()).eval()
    expected = explicit_maps(model, tokens)
    model.eval()
    with torch.no_grad():
        before = model(tokens).last_hidden_state
    model.train()
    next(model.children()).eval()
    kept = Remembered(model)
    with watch(model, tokens=tokens) as w:
        pass
    kept.require_same()
    found = w.trajectory
    reference = naive_by_lag(expected, found["lag"].values)
    assert np.abs(found["attention_by_lag"].values[0] - reference).max() < 1e-5
    assert len(w.seen.layers) == 2
    assert w.seen.heads == 4
    assert found["lag"].values[0] == (1 if name in DECODERS else -10)
    assert np.allclose(found["attention_by_lag"].sum("lag"), 1, atol=1e-5)
    entropy = torch.special.entr(expected.double()).sum(-1).mean((1, 3)).numpy()
    assert np.allclose(found["attention_entropy"].values[0], entropy, atol=1e-5)
    model.eval()
    with torch.no_grad():
        assert torch.equal(model(tokens).last_hidden_state, before)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("name", ["GPT2", "BERT"])
def test_padding_is_left_out(name: str, side: str) -> None:
    """Padded sequences give what the sequences give by themselves, where positions are equal."""
    model = model_of({**DECODERS, **ENCODERS}[name]())
    short, long = tokens_of(1, 7), tokens_of(1, 12)
    pad = torch.zeros(1, 5, dtype=torch.long)
    row = torch.cat([pad, short] if side == "left" else [short, pad], 1)
    mask = torch.cat([pad, torch.ones_like(short)] if side == "left" else [torch.ones_like(short), pad], 1)
    both = {
        "input_ids": torch.cat([row, long]),
        "attention_mask": torch.cat([mask, torch.ones_like(long)]),
    }
    with watch(model, tokens=both) as w:
        pass
    maps = explicit_maps(model, both["input_ids"], attention_mask=both["attention_mask"]).double().numpy()
    found = w.trajectory
    total = np.zeros((2, 4, found.sizes["lag"]))
    on_first = np.zeros((2, 4))
    for b in range(2):
        real = np.flatnonzero(both["attention_mask"][b])
        for query in real:
            for key in range(12):
                lag = query + 1 - key
                if lag in found["lag"].values:
                    total[..., list(found["lag"].values).index(lag)] += maps[:, b, :, query, key]
            if query != real[0]:
                on_first += maps[:, b, :, query, real[0]]
    assert np.allclose(found["attention_by_lag"].values[0], total / 19, atol=1e-5)
    assert np.allclose(found["attention_on"].sel(place="first").values[0], on_first / 17, atol=1e-5)


@pytest.mark.filterwarnings("ignore:headwise. no induction score:UserWarning")
@pytest.mark.parametrize("make", [list, torch.tensor, np.array])
def test_padding_of_one_text_is_left_out(make: Callable[[list[int]], object]) -> None:
    """A tokenizer gives one text in one dimension; its mask counts like that of a batch of one."""
    model = model_of(DECODERS["GPT2"]())
    ids, mask = [*range(1, 11), 0, 0, 0, 0, 0, 0], [1] * 10 + [0] * 6
    with watch(model, tokens={"input_ids": make(ids), "attention_mask": make(mask), "labels": make(ids)}) as one:
        pass
    with watch(model, tokens={key: torch.tensor([ids[:10]]) for key in ("input_ids", "labels")}) as alone:
        pass
    found, expected = one.trajectory, alone.trajectory
    shared = found.sel(lag=expected["lag"])["attention_by_lag"]
    assert np.allclose(shared, expected["attention_by_lag"], atol=1e-6)


def test_what_heads_write_matches_each_heads_own_contribution() -> None:
    """Silencing all heads but one shows what it writes; GPT-2 keeps its matrices transposed, Llama does not."""
    for name in ("GPT2", "Llama with grouped queries"):
        model = model_of(DECODERS[name]()).eval()
        tokens = tokens_of()
        attention = model.h[0].attn if name == "GPT2" else model.layers[0].self_attn
        output = attention.c_proj if name == "GPT2" else attention.o_proj
        bias = output.bias if name == "GPT2" else None
        mixed: list[torch.Tensor] = []
        handle = output.register_forward_pre_hook(lambda module, args: mixed.append(args[0]))  # noqa: B023
        with torch.no_grad():
            model(tokens)
            handle.remove()
            written = []
            for head in range(4):
                alone = torch.zeros_like(mixed[0])
                size = alone.shape[-1] // 4
                alone[..., head * size : (head + 1) * size] = mixed[0][..., head * size : (head + 1) * size]
                written.append((output(alone) - (0 if bias is None else bias)).flatten().double())
        stacked = torch.stack(written)
        cosine = (stacked @ stacked.T) / torch.outer(stacked.norm(dim=1), stacked.norm(dim=1))
        with watch(model, tokens=tokens) as w:
            pass
        assert np.allclose(w.trajectory["write_alignment"].values[0, 0], cosine.numpy(), atol=1e-4)


def test_bfloat16_gives_nearly_the_same() -> None:
    model = model_of(DECODERS["GPT2"]())
    with watch(model, tokens=tokens_of()) as exact:
        pass
    with watch(copy.deepcopy(model).bfloat16(), tokens=tokens_of()) as rough:
        pass
    difference = exact.trajectory["attention_by_lag"] - rough.trajectory["attention_by_lag"]
    assert 0 < float(np.abs(difference).max()) < 0.05


def test_a_language_model_and_its_base_are_one() -> None:
    config = DECODERS["GPT2"]()
    whole = transformers.GPT2LMHeadModel(config)
    with watch(whole, tokens=tokens_of()) as w, watch(whole.transformer, tokens=tokens_of()) as base:
        pass
    assert np.array_equal(w.trajectory["attention_by_lag"], base.trajectory["attention_by_lag"])


@pytest.mark.parametrize(
    ("build", "tokens", "words"),
    [
        (
            lambda: transformers.T5Model(
                transformers.T5Config(d_model=16, num_layers=1, num_heads=2, d_ff=16, vocab_size=50)
            ),
            tokens_of(),
            "get_encoder",
        ),
        (lambda: model_of(DECODERS["GPT2"]()), torch.full((1, 4), 50), "has 0..49"),
        (lambda: model_of(DECODERS["GPT2"]()), tokens_of(1, 40), "has 32 positions"),
        (lambda: model_of(DECODERS["GPT2"]()).to("meta"), tokens_of(), "meta device"),
        (lambda: model_of(ENCODERS["BERT"]()), torch.tensor([[5, 6, 0, 0]]), "attention_mask"),
        (lambda: model_of(DECODERS["GPT2"]()), torch.zeros(2, 0, dtype=torch.long), "empty"),
    ],
)
def test_what_cannot_be_probed_is_refused_with_the_reason(build: object, tokens: torch.Tensor, words: str) -> None:
    with pytest.raises(ConfigError, match=words), watch(build(), tokens=tokens):
        pass


WHOLE = {
    "T5 with position biases": lambda: transformers.T5Model(
        transformers.T5Config(d_model=32, d_kv=8, num_layers=2, num_heads=4, d_ff=40, vocab_size=50)
    ),
    "Bart, whose halves share one config": lambda: transformers.BartModel(
        transformers.BartConfig(
            d_model=32,
            encoder_layers=2,
            decoder_layers=2,
            encoder_attention_heads=4,
            decoder_attention_heads=4,
            encoder_ffn_dim=40,
            decoder_ffn_dim=40,
            vocab_size=50,
            max_position_embeddings=32,
        )
    ),
}


def own_attention(half: torch.nn.Module, **arguments: torch.Tensor) -> torch.Tensor:
    """What a half of a model returns of its attention to its own sequence, (blocks, B, H, S, S)."""
    eager = copy.deepcopy(half).eval()
    eager.set_attn_implementation("eager")
    with torch.no_grad():
        return torch.stack(eager(**arguments, output_attentions=True, use_cache=False).attentions)


@pytest.mark.parametrize("half", ["get_encoder", "get_decoder"])
@pytest.mark.parametrize("name", WHOLE)
def test_either_half_of_an_encoder_decoder_can_be_watched_as_the_refusal_says(name: str, half: str) -> None:
    torch.manual_seed(3)
    whole = WHOLE[name]()
    with torch.no_grad():
        for parameter in whole.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    tokens = tokens_of()
    with (
        pytest.raises(ConfigError, match=r"model\.get_encoder\(\) or model\.get_decoder\(\)"),
        watch(whole, tokens=tokens),
    ):
        pass
    part = getattr(whole, half)()
    with watch(part, tokens=tokens) as w:
        pass
    found = w.trajectory
    if name.startswith("T5") and half == "get_decoder" and Version(transformers.__version__) < Version("5.15"):
        pytest.skip("before transformers 5.15 a decoder of T5 returns no weights without an encoder to compare with")
    reference = naive_by_lag(own_attention(part, input_ids=tokens), found["lag"].values)
    assert np.abs(found["attention_by_lag"].values[0] - reference).max() < 1e-5
    assert found["lag"].values[0] == (1 if half == "get_decoder" else -10)
    assert "write_alignment" in found


class AskedAttention(torch.nn.Module):
    """Returns its position biases, and its weights only when asked, as T5's attention did in older transformers."""

    def __init__(self, heads: int, width: int) -> None:
        super().__init__()
        self.biases = torch.nn.Parameter(torch.randn(heads, 1, 1))
        self.scores, self.o = torch.nn.Linear(width, width), torch.nn.Linear(width, width)

    def forward(
        self, x: torch.Tensor, position_bias: torch.Tensor | None = None, output_attentions: bool = False
    ) -> tuple[torch.Tensor, ...]:
        size, heads = x.shape[1], len(self.biases)
        if position_bias is None:
            distance = torch.arange(size) - torch.arange(size)[:, None]
            position_bias = (distance * self.biases).masked_fill(distance > 0, -torch.inf)[None]
        split = x.unflatten(-1, (heads, -1)).transpose(1, 2)
        weights = (self.scores(x).unflatten(-1, (heads, -1)).transpose(1, 2) @ split.mT + position_bias).softmax(-1)
        mixed = self.o((weights @ split).transpose(1, 2).flatten(2))
        return (mixed, position_bias, weights) if output_attentions else (mixed, position_bias)


class AskedModel(transformers.PreTrainedModel):
    """Two such blocks; the second is given the biases of the first."""

    config_class = transformers.GPT2Config

    def __init__(self, config: object) -> None:
        super().__init__(config)
        self.embedding = torch.nn.Embedding(50, 32)
        self.blocks = torch.nn.ModuleList(AskedAttention(4, 32) for _ in range(2))

    def forward(self, input_ids: torch.Tensor, output_attentions: bool = False) -> tuple[torch.Tensor, ...]:
        x, biases, found = self.embedding(input_ids), None, []
        for block in self.blocks:
            mixed, biases, *weights = block(x, position_bias=biases, output_attentions=output_attentions)
            x, found = x + mixed, found + weights
        return (x, *found)


def test_biases_that_come_without_weights_are_not_taken_for_them() -> None:
    torch.manual_seed(3)
    model, tokens = AskedModel(transformers.GPT2Config(**GPT2)).eval(), tokens_of()
    with torch.no_grad():
        alone = model(tokens)[0]
        _, *weights = model(tokens, output_attentions=True)
    with watch(model, tokens=tokens) as w:
        pass
    found = w.trajectory
    reference = naive_by_lag(torch.stack(weights), found["lag"].values)
    assert np.abs(found["attention_by_lag"].values[0] - reference).max() < 1e-5
    assert found["lag"].values[0] == 1
    assert "write_alignment" in found
    with torch.no_grad():
        assert torch.equal(model(tokens)[0], alone)


@pytest.mark.parametrize("name", WHOLE)
def test_attention_to_what_an_encoder_made_is_left_out_even_where_it_is_as_long(name: str) -> None:
    torch.manual_seed(3)
    decoder, tokens = WHOLE[name]().get_decoder(), tokens_of()
    given = {"input_ids": tokens, "encoder_hidden_states": torch.randn(*tokens.shape, 32)}
    with (
        pytest.warns(UserWarning, match="attends to another sequence and is left out"),
        watch(decoder, tokens=given) as w,
    ):
        pass
    found = w.trajectory
    assert len(w.seen.layers) == 2
    assert found["lag"].values[0] == 1
    reference = naive_by_lag(own_attention(decoder, **given), found["lag"].values)
    assert np.abs(found["attention_by_lag"].values[0] - reference).max() < 1e-5


def test_attention_with_a_sink_is_an_error() -> None:
    """gpt-oss lets attention flow to no position at all; its rows do not add up to one."""
    model = transformers.AutoModel.from_config(
        transformers.GptOssConfig(**COMMON, num_key_value_heads=2, head_dim=16, num_local_experts=2)
    )
    with pytest.raises(RunFailed, match="adds up to one only within"), watch(model, tokens=tokens_of()):
        pass


def test_models_without_attention_raise() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = transformers.MambaModel(transformers.MambaConfig(hidden_size=16, num_hidden_layers=1, vocab_size=50))
        with pytest.raises(ConfigError, match="no attention was seen"), watch(model, tokens=tokens_of()):
            pass


def test_the_loss_of_a_look_is_the_models_own() -> None:
    """Of the library's language models, with labels, with padding, masked ones where labels are given."""
    torch.manual_seed(0)
    causal, masked = transformers.GPT2LMHeadModel(DECODERS["GPT2"]()), transformers.BertForMaskedLM(ENCODERS["BERT"]())
    tokens = tokens_of() % 48 + 1
    labels = torch.where(torch.rand(tokens.shape) < 0.4, tokens, -100)
    mask = torch.ones_like(tokens)
    mask[0, 6:] = 0
    for model, given, asked in (
        (causal, tokens, tokens),
        (causal, {"input_ids": tokens, "labels": labels}, labels),
        (causal, {"input_ids": tokens, "attention_mask": mask}, tokens.masked_fill(mask == 0, -100)),
        (masked, {"input_ids": tokens, "labels": labels}, labels),
    ):
        kept = Remembered(model)
        with watch(model, tokens=given) as w:
            pass
        kept.require_same()
        padded = isinstance(given, dict) and "attention_mask" in given
        others = {"attention_mask": mask} if padded else {}
        with torch.no_grad():
            expected = model.eval()(input_ids=tokens, labels=asked, **others).loss
        model.train()
        assert float(w.trajectory["loss"].sel(split="look")[0]) == pytest.approx(float(expected), abs=1e-5)
    for model in (masked, causal.transformer):
        with watch(model, tokens=tokens) as w:
            pass
        assert "loss" not in w.trajectory, "without labels, or without a head, there is none"


def test_roles_of_a_language_model_are_those_of_its_own_attention() -> None:
    config = DECODERS["GPT2"]()
    model = transformers.GPT2LMHeadModel(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(4)))
    tokens = torch.randint(0, 6, (5, 10), generator=torch.Generator().manual_seed(0))
    with watch(model, tokens=tokens, induction="off") as w:
        pass
    model.config._attn_implementation = "eager"
    with torch.no_grad():
        maps = torch.stack(model(tokens, output_attentions=True).attentions).double().numpy()
    found = w.trajectory["role_score"].isel(step=0)
    mean = np.stack([maps[..., q, q - 1].mean(1) for q in range(1, 10)]).mean(0)
    chance = np.mean([1 / n for n in range(2, 11)])
    assert found.sel(role="previous").values == pytest.approx((mean - chance) / (1 - chance), abs=1e-5)
    share, others = [], []
    for b in range(5):
        for q in range(10):
            keys = [k + 1 for k in range(q) if tokens[b, k] == tokens[b, q]]
            if keys:
                on_keys = maps[..., q, keys].sum(-1)
                share.append(on_keys[:, b])
                others.append((on_keys.sum(1) - on_keys[:, b]) / 4)
    score = (np.mean(share, 0) - np.mean(others, 0)) / (1 - np.mean(others, 0))
    assert np.abs(score).max() > 0.01
    assert found.sel(role="induction").values == pytest.approx(score, abs=1e-5)
