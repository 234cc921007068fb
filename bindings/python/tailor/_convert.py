"""Python values as C arguments: element types, integers, texts."""
from ctypes import c_int64

import numpy

from ._integers import checked

try:  # numpy has no bfloat16 of its own; without ml_dtypes its bits are passed as uint16
    import ml_dtypes
    _BF16 = numpy.dtype(ml_dtypes.bfloat16)
except ImportError:
    _BF16 = None

_NAMES = ["", "bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64"]
_NUMPY = [None, "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", None,
          "float32", "float64"]
_CODE_OF_NAME = {name: code for code, name in enumerate(_NAMES) if name}
_CODE_OF_NUMPY = {numpy.dtype(name): code for code, name in enumerate(_NUMPY) if name}
BF16 = _CODE_OF_NAME["bf16"]
if _BF16 is not None:
    _CODE_OF_NUMPY[_BF16] = BF16


def device(name):
    """(kind, ordinal) of "cpu", "cuda" or "cuda:1", as the C options have them."""
    kind, _, ordinal = str(name).partition(":")
    if kind not in ("cpu", "cuda") or (ordinal and not ordinal.isdecimal()):
        raise ValueError(f'{name!r} is no device; they are "cpu", "cuda" and "cuda:<ordinal>"')
    return ("cpu", "cuda").index(kind), int(ordinal or 0)


def dtype_code(dtype):
    """The C number of "f32", numpy.float32 and the like."""
    if isinstance(dtype, str) and dtype in _CODE_OF_NAME:
        return _CODE_OF_NAME[dtype]
    try:
        return _CODE_OF_NUMPY[numpy.dtype(dtype)]
    except (KeyError, TypeError):
        raise TypeError(f"{dtype!r} is no element type; they are {', '.join(_CODE_OF_NAME)}") from None


def dtype_name(code):
    return _NAMES[code]


def numpy_dtype(code):
    """The numpy dtype of this element type."""
    if code == BF16:
        return _BF16 if _BF16 is not None else numpy.dtype("uint16")
    return numpy.dtype(_NUMPY[code])


def array_code(array, expected=None):
    """The C number for `array`; uint16 is accepted as bf16 if bf16 is expected."""
    code = dtype_code(array.dtype)
    return BF16 if expected == BF16 and array.dtype == numpy.uint16 else code


def i64(value, name):
    """`value` as an integer; `name` is the argument's name for errors."""
    return checked(value, name)


def i64s(values, name):
    """(array, count) of one integer or a sequence of them; `name` is the argument's name for errors."""
    if hasattr(values, "__index__"):
        return (c_int64 * 1)(checked(values, name)), 1
    values = [checked(value, f"{name}[{i}]") for i, value in enumerate(values)]
    return (c_int64 * len(values))(*values), len(values)


def utf8(text):
    """(bytes, size) of a text."""
    data = text.encode()
    return data, len(data)
