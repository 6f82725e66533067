"""The result of the benchmark as text for a terminal."""

from __future__ import annotations

from typing import Any

from headwise.core.text import text_table, wrap

CONTENDERS = ("plain", "plain_chunked", "plain_pairwise", "reference", "torch", "kernel")


def render(result: dict[str, Any]) -> str:
    """A table of the benchmark for a terminal."""
    lines = [wrap(f"path in use: {result['path']['path']} ({result['path']['why']})"), ""]
    cases = list(result["seconds"])
    times = {name: {case: result["seconds"][case].get(name) for case in cases} for name in CONTENDERS}
    times["floor"] = {case: result["floor"][case] for case in cases}
    rows = [(name.replace("_", " "), *map(_seconds, seconds.values())) for name, seconds in times.items()]
    lines.append(text_table(("seconds", *cases), rows, align="l" + "r" * len(cases)))
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
    return "\n".join(lines).rstrip()


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def _spread(result: dict[str, Any], case: str, path: str) -> str:
    low, high = result["ratio_spread"][case][path]
    return f"{low:.1f} to {high:.1f}"
