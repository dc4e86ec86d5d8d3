"""Numbers, intervals and cells in words. Every figure that a reader sees goes through here.

Three significant digits are what a 95 % interval of some tens of trials can carry; counts stay whole.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.model.cells import ParameterValue

COUNT_UNITS = frozenset({"", "1", "count", "counts", "lines", "messages", "rejections", "requests", "sends"})
"""Units that a number needs no word for."""

RATIO = "ratio"
"""The unit of a measured number that is one over another: a whole one is no count."""

DASH = "\N{EN DASH}"
MISSING = "\N{EM DASH}"
NARROW_SPACE = "\N{NARROW NO-BREAK SPACE}"


def number(value: float | None, *, is_count: bool = True) -> str:
    """``0.0132``, ``54.7``, ``1,203``; an em dash for none, a symbol for infinity. One is ``1``, or ``1.00`` if no count."""
    if value is None or math.isnan(value):
        return MISSING
    if math.isinf(value):
        return "\N{INFINITY}" if value > 0 else "\N{MINUS SIGN}\N{INFINITY}"
    if value == 0:
        return "0"
    if abs(value) >= 1000 or (value == int(value) and is_count):
        text = f"{value:,.0f}"
    elif abs(value) < 1e-6:
        text = f"{value:.2e}"
    else:
        value = float(f"{value:.2e}")
        digits = max(0, 2 - math.floor(math.log10(abs(value))))
        text = f"{value:.{digits}f}"
        text = text.rstrip("0").rstrip(".") if "." in text and is_count else text
    return text.replace("-", "\N{MINUS SIGN}")


def is_share(unit: str) -> bool:
    """True for numbers of 0 to 1 that are shown as per cent: ``share``, or a unit such as ``of owners``."""
    return unit == "share" or unit.startswith("of ")


def quantity(value: float | None, unit: str, *, short: bool = False, like: float | None = None) -> str:
    """A number with its unit, such as ``54.7 s``, ``38 % of owners`` or ``12`` (a count).

    ``short`` leaves out what a per cent is of, and any unit of more than one word. It is told in the scale of ``like``, the
    number that it stands beside, if there is one.
    """
    if value is None or math.isnan(value):
        return MISSING
    if is_share(unit):
        of = "" if short or unit == "share" else f" {unit}"
        return f"{number(value * 100)}{NARROW_SPACE}%{of}"
    if unit in COUNT_UNITS or unit == RATIO or (short and " " in unit):
        return number(value, is_count=unit != RATIO)
    scale, unit = _scale(value if like is None else like, unit)
    return f"{number(value * scale)}{NARROW_SPACE}{unit}"


def _scale(value: float, unit: str) -> tuple[float, str]:
    """Seconds below a millisecond are told in milliseconds."""
    return (1000.0, "ms") if unit == "s" and 0 < abs(value) < 0.001 else (1.0, unit)


def interval(low: float | None, high: float | None, unit: str, *, like: float | None = None) -> str:
    """``54.1-55.2 s`` with an en dash; an open upper end reads ``at least 54.1 s``; empty when there is none.

    It is told in the scale of ``like``, the estimate that it stands beside, else in that of its upper end.
    """
    if low is None and high is None:
        return ""
    if high is None or math.isinf(high):
        return f"at least {quantity(low, unit, short=True)}" if low is not None and not math.isinf(low) else ""
    if low is None or math.isinf(low):
        return f"at most {quantity(high, unit, short=True)}"
    like = high if like is None else like
    scale = 100.0 if is_share(unit) else _scale(like, unit)[0]
    to = DASH if low >= 0 else " to "
    return f"{number(low * scale, is_count=unit != RATIO)}{to}{quantity(high, unit, short=True, like=like)}"


def estimate(value: float | None, low: float | None, high: float | None, unit: str) -> str:
    """``54.7 s (54.1-55.2 s)``; where too much was censored for an estimate only the bound."""
    within = interval(low, high, unit)
    if value is None or math.isnan(value) or math.isinf(value):
        return within or MISSING
    return f"{quantity(value, unit)} ({within})" if within else quantity(value, unit)


def parameter(name: str, value: ParameterValue) -> str:
    """``stall_ms=450`` as ``stall 450 ms``: the unit is the last word of a parameter's name."""
    for suffix, unit in (("_ms", "ms"), ("_s", "s"), ("_hz", "/s"), ("_bytes", "bytes")):
        if name.endswith(suffix) and isinstance(value, int | float):
            return f"{name.removesuffix(suffix).replace('_', ' ')} {quantity(value, unit)}"
    shown = number(value) if isinstance(value, int | float) else value
    return f"{name.replace('_', ' ')} {shown}"


