"""Operators that treat each element alone."""
import math

import numpy

from . import dtypes, narrow
from .dtypes import FLOATS, UNSIGNED
from .registry import operator


def _unary(name, function):
    @operator(name)
    def convert(node, x):
        return function(node.graph, x.value)


def _binary(name, function):
    @operator(name)
    def convert(node, lhs, rhs):
        return function(node.graph, lhs.value, rhs.value)


def relu(graph, x):
    return graph.max(x, 0)


def softplus(graph, x):
    """log(1 + e^x), without overflow."""
    if x.dtype in ("f16", "bf16"):
        return graph.cast(softplus(graph, graph.cast(x, "f32")), x.dtype)
    return graph.add(graph.max(x, 0.0), _log1p(graph, graph.exp(graph.neg(graph.abs(x)))))


def _log1p(graph, x):
    """log(1 + x) for x in [0, 1], accurate for small x: log(u) * x / (u - 1), where u is 1 + x rounded (Kahan)."""
    u = graph.add(x, 1.0)
    return graph.select(graph.eq(u, 1.0), x, graph.div(graph.mul(graph.log(u), x), graph.sub(u, 1.0)))


def sign(graph, x):
    if x.dtype in UNSIGNED:
        return graph.cast(graph.ne(x, 0), x.dtype)
    difference = graph.sub(graph.cast(graph.gt(x, 0), x.dtype), graph.cast(graph.lt(x, 0), x.dtype))
    return graph.select(graph.ne(x, x), x, difference) if x.dtype in FLOATS else difference


def _sinh(graph, x):
    """(e^x - e^-x) / 2, and for small x, where that cancels, the series."""
    square = graph.mul(x, x)
    series = graph.add(graph.mul(graph.add(graph.mul(graph.add(graph.mul(square, 1 / 5040), 1 / 120), square), 1 / 6),
                                 square), 1.0)
    wide = graph.mul(graph.sub(graph.exp(x), graph.exp(graph.neg(x))), 0.5)
    return graph.select(graph.lt(graph.abs(x), 0.5), graph.mul(x, series), wide)


def _cosh(graph, x):
    return graph.mul(graph.add(graph.exp(x), graph.exp(graph.neg(x))), 0.5)


def _asinh(graph, x):
    """sign(x) log(|x| + sqrt(x^2 + 1))."""
    size = graph.abs(x)
    log = graph.log(graph.add(size, graph.sqrt(graph.add(graph.mul(x, x), 1.0))))
    return graph.select(graph.lt(x, 0.0), graph.neg(log), log)


def _acosh(graph, x):
    return graph.log(graph.add(x, graph.sqrt(graph.sub(graph.mul(x, x), 1.0))))


def _atanh(graph, x):
    return graph.mul(graph.log(graph.div(graph.add(x, 1.0), graph.sub(1.0, x))), 0.5)


for _name, _function in {
        "Neg": lambda g, x: g.neg(x), "Abs": lambda g, x: x if x.dtype in UNSIGNED else g.abs(x),
        "Exp": lambda g, x: g.exp(x), "Log": lambda g, x: g.log(x), "Tanh": lambda g, x: g.tanh(x),
        "Erf": lambda g, x: g.erf(x) if x.dtype in FLOATS else g.cast(g.erf(g.cast(x, "f32")), x.dtype),
        "Sqrt": lambda g, x: g.sqrt(x), "Sigmoid": lambda g, x: g.sigmoid(x),
        "Reciprocal": lambda g, x: g.div(1.0, x), "Relu": relu, "Softplus": softplus, "Sign": sign,
        "Softsign": lambda g, x: g.div(x, g.add(g.abs(x), 1.0)),
        "Mish": lambda g, x: g.mul(x, g.tanh(softplus(g, x))),
        "HardSwish": lambda g, x: g.mul(x, g.max(g.min(g.add(g.mul(x, 1 / 6), 0.5), 1.0), 0.0)),
        "Floor": lambda g, x: g.floor(x), "Ceil": lambda g, x: g.ceil(x), "Round": lambda g, x: g.round(x),
        "Sin": lambda g, x: g.sin(x), "Cos": lambda g, x: g.cos(x), "Tan": lambda g, x: g.tan(x),
        "Asin": lambda g, x: g.asin(x), "Acos": lambda g, x: g.acos(x), "Atan": lambda g, x: g.atan(x),
        "Sinh": _sinh, "Cosh": _cosh, "Asinh": _asinh, "Acosh": _acosh, "Atanh": _atanh,
        "Not": lambda g, x: g.not_(x), "BitwiseNot": lambda g, x: g.not_(x), "IsNaN": lambda g, x: g.ne(x, x),
}.items():
    _unary(_name, _function)

