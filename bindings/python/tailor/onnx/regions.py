"""Operators that read windows at places which data gives."""
from .indexing import extent_value, flat_gather, position
from .registry import operator
from .windows import per_channel


def _corners(node, place, size, held):
    """[(index, weight)] of the two elements around a place on an axis of `size`, both i64 and inside.

    held: places up to 1 outside count as the border (RoiAlign); else what lies outside counts 0 (DeformConv)."""
    graph = node.graph
    last = graph.cast(extent_value(node, node.extents.sub(size, 1)), place.dtype)
    if held:
        far = graph.or_(graph.lt(place, -1.0), graph.gt(place, graph.add(last, 1.0)))
        place = graph.min(graph.max(place, 0.0), last)
    low = graph.floor(place)
    part = graph.sub(place, low)
    out = []
    for index, weight in ((low, graph.sub(1.0, part)), (graph.add(low, 1.0), part)):
        inside = graph.max(graph.min(index, last), 0.0)
        if held:
            weight = graph.select(far, 0.0, weight)
        else:
            weight = graph.select(graph.eq(inside, index), weight, 0.0)
        out.append((graph.cast(inside, "i64"), weight))
    return out


def _samples(node, x, shape, leading, rows, columns, out, held):
    """weight * value of the four elements around each (row, column): four [out..., C]; x is channels last."""
    graph = node.graph
    for row, row_weight in _corners(node, rows, shape[-3], held):
        for column, column_weight in _corners(node, columns, shape[-2], held):
            values = flat_gather(node, x, shape, [*leading, row, column], out)
            weight = graph.broadcast(graph.mul(row_weight, column_weight), out)
            yield graph.mul(values, graph.reshape(weight, [*out, 1]))


@operator("RoiAlign", since=10)
def _roi_align(node, x, regions, batch):
    graph = node.graph
    count, samples = regions.shape[0], node.attribute("sampling_ratio", 0)
    if samples <= 0:
        node.unsupported("a sampling_ratio that depends on the regions' sizes is not supported yet")
    heights, widths = node.attribute("output_height", 1), node.attribute("output_width", 1)
    out = [count, heights * samples, widths * samples]
    rows = _sample_places(node, regions, 1, heights, samples, [count, out[1], 1])
    columns = _sample_places(node, regions, 0, widths, samples, [count, 1, out[2]])
    which = graph.reshape(graph.cast(batch.value, "i64"), [count, 1, 1])
    last, shape = graph.transpose(x.value, [0, 2, 3, 1]), [x.shape[0], x.shape[2], x.shape[3], x.shape[1]]
    highest = node.attribute("mode", "avg") == "max"
    total = None
    for part in _samples(node, last, shape, [which], rows, columns, out, True):
        total = part if total is None else (graph.max if highest else graph.add)(total, part)
    split = graph.reshape(total, [count, heights, samples, widths, samples, x.shape[1]])
    pooled = graph.reduce_max(split, [2, 4]) if highest else graph.reduce_mean(split, [2, 4])
    return graph.transpose(pooled, [0, 3, 1, 2])


def _sample_places(node, regions, first, bins, samples, shape):
    """Where the samples of each region lie on one axis; `first` is its column among (x1, y1, x2, y2)."""
    graph, count = node.graph, regions.shape[0]
    half = node.attribute("coordinate_transformation_mode", "half_pixel" if node.opset >= 16 else "") == "half_pixel"
    ends = [graph.mul(graph.slice(regions.value, [0, column], [count, 1]), node.attribute("spatial_scale", 1.0))
            for column in (first, first + 2)]
    if half:
        ends = [graph.sub(end, 0.5) for end in ends]
    size = graph.sub(ends[1], ends[0])
    size = size if half else graph.max(size, 1.0)
    step = graph.div(size, float(bins * samples))
    index = graph.iota([1, bins * samples], 1, regions.dtype)
    return graph.reshape(graph.add(ends[0], graph.mul(graph.add(index, 0.5), step)), shape)


@operator("DeformConv")
def _deform_conv(node, x, weight, offset, bias=None, mask=None):
    graph, extents = node.graph, node.extents
    if x.rank != 4:
        node.unsupported(f"{x.rank - 2} spatial dims are not supported")
    groups, parts = node.attribute("group", 1), node.attribute("offset_group", 1)
    kernel, taps = weight.shape[2:], weight.shape[2] * weight.shape[3]
    batch, channels = x.shape[:2]
    sizes = list(offset.shape[2:])
    each = extents.floordiv(channels, parts)
    out = [batch, parts, taps, *sizes]
    moves = graph.reshape(offset.value, [batch, parts, taps, 2, *sizes])
    places = [_deformed(node, moves, axis, kernel, out) for axis in range(2)]
    last = graph.transpose(graph.reshape(x.value, [batch, parts, each, *x.shape[2:]]), [0, 1, 3, 4, 2])
    leading = [position(node, out, 0), position(node, out, 1)]
    total = None
    for part in _samples(node, last, [batch, parts, *x.shape[2:], each], leading, *places, out, False):
        total = part if total is None else graph.add(total, part)
    if mask is not None:
        total = graph.mul(total, graph.reshape(mask.value, [*out, 1]))
    depth = extents.mul(extents.floordiv(channels, groups), taps)
    columns = graph.reshape(graph.transpose(total, [0, 1, 5, 2, 3, 4]),
                            [batch, groups, depth, extents.product(sizes)])
    rows = graph.reshape(weight.value, [groups, extents.floordiv(weight.shape[0], groups), depth])
    result = graph.reshape(graph.dot(rows, columns), [batch, weight.shape[0], *sizes])
    return result if bias is None else graph.add(result, per_channel(node, bias.value, x.rank))


def _deformed(node, moves, axis, kernel, out):
    """Where each tap of each window reads on one spatial axis."""
    graph, batch, parts, taps = node.graph, *out[:3]
    stride = node.attribute("strides", [1, 1])[axis]
    dilation, low = node.attribute("dilations", [1, 1])[axis], node.attribute("pads", [0] * 4)[axis]
    move = graph.slice(moves, [0, 0, 0, axis, 0, 0], [batch, parts, taps, 1, *out[3:]])
    move = graph.reshape(move, out)
    tap = graph.broadcast(graph.iota(kernel, axis, move.dtype), kernel)
    tap = graph.mul(graph.reshape(tap, [taps, 1, 1]), float(dilation))
    start = graph.mul(graph.iota([out[3 + axis]] + [1] * (1 - axis), 0, move.dtype), float(stride))
    return graph.add(move, graph.sub(graph.add(start, tap), float(low)))
