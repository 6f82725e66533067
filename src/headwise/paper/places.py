"""Where the paper says something: labels of its source as the numbers that a reader finds in it."""

from __future__ import annotations

import re

FIGURES = (
    "main",
    "attention",
    "kl",
    "ablations",
    "generalization",
    "simulations",
    "theory_vs_regression",
    "collaboration",
    "attention-infinite-data",
    "plots-infinite-data",
    "attention-reversed",
    "plots-reversed",
    "2layer-minimal",
    "2layer-full",
    "kl-non-uniform-alphas",
    "attention-non-uniform-alphas",
    "kl-overlapping-4heads",
    "attention-three-heads-overlapping-intervals",
    "attention-four-heads-overlapping-intervals",
    "kl-sgd-full-one-layer",
    "attention-sgd-full-one-layer",
)
"""The paper's figures in their order."""

SECTIONS = {
    "sec:markov": "§2.1",
    "sec:representation": "§2.2",
    "sec:incremental": "§2.3",
    "sec:minimal": "§2.4",
    "sec:generalization": "§2.5",
    "sec:regression": "§3.1",
    "sec:coupled": "§3.2",
    "sec:cooperative": "§3.3",
    "app:identifiability": "App. A",
    "app:proofs": "App. B",
    "app:initialization": "App. C",
    "app:simulations": "App. D",
    "app:simulations:regression": "App. D.1",
    "app:simulations:transformer": "App. D.2",
    "app:exp": "App. E",
    "app:additional_experiments": "App. F",
    "app:infinite_data": "App. F.1",
    "app:reverse_order": "App. F.2",
    "app:weight_decay": "App. F.3",
}
PLACES = SECTIONS | {f"fig:{name}": f"Fig. {number}" for number, name in enumerate(FIGURES, start=1)}
LABEL = re.compile(r"\b(fig|sec|app):[\w-]+(?::[\w-]+)*")


def place(label: str) -> str:
    """Labels in a text as a reader says them; one that the paper does not have keeps its name.

    >>> place("fig:kl left, minimal model"), place("app:simulations:transformer"), place("sec. 3, app. B, C")
    ('Fig. 3 left, minimal model', 'App. D.2', 'sec. 3, app. B, C')
    """
    return LABEL.sub(lambda found: PLACES.get(found[0], found[0]), label)
