"""One flow over many seeds of its noise: when its stages end and which heads learn what, one row a seed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from headwise.core.config import validated
from headwise.core.errors import ConfigError
from headwise.core.named_options import named_options
from headwise.core.seeds import require_seeds
from headwise.core.text import text_table
from headwise.flow.config import FlowConfig
from headwise.flow.ensemble import FlowSummary, ensemble

DEFAULT = FlowConfig()


@dataclass(frozen=True)
class SeedsOfFlow:
    """A summary of each seed's flow; `str` of this is what `headwise flow --seeds` prints."""

    flows: tuple[FlowSummary, ...]

    def to_json(self) -> dict[str, Any]:
        """`flows`, a list with one entry a seed, ready for JSON."""
        return {"flows": [{**asdict(flow), "in_order": flow.in_order} for flow in self.flows]}

    def __str__(self) -> str:
        stages = range(1, len(self.flows[0].stage_times) + 1)
        rows = [
            (
                str(flow.seed),
                *("never" if time is None else f"{time:.2f}" for time in flow.stage_times),
                " ".join("-" if head is None else str(head) for head in flow.stage_heads),
                f"{flow.final_loss:.4g}",
            )
            for flow in self.flows
        ]
        columns = ("seed", *(f"stage {k} ends" for k in stages), "heads", "final loss")
        table = text_table(columns, rows, align="r" * (len(stages) + 1) + "lr")
        in_order = sum(flow.in_order for flow in self.flows)
        return f"{table}\nin order, each stage by a head of its own: {in_order} of {len(self.flows)}"


@named_options
def simulate_seeds(
    seeds: Sequence[int],
    config: FlowConfig = DEFAULT,
    *,
    workers: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> SeedsOfFlow:
    """One flow for several seeds of its noise, solved together; nothing is kept on disk.

    `progress` is called with how many flows are done and how many there are. With several workers a script must stand
    under `if __name__ == "__main__":`, because each worker imports it.

    >>> from headwise import FlowConfig, simulate_seeds
    >>> found = simulate_seeds([0, 1], FlowConfig(T=10, t_end=20.0))
    >>> [round(flow.stage_times[0]) for flow in found.flows]
    [5, 5]
    """
    if workers < 1:
        raise ConfigError(f"--workers {workers} must be at least 1")
    config = validated(FlowConfig, config)
    require_seeds(seeds)
    return SeedsOfFlow(tuple(ensemble([(config, seed) for seed in seeds], workers=workers, progress=progress)))
