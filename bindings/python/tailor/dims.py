"""Dims: expressions over named symbols. They belong to no graph until one uses them."""
from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import TYPE_CHECKING, SupportsIndex, Union

if TYPE_CHECKING:
    from .graph import Graph

_Number = Union["Dim", SupportsIndex]


class Dim:
    """A dim: `symbol("S") * 4 + 1`. Operators +, -, *, // and % take dims and integers.

    == compares Dim objects. A dim has no truth value, except a dim of a value's shape that is a number."""

    def __add__(self, other: _Number) -> Expression:
        return _expression("add", self, other)

    def __radd__(self, other: _Number) -> Expression:
        return _expression("add", other, self)

    def __sub__(self, other: _Number) -> Expression:
        return _expression("sub", self, other)

    def __rsub__(self, other: _Number) -> Expression:
        return _expression("sub", other, self)

    def __mul__(self, other: _Number) -> Expression:
        return _expression("mul", self, other)

    def __rmul__(self, other: _Number) -> Expression:
        return _expression("mul", other, self)

    def __floordiv__(self, other: _Number) -> Expression:
        return _expression("floordiv", self, other)

    def __rfloordiv__(self, other: _Number) -> Expression:
        return _expression("floordiv", other, self)

    def __mod__(self, other: _Number) -> Expression:
        return _expression("mod", self, other)

    def __rmod__(self, other: _Number) -> Expression:
        return _expression("mod", other, self)

    def __bool__(self) -> bool:
        raise TypeError(f"whether {self!r} is 0 is known when a program runs, not while its graph is built: use "
                        "tailor.minimum or tailor.maximum, or graph.if_ on a value")


class Symbol(Dim):
    """A named dim size and the facts known of it."""

    def __init__(self, name: str, min: int, max: int, multiple_of: int, likely: Iterable[int]) -> None:
        self.name, self.min, self.max, self.multiple_of, self.likely = name, min, max, multiple_of, tuple(likely)

    def __repr__(self) -> str:
        return self.name


class Expression(Dim):
    """An operation on dims and integers."""

    def __init__(self, operation: str, *operands: Dim | int) -> None:
        self.operation, self.operands = operation, operands

    def __repr__(self) -> str:
        return f"{self.operation}({', '.join(map(repr, self.operands))})"


def names_of(dim: object) -> set[str]:
    """The names of the symbols in a dim that belongs to no graph."""
    if isinstance(dim, Expression):
        return {name for operand in dim.operands for name in names_of(operand)}
    return {dim.name} if isinstance(dim, Symbol) else set()


class GraphDim(Dim):
    """A dim of the shape of a graph's value."""

    def __init__(self, graph: Graph, handle: int) -> None:
        self.graph, self.handle = graph, handle

    def __repr__(self) -> str:
        return self.graph.dim_text(self)

    def __bool__(self) -> bool:
        text = repr(self)
        return int(text) != 0 if text.removeprefix("-").isdecimal() else super().__bool__()


def _expression(operation: str, *operands: _Number) -> Expression:
    for operand in operands:
        if not isinstance(operand, Dim) and not hasattr(operand, "__index__"):
            return NotImplemented  # type: ignore[no-any-return]
    return Expression(operation, *(each if isinstance(each, Dim) else operator.index(each) for each in operands))


def symbol(name: str, *, min: int = 0, max: int = 2**31 - 1, multiple_of: int = 1, likely: Iterable[int] = ()) -> Symbol:
    """A named dim size in [min, max] that is a multiple of `multiple_of`; every run checks that.

    Kernels that reduce rows of `likely` lengths get code of their own; results never depend on them. A graph that uses the symbol refuses a range
    without a multiple, and likely values that are out of range or no multiples."""
    return Symbol(name, min, max, multiple_of, likely)


def _function(operation: str, *operands: _Number) -> Expression:
    made = _expression(operation, *operands)
    if isinstance(made, Expression):
        return made
    given = ", ".join(type(each).__name__ for each in operands)
    raise TypeError(f"{operation} takes dims and integers, not {given}")


def minimum(lhs: _Number, rhs: _Number) -> Expression:
    """The smaller of two dims."""
    return _function("min", lhs, rhs)


def maximum(lhs: _Number, rhs: _Number) -> Expression:
    """The larger of two dims."""
    return _function("max", lhs, rhs)


def ceildiv(lhs: _Number, rhs: _Number) -> Expression:
    """The quotient of two dims, rounded up."""
    return _function("ceildiv", lhs, rhs)


def truncdiv(lhs: _Number, rhs: _Number) -> Expression:
    """The quotient of two dims, rounded towards 0."""
    return _function("truncdiv", lhs, rhs)


def truncmod(lhs: _Number, rhs: _Number) -> Expression:
    """The remainder of truncdiv; it has the sign of `lhs`."""
    return _function("truncmod", lhs, rhs)


def less(lhs: _Number, rhs: _Number) -> Expression:
    """1 if lhs < rhs, else 0."""
    return _function("less", lhs, rhs)


def equal(lhs: _Number, rhs: _Number) -> Expression:
    """1 if two dims are equal, else 0."""
    return _function("equal", lhs, rhs)


def select(condition: _Number, lhs: _Number, rhs: _Number) -> Expression:
    """`lhs` if the condition is 1, `rhs` if it is 0; in every run it is 0 or 1."""
    return _function("select", condition, lhs, rhs)
