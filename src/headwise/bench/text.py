"""The result of the benchmark as text for a terminal."""

from __future__ import annotations

from typing import Any


def render(result: dict[str, Any]) -> str:
    """A table of the benchmark for a terminal."""
    lines = [f"path in use: {result['path']['path']} ({result['path']['why']})", ""]
    names = ["plain", "plain_chunked", "plain_pairwise", "reference", "torch", "kernel"]
    lines.append(f"{'seconds':24}" + "".join(f"{name:>15}" for name in names) + f"{'floor':>10}")
    for case, seconds in result["seconds"].items():
        cells = "".join(f"{seconds[n]:15.4f}" if n in seconds else f"{'-':>15}" for n in names)
        lines.append(f"{case:24}{cells}{result['floor'][case]:10.4f}")
    lines += ["", f"{'times faster than':24}{'plain':>12}{'range':>18}{'in chunks':>12}"]
    for case, ratios in result["ratio"].items():
        for path, value in ratios.items():
            low, high = result["ratio_spread"][case][path]
            chunked = result["ratio_chunked"][case][path]
            lines.append(f"{case + ' ' + path:32}{value:8.1f}{low:10.1f} to{high:6.1f}{chunked:12.1f}")
    for case, errors in result["grad_error"].items():
        shown = ", ".join(f"{path} {error:.1e}" for path, error in errors.items() if path != "relu_flips")
        lines.append(f"gradient error, {case}: {shown}; {errors['relu_flips']} ReLU units flipped by rounding")
    for case, peaks in result["memory"].items():
        lines.append(f"peak memory, {case}: " + ", ".join(f"{path} {peak:.2f} GB" for path, peak in peaks.items()))
    for quantity, found in result["growth"].items():
        lines.append(
            f"time grows with {quantity} to the power {found['exponent']:.2f}, "
            f"operations to the power {found['operations_exponent']:.2f}"
        )
    return "\n".join(lines)
