"""Numbers with as many digits as their interval allows: a digit that other seeds change says nothing."""

from __future__ import annotations

import math

FEW = 2
"""Significant digits of a number without an interval."""

SMALL, LARGE = 1e-3, 1e6
"""Numbers between these are written out, others with a power of ten."""

APART = 10.0
"""Ends of an interval with a larger ratio are orders of magnitude apart."""


def decimals(low: float, high: float) -> int | None:
    """The last decimal place that an interval determines, negative for tens and more; `None` where it has no width.

    It is that of the first digit of half its width, and one more where this digit is 1 and rounding would be coarse.

    >>> decimals(0.33, 0.46), decimals(0.2575, 0.2970), decimals(310.0, 470.0)
    (2, 3, -1)
    """
    half = (high - low) / 2
    if not 0 < half < math.inf:
        return None
    exponent = math.floor(math.log10(half))
    return -exponent + (half / 10.0**exponent < 2)


def rounded(value: float, places: int | None = None) -> str:
    """A number to a decimal place, or to a few significant digits without one; a small count stays a count.

    >>> rounded(0.3882, 2), rounded(346.2, -1), rounded(1.42e-14), rounded(1234.5), rounded(0.0), rounded(5.0)
    ('0.39', '350', '1.4e-14', '1200', '0', '5')
    """
    if not math.isfinite(value):
        return str(value)
    if value == 0:
        return "0" if places is None or places <= 0 else f"{0:.{places}f}"
    exponent = math.floor(math.log10(abs(value)))
    if places is None and value == int(value) and abs(value) < 10**FEW:
        return str(int(value))
    if places is None:
        places = FEW - 1 - exponent
    if SMALL <= abs(value) < LARGE or places < -exponent:
        return f"{round(value, places) + 0.0:.{max(places, 0)}f}"
    mantissa, _, power = f"{value:.{min(max(places + exponent, 0), FEW)}e}".partition("e")
    return f"{mantissa}e{int(power)}"


def with_interval(value: float, interval: tuple[float, float] | None) -> str:
    """A measured number, and where several seeds differ the interval behind it, all to the same place.

    Ends that are orders of magnitude apart have no common place; each is written for itself.

    >>> with_interval(0.38818, (0.33011, 0.45644)), with_interval(0.38818, None)
    ('0.39 (0.33 to 0.46)', '0.39')
    """
    places = None if interval is None else decimals(*interval)
    if interval is None or places is None:
        return rounded(value)
    ends = sorted(abs(end) for end in interval)
    if interval[0] * interval[1] > 0 and ends[1] > APART * ends[0]:
        places = None
    return f"{rounded(value, places)} ({rounded(interval[0], places)} to {rounded(interval[1], places)})"