for _name, _function in {
        "Add": lambda g, a, b: g.add(a, b), "Sub": lambda g, a, b: g.sub(a, b), "Mul": lambda g, a, b: g.mul(a, b),
        "Div": lambda g, a, b: g.div(a, b), "And": lambda g, a, b: g.and_(a, b), "Or": lambda g, a, b: g.or_(a, b),
        "Xor": lambda g, a, b: g.xor(a, b), "BitwiseAnd": lambda g, a, b: g.and_(a, b),
        "BitwiseOr": lambda g, a, b: g.or_(a, b), "BitwiseXor": lambda g, a, b: g.xor(a, b),
        "Equal": lambda g, a, b: g.eq(a, b), "Less": lambda g, a, b: g.lt(a, b),
        "LessOrEqual": lambda g, a, b: g.le(a, b), "Greater": lambda g, a, b: g.gt(a, b),
        "GreaterOrEqual": lambda g, a, b: g.ge(a, b),
        "PRelu": lambda g, x, slope: g.select(g.lt(x, 0), g.mul(x, slope), x),
}.items():
    _binary(_name, _function)


@operator("Identity")
def _identity(node, x):
    return x


@operator("OptionalHasElement")
def _has_element(node, x=None):
    """Whether there is an operand: one that is no tensor is refused before."""
    return node.constant(numpy.asarray(x is not None))


@operator("OptionalGetElement")
def _element(node, x):
    return x


@operator("Dropout", since=12)
def _dropout(node, x, ratio=None, training=None):
    for known in (training, ratio) if training is not None else ():
        if known is not None and known.item() is None:
            node.depends_on_data(known, "whether elements are dropped")
    if training is not None and training.item() and (ratio is None or ratio.item()):
        node.unsupported("training mode draws random numbers")
    return _kept(node, x)


@operator("Dropout", since=7)
def _dropout_inference(node, x):
    return _kept(node, x)


def _kept(node, x):
    """x, and the mask that keeps all of it."""
    mask = node.graph.broadcast(node.graph.scalar(1, "bool"), x.shape)
    return [x, mask][:len(node.proto.output)]


@operator("Cast")
def _cast(node, x):
    code, value = node.attribute("to"), x.value
    if x.narrow == code:
        return x
    value = narrow.decode(node.graph, value, x.narrow) if x.narrow else value
    if narrow.is_narrow(code):
        saturate, rounding = node.attribute("saturate", 1), node.attribute("round_mode", "up")
        return node.tensor(narrow.encode(node.graph, value, code, saturate, rounding), code)
    return cast(node, value, dtypes.from_onnx(code))


@operator("BitCast")
def _bit_cast(node, x):
    code = node.attribute("to")
    for kind in (x.narrow, code):
        if kind and narrow.is_narrow(kind) and narrow.bits(kind) < 8:
            node.unsupported("types below 8 bits are not supported")
    if narrow.is_narrow(code):
        return node.tensor(node.graph.bitcast(x.value, narrow.storage(code)), code)
    return node.graph.bitcast(x.value, dtypes.from_onnx(code))


@operator("CastLike")
def _cast_like(node, x, target):
    attributes = {name: node.attribute(name) for name in ("saturate", "round_mode") if node.has(name)}
    return node.call("Cast", x, to=target.narrow or dtypes.to_onnx(target.dtype), **attributes)


def cast(node, x, dtype):
    return x if x.dtype == dtype else node.graph.cast(x, dtype)


@operator("Where")
def _where(node, condition, lhs, rhs):
    return node.graph.select(condition.value, lhs.value, rhs.value)


@operator("Pow")
def _pow(node, x, exponent):
    graph, power = node.graph, exponent.item()
    if isinstance(power, (int, float)) and power == int(power) and 0 < power <= 4:
        out = x.value
        for _ in range(int(power) - 1):
            out = graph.mul(out, x.value)
        return out
    if power == 0.5 and x.dtype in FLOATS:
        return graph.sqrt(x.value)
    if x.dtype in FLOATS:
        return graph.pow(x.value, cast(node, exponent.value, x.dtype))
    out = graph.pow(graph.cast(x.value, "f64"), cast(node, exponent.value, "f64"))
    return graph.cast(graph.round(out), x.dtype)


