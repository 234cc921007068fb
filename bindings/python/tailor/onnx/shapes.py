"""Operators that move elements and compute none."""
import numpy

from ..dims import GraphDim
from . import dtypes
from .registry import operator


@operator("Constant")
def _constant(node):
    for name, dtype in (("value_float", "float32"), ("value_floats", "float32"), ("value_int", "int64"),
                        ("value_ints", "int64")):
        if node.has(name):
            return node.constant(numpy.asarray(node.attribute(name), dtype))
    return node.attribute("value") or node.unsupported("constants of texts or sparse tensors are not supported")


@operator("Reshape", since=5)
def _reshape(node, x, shape):
    return node.graph.reshape(x.value, _reshaped(node, x.shape, _wanted(node, x, node.parts(shape, "the shape"))))


def _wanted(node, x, shape):
    """`shape` with what data gives as extents: its 0 and -1 are resolved when the graph runs."""
    graph, extents = node.graph, node.extents
    # One that may be the 0 or -1 of a selection is a value too: what it stands for depends on the run.
    shape = [extents.as_value(part) if isinstance(part, GraphDim) and extents.may_ask(part) else part for part in shape]
    if all(isinstance(part, (int, GraphDim)) for part in shape):
        return shape
    values = {}
    for i, part in enumerate(shape):
        if not isinstance(part, (int, GraphDim)):
            values[i] = node.part_value(part)
            if i < x.rank and not node.attribute("allowzero", 0):
                values[i] = graph.select(graph.eq(values[i], 0), extents.as_value(x.shape[i]), values[i])
    if not any(isinstance(part, int) and part == -1 for part in shape):
        left = extents.as_value(extents.product(x.shape))
        for i, part in enumerate(shape):  # what is left after the others; -1 itself divides by 1
            same = isinstance(part, int) and part == 0 and not node.attribute("allowzero", 0) and i < x.rank
            size = values[i] if i in values else extents.as_value(x.shape[i] if same else part)
            left = graph.div(left, graph.abs(size))
        values = {i: graph.select(graph.lt(value, 0), left, value) for i, value in values.items()}
    return [extents.bind(values[i]) if i in values else part for i, part in enumerate(shape)]


def _reshaped(node, dims, shape):
    """`shape` with its 0 (copy) and -1 (what is left) resolved."""
    extents, shape = node.extents, list(shape)
    if not node.attribute("allowzero", 0):
        if any(isinstance(dim, int) and dim == 0 and i >= len(dims) for i, dim in enumerate(shape)):
            node.fail(f"the 0 in shape {shape} has no dim to copy")
        shape = [dims[i] if isinstance(dim, int) and dim == 0 else dim for i, dim in enumerate(shape)]
    unknown = [i for i, dim in enumerate(shape) if isinstance(dim, int) and dim == -1]
    if len(unknown) > 1 or any(isinstance(dim, int) and dim < -1 for dim in shape):
        node.fail(f"{shape} is no shape")
    if unknown:
        shape[unknown[0]] = _rest(node, dims, [dim for i, dim in enumerate(shape) if i != unknown[0]])
    return [extents.max(dim, 0) if extents.bounds(dim)[0] < 0 else dim for dim in shape]


def _rest(node, dims, others):
    """The product of `dims` over that of `others`; what both have cancels first, for it may be 0."""
    extents, left = node.extents, list(others)
    texts = [extents.text(dim) for dim in left]
    kept = []
    for dim in dims:
        text = extents.text(dim)
        if text in texts:
            del left[texts.index(text)]
            texts.remove(text)
        else:
            kept.append(dim)
    total, known = extents.product(kept), extents.product(left)
    if known == 0:
        return 0
    if isinstance(total, int) and isinstance(known, int) and total % known:
        node.fail(f"{total} elements do not divide into rows of {known}")
    return extents.floordiv(total, known)


@operator("Transpose")
def _transpose(node, x):
    return node.graph.transpose(x.value, node.attribute("perm", list(reversed(range(x.rank)))))


@operator("Squeeze", since=1)
def _squeeze(node, x, axes=None):
    axes = node.known_ints(axes, "the list of axes") if axes is not None else node.attribute("axes")
    if axes is None:
        axes = [i for i in range(x.rank) if _is_one(node, x, i)]
    axes = {node.axis(axis, x.rank) for axis in axes}
    for axis in axes:
        if node.extents.equal(x.shape[axis], 1) is False:
            node.fail(f"dim {axis} is {x.shape[axis]}, not 1")
    return node.graph.reshape(x.value, [dim for i, dim in enumerate(x.shape) if i not in axes])


