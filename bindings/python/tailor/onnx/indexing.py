"""Operators that read where other tensors say."""
import numpy

from .dtypes import FLOATS
from .registry import operator


def as_index(node, tensor):
    """An operand as indices, i32 or i64."""
    return tensor.value if tensor.dtype in ("i32", "i64") else node.graph.cast(tensor.value, "i64")


@operator("Gather")
def _gather(node, x, indices):
    axis = node.axis(node.attribute("axis", 0), x.rank)
    return node.graph.gather(x.value, as_index(node, indices), axis=axis)


def wrapped(node, index, extent):
    """Indices below 0 counted from the end of a dim."""
    graph = node.graph
    return graph.select(graph.lt(index, 0), graph.add(index, extent_value(node, extent)), index)


def extent_value(node, extent):
    """An extent as an i64 scalar."""
    return node.extents.as_value(extent)


def flat_gather(node, x, shape, indices, out):
    """x[indices...], one i64 index tensor (broadcast to `out`) for each of x's first dims, none negative."""
    graph, extents = node.graph, node.extents
    linear = None
    for i, index in enumerate(indices):
        if linear is not None:
            linear = graph.mul(linear, extent_value(node, shape[i]))
        linear = index if linear is None else graph.add(linear, index)
    rows, rest = extents.product(shape[:len(indices)]), list(shape[len(indices):])
    flat = graph.reshape(x, [rows, *rest])
    return graph.gather(flat, graph.broadcast(linear, out), axis=0)


def position(node, shape, axis):
    """Each element's index along `axis`, of the same rank as `shape`."""
    return node.graph.iota([shape[axis]] + [1] * (len(shape) - 1 - axis), 0, "i64")


@operator("GatherElements")
def _gather_elements(node, x, indices):
    axis = node.axis(node.attribute("axis", 0), x.rank)
    if indices.rank != x.rank:
        node.fail(f"indices have rank {indices.rank}, the data {x.rank}")
    index = wrapped(node, node.graph.cast(indices.value, "i64"), x.shape[axis])
    every = [index if i == axis else position(node, indices.shape, i) for i in range(x.rank)]
    return flat_gather(node, x.value, x.shape, every, indices.shape)


@operator("GatherND")
def _gather_nd(node, x, indices):
    graph, batch = node.graph, node.attribute("batch_dims", 0)
    depth = indices.shape[-1]
    if not isinstance(depth, int) or batch + depth > x.rank:
        node.fail(f"indices of {depth} entries after {batch} batch dims do not fit rank {x.rank}")
    outer = list(indices.shape[:-1])
    every = [position(node, outer, i) for i in range(batch)]
    for i in range(depth):
        part = graph.slice(indices.value, [0] * len(outer) + [i], [*outer, 1])
        every.append(wrapped(node, graph.reshape(part, outer), x.shape[batch + i]))
    return flat_gather(node, x.value, x.shape, every, outer)


@operator("OneHot")
def _one_hot(node, indices, depth, values):
    graph = node.graph
    count = node.dims(_as_entries(node, depth), "the depth")[0]
    rank = indices.rank + 1
    axis = node.axis(node.attribute("axis", -1), rank)
    dims = list(indices.shape)
    index = graph.reshape(graph.cast(indices.value, "i64"), dims[:axis] + [1] + dims[axis:])
    classes = graph.iota([count] + [1] * (rank - 1 - axis), 0, "i64")
    off, on = (graph.reshape(graph.slice(values.value, [i], [1]), []) for i in (0, 1))
    return graph.select(graph.eq(wrapped(node, index, count), classes), on, off)


def _as_entries(node, tensor):
    """One element, which may be a float, as an integer."""
    if tensor.array is None and tensor.dtype in FLOATS:
        return node.tensor(node.graph.cast(tensor.value, "i64"))
    if tensor.array is None or tensor.array.dtype.kind != "f":
        return tensor if tensor.rank == 0 or tensor.entries is None else node.entries(tensor.entries[:1])
    return node.constant(tensor.array.reshape(-1)[:1].astype(numpy.int64))


@operator("ReverseSequence")
def _reverse_sequence(node, x, lengths):
    """The first lengths[b] elements along the time axis backwards, the rest as they are."""
    graph = node.graph
    batch, time = node.attribute("batch_axis", 1), node.attribute("time_axis", 0)
    shape = [1] * x.rank
    shape[batch] = x.shape[batch]
    length = graph.reshape(graph.cast(lengths.value, "i64"), shape)
    step = position(node, x.shape, time)
    index = graph.select(graph.lt(step, length), graph.sub(graph.sub(length, step), 1), step)
    every = [index if i == time else position(node, x.shape, i) for i in range(2)]
    return flat_gather(node, x.value, x.shape, every + [position(node, x.shape, i) for i in range(2, x.rank)], x.shape)


@operator("ArrayFeatureExtractor", domain="ai.onnx.ml")
def _array_feature_extractor(node, x, indices):
    out = node.graph.gather(x.value, node.graph.reshape(indices.value, [node.extents.product(indices.shape)]), axis=-1)
    return out if x.rank > 1 else node.graph.reshape(out, [1, node.extents.product(indices.shape)])


@operator("Binarizer", domain="ai.onnx.ml")
def _binarizer(node, x):
    return node.graph.cast(node.graph.gt(x.value, node.attribute("threshold", 0.0)), x.dtype)
