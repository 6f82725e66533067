"""What a reproduction needs: entries, readings, seeds, and the runs behind them, each once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from headwise.paper.entry import Claim, Figure
from headwise.paper.scale import Scale
from headwise.study.config import Preset, RunConfig
from headwise.study.cost import estimate_seconds, estimate_wall, readable
from headwise.study.many import missing, with_prerequisites
from headwise.study.run_location import run_location

Pair = tuple[str, Preset]
"""The name of an entry, and a reading."""

USUAL = 3
COSTLY = 1
DRAWS = 5
"""How many seeds where none are asked for: one for variations of the full decoder and for several blocks, which take
hours at paper scale, three for all else, the full decoder itself among it at paper scale, and five for redrawn tasks
there."""

FIRST: dict[Scale, int] = {"quick": 0, "paper": 6}
"""The first seed of runs: those before 6 were seen at paper scale while the tests of claims were being written."""


@dataclass(frozen=True)
class Plan:
    """Entries under some readings at one scale; `seeds` is `None` for the defaults."""

    entries: tuple[Claim | Figure, ...]
    presets: tuple[Preset, ...]
    scale: Scale
    seeds: tuple[int, ...] | None
    out: Path
    everything: bool = False
    """Whether the entries are all there are; of redrawn tasks then only what runs in minutes is part."""
    left_out: frozenset[Pair] = frozenset()
    """What is decided elsewhere, and no part of this plan."""

    def pairs(self) -> Iterator[tuple[Claim | Figure, Preset]]:
        """Every entry under every reading it has."""
        for entry in self.entries:
            for preset in self.presets:
                if preset not in entry.presets or (entry.name, preset) in self.left_out:
                    continue
                if not (self.everything and self._only_when_named(entry, preset)):
                    yield entry, preset

    def _only_when_named(self, entry: Claim | Figure, preset: Preset) -> bool:
        """Restricted contexts, the full decoder and several blocks on redrawn tasks are computed only when named."""
        if preset != "redrawn" or self.seeds is not None:
            return False
        configs = entry.configs(preset, self.scale, 0).values()
        return any(costly(config) or config.measure.windows for config in configs)

    def seeds_of(self, entry: Claim | Figure, preset: Preset) -> tuple[int, ...]:
        """The seeds of one entry; where nothing is trained they begin at 0."""
        if self.seeds is not None:
            return self.seeds
        configs = entry.configs(preset, self.scale, 0).values()
        first = FIRST[self.scale] if configs else 0
        return tuple(range(first, first + self._seed_count(entry, preset)))

    def _seed_count(self, entry: Claim | Figure, preset: Preset) -> int:
        configs = entry.configs(preset, self.scale, 0).values()
        if self.scale == "paper" and preset == "published" and entry.experiments == ("full",):
            return USUAL
        if entry.name == "theorems" or any(costly(config) for config in configs):
            return COSTLY
        return DRAWS if preset == "redrawn" and self.scale == "paper" and configs else USUAL

    def runs(self) -> list[RunConfig]:
        """Every run once, restricted-context models included; first seeds and short runs first."""
        wanted = [
            config
            for entry, preset in self.pairs()
            for seed in self.seeds_of(entry, preset)
            for config in entry.configs(preset, self.scale, seed).values()
        ]
        return sorted(with_prerequisites(wanted), key=lambda config: (config.seed, estimate_seconds(config)))

    def unfinished(self) -> list[RunConfig]:
        """The runs that have not ended yet."""
        return missing(self.runs(), self.out)

    def incomplete(self, unfinished: Sequence[RunConfig]) -> dict[Pair, list[RunConfig]]:
        """Entries that need one of these runs, by name and reading, with what has to run for them."""
        waiting = {run_location(config, self.out) for config in unfinished}

        def left(configs: Iterable[RunConfig]) -> list[RunConfig]:
            return [config for config in configs if run_location(config, self.out) in waiting]

        found: dict[Pair, list[RunConfig]] = {}
        for entry, preset in self.pairs():
            for seed in self.seeds_of(entry, preset):
                if own := left(entry.configs(preset, self.scale, seed).values()):
                    found.setdefault((entry.name, preset), []).extend(left(with_prerequisites(own)))
        return found


def costly(config: RunConfig) -> bool:
    """Whether one run takes minutes at quick scale and hours at paper scale."""
    return config.model.embedding == "learned" or config.model.blocks > 1


def cost(entry: Claim | Figure, scale: Scale, preset: Preset = "published") -> float:
    """Seconds on one thread for one seed of an entry alone; shared runs are counted in each entry that needs them."""
    own = 20.0 if not entry.experiments else 1.0
    return own + sum(
        estimate_seconds(config) for config in with_prerequisites(entry.configs(preset, scale, 0).values())
    )


def describe(plan: Plan, unfinished: Sequence[RunConfig], workers: int) -> str:
    """One line: how many runs, how many are there, how long the rest takes."""
    total = len(plan.runs())
    entries = list(plan.pairs())
    exact = sum(not entry.experiments for entry, _ in entries)
    seconds = estimate_wall(unfinished, workers) + 20.0 * exact
    return (
        f"{len(entries)} {'entry needs' if len(entries) == 1 else 'entries need'} {total} runs: "
        f"{total - len(unfinished)} finished, {len(unfinished)} to compute, about {readable(seconds)} on "
        f"{workers} worker{'s' if workers > 1 else ''}"
    )


def describe_missing(plan: Plan, unfinished: Sequence[RunConfig]) -> list[str]:
    """Lines that name the runs that are missing, seeds together, and what waits for them, the quickest to get first."""
    runs: dict[tuple[str, Preset], list[RunConfig]] = {}
    for config in unfinished:
        runs.setdefault((config.experiment, config.preset), []).append(config)
    lines = [
        f"missing: {name} ({preset}) {_seeds(configs)}, about {readable(estimate_seconds(configs[0]))} of one core"
        f"{' each' if len(configs) > 1 else ''}"
        for (name, preset), configs in runs.items()
    ]
    waiting: dict[tuple[float, str], list[str]] = {}
    for (name, preset), configs in plan.incomplete(unfinished).items():
        seconds = sum(map(estimate_seconds, configs))
        needed = ", ".join(dict.fromkeys(config.experiment for config in configs if config.model.window is None))
        waiting.setdefault((seconds, f"({preset}) for {needed}"), []).append(name)
    for (seconds, needed), names in sorted(waiting.items()):
        verb = "waits" if len(names) == 1 else "wait"
        lines.append(f"{verb}: {', '.join(names)} {needed}, about {readable(seconds)} of one core")
    return lines


def _seeds(configs: Sequence[RunConfig]) -> str:
    return f"seed{'s' if len(configs) > 1 else ''} {', '.join(str(config.seed) for config in configs)}"