def _is_one(node, x, axis):
    """Whether a dim is 1 at all shapes or at none; raises where it depends on the run."""
    extents, dim = node.extents, x.shape[axis]
    one = extents.equal(dim, 1)
    if one is None:
        names = sorted(extents.leaves(dim))
        what = f'dim {axis} of its input "{node.proto.input[0]}" is {extents.text(dim)}, which may be 1: without ' \
            "axes, the rank of its result"
        if not all(map(node.importer.sizes_inputs, names)):
            node.depends_on_data(x, what)
        node.unsupported(f"{what} depends on that; load with dims= that give {', '.join(names)} a fixed size or a "
                         "range without 1, or give the node axes")
    return one


@operator("Unsqueeze", since=1)
def _unsqueeze(node, x, axes=None):
    axes = node.known_ints(axes, "the list of axes") if axes is not None else node.attribute("axes")
    rank = x.rank + len(axes)
    axes = {node.axis(axis, rank) for axis in axes}
    if len(axes) + x.rank != rank:
        node.fail("an axis is given twice")
    dims = iter(x.shape)
    return node.graph.reshape(x.value, [1 if i in axes else next(dims) for i in range(rank)])


@operator("Flatten")
def _flatten(node, x):
    axis = node.attribute("axis", 1)
    if not -x.rank <= axis <= x.rank:
        node.fail(f"axis {axis} is out of range for rank {x.rank}")
    axis = axis + x.rank if axis < 0 else axis
    product = node.extents.product
    return node.graph.reshape(x.value, [product(x.shape[:axis]), product(x.shape[axis:])])


@operator("Concat")
def _concat(node, *xs):
    axis = node.axis(node.attribute("axis"), xs[0].rank)
    return xs[0] if len(xs) == 1 else node.graph.concat([x.value for x in xs], axis)


@operator("Split", since=1)
def _split(node, x, sizes=None):
    axis, extents = node.axis(node.attribute("axis", 0), x.rank), node.extents
    if sizes is not None or node.has("split"):
        sizes = node.dims(sizes, "the sizes") if sizes is not None else node.attribute("split")
    else:
        count = node.attribute("num_outputs", len(node.proto.output))
        each = extents.ceildiv(x.shape[axis], count)
        sizes = [each] * (count - 1) + [extents.sub(x.shape[axis], extents.mul(each, count - 1))]
    out, start = [], 0
    for size in sizes:
        out.append(sliced(node, x.value, x.shape, axis, start, size))
        start = extents.add(start, size)
    return out


def sliced(node, x, shape, axis, start, size, step=1):
    """x[..., start:, ...] along one axis, `size` elements."""
    starts, sizes, steps = [0] * len(shape), list(shape), [1] * len(shape)
    starts[axis], sizes[axis], steps[axis] = start, size, step
    return node.graph.slice(x, starts, sizes, steps=steps)


@operator("Slice", since=10)
def _slice(node, x, starts, ends, axes=None, steps=None):
    starts, ends = node.parts(starts, "the starts"), node.parts(ends, "the ends")
    axes = node.known_ints(axes, "the list of axes") if axes is not None else range(len(starts))
    steps = node.parts(steps, "the steps") if steps is not None else [1] * len(axes)
    return _slice_axes(node, x, starts, ends, axes, steps)


@operator("Slice", since=1)
def _slice_by_attributes(node, x):
    starts, ends = node.attribute("starts"), node.attribute("ends")
    return _slice_axes(node, x, starts, ends, node.attribute("axes", range(len(starts))), [1] * len(starts))


def _slice_axes(node, x, starts, ends, axes, steps):
    begin, sizes, strides, stepped = [0] * x.rank, list(x.shape), [1] * x.rank, []
    if not len(starts) == len(ends) == len(axes) == len(steps):
        node.fail("starts, ends, axes and steps have different lengths")
    for start, end, axis, step in zip(starts, ends, axes, steps):
        axis = node.axis(axis, x.rank)
        if not isinstance(step, int):
            stepped.append((axis, start, end, step))
            continue
        if step == 0:
            node.fail("a step is 0")
        begin[axis], sizes[axis] = _range_of(node, x.shape[axis], start, end, step)
        strides[axis] = step
    out = node.graph.slice(x.value, begin, sizes, steps=strides)
    for axis, *bounds in stepped:
        out = node.graph.gather(out, _indices(node, x.shape[axis], *bounds), axis=axis)
    return out


