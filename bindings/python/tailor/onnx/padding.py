"""Padding, by joining pieces along one axis after the other."""
from .registry import operator
from .shapes import sliced


def pad(node, x, shape, before, after, fill):
    """x with `fill` (a scalar value) around it; negative amounts crop. Gives (value, shape)."""
    for axis in range(len(shape)):
        x, shape = _pad_axis(node, x, shape, axis, before[axis], after[axis],
                             lambda dims, fill=fill: node.graph.broadcast(fill, dims), None)
    return x, shape


def _pad_axis(node, x, shape, axis, before, after, filled, mode):
    """(value, shape) with one axis padded; `filled` makes a constant piece of given dims."""
    extents = node.extents
    for amount in (before, after):
        if not isinstance(amount, int) and extents.bounds(amount)[0] < 0:
            node.unsupported(f"padding by {extents.text(amount)}, which may be negative")
    cropped = [min(amount, 0) if isinstance(amount, int) else 0 for amount in (before, after)]
    if any(cropped):
        size = extents.add(shape[axis], sum(cropped))
        x = sliced(node, x, shape, axis, -cropped[0], size)
        shape = [*shape[:axis], size, *shape[axis + 1:]]
    pieces, total = [], shape[axis]
    for amount, front in ((before, True), (after, False)):
        if isinstance(amount, int) and amount <= 0:
            continue
        dims = [*shape[:axis], amount, *shape[axis + 1:]]
        piece = filled(dims) if mode is None else _border(node, x, shape, axis, amount, front, mode)
        pieces.append((front, piece))
        total = extents.add(total, amount)
    if not pieces:
        return x, shape
    parts = [p for front, p in pieces if front] + [x] + [p for front, p in pieces if not front]
    return node.graph.concat(parts, axis), [*shape[:axis], total, *shape[axis + 1:]]


def _border(node, x, shape, axis, amount, front, mode):
    """`amount` elements before or after x along an axis, made of x's own."""
    extents, graph = node.extents, node.graph
    size = shape[axis]
    if mode == "edge":
        edge = sliced(node, x, shape, axis, 0 if front else extents.sub(size, 1), 1)
        return graph.broadcast(edge, [*shape[:axis], amount, *shape[axis + 1:]])
    if mode == "wrap":
        return sliced(node, x, shape, axis, extents.sub(size, amount) if front else 0, amount)
    start = amount if front else extents.sub(size, 2)  # reflect: the border itself is not repeated
    return sliced(node, x, shape, axis, start, amount, -1)


@operator("Pad", since=11)
def _pad(node, x, pads, fill=None, axes=None):
    axes = node.known_ints(axes, "the list of axes") if axes is not None else range(x.rank)
    return _padded(node, x, node.known(pads, "the padding"), list(axes), None if fill is None else fill.value)


@operator("Pad", since=2)
def _pad_by_attributes(node, x):
    fill = node.graph.scalar(node.attribute("value", 0.0), x.dtype)
    return _padded(node, x, node.attribute("pads"), list(range(x.rank)), fill)


def _padded(node, x, pads, axes, fill):
    mode = node.attribute("mode", "constant")
    if mode not in ("constant", "edge", "reflect", "wrap"):
        node.fail(f'unknown mode "{mode}"')
    if len(pads) != 2 * len(axes):
        node.fail(f"{len(pads)} amounts for {len(axes)} axes")
    graph = node.graph
    if fill is None:
        fill = graph.scalar(0, x.dtype)
    fill = graph.reshape(fill, [])
    value, shape = x.value, list(x.shape)
    for i, axis in enumerate(axes):
        axis = node.axis(axis, x.rank)
        value, shape = _pad_axis(node, value, shape, axis, pads[i], pads[i + len(axes)],
                                 lambda dims: graph.broadcast(fill, dims), None if mode == "constant" else mode)
    return value
