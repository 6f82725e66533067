"""Trajectories that nobody trained, against which every claim about stages, order or heads is tested.

A control learns without what a claim says, and the claim must reject it; the staged run has it, and must be accepted.
Which controls concern a claim follows from what it is about (`Claim.concerns`): `function` claims read stages from
what the model predicts, `heads` claims from where the heads look. To add a control: one file here, one line below.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import xarray as xr

from headwise.paper.controls.all_logits import all_logits
from headwise.paper.controls.all_patterns import all_patterns
from headwise.paper.controls.contexts import Contexts
from headwise.paper.controls.one_head import one_head
from headwise.paper.controls.specialised import specialised_at_once, specialised_in_turn
from headwise.paper.entry import Concern

BOTH: frozenset[Concern] = frozenset({"function", "heads"})


@dataclass(frozen=True)
class Control:
    """How to make one from contexts and a number of heads, and which claims it concerns."""

    make: Callable[[Contexts, int], xr.Dataset]
    concerns: frozenset[Concern] = BOTH


CONTROLS: dict[str, Control] = {
    "all logits": Control(all_logits),
    "all patterns": Control(all_patterns),
    "one head": Control(one_head),
    "specialised at once": Control(specialised_at_once),
    "specialised in turn": Control(specialised_in_turn, frozenset({"heads"})),
}