def _range_of(node, extent, start, end, step):
    """(first index, count) of a numpy slice along a dim."""
    extents = node.extents
    if not all(isinstance(bound, (int, GraphDim)) for bound in (start, end)):
        start, count = _measured(node, extent, start, end, step)
        return extents.bind(node.graph.max(start, 0)), extents.bind(count)
    low, high = (0, extent) if step > 0 else (-1, extents.sub(extent, 1))
    first, end = (_clamped(node, bound, extent, low, high) for bound in (start, end))
    if step < 0 and extents.compare(start, -1, "lt") is not False:  # beyond the front it is the first element
        first = extents.min(extents.max(first, 0), high)
    start = first
    span = extents.sub(end, start) if step > 0 else extents.sub(start, end)
    count = extents.max(extents.ceildiv(span, abs(step)), 0)
    return (start if extents.bounds(start)[0] >= 0 else extents.max(start, 0)), count


def _clamped(node, bound, extent, low, high):
    """A bound, from the end where it is negative, within [low, high]."""
    extents = node.extents
    smallest, largest = extents.bounds(bound)
    if smallest >= 2**31 - 1:
        return high
    if smallest >= 0:
        return extents.min(bound, high)
    if largest < 0:
        return extents.max(extents.add(bound, extent), low)
    # Its sign depends on the run: bound + extent where it is negative, which less() selects.
    from_front = extents.add(bound, extents.mul(extents.less(bound, 0), extent))
    return extents.min(extents.max(from_front, low), high)


def _measured(node, extent, start, end, step):
    """(first index, count) of a numpy slice as i64 values, which the graph computes from values."""
    graph, size = node.graph, node.extents.as_value(extent)
    if isinstance(step, int):
        low, high = (0, size) if step > 0 else (-1, graph.sub(size, 1))
    else:
        forward = graph.gt(step, 0)
        low, high = graph.select(forward, graph.scalar(0, "i64"), -1), graph.select(forward, size, graph.sub(size, 1))
    start, end = (node.part_value(bound) for bound in (start, end))
    start, end = (graph.select(graph.lt(bound, 0), graph.add(bound, size), bound) for bound in (start, end))
    start, end = graph.min(graph.max(start, 0), high), graph.max(graph.min(end, high), low)
    return start, count_of(graph, start, end, step)


def count_of(graph, start, end, step):
    """How many of start, start + step, ... come before `end`: i64 of i64 values, or of a step that is an int."""
    span = graph.sub(end, start)
    if isinstance(step, int):
        span = span if step > 0 else graph.neg(span)
        return graph.max(graph.div(graph.add(span, abs(step) - 1), abs(step)) if abs(step) > 1 else span, 0)
    whole = graph.div(span, step)
    rest = graph.sub(span, graph.mul(whole, step))
    more = graph.and_(graph.ne(rest, 0), graph.eq(graph.lt(rest, 0), graph.lt(step, 0)))
    return graph.max(graph.add(whole, graph.cast(more, "i64")), 0)


def _indices(node, extent, start, end, step):
    """The indices of a numpy slice whose step data gives."""
    graph, step = node.graph, node.part_value(step)
    start, count = _measured(node, extent, start, end, step)
    return graph.add(graph.mul(graph.iota([node.extents.bind(count)], 0, "i64"), step), start)


@operator("Expand")
def _expand(node, x, shape):
    graph, extents = node.graph, node.extents
    target = node.dims(shape, "the shape")
    dims = [1] * (len(target) - x.rank) + list(x.shape)
    target = [1] * (len(dims) - len(target)) + list(target)
    out = []
    for dim, wanted in zip(dims, target):
        one, same = extents.equal(wanted, 1), extents.equal(dim, wanted)
        if one or same:
            out.append(dim)
        elif extents.equal(dim, 1) or one is False:
            out.append(wanted)
        else:  # either may be the 1 that stretches
            every = graph.broadcast(graph.scalar(1, "bool"), target)
            return graph.select(every, x.value, x.value)
    return graph.broadcast(x.value, out)


