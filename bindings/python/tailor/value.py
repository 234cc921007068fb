"""Tensors of a graph under construction."""
from __future__ import annotations

from collections.abc import Sequence
from ctypes import byref, c_int32, c_uint64
from typing import TYPE_CHECKING, Any, ClassVar, Optional, SupportsIndex

from . import _convert, _indexing, _library
from ._building import GraphValue
from ._library import check
from ._ops import ValueOps
from .dims import GraphDim

if TYPE_CHECKING:
    from ._types import DimLike, Operand
    from .graph import Graph


class Value(ValueOps, GraphValue):
    """A tensor of a graph. Operators follow numpy; the other operand may be a number or an array of the same element
    type: a float64 array beside a value of f32 is refused, not converted.

    x[...] follows numpy's basic indexing: integers, slices, None and ..., and at most one list of positions (an integer
    array or value). Negative integers count from the end. Integer bounds of a slice are clamped, as in numpy. If one of
    them is a dim (x[1:n]), both are used as they are. Runs check that these, and positions, are in range. No part of a
    value can be assigned.

    == and != compare Value objects; use eq() and ne() for elements. A value has no truth value: its elements are known
    only when the graph runs."""

    def __init__(self, graph: Graph, handle: int) -> None:
        """Made by the methods of Graph."""
        self.graph, self.handle = graph, handle

    def __bool__(self) -> bool:
        raise TypeError(f"{self!r} is true or false when the graph runs, not while it is built: choose elements by "
                        "graph.select(condition, a, b), what is computed by graph.if_ or graph.while_; logic of "
                        "elements is & | ^ ~")

    __iter__: ClassVar[None] = None  # else Python would try x[0], x[1], ...
    __contains__: ClassVar[None] = None

    def __getitem__(self, index: Any) -> Value:
        """A part of the value; see the class."""
        return _indexing.part(self, index)

    def __reduce__(self) -> Any:
        """Refused: the state is in C."""
        raise TypeError("a value of a graph cannot be pickled")

    def _type(self) -> tuple[int, list[int]]:
        dtype, rank, dims = c_int32(), c_int32(), (c_uint64 * _library.MAX_RANK)()
        check(self.graph._library.tailor_graph_value_type(self.graph._handle, self.handle, byref(dtype), byref(rank),
                                                          dims))
        return dtype.value, dims[:rank.value]

    @property
    def dtype(self) -> str:
        """"f32" and the like."""
        return _convert.dtype_name(self._type()[0])

    @property
    def shape(self) -> tuple[GraphDim, ...]:
        """The dims; they may be used in any shape of the same graph."""
        return tuple(GraphDim(self.graph, dim) for dim in self._type()[1])

    @property
    def ndim(self) -> int:
        """The number of dims."""
        return len(self._type()[1])

    def named(self, name: str) -> Value:
        """Names the value, for messages, dumps and traces; returns it."""
        check(self.graph._library.tailor_graph_set_name(self.graph._handle, self.handle, *_convert.utf8(name)))
        return self

    def __repr__(self) -> str:
        return f"<tailor.Value {self.dtype}[{', '.join(map(repr, self.shape))}]>"

    def softmax(self, axis: SupportsIndex = -1) -> Value:
        """Graph.softmax of this value."""
        return self.graph.softmax(self, axis)

    def log_softmax(self, axis: SupportsIndex = -1) -> Value:
        """Graph.log_softmax of this value."""
        return self.graph.log_softmax(self, axis)

    def layer_norm(self, scale: Optional[Operand] = None, bias: Optional[Operand] = None, epsilon: float = 1e-5) -> Value:
        """Graph.layer_norm of this value."""
        return self.graph.layer_norm(self, scale, bias, epsilon)

    def gelu(self) -> Value:
        """Graph.gelu of this value."""
        return self.graph.gelu(self)

    def gelu_tanh(self) -> Value:
        """Graph.gelu_tanh of this value."""
        return self.graph.gelu_tanh(self)

    def l2_normalize(self, axis: SupportsIndex = -1, epsilon: float = 1e-12) -> Value:
        """Graph.l2_normalize of this value."""
        return self.graph.l2_normalize(self, axis, epsilon)

    def conv(self, weights: Operand, bias: Optional[Operand] = None, **options: Any) -> Value:
        """Graph.conv of this value."""
        return self.graph.conv(self, weights, bias, **options)

    def max_pool(self, sizes: Sequence[DimLike], **options: Any) -> Value:
        """Graph.max_pool of this value."""
        return self.graph.max_pool(self, sizes, **options)

    def average_pool(self, sizes: Sequence[DimLike], **options: Any) -> Value:
        """Graph.average_pool of this value."""
        return self.graph.average_pool(self, sizes, **options)

    __array_ufunc__ = None  # numpy leaves `array + value` to us

    def __neg__(self) -> Value:
        return self.neg()

    def __abs__(self) -> Value:
        return self.abs()

    def __invert__(self) -> Value:
        return self.not_()

    def __add__(self, other: Operand) -> Value:
        return self.graph.add(self, other)

    def __radd__(self, other: Operand) -> Value:
        return self.graph.add(other, self)

    def __sub__(self, other: Operand) -> Value:
        return self.graph.sub(self, other)

    def __rsub__(self, other: Operand) -> Value:
        return self.graph.sub(other, self)

    def __mul__(self, other: Operand) -> Value:
        return self.graph.mul(self, other)

    def __rmul__(self, other: Operand) -> Value:
        return self.graph.mul(other, self)

    def __truediv__(self, other: Operand) -> Value:
        return self.graph.div(self, other)

    def __rtruediv__(self, other: Operand) -> Value:
        return self.graph.div(other, self)

    def __pow__(self, other: Operand) -> Value:
        return self.graph.pow(self, other)

    def __rpow__(self, other: Operand) -> Value:
        return self.graph.pow(other, self)

    def __matmul__(self, other: Operand) -> Value:
        return self.graph.dot(self, other)

    def __rmatmul__(self, other: Operand) -> Value:
        return self.graph.dot(other, self)

    def __mod__(self, other: Operand) -> Value:
        return self.graph.mod(self, other)

    def __rmod__(self, other: Operand) -> Value:
        return self.graph.mod(other, self)

    def __lshift__(self, other: Operand) -> Value:
        return self.graph.shift_left(self, other)

    def __rlshift__(self, other: Operand) -> Value:
        return self.graph.shift_left(other, self)

    def __rshift__(self, other: Operand) -> Value:
        return self.graph.shift_right(self, other)

    def __rrshift__(self, other: Operand) -> Value:
        return self.graph.shift_right(other, self)

    def __and__(self, other: Operand) -> Value:
        return self.graph.and_(self, other)

    def __rand__(self, other: Operand) -> Value:
        return self.graph.and_(other, self)

    def __or__(self, other: Operand) -> Value:
        return self.graph.or_(self, other)

    def __ror__(self, other: Operand) -> Value:
        return self.graph.or_(other, self)

    def __xor__(self, other: Operand) -> Value:
        return self.graph.xor(self, other)

    def __rxor__(self, other: Operand) -> Value:
        return self.graph.xor(other, self)

    def __lt__(self, other: Operand) -> Value:
        return self.graph.lt(self, other)

    def __le__(self, other: Operand) -> Value:
        return self.graph.le(self, other)

    def __gt__(self, other: Operand) -> Value:
        return self.graph.gt(self, other)

    def __ge__(self, other: Operand) -> Value:
        return self.graph.ge(self, other)
