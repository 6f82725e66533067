"""The result of the benchmark as text for a terminal."""

from __future__ import annotations

from typing import Any

from headwise.bench.study_speed import sentence
from headwise.core.text import text_table, wrap

HEADINGS = {"plain": "plain", "plain_chunked": "chunks", "reference": "reference", "torch": "torch", "kernel": "kernel"}


def render(result: dict[str, Any]) -> str:
    """A table of the benchmark for a terminal."""
    lines = [wrap(f"path in use: {result['path']['path']} ({result['path']['why']})"), ""]
    lines += [wrap(sentence(name, found), hanging="  ") for name, found in result.get("study", {}).items()]
    if not result["seconds"]:
        return "\n".join(lines)
    rows = [
        (case, *(_seconds(seconds.get(name)) for name in HEADINGS), _seconds(result["floor"][case]))
        for case, seconds in result["seconds"].items()
    ]
    lines.append(text_table(("seconds", *HEADINGS.values(), "floor"), rows, align="l" + "r" * (len(HEADINGS) + 1)))
    chunked = result["ratio_chunked"]
    rows = [
        (f"{case} {path}", f"{value:.1f}", _spread(result, case, path), f"{chunked[case][path]:.1f}")
        for case, ratios in result["ratio"].items()
        for path, value in ratios.items()
    ]
    columns = ("times faster", "than plain", "range", "than plain in chunks")
    lines += ["", text_table(columns, rows, align="lrrr"), ""]
    for case, errors in result["grad_error"].items():
        shown = ", ".join(f"{path} {error:.1e}" for path, error in errors.items() if path != "relu_flips")
        flips = f"{errors['relu_flips']} ReLU units flipped by rounding"
        lines.append(wrap(f"gradient error, {case}: {shown}; {flips}", hanging="  "))
    for case, peaks in result["memory"].items():
        shown = ", ".join(f"{path} {peak:.2f} GB" for path, peak in peaks.items())
        lines.append(wrap(f"peak memory, {case}: {shown}", hanging="  "))
    for quantity, found in result["growth"].items():
        lines.append(
            f"time grows with {quantity} to the power {found['exponent']:.2f}, "
            f"operations to the power {found['operations_exponent']:.2f}"
        )
    for case, found in result.get("ratio_peers", {}).items():
        if found:
            shown = ", ".join(f"{value:.1f} times {peer.replace('_', ' ')}" for peer, value in found.items())
            lines.append(wrap(f"{case}: {shown}", hanging="  "))
    if result.get("auto"):
        lines += ["", f"auto takes at most {result['auto']['worst']:.2f} times the best of the other ways"]
    return "\n".join(lines).rstrip()


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _spread(result: dict[str, Any], case: str, path: str) -> str:
    low, high = result["ratio_spread"][case][path]
    return f"{low:.1f} to {high:.1f}"
