"""Padding: with a constant, or with what lies inside, one axis after the other."""
from ..dims import GraphDim
from .registry import operator
from .shapes import sliced


def _border(node, x, shape, axis, amount, front, mode):
    """`amount` elements before or after x along an axis, made of x's own."""
    extents, size = node.extents, shape[axis]
    if mode == "edge":
        edge = sliced(node, x, shape, axis, 0 if front else extents.sub(size, 1), 1)
        return node.graph.broadcast(edge, [*shape[:axis], amount, *shape[axis + 1:]])
    if mode == "wrap":
        return sliced(node, x, shape, axis, extents.sub(size, amount) if front else 0, amount)
    start = amount if front else extents.sub(size, 2)  # reflect: the border itself is not repeated
    return sliced(node, x, shape, axis, start, amount, -1)


def _cropped(node, amount):
    """How many elements a negative amount takes away."""
    extents = node.extents
    return 0 if extents.bounds(amount)[0] >= 0 else extents.max(extents.sub(0, amount), 0)


def _bordered(node, x, shape, axis, amounts, mode):
    """(value, shape) with one axis padded by borders; negative amounts crop."""
    extents = node.extents
    cropped = [_cropped(node, amount) for amount in amounts]
    amounts = [extents.add(amount, crop) for amount, crop in zip(amounts, cropped)]
    if any(crop != 0 for crop in cropped):
        size = extents.sub(shape[axis], extents.add(*cropped))
        x = sliced(node, x, shape, axis, cropped[0], size)
        shape = [*shape[:axis], size, *shape[axis + 1:]]
    parts, total = [x], shape[axis]
    for amount, front in zip(amounts, (True, False)):
        if not isinstance(amount, int) or amount > 0:
            parts.insert(0 if front else len(parts), _border(node, x, shape, axis, amount, front, mode))
            total = extents.add(total, amount)
    return (node.graph.concat(parts, axis) if len(parts) > 1 else x), [*shape[:axis], total, *shape[axis + 1:]]


@operator("Pad", since=11)
def _pad(node, x, pads, fill=None, axes=None):
    axes = node.known_ints(axes, "the list of axes") if axes is not None else range(x.rank)
    pads = node.parts(pads, "the padding")
    return _padded(node, x, pads, list(axes), None if fill is None else fill.value)


@operator("Pad", since=2)
def _pad_by_attributes(node, x):
    fill = node.graph.scalar(node.attribute("value", 0.0), x.dtype)
    return _padded(node, x, node.attribute("pads"), list(range(x.rank)), fill)


def _padded(node, x, pads, axes, fill):
    graph, mode = node.graph, node.attribute("mode", "constant")
    if mode not in ("constant", "edge", "reflect", "wrap"):
        node.fail(f'unknown mode "{mode}"')
    if len(pads) != 2 * len(axes):
        node.fail(f"{len(pads)} amounts for {len(axes)} axes")
    low, high = [0] * x.rank, [0] * x.rank
    for i, axis in enumerate(axes):
        axis = node.axis(axis, x.rank)
        low[axis], high[axis] = pads[i], pads[i + len(axes)]
    told = [axis for axis in range(x.rank)
            if not all(isinstance(part, (int, GraphDim)) for part in (low[axis], high[axis]))]
    value, shape = x.value, list(x.shape)
    if mode == "constant":
        fill = graph.scalar(0, x.dtype) if fill is None else graph.reshape(fill, [])
        value = graph.pad(value, fill, [0 if axis in told else low[axis] for axis in range(x.rank)],
                          [1 if axis in told else high[axis] for axis in range(x.rank)])
    for axis in range(x.rank):
        if axis in told:
            value, shape[axis] = _told(node, value, axis, shape[axis], low[axis], high[axis], mode)
        elif mode != "constant":
            value, shape = _bordered(node, value, shape, axis, (low[axis], high[axis]), mode)
    return value


def _told(node, x, axis, extent, low, high, mode):
    """(value, extent) with one axis padded by amounts that data gives; in mode "constant" the filling is x's last."""
    graph, size = node.graph, node.extents.as_value(extent)
    low, high = node.part_value(low), node.part_value(high)
    out = node.extents.bind(graph.max(graph.add(graph.add(low, high), size), 0))
    index = graph.sub(graph.iota([out], 0, "i64"), low)
    if mode == "constant":
        index = graph.select(graph.and_(graph.ge(index, 0), graph.lt(index, size)), index, size)
    elif mode == "edge":
        index = graph.max(graph.min(index, graph.sub(size, 1)), 0)
    elif mode == "wrap":
        index = graph.mod(index, size)
    else:  # reflect: there and back, the ends once
        period = graph.max(graph.mul(graph.sub(size, 1), 2), 1)
        index = graph.mod(index, period)
        index = graph.min(index, graph.sub(period, index))
    return graph.gather(x, index, axis=axis), out