@operator("Tile", since=6)
def _tile(node, x, repeats):
    """Each dim d becomes [r, d] by broadcasting, then r * d."""
    repeats = node.dims(repeats, "the repeats")
    if len(repeats) != x.rank:
        node.fail(f"{len(repeats)} repeats for rank {x.rank}")
    apart = [part for dim in x.shape for part in (1, dim)]
    wide = [part for dim, repeat in zip(x.shape, repeats) for part in (repeat, dim)]
    if len(wide) <= 8:
        out = node.graph.broadcast(node.graph.reshape(x.value, apart), wide)
        return node.graph.reshape(out, [node.extents.mul(r, d) for r, d in zip(repeats, x.shape)])
    out, dims = x.value, list(x.shape)
    for axis, repeat in enumerate(repeats):
        rows, row = node.extents.product(dims[:axis]), node.extents.product(dims[axis:])
        out = node.graph.broadcast(node.graph.reshape(out, [rows, 1, row]), [rows, repeat, row])
        dims[axis] = node.extents.mul(dims[axis], repeat)
        out = node.graph.reshape(out, dims)
    return out


@operator("ConstantOfShape")
def _constant_of_shape(node, shape):
    fill = node.attribute("value")
    scalar = fill.array.reshape(-1)[0] if fill is not None else numpy.float32(0)
    shape = node.dims(shape, "the shape")
    if any(isinstance(dim, int) and dim < 0 for dim in shape):
        node.fail(f"{shape} has a negative dim")
    return node.graph.broadcast(node.constant(numpy.asarray(scalar)).value, shape)


@operator("Range")
def _range(node, start, limit, delta):
    """start + i * delta."""
    index = node.graph.iota([_count(node, start, limit, delta)], 0, start.dtype)
    return node.graph.add(node.graph.mul(index, delta.value), start.value)


def _count(node, start, limit, delta):
    """The elements of a range: an extent."""
    graph, extents = node.graph, node.extents
    if None not in (start.item(), limit.item(), delta.item()):
        return max(int(numpy.ceil((limit.item() - start.item()) / delta.item())), 0)
    entries = [tensor.entries for tensor in (start, limit, delta)]
    if None not in entries and isinstance(entries[2][0], int):
        (first,), (last,), (step,) = entries
        span = extents.sub(last, first) if step > 0 else extents.sub(first, last)
        return extents.max(extents.ceildiv(span, abs(step)), 0)
    kind = "f64" if start.dtype in dtypes.FLOATS else "i64"
    start, limit, delta = (graph.cast(graph.reshape(tensor.value, []), kind) for tensor in (start, limit, delta))
    if kind == "i64":
        return extents.bind(count_of(graph, start, limit, delta))
    return extents.bind(graph.cast(graph.max(graph.ceil(graph.div(graph.sub(limit, start), delta)), 0.0), "i64"))


@operator("EyeLike")
def _eye_like(node, x):
    graph = node.graph
    dtype = dtypes.from_onnx(node.attribute("dtype")) if node.has("dtype") else x.dtype
    row, column = graph.iota([x.shape[0], 1], 0, "i64"), graph.iota([1, x.shape[1]], 1, "i64")
    return graph.cast(graph.eq(graph.add(row, node.attribute("k", 0)), column), dtype)


@operator("Trilu")
def _trilu(node, x, k=None):
    graph = node.graph
    shift = 0 if k is None else k.item()
    rows, columns = x.shape[-2:]
    distance = graph.sub(graph.iota([1, columns], 1, "i64"), graph.iota([rows, 1], 0, "i64"))
    shift = k.value if shift is None else shift
    keep = graph.ge(distance, shift) if node.attribute("upper", 1) else graph.le(distance, shift)
    return graph.select(keep, x.value, 0)


@operator("DepthToSpace")
def _depth_to_space(node, x):
    graph, block = node.graph, node.attribute("blocksize")
    batch, depth, height, width = x.shape
    inner = node.extents.floordiv(depth, block * block)
    column_row = node.attribute("mode", "DCR") == "CRD"
    split = [batch, inner, block, block, height, width] if column_row else [batch, block, block, inner, height, width]
    order = [0, 1, 4, 2, 5, 3] if column_row else [0, 3, 4, 1, 5, 2]
    moved = graph.transpose(graph.reshape(x.value, split), order)
    return graph.reshape(moved, [batch, inner, height * block, width * block])


@operator("SpaceToDepth")
def _space_to_depth(node, x):
    graph, block, extents = node.graph, node.attribute("blocksize"), node.extents
    batch, depth, height, width = x.shape
    rows, columns = extents.floordiv(height, block), extents.floordiv(width, block)
    moved = graph.transpose(graph.reshape(x.value, [batch, depth, rows, block, columns, block]), [0, 3, 5, 1, 2, 4])
    return graph.reshape(moved, [batch, depth * block * block, rows, columns])
