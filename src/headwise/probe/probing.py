"""One look at a model: its attention on a fixed batch, as trajectory variables.

The layout (blocks, heads, lags) is that of the first look; a model that changes it later is an error. Groups are not
known here: `headwise.phases` finds the patterns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from headwise.baselines.predictors import NAMES
from headwise.core.errors import ConfigError
from headwise.core.head_counts import counted_heads, counts_attribute, stack_heads
from headwise.core.trajectory import check_record, head_overlap
from headwise.measure.ablations import Cadence, ImportanceOf, check_importance
from headwise.phases.importance import CANNOT
from headwise.probe.adapter import Adapter, Batch
from headwise.probe.adapters import find_adapter
from headwise.probe.block_sums import PLACES, BlockSums
from headwise.probe.example_maps import ExampleMaps, chosen_rows
from headwise.probe.importance import HeadImportance
from headwise.probe.look_loss import LossValue
from headwise.probe.observers import LayerSums, LossAlone, RoleAlone, token_ids
from headwise.probe.predictor_distances import PredictorDistances
from headwise.probe.repeated import repeated_batch
from headwise.probe.restored_state import state_restored
from headwise.probe.role_sums import RoleSums
from headwise.probe.roles import all_roles
from headwise.probe.roles.induction import ROLE as INDUCTION
from headwise.probe.sequences import as_batch, on_device, passes
from headwise.probe.torch_model import device_of, failures_explained, require_weights, unwrapped
from headwise.probe.witnesses import judge

Induction = Literal["on", "off"]

REPEATED, LONGEST_REPEATED = 8, 64
"""Repeated sequences that the second witness of induction is the mean over, and how long they are at most."""


@dataclass(frozen=True)
class Layout:
    """What was seen: which adapter, which layers in order, how many heads each, which lags are kept."""

    adapter: str
    model: str
    layers: tuple[str, ...]
    heads_by_layer: tuple[int, ...]
    lags: tuple[int, ...]

    @property
    def heads(self) -> int:
        """Heads of the layer that has most."""
        return max(self.heads_by_layer)

    def __str__(self) -> str:
        ahead = f" and {-self.lags[0] + 1} ahead" if self.lags[0] < 1 else ""
        return (
            f"{self.model} ({self.adapter}): {counted_heads(self.heads_by_layer, block='layer')}, "
            f"lags up to {self.lags[-1]}{ahead}"
        )


class Probe:
    """A batch to show and what to keep of the answer; the model is given to each look."""

    def __init__(
        self,
        tokens: Any,
        *,
        queries: int | None = None,
        lags: int = 64,
        induction: Induction = "on",
        classes: Mapping[str, Sequence[int]] | None = None,
        corpus: Any = None,
        examples: int | Sequence[int] = 2,
        decode: Any = None,
        importance: Cadence | None = None,
        importance_of: ImportanceOf = "heads",
        adapter: Adapter | None = None,
        say: Callable[[str], None] = lambda text: None,
    ) -> None:
        """`say` is told once, before it is measured, what head importance costs."""
        for name, count in (("lags", lags), ("queries", queries)):
            if count is None and name != "lags":
                continue
            if not isinstance(count, int | np.integer) or isinstance(count, bool) or count < 1:
                raise ConfigError(f"{name} = {count!r} must be a whole number of at least 1")
        if induction not in get_args(Induction):
            raise ConfigError(f"induction = {induction!r} must be 'on' or 'off'")
        check_importance(importance, importance_of)
        self.batch = as_batch(tokens)
        self.queries = None if queries is None else int(queries)
        self.lags, self.induction, self.adapter = int(lags), induction, adapter
        self.roles = all_roles(classes)
        self.distances = None if corpus is None else PredictorDistances(corpus, self.batch, queries=queries)
        rows = chosen_rows(examples, self.batch)
        self.examples = ExampleMaps(self.batch, rows, decode=decode) if rows else None
        self.example_maps: np.ndarray | None = None
        self.importance = None if importance is None else HeadImportance(importance, of=importance_of, queries=queries)
        self.layout: Layout | None = None
        self.loss: LossValue | None = None
        self._repeated_length = min(self.batch.tokens.shape[1], LONGEST_REPEATED)
        self._role_queries: dict[str, int] = {}
        self._say, self._ahead = say, False
        self.notes: list[str] = []
        self.left_out: list[str] = []

    def look(self, model: Any, *, importance: Literal["now", "not now"] = "not now") -> dict[str, np.ndarray]:
        """Variables of one record, without their `step` dimension. The model is left as it was.

        `importance`: whether head importance, where it is asked for at all, is measured at this look.
        """
        model = unwrapped(model)
        require_weights(model)
        adapter = self.adapter or find_adapter(model)
        batch = on_device(self.batch, device_of(model))
        if self.distances is not None:
            self.distances.begin()
        if self.examples is not None:
            self.examples.begin()
        sums = LayerSums(
            model,
            queries=self.queries,
            lags=self.lags,
            roles=self.roles,
            sequences=batch.tokens.shape[0],
            distances=self.distances,
            examples=self.examples,
        )
        with state_restored(model), failures_explained(model, batch):
            for part in passes(batch):
                sums.begin(part)
                adapter.show(model, part, sums)
            induction = self._induction(adapter, model, batch, sums)
        for text in sums.notes:
            self._note_left_out(text)
        if not sums.blocks:
            raise ConfigError(f"no attention was seen: {adapter.advice(model)}")
        self.loss = sums.loss.value()
        self.example_maps = None if self.examples is None else self.examples.take()
        record = self._record(sums, induction, adapter=adapter.name, model=type(model).__name__)
        self._ahead = sums.ahead
        return record | self._predictor_distances(ahead=sums.ahead) | self.head_importance(model, importance=importance)

    def head_importance(self, model: Any, *, importance: Literal["now", "not now"] = "now") -> dict[str, np.ndarray]:
        """Variables of head importance alone, for the model of the last look; none where it is not asked for."""
        if self.importance is None:
            return {}
        model, layout = unwrapped(model), self._known()
        cost = self.importance.first_cost(heads=layout.heads_by_layer)
        if cost is not None:
            self._say(cost)
        with state_restored(model):
            found = self.importance.record(
                self.adapter or find_adapter(model),
                model,
                on_device(self.batch, device_of(model)),
                heads=layout.heads_by_layer,
                ahead=self._ahead,
                now=importance == "now",
            )
        if self.importance.problem is not None:
            self._note_left_out(f"{CANNOT}{self.importance.problem}")
        check_record(found)
        return found

    def batch_loss(self, model: Any, batch: Batch) -> LossValue | None:
        """The loss on another batch, as a look takes it on its own; `None` where it cannot be had."""
        model = unwrapped(model)
        adapter = self.adapter or find_adapter(model)
        alone = LossAlone(model, ahead=self._known().lags[0] < 1)
        with state_restored(model), failures_explained(model, batch):
            for part in passes(on_device(batch, device_of(model))):
                alone.begin(part)
                adapter.show(model, part, alone)
        return alone.loss.value()

    def coordinates(self) -> dict[str, list[int] | list[str]]:
        """Labels of the dimensions that do not simply count."""
        roles = [role.name for role in self.roles]
        predictors = {} if self.distances is None else {"predictor": list(NAMES)}
        examples = {} if self.example_maps is None or self.examples is None else self.examples.coordinates()
        known: dict[str, list[int] | list[str]] = {
            "lag": list(self._known().lags),
            "place": list(PLACES),
            "role": roles,
            "split": ["look"],
        }
        return {**known, **predictors, **examples}

    def attributes(self) -> dict[str, object]:
        """What a trajectory says about its origin."""
        layout = self._known()
        return {
            "source": "probe",
            "adapter": layout.adapter,
            "model": layout.model,
            "layers": list(layout.layers),
            **counts_attribute(layout.heads_by_layer),
            "notes": list(self.notes),
            "shown": self._shown(),
            "role_queries": dict(self._role_queries),
            **({} if self.distances is None else self.distances.attributes()),
            **({} if self.example_maps is None or self.examples is None else self.examples.attributes()),
        }

    def _shown(self) -> dict[str, int]:
        """How much was shown: what a report needs to say what it cannot see."""
        sequences, positions = self.batch.tokens.shape[:2]
        tokens = token_ids(self.batch)
        different = {} if tokens is None else {"different_tokens": len(np.unique(tokens.cpu().numpy()))}
        return {"sequences": sequences, "positions": positions, **different}

    def _known(self) -> Layout:
        if self.layout is None:
            raise ConfigError("nothing has been probed yet; take a first look at the model")
        return self.layout

    def _induction(self, adapter: Adapter, model: Any, batch: Batch, sums: LayerSums) -> list[RoleSums] | None:
        """Induction on repeats of varied period; a model that takes no shorter sequences is shown its own length."""
        if self.induction == "off" or not sums.blocks:
            return None
        drawn = repeated_batch(batch, count=REPEATED, length=self._repeated_length)
        if drawn is None:
            self._note(
                "no induction score on repeats: it needs at least 6 token ids in a sequence, two of them different, "
                "and two sequences where a mask belongs to them"
            )
            return None
        scores = RoleAlone(INDUCTION, drawn)
        try:
            adapter.show(model, drawn, scores)
        except Exception:  # what a model's own code raises for another length is open-ended
            if self._repeated_length == batch.tokens.shape[1]:
                raise
            self._repeated_length = batch.tokens.shape[1]
            return self._induction(adapter, model, batch, sums)
        return scores.layers

    def _record(
        self, sums: LayerSums, repeats: list[RoleSums] | None, *, adapter: str, model: str
    ) -> dict[str, np.ndarray]:
        blocks = sums.blocks
        _require_one_length(blocks)
        shares = stack_heads([block.by_lag() for block in blocks])
        lags = blocks[0].lags
        heads = tuple(block.heads for block in blocks)
        if self.layout is None:
            kept = self._kept(shares, lags)
            self.layout = Layout(adapter, model, tuple(block.name for block in blocks), heads, kept)
        elif heads != self.layout.heads_by_layer:
            raise ConfigError(
                f"the model now has {counted_heads(heads, block='layer')}; the first look saw {self.layout}; "
                "a model whose heads are pruned in training is watched anew after that"
            )
        column = {int(lag): i for i, lag in enumerate(lags)}
        if self.layout.lags[0] == 1 and float(np.nan_to_num(shares[..., lags < 1]).sum()) > 0:
            raise ConfigError(
                "the model looks ahead now, which it did not at the first look; probe it as another model"
            )
        places = stack_heads([block.places() for block in blocks])
        scored = np.full((*places.shape[:2], 1), np.nan)
        if repeats is not None:
            scored = stack_heads([layer.score() for layer in repeats])
        chance = sums.lag_chance()[:, [column[lag] for lag in self.layout.lags]]
        record = {
            "attention_by_lag": shares[..., [column[lag] for lag in self.layout.lags]],
            "attention_entropy": stack_heads([block.entropy() for block in blocks]),
            "attention_concentration": (shares**2).sum(-1),
            "attention_on": np.concatenate([places, scored], axis=-1),
            "head_overlap": head_overlap(shares),
            "lag_chance": chance[0],
            "lag_chance_by_block": chance,
            "lag_error": stack_heads([block.lag_error.of(self.layout.lags) for block in blocks]),
            **self._role_variables(sums, repeats),
        }
        alignments = [alignment for block in blocks if (alignment := block.write_alignment()) is not None]
        if len(alignments) == len(blocks):
            record["write_alignment"] = stack_heads(alignments, head_axes=(0, 1))
        else:
            self._note("what heads write is not known for every layer; write_alignment is left out")
        check_record(record)
        return record

    def _predictor_distances(self, *, ahead: bool) -> dict[str, np.ndarray]:
        """Distances to n-gram predictors, where a corpus was given; why not, where there are none."""
        if self.distances is None:
            return {}
        found = self.distances.record()
        if not found:
            reason = "it looks ahead, so it does not predict the next token" if ahead else "its output has no logits"
            text = f"predictors: the model cannot be compared with n-gram predictors: {reason}"
            self._note_left_out(text)
        for text in self.distances.notes:
            self._note(text)
        check_record(found)
        return found

    def _role_variables(self, sums: LayerSums, repeats: list[RoleSums] | None) -> dict[str, np.ndarray]:
        """Every role by its own measure, but induction, of which there are two witnesses."""
        names = [role.name for role in self.roles]
        rows = [block.roles for block in sums.blocks]
        self._role_queries = {name: int(n) for name, n in zip(names, rows[0].count, strict=True)}
        score, chance = stack_heads([row.score() for row in rows]), stack_heads([row.chance() for row in rows])
        fold = stack_heads([row.by_fold() for row in rows], head_axes=(1,), axis=1)
        at = names.index(INDUCTION.name)
        for block, row in enumerate(rows):
            second = None if repeats is None else repeats[block]
            found, own = judge(row, at, second), slice(sums.blocks[block].heads)
            score[block, own, at], chance[block, own, at] = found.score, found.chance
            fold[:, block, own, at] = found.by_fold
        return {"role_score": score, "role_chance": chance, "role_fold": fold.astype(np.float32)}

    def _kept(self, shares: np.ndarray, lags: np.ndarray) -> tuple[int, ...]:
        """Lags 1 to `self.lags`; for a model that looks ahead as many on the other side of the query's own token."""
        ahead = float(np.nan_to_num(shares[..., lags < 1]).sum()) > 0
        furthest = min(self.lags, int(lags[-1]))
        return tuple(range(2 - furthest if ahead else 1, furthest + 1))

    def _note_left_out(self, text: str) -> None:
        """A note on something that was asked for and is not there: a watch warns of it."""
        self._note(text)
        if text not in self.left_out:
            self.left_out.append(text)

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)


def _require_one_length(blocks: list[BlockSums]) -> None:
    other = next((block for block in blocks if block.keys != blocks[0].keys), None)
    if other is not None:
        raise ConfigError(
            f"{other.name} attends over {other.keys} positions, {blocks[0].name} over {blocks[0].keys}; "
            "layers that see other sequences cannot be compared: watch the parts of the model separately"
        )
