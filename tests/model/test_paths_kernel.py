"""What only the kernel has: odd sizes and paddings, its own dropout bits, its threads, where its output matrix is."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import get_args

import numpy as np
import pytest
import torch
from engines import limited_to
from path_grid import EVERYWHERE, MINIMAL, PUBLISHED, TEXT, gradient, random_batch, random_decoder

from headwise.model import kernel
from headwise.model.config import FULL_TEXT, DropoutConfig
from headwise.model.decoder import Decoder
from headwise.model.dropout import Site, keep_bits, stream_keys, threshold
from headwise.model.folded import output_place
from headwise.model.kernel_engine import KernelEngine
from headwise.model.reference import ReferenceEngine
from headwise.model.tables import Output

pytestmark = pytest.mark.skipif(kernel.missing() is not None, reason=str(kernel.missing()))


@pytest.fixture(params=kernel.LEVELS)
def level(request: pytest.FixtureRequest) -> Iterator[str]:
    """Each instruction set this processor has."""
    with limited_to(request.param):
        yield request.param


def compare(
    decoder: Decoder, inputs: torch.Tensor, targets: torch.Tensor, *, chunk: int = 3, output: Output | None = None
) -> None:
    """Loss and gradients in float32 against float64: within 1e-5, and within 3 times plain float32's own error."""
    exact = ReferenceEngine(decoder, dropout_seed=3, chunk=50).loss_and_gradients(inputs, targets, step=2)
    expected = gradient(decoder)
    decoder.float()
    plain = ReferenceEngine(decoder, dropout_seed=3, chunk=inputs.shape[0])
    plain.loss_and_gradients(inputs, targets, step=2)
    scale = torch.linalg.norm(expected)
    allowed = torch.linalg.norm(gradient(decoder) - expected) / scale
    engine = KernelEngine(decoder, dropout_seed=3, chunk=chunk, output=output)
    loss = engine.loss_and_gradients(inputs, targets, step=2)
    error = torch.linalg.norm(gradient(decoder) - expected) / scale
    assert abs(loss - exact) < 2e-6 * abs(exact)
    assert error < 1e-5
    assert error < max(3 * allowed, 3e-7)


STACKS = (
    MINIMAL.changed({"blocks": 2}),
    TEXT.changed({"blocks": 2, "dropout": EVERYWHERE}),
    PUBLISHED.changed({"blocks": 2}),
    TEXT.changed({"norm": "pre"}),
)


@pytest.mark.parametrize("dictionary", [2, 17, 500])
@pytest.mark.parametrize("rows", [1, 7])
def test_odd_sizes(dictionary: int, rows: int) -> None:
    for config in (MINIMAL, TEXT, PUBLISHED, *STACKS):
        decoder = random_decoder(config, dictionary=dictionary, positions=6).float().double()
        compare(decoder, *random_batch(decoder, rows, counted=6))


@pytest.mark.parametrize("positions", [1, 31, 40])
def test_many_and_few_positions(positions: int) -> None:
    narrow = [config.changed({"context": 1}) for config in (TEXT, PUBLISHED)]
    for config in (MINIMAL, TEXT, PUBLISHED, *narrow, *STACKS):
        decoder = random_decoder(config, positions=positions).float().double()
        compare(decoder, *random_batch(decoder, 5, counted=min(positions, 27)))


@pytest.mark.parametrize(("heads", "size"), [(1, 130), (2, 70), (5, 17), (16, 1)])
def test_heads_of_any_size(heads: int, size: int) -> None:
    one = TEXT.changed({"heads": heads, "width": heads * size, "dropout": EVERYWHERE})
    for config, output in product((one, one.changed({"blocks": 2}), one.changed({"norm": "pre"})), get_args(Output)):
        decoder = random_decoder(config, positions=31).float().double()
        with torch.no_grad():
            for parameter in decoder.parameters():
                parameter.mul_(size**-0.5)
        compare(decoder, *random_batch(decoder, 5, counted=20), output=output)


def test_the_output_matrix_goes_where_it_costs_less() -> None:
    def place(heads: int) -> Output:
        return output_place(Decoder(FULL_TEXT.changed({"heads": heads}), dictionary=50, positions=31), 20)

    assert [place(heads) for heads in (1, 3, 5, 15, 51)] == ["folded", "folded", "folded", "apart", "apart"]
    assert output_place(Decoder(MINIMAL, dictionary=50, positions=25), 20) == "folded"


@pytest.mark.parametrize("elements", [1, 3, 31, 32, 33, 1000, 5100])
def test_dropout_masks_are_the_same_bits(elements: int, level: str) -> None:
    for site in Site:
        keys = stream_keys(seed=9, step=4, block=0, site=site, sequences=np.arange(3))
        expected = keep_bits(keys, elements, 0.1)
        got = [kernel.keep_bits(int(key), elements, threshold(0.1)) for key in keys]
        np.testing.assert_array_equal(np.stack(got), expected)


def test_threads_do_not_change_a_bit() -> None:
    one = TEXT.changed({"dropout": DropoutConfig(attention=0.1, mlp=0.1, mlp_branch=0.1)})
    for config in (one, one.changed({"blocks": 2}), one.changed({"norm": "pre"}), PUBLISHED.changed({"blocks": 2})):
        threads_agree(random_decoder(config).float())


def threads_agree(decoder: Decoder) -> None:
    inputs, targets = random_batch(decoder, 300)
    results = []
    for threads in (1, 2, 3):
        engine = KernelEngine(decoder, dropout_seed=3, chunk=3, threads=threads)
        results.append((engine.loss_and_gradients(inputs, targets, step=5), gradient(decoder)))
    for loss, grad in results[1:]:
        assert loss == results[0][0]
        assert torch.equal(grad, results[0][1])
