"""The table of sizes and the strongest alternatives: they compute the same step, and say what `auto` takes."""

from __future__ import annotations

import pytest
import torch

from headwise.bench import sizes as sizes_module
from headwise.bench.cases import Name, Sizes, paper_sizes, prepared
from headwise.bench.levels import limited_to
from headwise.bench.page import _auto, _peers
from headwise.bench.peers import best_chunk, compiled_peers, fastest_plain
from headwise.bench.sizes import cells, measure_sizes, ways
from headwise.core.errors import ConfigError
from headwise.model import kernel
from headwise.model.config import DropoutConfig

needs_kernel = pytest.mark.skipif(kernel.missing() is not None, reason=str(kernel.missing()))


def undropped(case: Name, batch: int = 60) -> Sizes:
    sizes = paper_sizes(case, batch=batch)
    changes: dict[str, object] = {"dropout": DropoutConfig()}
    if sizes.model.embedding == "learned":
        changes |= {"width": 24, "mlp": 16}
    return sizes._replace(model=sizes.model.changed(changes), d=11)


def whole_loss(sizes: Sizes) -> float:
    decoder, inputs, targets = prepared(sizes)
    with torch.no_grad():
        logits, _ = decoder.double()(inputs, sizes.T)
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten()).item()


@needs_kernel
@pytest.mark.parametrize("case", ["full", "pre_norm", "two_minimal_blocks"])
def test_every_way_computes_the_same_step(case: Name) -> None:
    sizes = undropped(case)
    runs, choice = ways(sizes)
    assert choice.startswith("kernel, ")
    assert {"auto", "torch", "plain"} < set(runs)
    for name, run in runs.items():
        assert run() == pytest.approx(whole_loss(sizes), rel=1e-5), name


@needs_kernel
def test_the_largest_ratio_is_the_worst(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes_module, "AXES", {"d": (10, 20), "batch": (3000,)})
    lines: list[str] = []
    found = measure_sizes(batch=6, repeats=1, only=("minimal",), report=lines.append)
    assert set(found["sizes"]) == {"minimal"}
    every = [cell for axes in found["sizes"].values() for values in axes.values() for cell in values.values()]
    assert len(every) == len(lines) == 3
    assert found["worst"] == max(cell["ratio"] for cell in every)
    for cell in every:
        others = {name: took for name, took in cell["seconds"].items() if name != "auto"}
        assert cell["ratio"] == cell["seconds"]["auto"] / min(others.values())
        assert cell["best"] in others
    assert f"{found['worst']:.2f} times" in _auto({"auto": found})
    kept: list[object] = []
    del found["sizes"]["minimal"]["d"]["20"]
    assert measure_sizes(batch=6, repeats=1, only=("minimal",), before=found, keep=kept.append) == kept[0]
    assert len(kept) == 1


def test_cells_stay_affordable() -> None:
    every = list(cells(batch=3000))
    assert {cell.axis for cell in every} == set(sizes_module.AXES)
    assert all(1 <= cell.sizes.batch <= 30_000 for cell in every)
    assert [cell.sizes.batch for cell in every if (cell.case, cell.axis) == ("minimal", "batch")][-1] == 30_000
    assert [cell.sizes.batch for cell in every if (cell.case, cell.axis) == ("full", "batch")][-1] == 3000
    largest = next(cell for cell in every if cell.case == "full" and cell.axis == "T" and cell.value == 500)
    assert largest.sizes.batch < 300


def test_peers_compute_the_plain_step() -> None:
    sizes = undropped("full")
    decoder, inputs, targets = prepared(sizes)
    plain = fastest_plain(decoder)
    assert best_chunk(plain, inputs, targets) in (None, 10, 25, 50)
    found = compiled_peers(*prepared(sizes._replace(batch=50)))
    for peer, run in found.items():
        assert run() == pytest.approx(whole_loss(sizes._replace(batch=50)), rel=1e-5), peer
    shown = _peers({"ratio_peers": {"full": {"best_chunk": 12.25}}})
    assert "12.2" in shown
    assert "JAX" not in shown


@pytest.mark.parametrize("case", ["minimal", "two_minimal_blocks", "full", "pre_norm", "two_blocks"])
def test_jax_computes_the_plain_step(case: Name) -> None:
    pytest.importorskip("jax")
    from headwise.bench.jax_step import jax_step

    sizes = undropped(case)
    decoder, inputs, targets = prepared(sizes)
    assert jax_step(decoder, inputs, targets, chunk=20)() == pytest.approx(whole_loss(sizes), rel=1e-5)


@needs_kernel
def test_a_level_is_held_and_released() -> None:
    best = kernel.level()
    with limited_to("plain"):
        assert kernel.level() == "plain"
    assert kernel.level() == best
    with pytest.raises(ConfigError, match="--level sse is not one of plain, avx2, avx512"), limited_to("sse"):
        pass
