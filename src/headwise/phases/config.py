"""Every threshold of the detector, in one frozen place.

Developed on synthetic cases and a few runs, checked by `headwise.phases.calibration` and scored on cases drawn
afterwards; how, the numbers and their sensitivity are in docs/detection.md. No experiment has thresholds of its own.
Times are shares of the run's length, so that a report does not depend on the unit of time.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from headwise.core.config import Config

Share = Annotated[float, Field(gt=0, lt=1)]


class Thresholds(Config):
    """When a change counts."""

    grid: Annotated[int, Field(ge=64, description="points of the even time grid that curves are read on")] = 256
    penalty: Annotated[float, Field(gt=0, description="cost of a change point, in squared log units per run")] = 0.002
    floor: Annotated[Share, Field(description="added to a curve before its logarithm, as a share of its range")] = 0.02
    drop: Annotated[Share, Field(description="smallest change of the logarithm between two stages")] = 0.12
    shoulder: Annotated[Share, Field(description="how far before a drop the curve stands above its chord")] = 0.02
    band: Annotated[Share, Field(description="half width of a plateau, as a share of the smaller drop next to it")] = (
        0.15
    )
    noise: Annotated[float, Field(gt=0, description="smallest drop between stages in noise standard deviations")] = 5.0
    speed_up: Annotated[Share, Field(description="how far a loss stands above its string before a drop, per fall")] = (
        0.05
    )
    lift: Annotated[Share, Field(description="added to a plain loss before its logarithm, as a share of its range")] = (
        0.1
    )
    smallest_drop: Annotated[
        Share, Field(description="smallest drop of a plain loss, as a share of its fall so far")
    ] = 0.04
    plateau: Annotated[Share, Field(description="shortest time in the band of a plateau that is a stage")] = 0.03
    dwell: Annotated[Share, Field(description="shortest time a head must hold a pattern")] = 0.04
    hold: Annotated[Share, Field(description="share of a head's attention from which it holds a pattern")] = 0.25
    release: Annotated[Share, Field(description="share of a head's attention below which it lets a pattern go")] = 0.2
    copied: Annotated[
        Share, Field(description="share a held pattern must have for one dwell for the head to copy it")
    ] = 0.35
    acquired: Annotated[Share, Field(description="score above chance from which a head has a role")] = 0.2
    lost: Annotated[Share, Field(description="score above chance below which a head has lost a role")] = 0.12
    fallen: Annotated[Share, Field(description="share of its height that a pattern loses when a head leaves it")] = 0.4
    shaken: Annotated[
        Share, Field(description="share of its height that a pattern may lose and still count as kept")
    ] = 0.2
    log_time: Annotated[
        Share, Field(description="shortest competitive phase, as a share of the run's age at its start")
    ] = 0.3
    vote: Annotated[Share, Field(description="share of the batch's folds that must show a role")] = 0.75
    false_alarm: Annotated[Share, Field(description="chance that noise alone gives a report one role or more")] = 0.05
    prominence: Annotated[Share, Field(description="how far a predictor's curve dips below its other stages")] = 0.05
    apart: Annotated[float, Field(gt=0, description="difference between n-gram predictors that counts, in nats")] = 0.02
    closer: Annotated[
        Share, Field(description="how much closer to an n-gram predictor than at the start a model must come")
    ] = 0.25
    agreement: Annotated[Share, Field(description="spread of a boundary between views that counts as agreement")] = 0.05
    evaluations: Annotated[int, Field(ge=4, description="fewest evaluations of a curve with readable stages")] = 8


DEFAULT = Thresholds()
"""The calibrated thresholds, used by every command."""
