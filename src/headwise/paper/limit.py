"""A limit on a measured number: the same object decides a claim and prints what the claim asked for."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Relation = Literal["<", "<=", ">", ">="]

COMPARE: dict[Relation, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
OPPOSITE: dict[Relation, Relation] = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}


@dataclass(frozen=True)
class Limit:
    """A number, and on which side of it a measured one has to be."""

    relation: Relation
    value: float

    def holds(self, measured: float) -> bool:
        """Whether a measured number keeps the limit; NaN keeps none."""
        return bool(COMPARE[self.relation](measured, self.value))

    @property
    def opposite(self) -> Limit:
        """The limit that a number keeps when it does not keep this one."""
        return Limit(OPPOSITE[self.relation], self.value)

    @property
    def number(self) -> str:
        """The value alone, as text: 0.4, 1e-6."""
        return re.sub(r"e([+-])0+", r"e\1", f"{self.value:g}")

    def __str__(self) -> str:
        return f"{self.relation} {self.number}"
