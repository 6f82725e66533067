"""The words of headwise, one sentence or two each: `headwise --help`, the HTML page and docs/glossary.md use these.

python -m headwise.core.glossary docs/glossary.md
"""

from __future__ import annotations

from collections.abc import Sequence

from headwise.core.atomic import replace_file
from headwise.core.errors import ConfigError
from headwise.core.page_command import page_paths
from headwise.core.text import WIDTH, definitions

GLOSSARY: dict[str, str] = {
    "head": "One attention head. It spreads its attention over earlier positions and passes on what it finds there. "
    "Heads are counted from 1 within their block.",
    "block": "One layer of a transformer: heads that work side by side on the same input. Blocks are counted from 1.",
    "values": "What a head passes on of a token that it looks at. Its attention says where it looks, its values what "
    "it writes.",
    "lag": "How far a position lies before the predicted one. Lag 1 is the token just before the predicted token, "
    "which is the query's own token.",
    "group": "A set of lags whose tokens together decide one part of the next token. Groups are counted from 1, and "
    "group 1 has the largest influence.",
    "feature": "What a group adds to the next token: a matrix that takes the tokens at its lags to the logits. A head "
    "has acquired it when its values follow it.",
    "pattern": "A way to spread attention over lags. Where the groups are known there is one pattern for each group; "
    "where they are not, patterns are found in the attention of the heads.",
    "prefix predictor": "The predictor that uses the first groups and ignores the others: prefix_1 uses group 1, "
    "prefix_2 groups 1 and 2. The last one uses all groups and is the true law of the data.",
    "n-gram predictor": "Predicts the next token from how often each token followed the last n - 1 tokens in a corpus: "
    "the 1-gram predictor knows how frequent tokens are, the 2-gram predictor what follows each token.",
    "excess loss": "The loss above that of the true law of the data, which no model can beat: 0 is the best possible.",
    "look": "One measurement of all heads at one moment of training, on the same sequences each time; an evaluation.",
    "view": "One of the three ways in which stages are detected, each without the others: from the loss, from the "
    "function (the distance to each prefix predictor), or from the heads (which pattern each one copies).",
    "stage": "A stretch of training in which little changes, between two quick changes: in the loss a plateau, in the "
    "function the time near one prefix predictor, in the heads the time with the same patterns.",
    "offshoot": "A head takes up a pattern that it did not copy before and leaves the one that was its largest until "
    "then, which loses at least two fifths of its height. A head that keeps the old one adds the new one.",
    "phase": "What the heads of a block do to one another. In the competitive phase all of them have the same largest "
    "pattern and somebody leaves it later; the cooperative phase begins with the first offshoot after it.",
    "role": "What a head does, with a score above chance: it attends to one lag (its own token, the previous one, any "
    "other), the first token, a local window, or to what followed earlier copies of its token (induction).",
    "transition": "Events of several layers and of the loss that belong together, told as one in their order.",
    "compensation": "When a head leaves for a new group, the heads that stay move their values against it for a "
    "while. The depth of this dip is given as a share of what the leaving head gains.",
    "competition index": "How much more than by chance two heads look at the same lags, as the mean over all pairs of "
    "heads of a block: 1 where all heads look at the same lags alone, 0 where no two heads share a lag or where "
    "attention is even.",
    "flow": "The gradient flow of §3: the paper's differential equations of heads that learn a regression task, solved "
    "in place of a training.",
    "probe": "Looks at stored checkpoints of any model, one after the other; a watch does the same while it trains.",
    "run": "One training, flow or probe: a directory with its files. Every file carries the identity of its run, a "
    "digest of all that its results depend on and of its seed.",
    "reading": "One understanding of the paper where its text and its figures differ. `published` follows the runs "
    "behind the figures and has their task, `redrawn` is the same with a task of its own per seed, `text` follows the "
    "words; --preset chooses.",
    "claim": "Something that the paper says, with a test whose limit was fixed before the runs that it judges; its "
    "verdict is the answer.",
    "branch": "A run that goes on from a step of another run with something done to its heads. In a sham nothing is "
    "done, so that it equals that run bit for bit; the sham of a causal claim is given other batches as well, which "
    "shows what chance alone does.",
}
"""Every word with its meaning, in an order in which each can be read after those before it."""

HEADER = """# Glossary

This page is generated by `python -m headwise.core.glossary`; do not edit it. `headwise --help` and the HTML page use
the same sentences.
"""


def explain(words: Sequence[str] = (), *, width: int = WIDTH) -> str:
    """The given words, or all of them, with their meanings as text.

    >>> print(explain(["block"], width=60))
      block  One layer of a transformer: heads that work side by
             side on the same input. Blocks are counted from 1.
    """
    for word in words:
        if word not in GLOSSARY:
            raise ConfigError(f"{word!r} is not in the glossary; it has {', '.join(GLOSSARY)}")
    return definitions([(word, GLOSSARY[word]) for word in words or GLOSSARY], width=width)


def render() -> str:
    """The glossary as a Markdown page."""
    return HEADER + "".join(f"\n**{word}**: {meaning}\n" for word, meaning in GLOSSARY.items())


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the page."""
    [page] = page_paths(__doc__, {"page": "docs/glossary.md"}, arguments)
    replace_file(page, render())


if __name__ == "__main__":
    main()
