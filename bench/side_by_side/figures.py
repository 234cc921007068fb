"""A figure, its target, and the figure that stands for a row."""
from __future__ import annotations  # Python 3.8 reads this file too

import dataclasses
import math
import statistics


class NotMeasured(Exception):
    """A figure cannot be measured here; the message says why."""


@dataclasses.dataclass(frozen=True)
class AtLeast:
    target: float
    sign = ">="

    def margin(self, value):
        """Above 1: better than the target."""
        return value / self.target


@dataclasses.dataclass(frozen=True)
class AtMost:
    target: float
    sign = "<="

    def margin(self, value):
        return self.target / value if value > 0 else math.inf


@dataclasses.dataclass
class Figure:
    """One measured value, or the reason why there is none. `ratio`: the factor by which it is better than the peer."""
    name: str
    value: float | None = None
    unit: str = ""
    bar: AtLeast | AtMost | None = None
    peer: str | None = None
    peer_value: float | None = None
    ratio: float | None = None
    reason: str | None = None  # why `value` is None

    @property
    def met(self):
        """Whether the target is met; None without a target or a value."""
        return None if self.bar is None or self.value is None else self.bar.margin(self.value) >= 1

    def as_json(self):
        target, bound = (None, None) if self.bar is None else (self.bar.target, self.bar.sign)
        return {"name": self.name, "value": self.value, "unit": self.unit, "peer": self.peer,
                "peer_value": self.peer_value, "ratio": self.ratio, "target": target, "bound": bound, "met": self.met,
                "reason": self.reason}


@dataclasses.dataclass(frozen=True)
class Row:
    """`measure(bench)` returns the row's figures, or raises NotMeasured. `alias`: another name for --only."""
    name: str
    title: str
    measure: object
    alias: str | None = None

    @property
    def names(self):
        return [self.name, *([self.alias] if self.alias else [])]


@dataclasses.dataclass
class Outcome:
    """A row and its figures. `failed`: measuring it, or one of its figures, ended with an error, given as `reason`."""
    row: Row
    head: Figure
    parts: list
    failed: bool = False

    @property
    def met(self):
        """Whether all targets of the row are met; None if some have no value and none is missed."""
        judged = [part.met for part in self.parts if part.bar is not None]
        if False in judged:
            return False
        return None if not judged or None in judged else True

    def as_json(self):
        head = {**self.head.as_json(), "title": self.row.title, "met": self.met}
        return [head, *(part.as_json() for part in self.parts)]


def head_of(row, parts):
    """The figure that stands for the row: the one with the least margin to its target."""
    judged = [part for part in parts if part.met is not None]
    if judged:
        return dataclasses.replace(min(judged, key=lambda part: part.bar.margin(part.value)), name=row.name)
    missing = [part for part in parts if part.value is None]
    return dataclasses.replace((missing or parts)[-1], name=row.name)


def measure(row, bench):
    """The outcome of a row, also if measuring it fails: no row is left out."""
    try:
        parts = row.measure(bench)
        return Outcome(row, head_of(row, parts), parts, any((part.reason or "").startswith(FAILED) for part in parts))
    except NotMeasured as reason:
        return Outcome(row, Figure(row.name, reason=f"not measured: {reason}"), [])
    except Exception as error:  # noqa: BLE001 - the other rows are still measured
        return Outcome(row, Figure(row.name, reason=failure(error)), [], failed=True)


FAILED = "failed: "


def failure(error):
    """The reason of a figure whose measurement ended with an error."""
    return f"{FAILED}{type(error).__name__}: {error}"


def percentile(values, percent):
    """The nearest-rank percentile."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]


def geomean(values):
    return math.exp(statistics.fmean(math.log(value) for value in values))
