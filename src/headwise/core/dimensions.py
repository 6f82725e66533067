"""The dimensions of trajectory variables: what each is called and what its entries are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Entries = Literal["times", "counted from one", "numbers", "names"]
"""What a dimension's entries are: moments, 1 2 3 ..., numbers with a meaning of their own, or words."""


@dataclass(frozen=True)
class Dimension:
    """One dimension: `title` is its name on an axis, `about` says in a sentence what its entries are, `entry` is the
    name of one of them.
    """

    name: str
    title: str
    entries: Entries
    about: str
    entry: str = "{}"


DIMENSIONS: dict[str, Dimension] = {
    row.name: row
    for row in (
        Dimension("step", "step", "times", "Evaluations: training steps, or times of a flow."),
        Dimension(
            "snapshot",
            "step",
            "times",
            "Training steps at which attention maps are kept; of watched models, a few looks.",
        ),
        Dimension(
            "split",
            "data",
            "names",
            "Data behind a loss: train, test; population for a flow; train, look and validation for a watched model.",
        ),
        Dimension("predictor", "predictor", "names", "Predictors that a model is compared with, such as prefix_2."),
        Dimension("metric", "metric", "names", "Metrics of one's own, by the names given to `metrics`."),
        Dimension("block", "block", "counted from one", "Layers of the model.", "block {}"),
        Dimension("head", "head", "counted from one", "Heads of a block.", "head {}"),
        Dimension("head2", "other head", "counted from one", "The second head of a pair in one block.", "head {}"),
        Dimension("lag", "lag", "numbers", "Predicted position minus key position; 1 is the query's own token."),
        Dimension("group", "group", "counted from one", "Groups of lags of the task.", "I({})"),
        Dimension("place", "place", "names", "Where a probed head may look: self, previous, first, induction."),
        Dimension(
            "role", "role", "names", "What a head may do: previous, induction and so on; class:NAME for a token class."
        ),
        Dimension(
            "fold", "fold", "counted from one", "Parts of a probe's batch, each some of its sequences.", "fold {}"
        ),
        Dimension("feature", "feature", "counted from one", "Features of a flow's target.", "feature {}"),
        Dimension("position", "position", "counted from one", "Positions of a flow's input.", "position {}"),
        Dimension(
            "example", "example", "counted from one", "Sequences of a probe's batch that are kept whole.", "example {}"
        ),
        Dimension("query", "query position", "numbers", "Positions that attend, counted from 1 in the sequence."),
        Dimension("key", "key position", "numbers", "Positions that are attended to, counted from 1."),
    )
}
"""Every dimension, in the order in which tables name them. `seed` is none of them: it stacks whole trajectories."""
