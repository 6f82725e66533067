"""How large a model may be: no larger than the weights that are there to fill it, and known before it is built.

A trial is built on torch's meta device, where parameters take no memory, and given up as soon as it has too many parts,
too many bytes or has computed for too long. Counting while it grows needs no knowledge of what families call their
sizes.
"""

from __future__ import annotations

import copy
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules import module as hooks

from headwise.core.errors import ConfigError, CorruptData, HeadwiseError
from headwise.probe.foreign_config import first_line

MODULES_PER_TENSOR, FEWEST_MODULES = 30, 1000
WEIGHTS_OVER, WEIGHTS_MORE = 3, 2**26
"""Bytes of parameters: a multiple of those stored, and some more. What is missing is filled with random numbers by the
library before it is reported, which takes seconds for every hundred megabytes."""
BUFFERS_MORE = 2**30
"""Bytes of tables that a model computes for itself, such as masks and positions."""
SECONDS = 10.0
"""Of the processor; the largest open models take less than two."""


def require_reasonable_size(kind: Any, config: Any, tensors: Mapping[str, Tensor], *, path: Path) -> None:
    """`ConfigError` when the config describes a model that these weights cannot fill by far.

    Weights may be shared, left out of the file when they can be computed, or stored in fewer bytes, so the bound is
    loose; a weight that is really missing is found when the model is filled.
    """
    stored = sum(tensor.numel() * max(tensor.element_size(), 4) for tensor in tensors.values())
    bound = _Bound(
        modules=FEWEST_MODULES + MODULES_PER_TENSOR * len(tensors),
        weights=WEIGHTS_OVER * stored + WEIGHTS_MORE,
        buffers=WEIGHTS_OVER * stored + BUFFERS_MORE,
    )
    try:
        with torch.device("meta"), bound.watching():
            kind(copy.deepcopy(config))
    except TooLarge as error:
        raise ConfigError(
            f"{path}: config.json asks for a model with {error}; its weights have {len(tensors)} tensors and "
            f"{stored / 2**20:.1f} MB, so it is not built"
        ) from None
    except HeadwiseError:
        raise
    except ImportError as error:
        raise ConfigError(f"{path} needs a library that is missing: {first_line(error)}") from error
    except Exception as error:
        raise CorruptData(f"{path}: no model can be built from its config.json: {first_line(error)}") from error


class TooLarge(Exception):
    """The trial went over a bound; says which."""


class _Bound:
    """Counts what is registered in modules of this thread, and stops it."""

    def __init__(self, *, modules: int, weights: int, buffers: int) -> None:
        self.modules, self.weights, self.buffers = modules, weights, buffers
        self.thread = threading.get_ident()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Stop constructors in this block that go too far."""
        with ExitStack() as stack:
            for register, count in (
                (hooks.register_module_module_registration_hook, self._part),
                (hooks.register_module_parameter_registration_hook, self._parameter),
                (hooks.register_module_buffer_registration_hook, self._buffer),
            ):
                stack.callback(register(count).remove)
            stack.enter_context(_processor_time(SECONDS))
            yield

    def _part(self, module: nn.Module, name: str, part: nn.Module | None) -> None:
        if threading.get_ident() == self.thread:
            self.modules -= 1
            if self.modules < 0:
                raise TooLarge("too many parts")

    def _parameter(self, module: nn.Module, name: str, parameter: nn.Parameter | None) -> None:
        if parameter is not None and threading.get_ident() == self.thread:
            self.weights -= parameter.numel() * parameter.element_size()
            if self.weights < 0:
                raise TooLarge("too many parameters")

    def _buffer(self, module: nn.Module, name: str, buffer: Tensor | None) -> None:
        if buffer is not None and threading.get_ident() == self.thread:
            self.buffers -= buffer.numel() * buffer.element_size()
            if self.buffers < 0:
                raise TooLarge("tables of too many numbers")


@contextmanager
def _processor_time(seconds: float) -> Iterator[None]:
    """Raise after this much computing. Signals reach the main thread only; elsewhere the other bounds must do."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "SIGPROF"):
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise TooLarge(f"so many parts that counting them takes more than {seconds:.0f} s")

    before = signal.signal(signal.SIGPROF, stop)
    try:
        # Again every second, for a library that catches what it does not know.
        signal.setitimer(signal.ITIMER_PROF, seconds, 1.0)
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)
