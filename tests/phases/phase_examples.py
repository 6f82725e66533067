"""Small trajectories whose stages, offshoots and dips are known by construction."""

from __future__ import annotations

import numpy as np
import xarray as xr

from headwise.core.trajectory import assemble

GROUPS = [[1, 2], [3, 4], [5, 6]]
LAGS = np.arange(1, 13)
BOUNDARIES = (350.0, 650.0)


def ramp(steps: np.ndarray, middle: float, width: float = 40.0) -> np.ndarray:
    """Logistic from 0 to 1."""
    return 1 / (1 + np.exp(-(steps - middle) * 2 * np.log(9) / width))


def three_stage_run(count: int = 101, seed: int | None = None, order: tuple[int, int, int] = (0, 1, 2)) -> xr.Dataset:
    """Three heads on group 1; head `order[1]` leaves for group 2 at 350, head `order[2]` for group 3 at 650.

    The KL to prefix_2 lies below that to prefix_1 from the start, so that the nearest predictor is never prefix_1.
    """
    steps = np.linspace(0, 1000, count)
    second, third = ramp(steps, BOUNDARIES[0]), ramp(steps, BOUNDARIES[1])
    descent = np.exp(-steps / 15)
    loss = 0.09 + 2 * descent + 0.55 * (1 - second) + 0.3 * (1 - third)
    kl = np.stack(
        [
            1.3 + 2 * descent + 0.8 * second + 0.9 * third,
            0.3 + 2 * descent + 0.7 * (1 - second) + 0.4 * third,
            0.08 + 2 * descent + 0.6 * (1 - second) + 0.4 * (1 - third),
        ],
        axis=1,
    )
    shares = np.zeros((count, 3, 3))
    focus = 0.85 * (1 - np.exp(-steps / 30))
    shares[..., 0] = focus[:, None]
    for head, new, moved in ((order[1], 1, second), (order[2], 2, third)):
        shares[:, head, new] = 0.8 * moved
        shares[:, head, 0] = focus * (1 - moved)
    patterns = np.zeros((3, len(LAGS)))
    for k, group in enumerate(GROUPS):
        patterns[k, np.array(group) - 1] = 0.5
    attention = shares @ patterns + (1 - shares.sum(-1, keepdims=True)) / len(LAGS)
    values = np.zeros((count, 3, 3))
    values[..., 0] = 0.4
    values[:, order[1], 1] = 1.2 * second
    values[:, order[2], 2] = 1.5 * third
    bump = np.exp(-0.5 * ((steps - 400) / 40) ** 2)
    values[:, order[0], 1] = -0.3 * bump
    values[:, order[0], 2] = -0.45 * third
    attributes = {"groups": GROUPS, "alpha": [[1.0, 1.0]] * 3} | ({} if seed is None else {"seed": seed})
    return assemble(
        {
            "excess_loss": loss,
            "kl": kl,
            "attention_by_lag": attention[:, None],
            "value_coefficient": values[:, None],
        },
        {"step": steps, "predictor": ["prefix_1", "prefix_2", "prefix_3"], "lag": LAGS},
        attributes,
    )
