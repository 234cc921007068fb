"""Python values as C arguments: element types, integers, texts."""
from __future__ import annotations

from collections.abc import Iterable
from ctypes import c_int64
from typing import TYPE_CHECKING, Any, Optional, SupportsIndex, Union

import numpy

from ._integers import checked

if TYPE_CHECKING:
    from ._types import Array, DTypeLike

try:  # numpy has no bfloat16 of its own; without ml_dtypes its bits are passed as uint16
    import ml_dtypes
    _BF16: Optional[numpy.dtype[Any]] = numpy.dtype(ml_dtypes.bfloat16)
except ImportError:
    _BF16 = None

_NAMES = ["", "bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64"]
_NUMPY = [None, "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", None,
          "float32", "float64"]
_CODE_OF_NAME = {name: code for code, name in enumerate(_NAMES) if name}
_CODE_OF_NUMPY: dict[Any, int] = {numpy.dtype(name): code for code, name in enumerate(_NUMPY) if name}
BF16 = _CODE_OF_NAME["bf16"]
if _BF16 is not None:
    _CODE_OF_NUMPY[_BF16] = BF16


def device(name: object) -> tuple[int, int]:
    """(kind, ordinal) of "cpu", "cuda" or "cuda:1", as the C options have them."""
    kind, _, ordinal = str(name).partition(":")
    if kind not in ("cpu", "cuda") or (ordinal and not ordinal.isdecimal()):
        raise ValueError(f'{name!r} is no device; they are "cpu", "cuda" and "cuda:<ordinal>"')
    return ("cpu", "cuda").index(kind), int(ordinal or 0)


def dtype_code(dtype: DTypeLike) -> int:
    """The C number of "f32", numpy.float32 and the like."""
    if isinstance(dtype, str) and dtype in _CODE_OF_NAME:
        return _CODE_OF_NAME[dtype]
    try:
        if dtype is None:  # numpy's default, float64
            raise TypeError
        return _CODE_OF_NUMPY[numpy.dtype(dtype)]
    except (KeyError, TypeError):
        raise TypeError(_no_type(dtype)) from None


def dtype_name(code: int) -> str:
    """ "f32" and the like of a C number."""
    return _NAMES[code] if 0 < code < len(_NAMES) else f"type {code}"


def numpy_dtype(code: int) -> numpy.dtype[Any]:
    """The numpy dtype of this element type."""
    if code == BF16:
        return _BF16 if _BF16 is not None else numpy.dtype("uint16")
    return numpy.dtype(_NUMPY[code])


def array_code(array: Any, expected: Optional[int] = None) -> int:
    """The C number for `array`; uint16 is accepted as bf16 if bf16 is expected."""
    code = _CODE_OF_NUMPY.get(array.dtype) or dtype_code(array.dtype)
    return BF16 if expected == BF16 and array.dtype == numpy.uint16 else code


def other_type(what: str, code: int, expected: int) -> str:
    """The message for an array of another element type than the expected one: arrays are never converted."""
    wanted = numpy_dtype(expected)
    module = "np" if wanted.isbuiltin == 1 else "ml_dtypes"
    return (f"{what}: dtype is {dtype_name(code)}, expected {dtype_name(expected)}; arrays are not converted: use "
            f".astype({module}.{wanted.name})")


def converted(value: Any, code: int, what: str) -> Array:
    """A list or number as an array of an element type; an array-like object with a type of its own keeps that.

    Numbers are converted as numpy does, but not floats to integers, nor anything but bools to bools."""
    array = numpy.asarray(value)
    wanted = numpy_dtype(code)
    if hasattr(value, "dtype") or hasattr(value, "__array__") or array.dtype == wanted:
        return array
    ranks = [_KINDS.get(dtype.kind, len(_KINDS)) for dtype in (array.dtype, wanted)]
    if array.size == 0 or ranks[0] <= ranks[1]:
        return numpy.asarray(value, wanted)
    raise TypeError(f"{what}: {_brief(value)} has elements of {array.dtype}, which {dtype_name(code)} does not hold")


_KINDS = {"b": 0, "u": 1, "i": 1, "f": 2, "V": 2}  # of numpy dtypes; V is bfloat16


def _no_type(dtype: object) -> str:
    """The message for what is no element type."""
    if isinstance(dtype, numpy.dtype) and dtype.newbyteorder("=") in _CODE_OF_NUMPY:
        return (f"elements in the byte order of another machine ({dtype.str}): use "
                f".astype(np.{dtype.newbyteorder('=').name})")
    return f"{dtype!r} is no element type; they are {', '.join(_CODE_OF_NAME)}"


def _brief(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def i64(value: SupportsIndex, name: str) -> int:
    """`value` as an integer; `name` is the argument's name for errors."""
    return checked(value, name)


def i64s(values: Union[SupportsIndex, Iterable[SupportsIndex]], name: str) -> tuple[Any, int]:
    """(array, count) of one integer or a sequence of them; `name` is the argument's name for errors."""
    if isinstance(values, SupportsIndex):
        return (c_int64 * 1)(checked(values, name)), 1
    integers = [checked(value, f"{name}[{i}]") for i, value in enumerate(values)]
    return (c_int64 * len(integers))(*integers), len(integers)


def utf8(text: str) -> tuple[bytes, int]:
    """(bytes, size) of a text."""
    data = text.encode()
    return data, len(data)
