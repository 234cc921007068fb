"""Pools over windows and over whole planes."""
from .dtypes import FLOATS, SIGNED
from .registry import operator
from .windows import Window
from . import dtypes, padding


def _least(dtype):
    """What max never prefers."""
    if dtype in FLOATS:
        return float("-inf")
    return -(2 ** (dtypes.bits(dtype) - 1)) if dtype in SIGNED else 0


@operator("MaxPool")
def _max_pool(node, x):
    window = Window(node, x.shape[2:], node.attribute("kernel_shape"))
    padded, shape = window.pad(x.value, x.shape, _least(x.dtype))
    out = window.fold(padded, shape, node.graph.max)
    return [out, _max_indices(node, x, window, padded, shape, out)] if len(node.proto.output) > 1 else out


def _max_indices(node, x, window, padded, shape, out):
    """The place in x, as if flat, of each window's first greatest element."""
    graph, extents, rank = node.graph, node.extents, x.rank
    place = None
    for axis in range(rank):
        index = graph.iota([x.shape[axis]] + [1] * (rank - 1 - axis), 0, "i64")
        if axis > 1 and node.attribute("storage_order", 0):
            continue
        place = index if place is None else graph.add(graph.mul(place, extents.as_value(x.shape[axis])), index)
    if node.attribute("storage_order", 0):
        place = _column_major(node, x, place)
    place = graph.broadcast(place, x.shape)
    places, _ = window.pad(place, x.shape, 2**62)
    best = None
    for offset in window.positions():
        hit = graph.eq(window.view(padded, shape, offset), out)
        candidate = graph.select(hit, window.view(places, shape, offset), 2**62)
        best = candidate if best is None else graph.min(best, candidate)
    return best


def _column_major(node, x, place):
    """Continues a place over [N, C] with the spatial dims in reverse order."""
    graph, extents, rank = node.graph, node.extents, x.rank
    place = graph.reshape(place, list(x.shape[:2]) + [1] * (rank - 2)) if rank > 2 else place
    for axis in reversed(range(2, rank)):
        index = graph.iota([x.shape[axis]] + [1] * (rank - 1 - axis), 0, "i64")
        place = graph.add(graph.mul(place, extents.as_value(x.shape[axis])), index)
    return place


@operator("AveragePool")
def _average_pool(node, x):
    graph = node.graph
    window = Window(node, x.shape[2:], node.attribute("kernel_shape"))
    padded, shape = window.pad(x.value, x.shape, 0)
    total = window.fold(padded, shape, graph.add)
    return graph.div(total, _counted(node, x, window))


def _counted(node, x, window):
    """How many elements each window counts: [1, 1, sizes...]."""
    graph, extents = node.graph, node.extents
    ones = graph.broadcast(graph.scalar(1, x.dtype), [1, 1, *x.shape[2:]])
    shape = [1, 1, *x.shape[2:]]
    if node.attribute("count_include_pad", 0):
        shape = [1, 1] + [extents.add(extents.add(dim, before), after)
                          for dim, before, after in zip(x.shape[2:], window.before, window.after)]
        ones = graph.broadcast(graph.scalar(1, x.dtype), shape)
        missing = [extents.max(extents.sub(extents.add(extents.mul(extents.sub(size, 1), stride), reach), dim), 0)
                   for size, stride, reach, dim in zip(window.sizes, window.strides, window.reach, shape[2:])]

        padded, shape = padding.pad(node, ones, shape, [0] * x.rank, [0, 0, *missing], graph.scalar(0, x.dtype))
    else:
        padded, shape = window.pad(ones, shape, 0)
    return window.fold(padded, shape, graph.add)


@operator("LpPool")
def _lp_pool(node, x):
    graph, power = node.graph, float(node.attribute("p", 2))
    window = Window(node, x.shape[2:], node.attribute("kernel_shape"))
    size = graph.abs(x.value)
    raised = graph.mul(size, size) if power == 2 else size if power == 1 else graph.pow(size, power)
    padded, shape = window.pad(raised, x.shape, 0)
    total = window.fold(padded, shape, graph.add)
    return graph.sqrt(total) if power == 2 else total if power == 1 else graph.pow(total, 1 / power)


@operator("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def _global_pool(node, x):
    graph, axes = node.graph, list(range(2, x.rank))
    if node.proto.op_type == "GlobalAveragePool":
        return graph.reduce_mean(x.value, axes, keep_dims=1)
    if node.proto.op_type == "GlobalMaxPool":
        return graph.reduce_max(x.value, axes, keep_dims=1)
    power = float(node.attribute("p", 2))
    total = graph.reduce_sum(graph.pow(graph.abs(x.value), power), axes, keep_dims=1)
    return graph.pow(total, 1 / power)
