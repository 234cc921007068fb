"""Padding: with a constant, or with what lies inside, one axis after the other."""
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


def _bordered(node, x, shape, axis, amounts, mode):
    """(value, shape) with one axis padded by borders; negative amounts crop."""
    extents = node.extents
    for amount in amounts:
        if not isinstance(amount, int) and extents.bounds(amount)[0] < 0:
            node.unsupported(f"padding by {extents.text(amount)}, which may be negative")
    cropped = [min(amount, 0) if isinstance(amount, int) else 0 for amount in amounts]
    if any(cropped):
        size = extents.add(shape[axis], sum(cropped))
        x = sliced(node, x, shape, axis, -cropped[0], size)
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
    return _padded(node, x, node.known(pads, "the padding"), list(axes), None if fill is None else fill.value)


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
    if mode == "constant":
        fill = graph.scalar(0, x.dtype) if fill is None else graph.reshape(fill, [])
        return graph.pad(x.value, fill, low, high)
    value, shape = x.value, list(x.shape)
    for axis in range(x.rank):
        value, shape = _bordered(node, value, shape, axis, (low[axis], high[axis]), mode)
    return value
