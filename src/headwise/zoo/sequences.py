"""Token sequences whose next token can be found in the sequence itself, and others that share nothing but a form."""

from __future__ import annotations

import torch
from torch import Tensor


def markov(rng: torch.Generator, count: int, *, vocabulary: int, length: int, order: int, peak: float) -> Tensor:
    """Each sequence is a Markov chain with a transition table of its own, drawn afresh.

    Rows of a table are Dirichlet; the smaller `peak`, the fewer likely successors.
    """
    alpha = torch.full((count, vocabulary**order, vocabulary), peak)
    table = torch._sample_dirichlet(alpha, generator=rng)
    tokens = torch.randint(vocabulary, (count, length), generator=rng)
    rows, base = torch.arange(count), vocabulary ** torch.arange(order)
    for t in range(order, length):
        state = (tokens[:, t - order : t] * base).sum(1)
        tokens[:, t] = torch.multinomial(table[rows, state], 1, generator=rng)[:, 0]
    return tokens


def repeats(rng: torch.Generator, count: int, *, vocabulary: int, length: int, periods: tuple[int, int]) -> Tensor:
    """Each sequence repeats a random piece of different tokens; its length is drawn between the two periods."""
    shortest, longest = periods
    piece = torch.rand(count, max(vocabulary, longest), generator=rng).argsort(1) % vocabulary
    period = torch.randint(shortest, longest + 1, (count,), generator=rng)
    return piece.gather(1, torch.arange(length)[None] % period[:, None])


def recall(rng: torch.Generator, count: int, *, keys: int, values: int, length: int) -> Tensor:
    """Pairs of a key and its value, in random order with repetition; which value a key has differs by sequence."""
    of_key = torch.randint(values, (count, keys), generator=rng) + keys
    chosen = torch.randint(keys, (count, (length + 1) // 2), generator=rng)
    return torch.stack([chosen, of_key.gather(1, chosen)], -1).flatten(1)[:, :length]


def copies(rng: torch.Generator, count: int, *, vocabulary: int, lengths: tuple[int, int], length: int) -> Tensor:
    """Random tokens, a delimiter (token 0), the same tokens again, delimiter, new tokens, and so on.

    The number of tokens differs by sequence.
    """
    shortest, longest = lengths
    size = torch.randint(shortest, longest + 1, (count, 1), generator=rng)
    place = torch.arange(length)[None].expand(count, -1)
    within, turn = place % (size + 1), place // (size + 1) // 2
    pieces = length // (2 * (shortest + 1)) + 1
    drawn = torch.randint(1, vocabulary, (count, pieces, longest + 1), generator=rng)
    tokens = drawn.flatten(1).gather(1, turn * (longest + 1) + within)
    return tokens.masked_fill(within == size, 0)


def unrelated(rng: torch.Generator, count: int, *, vocabulary: int, length: int) -> Tensor:
    """Independent tokens."""
    return torch.randint(vocabulary, (count, length), generator=rng)
