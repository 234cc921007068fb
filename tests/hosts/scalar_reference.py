"""Tailor's scalar semantics (docs/ops.md) in NumPy: each elementwise op on arrays of each element type."""
import collections
import functools
import math

import ml_dtypes
import numpy as np

NUMPY = {name: np.dtype(dtype) for name, dtype in {
    "bool": bool, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "u8": np.uint8, "u16": np.uint16,
    "u32": np.uint32, "u64": np.uint64, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32,
    "f64": np.float64}.items()}
FLOATS = ("f16", "bf16", "f32", "f64")
INTEGERS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
NARROW = ("f16", "bf16")
# Bits of the mantissa, and the exponent of the least subnormal number.
FORMATS = {"f16": (11, -24), "bf16": (8, -133), "f32": (24, -149), "f64": (53, -1074)}
EXTENDED = np.longdouble
assert np.finfo(EXTENDED).nmant >= 63, "f64 needs a wider type"


@functools.cache
def constants(dtype):
    """Zeros, ones, the ends of the type and what else optimizers know."""
    if dtype == "bool":
        values = [False, True]
    elif dtype in INTEGERS:
        least, most = np.iinfo(NUMPY[dtype]).min, np.iinfo(NUMPY[dtype]).max
        values = [0, 1, 3, most] + ([-1, least] if least else [most // 2 + 1])
    else:
        info = ml_dtypes.finfo(NUMPY[dtype])
        values = [0.0, -0.0, 1.0, -1.0, 0.5, np.inf, -np.inf, np.nan, float(info.max), float(info.smallest_subnormal),
                  2.0, 3.0]
    return [np.array(value, NUMPY[dtype]) for value in values]


def special_values(dtype):
    """The constants and others, 24 in all."""
    more = []
    if dtype in INTEGERS:
        least, most, width = np.iinfo(NUMPY[dtype]).min, np.iinfo(NUMPY[dtype]).max, 8 * NUMPY[dtype].itemsize
        more = [2, 5, 7, 100, width - 1, width, 1 << width // 2, most - 1, most // 3, most - 100]
        more += [-2, -3, -5, -7, -100, -width, least + 1, least // 3] if least else [6, 9, 10, 50, most // 2, most // 5]
    elif dtype in FLOATS:
        huge, tiny = map(float, constants(dtype)[8:10])
        more = [-huge, -tiny, -0.5, -2.0, -0.3, 2.5, -3.5, 88.0, 600.0, -4096.0, 1e-7, 0.7]
    return np.resize([*constants(dtype), *np.array(more, NUMPY[dtype])], 24).astype(NUMPY[dtype])


def extended(x):
    return (x.astype(np.float32) if x.dtype == NUMPY["bf16"] else x).astype(EXTENDED)


def unit(x, dtype):
    """The unit in the last place of numbers of a wider type, once rounded to `dtype`."""
    bits, least = FORMATS[dtype]
    return np.ldexp(EXTENDED(1), np.maximum(np.frexp(x)[1] - bits, least))


def rounded(x, dtype):
    """Numbers of a wider type, rounded once."""
    if dtype == "bf16":  # ml_dtypes rounds f64 to f32 first
        x = (np.rint(x / unit(x, dtype)) * unit(x, dtype)).astype(np.float32)
    return x.astype(NUMPY[dtype])


def same(got, wanted):
    """Both NaN, or equal, zeros in sign too."""
    if got.dtype.kind in "biu":
        return got == wanted
    return ((got == wanted) & (np.signbit(got) == np.signbit(wanted))) | (np.isnan(got) & np.isnan(wanted))


def is_right(got, wanted, dtype, ulps):
    """Of an exact op: the same. Else `wanted` is exact, in a wider type: near it, and NaN, infinite or zero where it is."""
    if ulps is None:
        return same(got, wanted)
    nearest, got = extended(rounded(wanted, dtype)), extended(got)
    ordinary = np.isfinite(nearest) & np.isfinite(got) & (wanted != 0)
    return np.where(ordinary, np.abs(got - wanted) <= ulps * unit(nearest, dtype), same(got, nearest))


def larger(x, y):
    """The first of equal ones."""
    return np.where(np.isnan(x), x, np.where(np.isnan(y), y, np.where(y > x, y, x)))


def smaller(x, y):
    return -larger(-x, -y)


def unless_zero(function):
    """x / 0, x mod 0 and x rem 0 are 0."""
    return lambda x, y: np.where(y == 0, 0, function(x, np.where(y == 0, 1, y))).astype(x.dtype)


def shift(function):
    return lambda x, count: function(x, count & (8 * x.dtype.itemsize - 1))


def erf(x):
    return np.vectorize(math.erf, otypes=[float])(x.astype(float)).astype(EXTENDED)


# floats, integers, bools: functions of them, any of which is right; of f16 and bf16 in f64. near: the function of floats is
# exact in a wider type, and these are the ULPs that f32 and f64 may be off (codegen/math/functions.h).
Op = collections.namedtuple("Op", "arity floats integers bools near", defaults=[(), (), (), None])
OPS = {
    "neg": Op(1, [np.negative], [np.negative]),
    "abs": Op(1, [np.abs], [np.abs]),
    "sqrt": Op(1, [np.sqrt]),
    "floor": Op(1, [np.floor]),
    "ceil": Op(1, [np.ceil]),
    "round": Op(1, [np.rint]),
    "trunc": Op(1, [np.trunc]),
    "exp": Op(1, [np.exp], near=(1.1, 1.1)),
    "log": Op(1, [np.log], near=(0.9, 0.9)),
    "tanh": Op(1, [np.tanh], near=(1.4, 2.5)),
    "erf": Op(1, [erf], near=(1.15, 1.3 + 1)),  # math.erf is off itself
    "rsqrt": Op(1, [lambda x: 1 / np.sqrt(x)], near=(1.5, 1.5)),
    "sigmoid": Op(1, [lambda x: 1 / (1 + np.exp(-x))], near=(2, 2)),
    "sin": Op(1, [np.sin], near=(0.52, 1)),
    "cos": Op(1, [np.cos], near=(0.52, 1)),
    "tan": Op(1, [np.tan], near=(0.52, 2.5)),
    "asin": Op(1, [np.arcsin], near=(1.6, 1.6)),
    "acos": Op(1, [np.arccos], near=(1.5, 1.5)),
    "atan": Op(1, [np.arctan], near=(1.9, 1.9)),
    "pow": Op(2, [np.power], near=(0.51, 1.5)),
    "add": Op(2, [np.add], [np.add]),
    "sub": Op(2, [np.subtract], [np.subtract]),
    "mul": Op(2, [np.multiply], [np.multiply]),
    "div": Op(2, [np.divide], [unless_zero(lambda x, y: (x - np.fmod(x, y)) // y)], near=(0.501, 0.501)),
    "mod": Op(2, [np.mod], [unless_zero(np.mod)]),
    "rem": Op(2, [np.fmod], [unless_zero(np.fmod)]),
    # Which of two zeros is not promised (docs/decisions/max-and-nan.md).
    "max": Op(2, [larger, lambda x, y: larger(y, x)], [np.maximum]),
    "min": Op(2, [smaller, lambda x, y: smaller(y, x)], [np.minimum]),
    "not": Op(1, (), [np.invert], [np.invert]),
    "and": Op(2, (), [np.bitwise_and], [np.bitwise_and]),
    "or": Op(2, (), [np.bitwise_or], [np.bitwise_or]),
    "xor": Op(2, (), [np.bitwise_xor], [np.bitwise_xor]),
    "shift_left": Op(2, (), [shift(np.left_shift)]),
    "shift_right": Op(2, (), [shift(np.right_shift)]),
    "eq": Op(2, [np.equal], [np.equal], [np.equal]),
    "ne": Op(2, [np.not_equal], [np.not_equal], [np.not_equal]),
    "lt": Op(2, [np.less], [np.less], [np.less]),
    "le": Op(2, [np.less_equal], [np.less_equal], [np.less_equal]),
    "gt": Op(2, [np.greater], [np.greater], [np.greater]),
    "ge": Op(2, [np.greater_equal], [np.greater_equal], [np.greater_equal]),
}


def ulps(op, dtype, *operands):
    """None: exact. f16 and bf16 are computed in f32 and rounded once more. Of operands that are given, for each element."""
    if dtype not in FLOATS or OPS[op].near is None:
        return None
    if dtype in NARROW:
        return 0.51
    near = OPS[op].near[dtype == "f64"]
    if op == "div" and operands:  # by the reciprocal of a divisor that elements share
        return np.where(np.abs(operands[0]) < 2.0 ** (-900 if dtype == "f64" else -100), 2, near)
    return near


def functions(op, dtype):
    """Of arrays of `dtype`, any of which is right; none where the op takes no such operands."""
    if dtype not in FLOATS:
        return OPS[op].bools if dtype == "bool" else OPS[op].integers
    if OPS[op].near is not None:
        return [lambda *arrays, f=f: f(*map(extended, arrays)) for f in OPS[op].floats]
    if dtype not in NARROW:
        return OPS[op].floats

    def in_f64(function):
        def narrow(*arrays):
            result = function(*(array.astype(np.float64) for array in arrays))
            return result if op in COMPARISONS else rounded(result, dtype)
        return narrow
    return [in_f64(function) for function in OPS[op].floats]


def cast(x, dtype):
    if dtype in FLOATS:
        return rounded(extended(x), dtype)
    if dtype == "bool":
        return x != 0
    if x.dtype.kind in "biu":
        return x.astype(NUMPY[dtype])
    bounds = np.iinfo(NUMPY[dtype])
    whole = np.nan_to_num(np.trunc(extended(x)), nan=0, posinf=np.inf, neginf=-np.inf)
    return np.clip(whole, EXTENDED(bounds.min), EXTENDED(bounds.max)).astype(NUMPY[dtype])


def bitcast(x, dtype):
    return x.view(np.uint8) != 0 if dtype == "bool" else x.view(NUMPY[dtype])
