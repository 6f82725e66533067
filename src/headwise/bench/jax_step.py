"""A training step of the plain models in JAX: jitted as one program that scans over chunks. Needs jax, which headwise
does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor

from headwise.model.decoder import Decoder


def jax_step(decoder: Decoder, inputs: Tensor, targets: Tensor, *, chunk: int) -> Callable[[], float]:
    """A step on whole chunks of the batch, compiled; returns its loss once everything has been computed."""
    import jax
    import jax.numpy as jnp

    size = min(chunk, inputs.shape[0])
    chunks = inputs.shape[0] // size
    weights = {name: jnp.asarray(value.detach().numpy()) for name, value in decoder.named_parameters()}
    x = jnp.asarray(inputs[: chunks * size].numpy()).reshape(chunks, size, -1)
    y = jnp.asarray(targets[: chunks * size].numpy()).reshape(chunks, size, -1)
    forward = _Forward(decoder, counted=targets.shape[1])

    def loss(weights: dict[str, Any], tokens: Any, wanted: Any, key: Any) -> Any:
        logits = jax.nn.log_softmax(forward(weights, tokens, key))
        return -jnp.take_along_axis(logits, wanted[..., None], axis=-1).sum() / y.size

    def step(weights: dict[str, Any], key: Any) -> Any:
        def one(sums: Any, part: Any) -> tuple[Any, None]:
            found = jax.value_and_grad(loss)(weights, *part)
            return jax.tree_util.tree_map(jnp.add, sums, found), None

        start = (jnp.zeros(()), jax.tree_util.tree_map(jnp.zeros_like, weights))
        return jax.lax.scan(one, start, (x, y, jax.random.split(key, chunks)))[0]

    compiled, key = jax.jit(step), jax.random.PRNGKey(0)

    def run() -> float:
        return float(jax.block_until_ready(compiled(weights, key))[0])

    run()
    return run


class _Forward:
    """Logits of a minimal model, or of a full one with learned positions, norms anywhere and dropout."""

    def __init__(self, decoder: Decoder, *, counted: int) -> None:
        self.config, self.counted = decoder.config, counted
        self.dictionary, self.positions = decoder.dictionary, decoder.positions
        self.scale = decoder.layers[0].attention.inverse_scale
        self.rates = decoder.config.dropout

    def __call__(self, weights: dict[str, Any], tokens: Any, key: Any) -> Any:
        import jax
        import jax.numpy as jnp

        keys = iter(jax.random.split(key, 5 * self.config.blocks + 1))

        def drop(value: Any, rate: float) -> Any:
            drawn = next(keys)
            return (
                jnp.where(jax.random.bernoulli(drawn, 1 - rate, value.shape), value / (1 - rate), 0) if rate else value
            )

        if self.config.embedding == "one_hot":
            places = jnp.broadcast_to(jnp.eye(self.positions), (*tokens.shape, self.positions))
            x = jnp.concatenate([jax.nn.one_hot(tokens, self.dictionary), places], axis=-1)
        else:
            x = drop(weights["embedding_ND"][tokens] + weights["position_SP"], self.rates.embedding)
        for block in range(self.config.blocks):
            own = {name.split(".", 2)[2]: w for name, w in weights.items() if name.startswith(f"blocks.{block}.")}
            x = self._block(own, x, drop)
        x = x[:, -self.counted :]
        if self.config.unembedding == "identity":
            return x
        return x @ weights["unembedding.weight"].T + weights.get("unembedding.bias", 0)

    def _block(self, own: dict[str, Any], x: Any, drop: Callable[[Any, float], Any]) -> Any:
        import jax
        import jax.numpy as jnp

        hidden = jnp.triu(jnp.ones((self.positions, self.positions), bool), 1)
        pre, post = self.config.norm == "pre", self.config.norm == "post"
        seen = _normed(own, "norm_attention", x) if pre else x
        if self.config.score == "merged":
            q, k = jnp.einsum("bqe,hde->bhqd", seen, own["attention.score_HDD"]), seen[:, None]
        else:
            q, k = (self._project(own, seen, name) for name in ("query", "key"))
        logits = q @ jnp.swapaxes(k, -1, -2) * self.scale
        a = drop(jax.nn.softmax(jnp.where(hidden, -jnp.inf, logits)), self.rates.attention)
        z = a @ self._project(own, seen, "value")
        if self.config.output == "off":
            return z.sum(1)
        y = jnp.einsum("bhqe,ohe->bqo", z, own["attention.output_OHE"]) + own.get("attention.output_bias_O", 0)
        x = x + drop(y, self.rates.attention_branch)
        x = _normed(own, "norm_attention", x) if post else x
        inner = _normed(own, "norm_mlp", x) if pre else x
        units = drop(jax.nn.relu(inner @ own["mlp_in.weight"].T + own["mlp_in.bias"]), self.rates.mlp)
        x = x + drop(units @ own["mlp_out.weight"].T + own["mlp_out.bias"], self.rates.mlp_branch)
        return _normed(own, "norm_mlp", x) if post else x

    def _project(self, own: dict[str, Any], x: Any, name: str) -> Any:
        import jax.numpy as jnp

        found = jnp.einsum("bsd,hed->bhse", x, own[f"attention.{name}_HED"])
        bias = own.get(f"attention.{name}_bias_HE")
        return found if bias is None else found + bias[:, None]


def _normed(own: dict[str, Any], name: str, x: Any) -> Any:
    import jax.numpy as jnp

    centred = x - x.mean(-1, keepdims=True)
    spread = jnp.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
    return centred / spread * own[f"{name}.weight"] + own[f"{name}.bias"]
