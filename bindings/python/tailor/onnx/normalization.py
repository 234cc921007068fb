"""Normalizations."""
from . import windows
from .dtypes import through_f32
from .registry import operator


def standardized(graph, x, axes, epsilon):
    """(x - mean) / sqrt(variance + epsilon) over axes."""
    centered = graph.sub(x, graph.reduce_mean(x, axes, keep_dims=1))
    variance = graph.reduce_mean(graph.mul(centered, centered), axes, keep_dims=1)
    return graph.mul(centered, graph.rsqrt(graph.add(variance, epsilon)))


@operator("BatchNormalization", since=7)
def _batch_normalization(node, x, scale, bias, mean, variance):
    graph, epsilon = node.graph, node.attribute("epsilon", 1e-5)
    if node.attribute("training_mode", 0):
        return _batch_training(node, x, scale, bias, mean, variance)
    factor = graph.mul(scale.value, graph.rsqrt(graph.add(variance.value, epsilon)))
    shift = graph.sub(bias.value, graph.mul(mean.value, factor))
    spread = [windows.per_channel(node, part, max(x.rank, 2)) for part in (factor, shift)]
    return graph.add(graph.mul(x.value, spread[0]), spread[1])


def _batch_training(node, x, scale, bias, mean, variance):
    graph, epsilon, keep = node.graph, node.attribute("epsilon", 1e-5), node.attribute("momentum", 0.9)
    axes = [axis for axis in range(x.rank) if axis != 1]
    current = graph.reduce_mean(x.value, axes)
    centered = graph.sub(x.value, windows.per_channel(node, current, x.rank))
    spread = graph.reduce_mean(graph.mul(centered, centered), axes)
    factor = graph.mul(scale.value, graph.rsqrt(graph.add(spread, epsilon)))
    out = graph.add(graph.mul(centered, windows.per_channel(node, factor, x.rank)),
                    windows.per_channel(node, bias.value, x.rank))
    moved = [graph.add(graph.mul(old.value, keep), graph.mul(new, 1 - keep))
             for old, new in ((mean, current), (variance, spread))]
    return [out, *moved][:len(node.proto.output)]


@operator("InstanceNormalization")
def _instance_normalization(node, x, scale, bias):
    graph = node.graph

    def normalized(value, scale, bias):
        out = standardized(graph, value, list(range(2, x.rank)), node.attribute("epsilon", 1e-5))
        return graph.add(graph.mul(out, windows.per_channel(node, scale, x.rank)),
                         windows.per_channel(node, bias, x.rank))

    return through_f32(graph, [x.value, scale.value, bias.value], normalized)


@operator("LayerNormalization")
def _layer_normalization(node, x, scale, bias=None):
    graph, axes = node.graph, list(range(node.axis(node.attribute("axis", -1), x.rank), x.rank))
    epsilon = node.attribute("epsilon", 1e-5)
    wide = graph.cast(x.value, "f32") if x.dtype in ("f16", "bf16") else x.value
    mean = graph.reduce_mean(wide, axes, keep_dims=1)
    centered = graph.sub(wide, mean)
    inverse = graph.rsqrt(graph.add(graph.reduce_mean(graph.mul(centered, centered), axes, keep_dims=1), epsilon))
    out = graph.mul(centered, inverse)
    out = graph.cast(out, x.dtype) if wide.dtype != x.dtype else out
    out = graph.mul(out, scale.value)
    out = out if bias is None else graph.add(out, bias.value)
    return [out, mean, inverse][:len(node.proto.output)]


@operator("RMSNormalization")
def _rms_normalization(node, x, scale):
    graph, axes = node.graph, list(range(node.axis(node.attribute("axis", -1), x.rank), x.rank))
    wide = graph.cast(x.value, "f32") if x.dtype in ("f16", "bf16") else x.value
    square = graph.reduce_mean(graph.mul(wide, wide), axes, keep_dims=1)
    out = graph.mul(wide, graph.rsqrt(graph.add(square, node.attribute("epsilon", 1e-5))))
    return graph.mul(graph.cast(out, x.dtype) if wide.dtype != x.dtype else out, scale.value)


@operator("LpNormalization")
def _lp_normalization(node, x):
    graph, axis, power = node.graph, node.axis(node.attribute("axis", -1), x.rank), node.attribute("p", 2)

    def normalized(value):
        if power == 1:
            norm = graph.reduce_sum(graph.abs(value), [axis], keep_dims=1)
        else:
            norm = graph.sqrt(graph.reduce_sum(graph.mul(value, value), [axis], keep_dims=1))
        return graph.select(graph.eq(norm, 0), graph.mul(norm, 0), graph.div(value, norm))

    return through_f32(graph, [x.value], normalized)


@operator("LRN")
def _lrn(node, x):
    """x / (bias + alpha / size * sum of squares over `size` neighbouring channels) ^ beta."""
    graph, size = node.graph, node.attribute("size")
    alpha, beta, bias = node.attribute("alpha", 1e-4), node.attribute("beta", 0.75), node.attribute("bias", 1.0)

    low, high = [0] * x.rank, [0] * x.rank
    low[1], high[1] = (size - 1) // 2, size - 1 - (size - 1) // 2
    squares = graph.pad(graph.mul(x.value, x.value), graph.scalar(0, x.dtype), low, high)
    total = graph.reduce_sum(graph.window(squares, [1], [size]), [x.rank])
    return graph.div(x.value, graph.pow(graph.add(graph.mul(total, alpha / size), bias), beta))


@operator("MeanVarianceNormalization")
def _mean_variance_normalization(node, x):
    """The deviation, not the variance, is kept from 0."""
    graph, axes = node.graph, [node.axis(axis, x.rank) for axis in node.attribute("axes", [0, 2, 3])]

    def normalized(value):
        centered = graph.sub(value, graph.reduce_mean(value, axes, keep_dims=1))
        deviation = graph.sqrt(graph.reduce_mean(graph.mul(centered, centered), axes, keep_dims=1))
        return graph.div(centered, graph.add(deviation, 1e-9))

    return through_f32(graph, [x.value], normalized)
