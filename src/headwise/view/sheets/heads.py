"""The paper's figure of the heads of the minimal model (App. D): a column per group, heads matched across seeds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from headwise.core.trajectory import attribute
from headwise.view.panels import LegendEntry, Sheet
from headwise.view.parts import head_entries, head_panels
from headwise.view.style import THIN

if TYPE_CHECKING:
    import xarray as xr


def heads_sheet(runs: Sequence[xr.Dataset]) -> Sheet:
    """Attention on every group, inner products with every feature as printed, coefficients corrected for overlap.

    Features that are not orthogonal in the Frobenius sense have inner products among themselves that are larger than a
    compensation dip; the coefficients are free of them.
    """
    rows = (
        head_panels(runs, "attention_by_group", title="on $I({})$", limits=(0, 1)),
        head_panels(runs, "value_alignment", title=r"with $A_{}^\star$ (as printed)"),
        head_panels(runs, "value_coefficient", title=r"on $A_{}^\star$ (corrected)"),
    )
    heads = runs[0].sizes["head"]
    if len(runs) == 1:
        return Sheet(rows, layout="grid", width=7.0, entries=head_entries(heads))
    first, *others = (attribute(run, "seed") if "seed" in run.attrs else k for k, run in enumerate(runs))
    thin = LegendEntry(f"seed{'s' if len(others) > 1 else ''} {', '.join(map(str, others))}", "#888888", width=THIN)
    wide = LegendEntry(f"seed {first}")
    note = "A head of another seed has the colour of the head that does the same in the first one."
    return Sheet(rows, layout="grid", width=7.4, entries=(*head_entries(heads), wide, thin), notes=(note,))