def cell_label(params: Mapping[str, ParameterValue]) -> str:
    """The cell's parameters in words, stable in their order; empty for the one cell of an arm without parameters."""
    return ", ".join(parameter(name, params[name]) for name in sorted(params, key=_parameter_order))


def cell_key(params: Mapping[str, ParameterValue]) -> tuple[tuple[object, ...], ...]:
    """Sorts cells by the values of their parameters: a stall of 700 ms before one of 1200 ms."""
    return tuple(
        (*_parameter_order(name), isinstance(value, str), value)
        for name, value in sorted(params.items(), key=lambda item: _parameter_order(item[0]))
    )


def _parameter_order(name: str) -> tuple[int, str]:
    # The length of a stall is what a reader looks for first; a rate is the background that it meets.
    return (0 if name == "stall_ms" else 2 if name.endswith("_hz") else 1, name)


def shortened(text: str, length_max: int = 110) -> str:
    """``text`` on one line and cut at a word, with an ellipsis where something was left out."""
    line = " ".join(text.split())
    if len(line) <= length_max:
        return line
    cut = line[: length_max - 1]
    return f"{cut.rsplit(' ', 1)[0] if ' ' in cut else cut}\N{HORIZONTAL ELLIPSIS}"


@dataclass(frozen=True, kw_only=True)
class Quantiles:
    """Quantiles of values of which some are only known as "at least".

    A quantile is None where it falls among the censored values: it is then known to lie above them only. All fields
    are in the unit of the values; ``n`` counts all values, ``censored`` those that are lower bounds.
    """

    n: int
    censored: int
    min: float | None
    p25: float | None
    p50: float | None
    p75: float | None
    p90: float | None
    max: float | None
    mean: float | None


def quantiles(values: Sequence[float], censored: Sequence[bool]) -> Quantiles:
    """Nearest-rank quantiles with censored values as unbounded above, as the analysis treats them.

    A median is thus known while at least half of the values are; ``max`` and ``mean`` only when nothing is censored.
    """
    observed = sorted(value for value, flag in zip(values, censored, strict=True) if not flag)
    count = len(values)
    lost = count - len(observed)

    def rank(share: float) -> float | None:
        position = max(0, math.ceil(share * count) - 1)
        return observed[position] if position < len(observed) else None

    return Quantiles(
        n=count,
        censored=lost,
        min=rank(0.0),
        p25=rank(0.25),
        p50=rank(0.5),
        p75=rank(0.75),
        p90=rank(0.9),
        max=observed[-1] if observed and not lost else None,
        mean=sum(observed) / len(observed) if observed and not lost else None,
    )


_CONTROL = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)


def printable(text: str) -> str:
    """``text`` with control characters written out as ``\\x1b``: a remark must not steer a terminal or break XML.

    Tab, line feed and carriage return stay. What ends a line or changes the direction of writing is written out, too, and so are
    lone surrogates and the two non-characters.
    """
    return _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


def rounded(value: float) -> float:
    """The number with six significant digits: what is drawn needs no more."""
    return float(f"{value:.6g}")


def finite(value: object) -> object:
    """The same value for JSON, which has no infinity: numbers that it does not have are null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return value
