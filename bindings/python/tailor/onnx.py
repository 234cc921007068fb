"""ONNX models as Tailor graphs. Needs libtailor_onnx.so, and no other package.

    batch = tailor.symbol("batch", max=64, likely=[1, 8])
    graph = tailor.onnx.load("model.onnx", dims={"batch": batch})
    executable = graph.compile()

Every dim_param of the inputs becomes a symbol of its name, every unnamed dim one called <input>_dim<i>.
"""
from __future__ import annotations

import ctypes
import functools
import operator
import os
from collections.abc import Callable, Iterable, Mapping
from ctypes import POINTER, Structure, byref, c_char_p, c_int64, c_size_t, c_uint64, c_void_p
from typing import TYPE_CHECKING, Any, Optional

import numpy

from . import _convert, _handles, _library
from . import errors as _errors
from .dims import Dim, Expression, Symbol
from .graph import Graph

if TYPE_CHECKING:
    from ._types import DimLike

__all__ = ["DependsOnData", "ModelError", "Unsupported", "load", "operators"]


class ModelError(Exception):
    """A model that cannot be imported: the node, input or initializer at fault (may be "") and the reason."""

    def __init__(self, reason: str, node: str = "") -> None:
        super().__init__(f"{node}: {reason}" if node else reason)
        self.reason = reason
        self.node = node

    def __reduce__(self) -> Any:  # Exception's own would call this with the joined text
        """All attributes, so that errors pass between processes."""
        return type(self), (self.reason, self.node), self.__dict__


class Unsupported(ModelError):
    """A valid model that Tailor does not support."""


class DependsOnData(Unsupported):
    """A shape, axis or the like that only running gives; `inputs` are the model's inputs that it comes from."""

    def __init__(self, reason: str, node: str = "", inputs: frozenset[str] = frozenset()) -> None:
        super().__init__(reason, node)
        self.inputs = inputs


_NeedsFixed = ctypes.CFUNCTYPE(None, c_void_p, POINTER(ctypes.c_char), c_size_t)


class _Symbol(Structure):
    _fields_ = [("name", c_char_p), ("name_size", c_size_t), ("min", c_int64), ("max", c_int64),
                ("multiple_of", c_int64), ("likely", POINTER(c_int64)), ("likely_count", c_size_t)]


class _Dim(Structure):
    _fields_ = [("name", c_char_p), ("name_size", c_size_t), ("text", c_char_p), ("text_size", c_size_t)]


class _Fixed(Structure):
    _fields_ = [("name", c_char_p), ("name_size", c_size_t), ("tensor", _library.Tensor)]


class _COptions(Structure):
    _fields_ = [("struct_size", c_uint64), ("symbols", POINTER(_Symbol)), ("symbol_count", c_size_t),
                ("dims", POINTER(_Dim)), ("dim_count", c_size_t), ("fixed", POINTER(_Fixed)), ("fixed_count", c_size_t),
                ("needs_fixed", _NeedsFixed), ("user", c_void_p), ("directory", c_char_p), ("directory_size", c_size_t),
                ("custom_domains", POINTER(c_char_p)), ("custom_domain_count", c_size_t)]


@functools.lru_cache(maxsize=None)
def _onnx() -> ctypes.CDLL:
    """libtailor_onnx.so."""
    _library.compiler()
    library = _library.load("tailor_onnx")
    library.tailor_onnx_load.argtypes = [c_char_p, c_size_t, POINTER(_COptions), POINTER(_handles.Handle)]
    library.tailor_onnx_load_memory.argtypes = [c_char_p, c_size_t, c_void_p, c_void_p, POINTER(_COptions),
                                                POINTER(_handles.Handle)]
    library.tailor_onnx_load.restype = library.tailor_onnx_load_memory.restype = c_void_p
    library.tailor_onnx_operators.argtypes, library.tailor_onnx_operators.restype = [], c_char_p
    return library


def operators() -> str:
    """The operators that load() knows, with their versions and attributes: docs/onnx-operators.md."""
    return _library.text(_onnx().tailor_onnx_operators())


