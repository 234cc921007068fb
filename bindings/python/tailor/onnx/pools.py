"""Pools: reductions over windows, and over whole planes."""
from . import dtypes
from .dtypes import FLOATS, SIGNED
from .registry import operator
from .windows import Window, dims

_NOWHERE = 2**62


def _least(dtype):
    """What max never prefers."""
    if dtype in FLOATS:
        return float("-inf")
    return -(2 ** (dtypes.bits(dtype) - 1)) if dtype in SIGNED else 0


@operator("MaxPool")
def _max_pool(node, x):
    window = Window(node, x.shape[2:], node.attribute("kernel_shape"))
    window.demand_elements()
    view = window.view(window.pad(x.value, _least(x.dtype)))
    out = node.graph.reduce_max(view, window.inner)
    return [out, _max_indices(node, x, window, view)] if len(node.proto.output) > 1 else out


def _max_indices(node, x, window, view):
    """The place in x, as if flat, of each window's first greatest element."""
    graph, extents = node.graph, node.extents
    axes = window.axes if not node.attribute("storage_order", 0) else window.axes[::-1]
    place = None
    for axis in [0, 1, *axes]:
        index = graph.iota([x.shape[axis]] + [1] * (x.rank - 1 - axis), 0, "i64")
        place = index if place is None else graph.add(graph.mul(place, extents.as_value(x.shape[axis])), index)
    places = window.view(window.pad(graph.broadcast(place, x.shape), _NOWHERE))
    hit = graph.eq(view, graph.reduce_max(view, window.inner, keep_dims=1))
    return graph.reduce_min(graph.select(hit, places, _NOWHERE), window.inner)


@operator("AveragePool")
def _average_pool(node, x):
    window = Window(node, x.shape[2:], node.attribute("kernel_shape"))
    window.demand_elements()
    total = node.graph.reduce_sum(window.view(window.pad(x.value, 0)), window.inner)
    return node.graph.div(total, _counted(node, x, window))


def _counted(node, x, window):
    """How many elements each window counts, [1, 1, positions...]: the product of each axis's count."""
    graph, rank, out = node.graph, x.rank - 2, None
    pads = node.attribute("pads", [0] * 2 * rank)
    for i, extent in enumerate(x.shape[2:]):
        low, high = window.low[i], window.high[i]
        if node.attribute("count_include_pad", 0):
            own = (low, high) if node.attribute("auto_pad", "NOTSET") != "NOTSET" else (pads[i], pads[i + rank])
            extent = node.extents.add(node.extents.add(extent, own[0]), own[1])
            low, high = node.extents.sub(low, own[0]), node.extents.sub(high, own[1])
        ones = graph.broadcast(graph.scalar(1, x.dtype), [extent])
        padded = graph.pad(ones, graph.scalar(0, x.dtype), [low], [high])
        view = graph.window(padded, [0], [window.kernel[i]], strides=[window.strides[i]],
                            dilations=[window.dilations[i]])
        count = graph.reduce_sum(view, [1])
        count = graph.reshape(count, dims(node, count) + [1] * (rank - 1 - i))
        out = count if out is None else graph.mul(out, count)
    return out


@operator("LpPool")
def _lp_pool(node, x):
    window = Window(node, x.shape[2:], node.attribute("kernel_shape"))
    window.demand_elements()
    raised, root = _power(node, x.value)
    return root(node.graph.reduce_sum(window.view(window.pad(raised, 0)), window.inner))


def _power(node, x):
    """|x| to the power p, and the function that takes the root."""
    graph, power = node.graph, float(node.attribute("p", 2))
    if power == 1:
        return graph.abs(x), lambda total: total
    if power == 2:
        return graph.mul(x, x), graph.sqrt
    return graph.pow(graph.abs(x), power), lambda total: graph.pow(total, 1 / power)


@operator("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def _global_pool(node, x):
    graph, axes = node.graph, list(range(2, x.rank))
    if node.proto.op_type == "GlobalAveragePool":
        return graph.reduce_mean(x.value, axes, keep_dims=1)
    if node.proto.op_type == "GlobalMaxPool":
        return graph.reduce_max(x.value, axes, keep_dims=1)
    raised, root = _power(node, x.value)
    return root(graph.reduce_sum(raised, axes, keep_dims=1))
