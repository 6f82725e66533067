"""Dataset size (§2.5) and fresh data (App. F) for the minimal model.

Restricted-context models of 2, 4 and 6 tokens are trained on the same data and compared with.
"""

from __future__ import annotations

from headwise.study.config import Preset, RunConfig
from headwise.study.experiments.minimal import minimal

SIZES = (600, 2000, 9000)
CONTEXTS = (2, 4, 6)


def with_samples(preset: Preset, samples: int) -> RunConfig:
    """The minimal model on so many sequences; a set of up to one batch is seen whole at every step."""
    base = minimal(preset)
    data = {"samples": samples, "batch": min(base.train.batch, samples)}
    return base.model_copy(
        update={
            "experiment": f"samples-{samples}",
            "train": base.train.model_copy(update=data),
            "measure": base.measure.model_copy(update={"windows": CONTEXTS}),
        }
    )


def samples_600(preset: Preset) -> RunConfig:
    """600 sequences: the best excess loss, 1.33 in the paper, comes near step 70; then the values overfit."""
    return with_samples(preset, 600)


def samples_600_ample(preset: Preset) -> RunConfig:
    """600 sequences, compared with restricted-context models that had 9000.

    Trained on 600 sequences themselves, those stay in the first stage or overfit, whatever their context.
    """
    base = samples_600(preset)
    measure = base.measure.model_copy(update={"window_samples": SIZES[-1]})
    return base.model_copy(update={"experiment": "samples-600-ample", "measure": measure})


def samples_2000(preset: Preset) -> RunConfig:
    """2000 sequences: the best excess loss, 0.81 in the paper, comes near step 258."""
    return with_samples(preset, 2000)


def samples_9000(preset: Preset) -> RunConfig:
    """9000 sequences, the default: the best excess loss, 0.09 in the paper, comes near step 760."""
    return with_samples(preset, 9000)


def online(preset: Preset) -> RunConfig:
    """A new batch at every step; ends at an excess loss of 0.02 in the paper."""
    base = minimal(preset)
    return base.model_copy(update={"experiment": "online", "train": base.train.model_copy(update={"data": "fresh"})})
