"""The one table of trajectory variables; whoever needs a fact about one reads its row, here or in `dimensions`.

`assemble` and the store read names and dimensions, `headwise collect` what it gathers, the report page titles, units
and how to draw, figures their axis labels. A new variable that needs no new drawing is one row here and the code that
computes it. This module holds facts alone: nothing here computes, stores or draws.
"""

from __future__ import annotations

from headwise.core.dimensions import DIMENSIONS, Dimension
from headwise.core.errors import ConfigError
from headwise.core.glossary import GLOSSARY
from headwise.core.variable_row import PANEL_ORDER, PagePanel, Variable

__all__ = [
    "DIMENSIONS",
    "PANEL_ORDER",
    "ROWS",
    "VARIABLES",
    "Dimension",
    "PagePanel",
    "Variable",
    "variable",
]

BY_HEAD = ("step", "block", "head")
SHARE = (0.0, 1.0)
POSITIVE = (0.0, None)

ROLE_GRID = (
    "A row for each block and a column for each head, in the colour of the role that the report finds there at this "
    "moment: a lag, the first token, induction and so on, each above chance. Empty: no role that is sure."
)
ROLE_HISTORY = (
    "A line for each head of every block, in the colour of its role while it has one. The score behind it is measured "
    "against chance; how far it goes in each role is drawn further below."
)
EXAMPLE = (
    "One sequence of the batch. A row is a token, and its colours show which tokens a head looks at from there. The "
    "text beside it shows one row: choose it by pointing at the map, by its arrow keys or by clicking a word. Maps of "
    "a few looks are kept; the one nearest to the current moment is shown."
)