def load(model: Any, dims: Optional[Mapping[str, DimLike]] = None, fixed: Optional[Mapping[str, Any]] = None,
         custom_domains: Iterable[str] = ()) -> Graph:
    """The graph of a model: a path, the file's bytes, or an onnx.ModelProto.

    dims: for a dim_param (or <input>_dim<i>) the tailor.Dim or integer to use.
    fixed: for an input the array that it always has: shapes, axes and the like that compilation has to know; it is
    then no input of the graph.
    custom_domains: domains whose nodes are custom operators (Graph.custom): OP of domain "d" is operator "d::OP", with
    its attributes as a JSON object, and with results of the types in the model's value_info.
    External data is read from below the folder of a model given by path. Weights stay in the mapped file, which must
    not change while the graph or an executable of it is in use. Raises ModelError, naming the node, and its subclass
    Unsupported for what is valid but not supported."""
    if isinstance(custom_domains, str):
        raise TypeError(f"custom_domains is {custom_domains!r}: a list of domains is expected")
    options = _Options(dims or {}, fixed or {}, custom_domains)
    handle = _handles.Handle()
    if isinstance(model, (str, os.PathLike)):
        path = os.fsencode(model)
        status = _onnx().tailor_onnx_load(path, len(path), byref(options.c), byref(handle))
    else:
        data = model.SerializeToString() if hasattr(model, "SerializeToString") else bytes(model)
        status = _onnx().tailor_onnx_load_memory(data, len(data), None, None, byref(options.c), byref(handle))
    try:
        _library.check(status)
    except _errors.Error as error:
        raise _raised(error, options.needed) from None
    return Graph.of_handle(handle)


def _raised(error: _errors.Error, needed: list[str]) -> Exception:
    """The exception of a failed load."""
    if error.code == "NOT_FOUND":
        return FileNotFoundError(error.message)
    if error.code not in ("INVALID_ARGUMENT", "UNIMPLEMENTED"):
        return error
    reason = error.message.removeprefix(f"{error.node}: ") if error.node else error.message
    if needed:
        return DependsOnData(reason, error.node, frozenset(needed))
    return (Unsupported if error.code == "UNIMPLEMENTED" else ModelError)(reason, error.node)


class _Options:
    """The C options of one load; keeps what they point to."""

    def __init__(self, dims: Mapping[str, DimLike], fixed: Mapping[str, Any], custom_domains: Iterable[str]) -> None:
        symbols: dict[str, Symbol] = {}
        self.needed: list[str] = []
        texts = {name: _named(f'dim "{name}"', _text, dim, symbols).encode() for name, dim in dims.items()}
        self._arrays = {name: _named(f'input "{name}"', numpy.require, array, None, ["C", "A"])
                        for name, array in fixed.items()}
        self._callback = _NeedsFixed(
            lambda user, name, size: self.needed.append(_library.text(ctypes.string_at(name, size))))
        self.c = _COptions(ctypes.sizeof(_COptions))
        self.c.symbols, self.c.symbol_count = _array(_Symbol, map(self._symbol, symbols.values()))
        self.c.dims, self.c.dim_count = _array(_Dim, (_Dim(*_convert.utf8(name), text, len(text))
                                                      for name, text in texts.items()))
        self.c.fixed, self.c.fixed_count = _array(
            _Fixed, (_Fixed(*_convert.utf8(name), _named(f'input "{name}"', _tensor, array))
                     for name, array in self._arrays.items()))
        self.c.needs_fixed = self._callback
        self.c.custom_domains, self.c.custom_domain_count = _array(
            c_char_p, (_convert.utf8(domain)[0] for domain in custom_domains))

    @staticmethod
    def _symbol(symbol: Symbol) -> _Symbol:
        likely, count = _convert.i64s(symbol.likely, "likely")
        return _Symbol(*_convert.utf8(symbol.name), _convert.i64(symbol.min, "min"), _convert.i64(symbol.max, "max"),
                       _convert.i64(symbol.multiple_of, "multiple_of"), likely, count)


def _named(label: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """function(*arguments), whose errors name `label`."""
    try:
        return function(*arguments)
    except (TypeError, ValueError) as error:
        raise ModelError(str(error), label) from error


def _array(kind: Any, items: Iterable[Any]) -> tuple[Any, int]:
    given = list(items)
    return (kind * len(given))(*given), len(given)


def _tensor(array: numpy.ndarray[Any, Any]) -> _library.Tensor:
    tensor = _library.Tensor(ctypes.sizeof(_library.Tensor), array.__array_interface__["data"][0], array.nbytes,
                             _convert.array_code(array), array.ndim)
    for i, dim in enumerate(array.shape[:_library.MAX_RANK]):
        tensor.dims[i] = dim
    return tensor


_OPERATORS = {"add": "+", "sub": "-", "mul": "*"}


def _text(dim: DimLike, symbols: dict[str, Symbol]) -> str:
    """The text of a dim; adds its symbols by name."""
    if isinstance(dim, Symbol):
        if symbols.setdefault(dim.name, dim) is not dim:
            raise ValueError(f'two symbols have the name "{dim.name}"')
        return dim.name
    if isinstance(dim, Expression):
        operands = [_text(operand, symbols) for operand in dim.operands]
        sign = _OPERATORS.get(dim.operation)
        return f"({operands[0]} {sign} {operands[1]})" if sign else f"{dim.operation}({', '.join(operands)})"
    if isinstance(dim, str):
        return dim
    if isinstance(dim, Dim):
        raise TypeError(f"{dim!r} belongs to a graph")
    number = operator.index(dim)
    return str(number) if number >= 0 else f"(0 - {-number})"
