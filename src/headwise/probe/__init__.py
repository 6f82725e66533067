"""The same records and the same phase report for anybody's transformer, live or from a folder of checkpoints."""

from headwise.probe.adapter import Adapter, Batch, HeadWrites, Layer, Observer
from headwise.probe.live import Watch, watch

__all__ = ["Adapter", "Batch", "HeadWrites", "Layer", "Observer", "Watch", "watch"]
