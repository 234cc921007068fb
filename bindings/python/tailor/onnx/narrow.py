"""Element types of up to 8 bits that Tailor has not: floats travel as their bits in u8, integers as values in i8, u8.

Floats are read through a table of all their values, and written by a binary search among the thresholds between
neighbouring values, of which the even code owns the tie."""
import functools

import ml_dtypes
import numpy
from onnx import TensorProto

from .errors import Unsupported

_FLOATS = {
    TensorProto.FLOAT8E4M3FN: ml_dtypes.float8_e4m3fn, TensorProto.FLOAT8E4M3FNUZ: ml_dtypes.float8_e4m3fnuz,
    TensorProto.FLOAT8E5M2: ml_dtypes.float8_e5m2, TensorProto.FLOAT8E5M2FNUZ: ml_dtypes.float8_e5m2fnuz,
    TensorProto.FLOAT8E8M0: ml_dtypes.float8_e8m0fnu, TensorProto.FLOAT4E2M1: ml_dtypes.float4_e2m1fn,
}
_INTEGERS = {TensorProto.INT4: (4, True), TensorProto.UINT4: (4, False), TensorProto.INT2: (2, True),
             TensorProto.UINT2: (2, False)}

# Operators that read such operands, and those that only move elements and so keep their type.
READS = frozenset(["BitCast", "Cast", "CastLike", "QuantizeLinear", "DequantizeLinear"])
MOVES = frozenset("""Concat Expand Flatten Gather GatherElements GatherND Identity Reshape Slice Split Squeeze Tile
    Transpose Unsqueeze""".split())


def is_narrow(code):
    return code in _FLOATS or code in _INTEGERS


def is_float(code):
    return code in _FLOATS


def bits(code):
    """The width of an element."""
    return _INTEGERS[code][0] if code in _INTEGERS else 4 if code == TensorProto.FLOAT4E2M1 else 8


def storage(code):
    """The type that elements travel in."""
    return "i8" if code in _INTEGERS and _INTEGERS[code][1] else "u8"


def stored(array, code):
    """An array of ml_dtypes' elements as it travels."""
    if code in _FLOATS:
        return numpy.ascontiguousarray(array).view(numpy.uint8).reshape(array.shape)
    return array.astype(numpy.int8 if _INTEGERS[code][1] else numpy.uint8)


def limits(code):
    """(least, greatest) of an integer type."""
    width, signed = _INTEGERS[code]
    return (-(1 << width - 1), (1 << width - 1) - 1) if signed else (0, (1 << width) - 1)


@functools.lru_cache
def _values(code):
    """What each bit pattern means, f32 [256]."""
    return (numpy.arange(256) % (1 << bits(code))).astype(numpy.uint8).view(_FLOATS[code]).astype(numpy.float32)


def decode(graph, x, code):
    """Travelling elements as numbers: f32, or the integers themselves."""
    if code in _INTEGERS:
        return x
    return graph.gather(graph.constant(_values(code)), graph.cast(x, "i32"), axis=0)


def encode(graph, x, code, saturate=True, rounding="up"):
    """Numbers as travelling elements. Integers wrap; floats round to even (e8m0: as `rounding` says)."""
    if code in _INTEGERS:
        return _wrapped(graph, x, code)
    x = graph.cast(x, "f32") if x.dtype != "f32" else x
    if code == TensorProto.FLOAT8E8M0:
        return graph.cast(_select(graph, graph.ne(x, x), 255, _search(graph, x, _scales(rounding), 128)), "u8")
    return _float_code(graph, x, code, saturate)


def _wrapped(graph, x, code):
    width, signed = _INTEGERS[code]
    whole = graph.cast(x, "i32")
    low = graph.mod(whole, 1 << width)
    if signed:
        low = graph.select(graph.ge(low, 1 << width - 1), graph.sub(low, 1 << width), low)
    return graph.cast(low, storage(code))


def _float_code(graph, x, code, saturate):
    values = _values(code)
    four = code == TensorProto.FLOAT4E2M1
    sign_bit = 8 if four else 128
    top = int(numpy.flatnonzero(numpy.isfinite(values[:sign_bit]))[-1])  # the code of the greatest number
    found = _search(graph, graph.abs(x), _thresholds(code, top), 128)
    saturate = saturate or four
    found = graph.min(found, top) if saturate else found  # top + 1 is the infinity or NaN after the greatest
    negative = graph.or_(graph.lt(x, 0.0), graph.and_(graph.eq(x, 0.0), graph.lt(graph.div(1.0, x), 0.0)))
    signed = graph.select(negative, graph.or_(found, sign_bit), found)
    if code in (TensorProto.FLOAT8E4M3FNUZ, TensorProto.FLOAT8E5M2FNUZ):  # one zero, one NaN
        signed = graph.select(graph.eq(found, 0), found, signed)
        nan = 128
    else:
        nan = {TensorProto.FLOAT8E4M3FN: 127, TensorProto.FLOAT8E5M2: 126, TensorProto.FLOAT4E2M1: 8}[code]
    return graph.cast(_select(graph, graph.ne(x, x), nan, signed), "u8")


def _select(graph, condition, number, otherwise):
    return graph.select(condition, graph.scalar(number, otherwise.dtype), otherwise)


def _thresholds(code, top):
    """The least number that rounds to each code up to top + 1, f32; NaN behind."""
    values = _values(code).astype(numpy.float64)[:top + 1]
    values = numpy.append(values, 2 * values[top] - values[top - 1])
    middles = (values[1:] + values[:-1]) / 2
    odd = numpy.arange(1, top + 2) % 2 == 1
    middles = middles.astype(numpy.float32)
    middles[odd] = numpy.nextafter(middles[odd], numpy.float32(numpy.inf))
    return numpy.append(numpy.float32(0), middles)


def _scales(rounding):
    """The same for the powers of 2 that e8m0 has."""
    values = 2.0 ** (numpy.arange(255) - 127)
    low = {"up": numpy.nextafter(values[:-1].astype(numpy.float32), numpy.float32(numpy.inf)), "down": values[1:],
           "nearest": values[:-1] * 1.5}
    if rounding not in low:
        raise Unsupported(f'round_mode "{rounding}" is unknown')
    return numpy.append(numpy.float32(0), low[rounding].astype(numpy.float32))


def _search(graph, x, thresholds, step):
    """The greatest code whose threshold is not above x, i32: one comparison for each of its bits."""
    table = numpy.full(512, numpy.nan, numpy.float32)
    table[:len(thresholds)] = thresholds
    table = graph.constant(table)
    code = graph.mul(graph.cast(graph.ne(x, x), "i32"), 0)
    while step:
        next_code = graph.add(code, step)
        reached = graph.ge(x, graph.gather(table, next_code, axis=0))
        code = graph.select(reached, next_code, code)
        step //= 2
    return code
