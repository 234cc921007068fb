"""The base of Graph: appends ops, and converts what users give for values, dims and shapes."""
from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence
from ctypes import byref, c_uint64, sizeof
from typing import TYPE_CHECKING, Any, Optional

import numpy

from . import _convert, _handles, _library
from ._convert import i64
from ._library import check
from .dims import Dim, Expression, GraphDim, Symbol
from .errors import Error

if TYPE_CHECKING:
    from ._types import DimLike, DTypeLike, Operand
    from .graph import Graph
    from .value import Value


class GraphValue:
    """The base of Value."""

    graph: Graph
    handle: int

    @property
    def dtype(self) -> str:
        """The element type; see Value."""
        raise NotImplementedError


class Building(_handles.Closable):
    """A graph under construction."""

    _library: ctypes.CDLL
    _symbols: dict[str, tuple[Symbol, int]]

    def constant(self, array: Any, name: str = "", dtype: Optional[DTypeLike] = None) -> Value:
        """Adds a constant; see Graph."""
        raise NotImplementedError

    def scalar(self, value: float, dtype: DTypeLike) -> Value:
        """Adds a constant of no dims; see Graph."""
        raise NotImplementedError

    def _value(self, handle: int) -> Value:
        raise NotImplementedError

    def _new(self, function: str, *arguments: Any) -> Value:
        handle = c_uint64()
        check(getattr(self._library, function)(self._handle, *arguments, byref(handle)))
        return self._value(handle.value)

    _append = _new  # what the generated methods call

    def _optional(self, value: Optional[Operand]) -> int:
        return 0 if value is None else self._values(value)[0]

    def _values(self, *values: Operand) -> list[int]:
        """Handles of operands of one op. Arrays become constants; numbers become scalars of the first value's type.

        An array of f64 beside values of narrower floats is refused here, where the remedy is known: numpy makes f64
        where nothing else was asked for."""
        self._refuse_f64(values)
        return self._mixed(values)

    def _mixed(self, values: Sequence[Operand]) -> list[int]:
        """_values() of operands that need not be alike."""
        first = next((value for value in values if isinstance(value, GraphValue)), None)
        handles = []
        for value in values:
            if isinstance(value, (numpy.ndarray, numpy.generic)):
                made = self.constant(value)
                first = first if first is not None else made
                handles.append(made.handle)
            elif isinstance(value, (int, float)) and first is not None:
                handles.append(self.scalar(value, first.dtype).handle)
            elif not isinstance(value, GraphValue):
                raise TypeError(f"{value!r} is no tailor.Value, array or number beside one")
            else:
                handles.append(value.handle)
        return handles

    def _refuse_f64(self, values: Sequence[Operand]) -> None:
        arrays = [v for v in values if isinstance(v, (numpy.ndarray, numpy.generic)) and v.dtype == numpy.float64]
        if not arrays:
            return
        kinds = {value.dtype for value in values if isinstance(value, GraphValue)}
        narrower = sorted(kinds & {"f16", "bf16", "f32"})
        if narrower and "f64" not in kinds:
            what = "a number of numpy's" if isinstance(arrays[0], numpy.generic) else "an array"
            raise Error("INVALID_ARGUMENT", _convert.other_type(what, _convert.dtype_code("f64"),
                                                                _convert.dtype_code(narrower[0])))

    def _spatial(self, rank: int, strides: Sequence[Any], dilations: Sequence[Any], pads: Sequence[Any]) -> Any:
        """The options of convolutions and pools; each list is empty or has `rank` entries."""
        for name, given in (("strides", strides), ("dilations", dilations), ("pads", pads)):
            if len(given) not in (0, rank):
                raise ValueError(f"{name} has {len(given)} entries for {rank} spatial dims")
        pairs = [pad if isinstance(pad, (tuple, list)) else (pad, pad) for pad in pads]
        options = _library.SpatialOptions(ctypes.sizeof(_library.SpatialOptions), rank)
        if strides:
            options.strides = _convert.i64s(strides, "strides")[0]
        if dilations:
            options.dilations = _convert.i64s(dilations, "dilations")[0]
        if pairs:
            options.low = self._dims([low for low, _ in pairs], "pads")[0]
            options.high = self._dims([high for _, high in pairs], "pads")[0]
        return options

    def _handles(self, values: Sequence[Operand]) -> tuple[Any, int]:
        handles = self._mixed(values)
        return (c_uint64 * len(handles))(*handles), len(handles)

    def _dims(self, shape: Iterable[DimLike], name: str = "shape") -> tuple[Any, int]:
        if isinstance(shape, (str, Dim)) or not isinstance(shape, Iterable):
            raise TypeError(f"{name} is {shape!r}: a list of dims is expected")
        dims = [self._dim(dim, f"{name}[{i}]") for i, dim in enumerate(shape)]
        return (c_uint64 * len(dims))(*dims), len(dims)

    def _dim(self, dim: DimLike, name: str = "dim") -> int:
        """The handle of a dim, an integer, or the name of a symbol; symbols are declared when first used.

        name: what the caller calls it."""
        out = c_uint64()
        if isinstance(dim, GraphDim):
            return dim.handle
        if isinstance(dim, str):
            dim = self._symbols[dim][0] if dim in self._symbols else Symbol(dim, 0, 2**31 - 1, 1, ())
        if isinstance(dim, Symbol):
            known = self._symbols.get(dim.name)
            if known is None or known[0] is not dim:
                self._declare(dim, out)
                self._symbols[dim.name] = dim, out.value
            return self._symbols[dim.name][1]
        if isinstance(dim, Expression):
            function = getattr(self._library, f"tailor_dim_{dim.operation}")
            check(function(self._handle, *(self._dim(each, name) for each in dim.operands), byref(out)))
        elif isinstance(dim, Dim):
            raise TypeError(f"{dim!r} is no dim")
        else:
            check(self._library.tailor_graph_dim(self._handle, i64(dim, name), byref(out)))
        return out.value

    def _declare(self, symbol: Symbol, out: c_uint64) -> None:
        try:
            likely, count = _convert.i64s(symbol.likely, "likely")
            options = _library.SymbolOptions(sizeof(_library.SymbolOptions), symbol.min, symbol.max,
                                             symbol.multiple_of, likely, count)
        except OverflowError as error:
            raise OverflowError(f'symbol "{symbol.name}": {error}') from None
        check(self._library.tailor_graph_symbol(self._handle, *_convert.utf8(symbol.name), byref(options), byref(out)))