@operator("Mod")
def _mod(node, lhs, rhs):
    graph = node.graph
    return (graph.rem if node.attribute("fmod", 0) else graph.mod)(lhs.value, rhs.value)


@operator("BitShift")
def _bit_shift(node, x, count):
    graph = node.graph
    shift = graph.shift_left if node.attribute("direction") == "LEFT" else graph.shift_right
    return shift(x.value, count.value)


@operator("Max", "Min", "Sum", "Mean", since=8)
def _nary(node, first, *others):
    graph = node.graph
    combine = {"Max": graph.max, "Min": graph.min}.get(node.proto.op_type, graph.add)
    out = first.value
    for other in others:
        out = combine(out, other.value)
    return graph.div(out, float(len(others) + 1)) if node.proto.op_type == "Mean" else out


@operator("Clip", since=11)
def _clip(node, x, low=None, high=None):
    out = x.value
    if low is not None:
        out = node.graph.max(out, low.value)
    return out if high is None else node.graph.min(out, high.value)


@operator("Clip", since=6)
def _clip_by_attributes(node, x):
    out = x.value
    if node.has("min"):
        out = node.graph.max(out, node.attribute("min"))
    return node.graph.min(out, node.attribute("max")) if node.has("max") else out


@operator("LeakyRelu")
def _leaky_relu(node, x):
    return _negative_part(node, x, node.graph.mul(x.value, node.attribute("alpha", 0.01)))


@operator("Elu")
def _elu(node, x):
    return _negative_part(node, x, _scaled_expm1(node, x.value, node.attribute("alpha", 1.0)))


@operator("Selu")
def _selu(node, x):
    alpha = node.attribute("alpha", 1.67326319217681884765625)
    elu = _negative_part(node, x, _scaled_expm1(node, x.value, alpha))
    return node.graph.mul(elu, node.attribute("gamma", 1.05070102214813232421875))


@operator("Celu")
def _celu(node, x):
    alpha = node.attribute("alpha", 1.0)
    return _negative_part(node, x, _scaled_expm1(node, node.graph.div(x.value, alpha), alpha))


def _negative_part(node, x, negative):
    return node.graph.select(node.graph.lt(x.value, 0), negative, x.value)


def _scaled_expm1(node, x, alpha):
    return node.graph.mul(node.graph.sub(node.graph.exp(x), 1.0), alpha)


@operator("ThresholdedRelu")
def _thresholded_relu(node, x):
    return node.graph.select(node.graph.gt(x.value, node.attribute("alpha", 1.0)), x.value, 0.0)


@operator("HardSigmoid")
def _hard_sigmoid(node, x):
    graph = node.graph
    line = graph.add(graph.mul(x.value, node.attribute("alpha", 0.2)), node.attribute("beta", 0.5))
    return graph.max(graph.min(line, 1.0), 0.0)


@operator("Gelu")
def _gelu(node, x):
    return node.graph.gelu_tanh(x.value) if node.attribute("approximate", "none") == "tanh" else \
        node.graph.gelu(x.value)


@operator("Swish")
def _swish(node, x):
    return node.graph.mul(x.value, node.graph.sigmoid(node.graph.mul(x.value, node.attribute("alpha", 1.0))))


@operator("Shrink")
def _shrink(node, x):
    graph, bias, bound = node.graph, node.attribute("bias", 0.0), node.attribute("lambd", 0.5)
    wide = x.value if x.dtype in FLOATS else graph.cast(x.value, "f32")
    inner = graph.select(graph.gt(wide, bound), graph.sub(wide, bias), graph.mul(wide, 0.0))
    return cast(node, graph.select(graph.lt(wide, -bound), graph.add(wide, bias), inner), x.dtype)


@operator("IsInf")
def _is_inf(node, x):
    graph, tests = node.graph, []
    if node.attribute("detect_positive", 1):
        tests.append(graph.eq(x.value, math.inf))
    if node.attribute("detect_negative", 1):
        tests.append(graph.eq(x.value, -math.inf))
    if not tests:
        return graph.ne(graph.abs(x.value), graph.abs(x.value)) if x.dtype not in FLOATS else \
            graph.and_(graph.eq(x.value, 0.0), graph.ne(x.value, 0.0))
    return tests[0] if len(tests) == 1 else graph.or_(*tests)
