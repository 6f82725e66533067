"""TransformerLens models, against the library's own cache; needs the extra `lens`."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from probe_references import Remembered, naive_by_lag

from headwise.probe import watch

pytestmark = pytest.mark.slow
bridges = pytest.importorskip("transformer_lens.model_bridge.sources.native")


def test_patterns_are_the_librarys_own() -> None:
    model = bridges.boot(
        {
            "d_model": 32,
            "n_layers": 2,
            "n_heads": 4,
            "d_head": 8,
            "d_mlp": 40,
            "d_vocab": 50,
            "n_ctx": 32,
            "act_fn": "gelu",
            "seed": 0,
        }
    )
    tokens = torch.randint(0, 50, (3, 12), generator=torch.Generator().manual_seed(1))
    output, cache = model.run_with_cache(tokens)
    points = {name: len(point.fwd_hooks) for name, point in model.hook_dict.items()}
    kept = Remembered(model)
    with watch(model, tokens=tokens) as w:
        pass
    kept.require_same()
    assert {name: len(point.fwd_hooks) for name, point in model.hook_dict.items()} == points
    maps = torch.stack([cache[f"blocks.{i}.attn.hook_pattern"] for i in range(2)]).detach()
    found = w.trajectory
    assert np.abs(found["attention_by_lag"].values[0] - naive_by_lag(maps, found["lag"].values)).max() < 1e-5
    assert torch.equal(model(tokens), output)
    written = (
        torch.einsum("bshe,hed->hbsd", cache["blocks.0.attn.hook_z"], model.blocks[0].attn.W_O).flatten(1).double()
    )
    cosine = (written @ written.T) / torch.outer(written.norm(dim=1), written.norm(dim=1))
    assert np.allclose(found["write_alignment"].values[0, 0], cosine.detach().numpy(), atol=1e-4)


def test_importance_is_the_loss_without_what_a_head_writes() -> None:
    model = bridges.boot({"d_model": 16, "n_layers": 2, "n_heads": 4, "d_head": 4, "d_mlp": 20, "d_vocab": 50,
                          "n_ctx": 16, "act_fn": "gelu", "seed": 0})  # fmt: skip
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    tokens = torch.randint(0, 50, (3, 12), generator=torch.Generator().manual_seed(1))
    kept = Remembered(model)
    with pytest.warns(UserWarning, match="17 forward passes"), watch(model, tokens=tokens, importance="last") as w:
        pass
    kept.require_same()
    _, cache = model.run_with_cache(tokens)

    @torch.no_grad()
    def loss(change: torch.Tensor | float, block: int) -> float:
        hook = (f"blocks.{block}.hook_attn_out", lambda written, hook: written + change)
        logits = model.run_with_hooks(tokens, return_type="logits", fwd_hooks=[hook])
        return float(torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten()))

    found = w.trajectory["head_importance"].values[0]
    for block in range(2):
        for head in range(4):
            z = cache[f"blocks.{block}.attn.hook_z"][:, :, head].detach()
            change = (z.mean((0, 1)) - z) @ model.blocks[block].attn.W_O[head].detach()
            assert abs(found[block, head] - (loss(change, block) - loss(0.0, block))) < 1e-5
