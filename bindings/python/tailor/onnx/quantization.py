"""Quantized tensors."""
from . import dtypes, narrow
from .elementwise import cast
from .products import batched
from .registry import operator
from .windows import convolution, per_channel


def _per_axis(node, x, part):
    """A scale or zero point, broadcast over x: one, one for each index of the axis, or one for each block."""
    if part.rank == 0 or (part.rank == 1 and part.shape[0] == 1 and not node.attribute("block_size", 0)):
        return node.graph.reshape(part.value, [])
    axis, block = node.axis(node.attribute("axis", 1), x.rank), node.attribute("block_size", 0)
    if part.rank == 1:
        return node.graph.reshape(part.value, [part.shape[0]] + [1] * (x.rank - 1 - axis))
    dims = list(part.shape)
    spread = node.graph.broadcast(node.graph.reshape(part.value, [*dims[:axis + 1], 1, *dims[axis + 1:]]),
                                  [*dims[:axis + 1], block, *dims[axis + 1:]])
    wide = node.graph.reshape(spread, [*dims[:axis], node.extents.mul(dims[axis], block), *dims[axis + 1:]])
    return node.graph.slice(wide, [0] * x.rank, x.shape)


def quantized(graph, x, scale, zero, dtype, bounds=None):
    """saturate(round(x / scale) + zero), within the type's own bounds, as casts are, unless others are given."""
    whole = graph.round(x if scale == 1.0 else graph.div(x, scale))
    if zero is not None:
        whole = graph.add(whole, graph.cast(zero, whole.dtype))
    if bounds is not None:
        low, high = bounds
        whole = graph.max(graph.min(whole, float(high)), float(low))
    return graph.cast(whole, dtype)


@operator("QuantizeLinear")
def _quantize_linear(node, x, scale, zero=None):
    graph = node.graph
    code = node.attribute("output_dtype", 0) or dtypes.to_onnx("u8")
    if zero is not None:
        code = zero.narrow or dtypes.to_onnx(zero.dtype)
    wide = x.value if x.dtype in ("f32", "f64") else graph.cast(x.value, "f32")
    wide = graph.div(wide, cast(node, _per_axis(node, x, scale), wide.dtype))
    offset = None if zero is None else _per_axis(node, x, zero)
    if narrow.is_float(code):
        offset = 0.0 if offset is None else cast(node, narrow.decode(graph, offset, code), wide.dtype)
        return node.tensor(narrow.encode(graph, graph.add(wide, offset), code, node.attribute("saturate", 1)), code)
    if narrow.is_narrow(code):
        return node.tensor(quantized(graph, wide, 1.0, offset, narrow.storage(code), narrow.limits(code)), code)
    return quantized(graph, wide, 1.0, offset, dtypes.from_onnx(code))


@operator("DequantizeLinear")
def _dequantize_linear(node, x, scale, zero=None):
    graph, out = node.graph, scale.dtype
    if node.attribute("output_dtype", 0):
        out = dtypes.from_onnx(node.attribute("output_dtype"))
    numbers = "f32" if x.narrow and narrow.is_float(x.narrow) else "i32"

    def number(tensor, value):
        return cast(node, narrow.decode(graph, value, tensor.narrow) if tensor.narrow else value, numbers)

    value = number(x, x.value)
    if zero is not None:
        value = graph.sub(value, number(zero, _per_axis(node, x, zero)))
    return cast(node, graph.mul(cast(node, value, "f32"), cast(node, _per_axis(node, x, scale), "f32")), out)


@operator("DynamicQuantizeLinear")
def _dynamic_quantize_linear(node, x):
    graph, axes = node.graph, list(range(x.rank))
    high = graph.max(graph.reduce_max(x.value, axes), 0.0)
    low = graph.min(graph.reduce_min(x.value, axes), 0.0)
    scale = graph.div(graph.sub(high, low), 255.0)
    zero = graph.max(graph.min(graph.round(graph.div(graph.neg(low), scale)), 255.0), 0.0)
    zero = graph.cast(zero, "u8")
    return [quantized(graph, x.value, scale, zero, "u8"), scale, zero]


def _spread(node, part, rank):
    """A scale or zero point: one number, a list for a dim that `rank` others follow, or a tensor that broadcasts."""
    if part.rank != 1:
        return part.value
    return node.graph.reshape(part.value, [] if part.shape[0] == 1 else [part.shape[0]] + [1] * rank)


def _shifted(node, x, zero, rank=0):
    """x - zero in i32."""
    graph = node.graph
    value = graph.cast(x.value, "i32")
    return value if zero is None else graph.sub(value, graph.cast(_spread(node, zero, rank), "i32"))


def _requantized(node, total, scales, zero):
    """saturate(round(total * x / y * weight) + zero) of an i32 total and the scales (x, weight, y)."""
    graph = node.graph
    x, weight, y = (graph.cast(scale, "f32") if scale.dtype != "f32" else scale for scale in scales)
    scale = graph.div(graph.mul(x, weight), y)
    return quantized(graph, graph.mul(graph.cast(total, "f32"), scale), 1.0, _spread(node, zero, 1), zero.dtype)


@operator("MatMulInteger")
def _matmul_integer(node, a, b, a_zero=None, b_zero=None):
    return batched(node, _shifted(node, a, a_zero, 1), a.shape, _shifted(node, b, b_zero), b.shape)


@operator("QLinearMatMul")
def _qlinear_matmul(node, a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero):
    """Rows of a and columns of b may have their own scales."""
    product = batched(node, _shifted(node, a, a_zero, 1), a.shape, _shifted(node, b, b_zero), b.shape)
    scales = _spread(node, a_scale, 1), _spread(node, b_scale, 0), _spread(node, y_scale, 1)
    return _requantized(node, product, scales, y_zero)


def _convolved(node, x, x_zero, weight, weight_zero):
    return convolution(node, _shifted(node, x, x_zero), _shifted(node, weight, weight_zero, weight.rank - 1), x.shape,
                       weight.shape, node.attribute("group", 1))


@operator("ConvInteger")
def _conv_integer(node, x, weight, x_zero=None, weight_zero=None):
    return _convolved(node, x, x_zero, weight, weight_zero)


@operator("QLinearConv")
def _qlinear_conv(node, x, x_scale, x_zero, weight, w_scale, w_zero, y_scale, y_zero, bias=None):
    """Output channels may have their own scales."""
    total = _convolved(node, x, x_zero, weight, w_zero)
    if bias is not None:
        total = node.graph.add(total, per_channel(node, bias.value, x.rank))
    scales = _spread(node, x_scale, 0), _spread(node, w_scale, x.rank - 2), _spread(node, y_scale, 0)
    return _requantized(node, total, scales, y_zero)
