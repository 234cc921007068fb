"""x[...] of graph values, as slices, reshapes and gathers."""
from __future__ import annotations

import operator
from ctypes import byref, c_int32, c_int64
from typing import TYPE_CHECKING, Any, Union

import numpy

from ._building import GraphValue
from ._library import check
from .dims import Dim, ceildiv, maximum, minimum

if TYPE_CHECKING:
    from .graph import Graph
    from .value import Value

_AnyDim = Union[Dim, int]
_AT_MOST = 2  # TAILOR_DIM_AT_MOST


def part(x: Value, index: Any) -> Value:
    """x[index]."""
    entries = [_Entry(entry) for entry in (index if isinstance(index, tuple) else (index,))]
    entries = _for_all_axes(entries, x)
    if any(entry.kind == "positions" for entry in entries):
        _check_positions(entries)
    sizes = iter(x.shape)
    axes = [entry.bound(_Axis(x.graph, next(sizes))) for entry in entries if entry.kind != "new"]
    if any(entry.kind in ("at", "slice") and entry.value != slice(None) for entry in entries):
        steps = [axis.step for axis in axes]
        x = x.slice([axis.start for axis in axes], [axis.size for axis in axes],
                    steps=steps if any(step != 1 for step in steps) else ())
    kept = iter(axis.size for axis in axes)
    shape: list[_AnyDim] = []
    gathers: list[tuple[int, Any]] = []
    for entry in entries:
        size = 1 if entry.kind == "new" else next(kept)
        if entry.kind == "positions":
            gathers.append((len(shape), entry.value))
        if entry.kind != "at":
            shape.append(size)
    if any(entry.kind in ("at", "new") for entry in entries):
        x = x.reshape(shape)
    for axis, positions in gathers:
        x = x.gather(positions, axis=axis)
    return x


class _Entry:
    """One entry of an index. kind: "new" (None), "rest" (...), "slice", "positions" (an array or value), or "at" (one
    position)."""

    def __init__(self, entry: Any) -> None:
        if isinstance(entry, list):
            entry = numpy.asarray(entry, numpy.int64 if not entry else None)
        if isinstance(entry, numpy.ndarray) and entry.ndim == 0:
            entry = entry[()]
        self.value = entry
        if entry is None:
            self.kind = "new"
        elif entry is Ellipsis:
            self.kind = "rest"
        elif isinstance(entry, slice):
            self.kind = "slice"
        elif isinstance(entry, (GraphValue, numpy.ndarray)):
            self.kind = "positions"
            self._check_type(entry)
        elif isinstance(entry, (bool, numpy.bool_)):
            raise _mask()
        elif isinstance(entry, Dim) or hasattr(entry, "__index__"):
            self.kind = "at"
        else:
            raise TypeError(f"an index has {entry!r}: integers, dims, slices, None, ... and lists of positions are "
                            "expected")

    @staticmethod
    def _check_type(entry: Any) -> None:
        name = str(entry.dtype)
        if name == "bool":
            raise _mask()
        if name not in ("i32", "i64", "int32", "int64"):
            raise TypeError(f"positions in an index are {name}: i32 or i64 is expected")

    def bound(self, axis: _Axis) -> _Axis:
        """The part of an axis that the entry takes."""
        if self.kind == "at":
            axis.take(self.value)
        elif self.kind == "slice":
            axis.cut(self.value)
        return axis


class _Axis:
    """An axis of the operand: the part of it that is taken, at first all."""

    def __init__(self, graph: Graph, size: Dim) -> None:
        self._graph, self._whole = graph, _known(graph, size)
        self.start: _AnyDim = 0
        self.size: _AnyDim = self._whole
        self.step = 1

    def take(self, position: Any) -> None:
        """One position."""
        self.start, self.size = position, 1
        if not isinstance(position, Dim):
            number = operator.index(position)
            self.start = number if number >= 0 else self._whole + number
            if isinstance(self._whole, int) and not -self._whole <= number < self._whole:
                raise IndexError(f"index {number} is out of range for a dim size of {self._whole}")

    def cut(self, cut: slice) -> None:
        """A range of positions."""
        self.step = 1 if cut.step is None else operator.index(cut.step)
        if self.step == 0:
            raise ValueError("the step of a slice is 0")
        lowest, highest = (0, self._whole) if self.step > 0 else (-1, self._whole - 1)
        first, last = (lowest, highest) if self.step > 0 else (highest, lowest)
        clamped = not isinstance(cut.start, Dim) and not isinstance(cut.stop, Dim)
        start = first if cut.start is None else self._bound(cut.start, lowest, highest, clamped)
        stop = last if cut.stop is None else self._bound(cut.stop, lowest, highest, clamped)
        length: _AnyDim = stop - start if self.step > 0 else start - stop
        if clamped:
            length = self._at_least(length, 0)
        if abs(self.step) != 1:
            length = -(-length // abs(self.step)) if isinstance(length, int) else ceildiv(length, abs(self.step))
        self.start, self.size = self._at_least(start, 0) if self.step < 0 else start, length

    def _bound(self, bound: Any, lowest: int, highest: _AnyDim, clamped: bool) -> _AnyDim:
        """A bound of a slice; `clamped` to [lowest, highest], as in numpy."""
        if isinstance(bound, Dim):
            return bound
        number = operator.index(bound)
        if not clamped:
            return self._whole + number if number < 0 else number
        if number < 0:
            return self._at_least(self._whole + number, lowest)
        if isinstance(highest, int):
            return min(number, highest)
        return number if self._is_at_most(number, highest) else minimum(number, highest)

    def _at_least(self, dim: _AnyDim, least: int) -> _AnyDim:
        if isinstance(dim, int):
            return max(dim, least)
        return dim if self._is_at_most(least, dim) else maximum(dim, least)

    def _is_at_most(self, lhs: _AnyDim, rhs: _AnyDim) -> bool:
        """Whether lhs <= rhs is proven for every run."""
        graph, result = self._graph, c_int32()
        check(graph._library.tailor_dim_compare(graph._handle, graph._dim(lhs), graph._dim(rhs), _AT_MOST,
                                                byref(result)))
        return result.value == 1


def _known(graph: Graph, dim: Dim) -> _AnyDim:
    """The dim, as an int if it is provably one number."""
    least, most = c_int64(), c_int64()
    check(graph._library.tailor_dim_range(graph._handle, graph._dim(dim), byref(least), byref(most)))
    return least.value if least.value == most.value else dim


def _for_all_axes(entries: list[_Entry], x: Value) -> list[_Entry]:
    """The entries with slices in place of `...`, and for axes that they leave out."""
    rests = [i for i, entry in enumerate(entries) if entry.kind == "rest"]
    if len(rests) > 1:
        raise IndexError("an index has more than one ...")
    used = sum(entry.kind not in ("new", "rest") for entry in entries)
    if used > x.ndim:
        raise IndexError(f"an index for {used} axes of a value with {x.ndim}: {x!r}")
    at = rests[0] if rests else len(entries)
    return entries[:at] + [_Entry(slice(None)) for _ in range(x.ndim - used)] + entries[at + 1:]


def _check_positions(entries: list[_Entry]) -> None:
    kinds = [entry.kind for entry in entries]
    if kinds.count("positions") > 1 or "at" in kinds:
        raise IndexError("a list of positions in an index is the only one, and beside no single position: index twice, "
                         "or use graph.gather")


def _mask() -> TypeError:
    return TypeError("boolean masks are no indices, since the data would set the shape: graph.compact(x, mask) keeps "
                     "rows, graph.nonzero(mask) gives positions, graph.select(mask, x, y) chooses elements")
