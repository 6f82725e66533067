"""The fastest path on a CPU: the whole decoder, forward and backward, in the compiled kernel.

What the first block's attention reads is decided anew for every batch, by its sizes alone (`plan`).
"""

from __future__ import annotations

import numpy as np
from torch import Tensor

from headwise.model.decoder import Decoder
from headwise.model.engine import AttentionSummary, Visit
from headwise.model.folded_blocks import Source
from headwise.model.handled import require_handled
from headwise.model.one_block_engine import OneBlockEngine
from headwise.model.plan import Plan, for_one_block, plan
from headwise.model.stack_engine import StackEngine
from headwise.model.tables import Output


class KernelEngine:
    """Runs a float32 decoder that the fast paths handle (`handled`), on the CPU.

    `source` and `output` fix what is otherwise planned; a source that only a training step can have leaves
    evaluations to the plan.
    """

    name = "kernel"

    def __init__(
        self,
        decoder: Decoder,
        *,
        dropout_seed: int,
        chunk: int,
        threads: int = 1,
        source: Source | None = None,
        output: Output | None = None,
    ) -> None:
        require_handled(decoder.config)
        self.decoder, self.dropout_seed, self.chunk, self.threads = decoder, dropout_seed, chunk, threads
        self.source, self.output = source, output
        self.seconds: np.ndarray | None = None
        """Set to zeros of `kernel.STAGES`: training steps on one thread then add up where their time goes."""
        self._engines: dict[Plan, OneBlockEngine | StackEngine] = {}

    def loss_and_gradients(self, inputs: Tensor, targets: Tensor, *, step: int) -> float:
        planned = self.planned(batch=inputs.shape[0], queries=targets.shape[1], training=True)
        engine = self._engine(planned)
        engine.seconds = self.seconds
        return engine.loss_and_gradients(inputs, targets, step=step)

    def evaluate(self, inputs: Tensor, *, counted: int, visit: Visit) -> AttentionSummary:
        planned = self.planned(batch=inputs.shape[0], queries=counted, training=False)
        return self._engine(planned).evaluate(inputs, counted=counted, visit=visit)

    def planned(self, *, batch: int, queries: int, training: bool) -> Plan:
        """How a batch of these sizes is computed."""
        return plan(
            self.decoder,
            batch=batch,
            queries=queries,
            chunk=self.chunk,
            training=training,
            source=self.source,
            output=self.output,
        )

    def _engine(self, planned: Plan) -> OneBlockEngine | StackEngine:
        found = self._engines.get(planned)
        if found is None:
            found = self._engines[planned] = self._new(planned)
        return found

    def _new(self, planned: Plan) -> OneBlockEngine | StackEngine:
        if for_one_block(self.decoder.config, planned.source):
            return OneBlockEngine(
                self.decoder,
                dropout_seed=self.dropout_seed,
                chunk=self.chunk,
                threads=self.threads,
                output=planned.output,
            )
        return StackEngine(
            self.decoder,
            dropout_seed=self.dropout_seed,
            chunk=self.chunk,
            threads=self.threads,
            source=planned.source,
            output=planned.output,
        )