ROWS: tuple[Variable, ...] = (
    Variable(
        "attention_by_lag",
        (*BY_HEAD, "lag"),
        "Attention by lag",
        "Share of a head's attention on each lag, mean over counted queries; lag 1 is the query's own token.",
        unit="share",
        axis="attention",
        limits=SHARE,
        page=(
            PagePanel("strips", "What each head looks at, over training"),
            PagePanel("lags", "Attention by lag, now"),
        ),
    ),
    Variable(
        "attention_map",
        ("snapshot", "block", "head", "query", "key"),
        "Attention maps",
        "Attention of each query to each key, mean over test sequences.",
        unit="share",
        axis="attention",
        limits=SHARE,
        gathered=(),
        page=(PagePanel("overlay", "Attention, all heads"), PagePanel("singles", "Each head alone")),
    ),
    Variable(
        "example_attention",
        ("snapshot", "example", "block", "head", "query", "key"),
        "Attention on an example",
        "Attention of each token to each other one in a few sequences of the batch, at the looks that keep it, in "
        "multiples of 1/1024; positions count from the first real token.",
        unit="share",
        axis="attention",
        limits=SHARE,
        gathered=(),
        page=(PagePanel("example", "Attention on an example, now", shown="of watched models", about=EXAMPLE),),
    ),
    Variable(
        "kl",
        ("step", "predictor"),
        "KL from predictor to model",
        "Divergence KL(predictor || model), mean over counted positions: 0 where the model predicts the same.",
        unit="nats",
        axis="KL",
        limits=POSITIVE,
        gathered=("curve", "final"),
        page=(PagePanel("curves", "KL divergence", "predictor to model"),),
    ),
    Variable(
        "kl_reverse",
        ("step", "predictor"),
        "KL from model to predictor",
        "Divergence KL(model || predictor), mean over counted positions.",
        unit="nats",
        axis="KL",
        limits=POSITIVE,
        gathered=(),
        page=(PagePanel("curves", "KL divergence", "model to predictor"),),
    ),
    Variable(
        "excess_loss",
        ("step",),
        "Excess loss",
        "Test loss above that of the true law on the same targets; of a flow, its loss.",
        unit="nats",
        limits=POSITIVE,
        gathered=("curve", "final", "best"),
    ),
    Variable(
        "competition_index",
        ("step",),
        "Competition index",
        GLOSSARY["competition index"],
        unit="0 apart, 1 alike",
        limits=SHARE,
        gathered=(),
        source="detector",
    ),
    Variable(
        "attention_by_group",
        (*BY_HEAD, "group"),
        "Attention by group",
        "Share of a head's attention on the lags of each group.",
        unit="share",
        axis="attention",
        limits=SHARE,
    ),
    Variable(
        "value_coefficient",
        (*BY_HEAD, "group"),
        "Value coefficient",
        "Coefficients of a head's value circuit on the feature directions, corrected for their overlap.",
        page=(PagePanel("curves", "Value alignment", "coefficient"),),
    ),
    Variable(
        "value_alignment",
        (*BY_HEAD, "group"),
        "Value alignment",
        "Inner product of a head's value circuit with each feature direction.",
        axis=r"$\langle V_k, V_j^\star\rangle$",
        gathered=(),
        page=(PagePanel("curves", "Value alignment", "inner product"),),
    ),
    Variable(
        "value_cosine",
        (*BY_HEAD, "group"),
        "Value cosine",
        "Cosine between a head's value circuit and each feature direction.",
        gathered=(),
        page=(PagePanel("curves", "Value alignment", "cosine"),),
    ),
    Variable(
        "loss",
        ("step", "split"),
        "Loss",
        "Mean cross-entropy on the training batch and on the test sequences; of a flow, its population loss. Of a "
        "watched model: on the batch that each look shows, over the training steps since the last look, on validation "
        "data.",
        unit="nats",
    ),
    Variable(
        "loss_spread",
        ("step", "split"),
        "Spread of the loss",
        "Standard deviation of what a loss is the mean of: of the sequences of a batch, of the training steps since "
        "the last look.",
        unit="nats",
        limits=POSITIVE,
        gathered=(),
        page=(),
    ),
    Variable(
        "loss_count",
        ("step", "split"),
        "Numbers behind the loss",
        "How many values a loss is the mean of: sequences of a batch, training steps since the last look.",
        limits=POSITIVE,
        gathered=(),
        page=(),
    ),
    Variable(
        "loss_time",
        ("step", "split"),
        "Time of the loss",
        "The step to which a loss belongs: of a mean over training steps, the middle of these steps.",
        gathered=(),
        page=(),
    ),
    Variable(
        "metrics",
        ("step", "metric"),
        "Own metrics",
        "What functions of one's own measured at each look: `metrics={name: function}` of `train` and `watch`.",
        axis="value",
        gathered=("curve", "final"),
        page=(PagePanel("curves", of_each="metric"),),
    ),
    Variable(
        "head_importance",
        BY_HEAD,
        "Head importance",
        "Rise of the loss when what a head writes is replaced, at every position, by its mean over the counted tokens: "
        "on the test sequences, or on the batch that each look of a watched model shows. Above 0: the head helps.",
        unit="nats",
        axis="rise of the loss",
        limits=POSITIVE,
        page=(PagePanel("curves", "Head importance", "output replaced by its mean"),),
    ),
    Variable(
        "head_importance_zero",
        BY_HEAD,
        "Head importance against zero",
        "Rise of the loss when what a head writes is replaced by zero, which also takes away what it writes always.",
        unit="nats",
        axis="rise of the loss",
        limits=POSITIVE,
        page=(PagePanel("curves", "Head importance", "output replaced by zero"),),
    ),
    Variable(
        "head_importance_error",
        BY_HEAD,
        "Error of head importance",
        "Standard error of `head_importance` over the sequences of the batch; NaN of a single sequence.",
        unit="nats",
        limits=POSITIVE,
        gathered=(),
        page=(),
    ),
    Variable(
        "pair_redundancy",
        (*BY_HEAD, "head2"),
        "Redundancy of two heads",
        "Rise of the loss without two heads of a block together, each replaced by its mean, less the rises without "
        "each alone. Above 0: one stands in for the other. Below 0: without one, the other is of less use.",
        unit="nats",
        page=(PagePanel("pairs", "Heads that stand in for each other, now", shown="of watched models"),),
    ),
    Variable(
        "pair_redundancy_error",
        (*BY_HEAD, "head2"),
        "Error of the redundancy",
        "Standard error of `pair_redundancy` over the sequences of the batch.",
        unit="nats",
        limits=POSITIVE,
        gathered=(),
        page=(),
    ),
    Variable(
        "attention_entropy",
        BY_HEAD,
        "Attention entropy",
        "Entropy of a head's attention, mean over counted queries: 0 where each query looks at one token.",
        unit="nats",
        limits=POSITIVE,
        gathered=(),
    ),
    Variable(
        "loss_part",
        ("step", "feature", "position"),
        "Loss by feature and position",
        "The part of a flow's loss that each feature contributes at each position.",
        gathered=(),
    ),
    Variable(
        "learning_rate",
        ("step",),
        "Learning rate",
        "The optimiser's learning rate at each evaluation.",
        limits=POSITIVE,
        gathered=(),
        page=(PagePanel("curves", shown="if it varies"),),
    ),
    Variable(
        "head_overlap",
        (*BY_HEAD, "head2"),
        "Head overlap",
        "Attention that two heads share, the sum over lags of the smaller share: 1 the same pattern, 0 disjoint.",
        limits=SHARE,
        page=(PagePanel("pairs", "Heads against heads, now", "shared attention", "of watched models"),),
    ),
    Variable(
        "attention_concentration",
        BY_HEAD,
        "Attention concentration",
        "Sum over lags of the squared share of attention: 1 where a head looks at one lag alone.",
        limits=SHARE,
        gathered=(),
        page=(PagePanel("curves", shown="of watched models"),),
    ),
    Variable(
        "attention_on",
        (*BY_HEAD, "place"),
        "Attention on named places",
        "Attention on the query's own token, the one before it and the first one; how far above chance it looks at "
        "what followed earlier copies of its token, on sequences that repeat themselves with varied periods.",
        unit="share",
        axis="attention",
        limits=SHARE,
        gathered=(),
        page=(),
    ),
    Variable(
        "role_score",
        (*BY_HEAD, "role"),
        "Role score",
        "How far a head's attention goes above chance towards a role, (share - chance) / (1 - chance): 1 that and "
        "nothing else, 0 chance; NaN where it cannot be measured.",
        axis="above chance",
        limits=(None, 1.0),
        gathered=(),
        page=(
            PagePanel("grid", "What each head does, now", shown="of watched models", about=ROLE_GRID),
            PagePanel("doing", "What each head does, over training", shown="of watched models", about=ROLE_HISTORY),
            PagePanel("curves", "How far each head goes in a role", shown="of watched models", of_each="role"),
        ),
    ),
    Variable(
        "role_chance",
        (*BY_HEAD, "role"),
        "Chance of a role",
        "Share of attention that a role gets by chance; the share it has is score * (1 - chance) + chance.",
        unit="share",
        limits=SHARE,
        gathered=(),
        page=(),
    ),
    Variable(
        "role_fold",
        ("step", "fold", "block", "head", "role"),
        "Role score by fold",
        "Role scores on parts of the batch, each with some of its sequences: how far a score depends on these.",
        axis="above chance",
        limits=(None, 1.0),
        gathered=(),
        page=(),
    ),
    Variable(
        "lag_chance",
        ("step", "lag"),
        "Chance of a lag",
        "Share of each lag if every counted query looked evenly at all that it can see: the mean of 1/n over queries "
        "that see n tokens, this lag among them. Of the first block.",
        unit="share",
        limits=SHARE,
        gathered=(),
        page=(),
    ),
    Variable(
        "lag_chance_by_block",
        ("step", "block", "lag"),
        "Chance of a lag by block",
        "The same in each block: a sliding window leaves the queries of one block less to see than those of another.",
        unit="share",
        limits=SHARE,
        gathered=(),
        page=(),
    ),
    Variable(
        "lag_error",
        (*BY_HEAD, "lag"),
        "Error of attention by lag",
        "Standard error of attention by lag over the sequences of the batch.",
        unit="share",
        limits=POSITIVE,
        gathered=(),
        page=(),
    ),
    Variable(
        "write_alignment",
        (*BY_HEAD, "head2"),
        "Write alignment",
        "Cosine between what two heads write, over all counted tokens: below 0 one takes back what the other adds.",
        limits=(-1.0, 1.0),
        gathered=(),
        page=(PagePanel("pairs", "Heads against heads, now", "what they write", "of watched models"),),
    ),
)
"""The table. Its order is the order of curves on the report page."""

VARIABLES: dict[str, Variable] = {row.name: row for row in ROWS}


def variable(name: str) -> Variable:
    """The row of a trajectory variable; a name that is not in the table is an error that lists those that are."""
    row = VARIABLES.get(name)
    if row is None or row.source != "trajectory":
        known = ", ".join(row.name for row in VARIABLES.values() if row.source == "trajectory")
        raise ConfigError(f"unknown trajectory variable {name!r}; known: {known}")
    return row
