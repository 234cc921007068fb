"""Operators whose results have as many elements as data says."""
import numpy

from .registry import operator


@operator("NonZero")
def _nonzero(node, x):
    if x.array is None:
        return node.graph.nonzero(x.value)
    if x.rank == 0:
        return node.constant(numpy.zeros([0, int(x.array != 0)], numpy.int64))
    return node.constant(numpy.stack(numpy.nonzero(x.array)).astype(numpy.int64))


@operator("Unique")
def _unique(node, x):
    axis = node.attribute("axis")
    return node.graph.unique(x.value, None if axis is None else node.axis(axis, x.rank),
                             bool(node.attribute("sorted", 1)))


@operator("Compress")
def _compress(node, x, condition):
    """The slices along an axis, or the elements, that a condition keeps; it may be shorter than they are many."""
    graph = node.graph
    value, shape = x.value, list(x.shape)
    if not node.has("axis"):
        shape = [node.extents.product(shape)]
        value = graph.reshape(value, shape)
    axis = node.axis(node.attribute("axis", 0), len(shape))
    if condition.array is not None:
        rows = numpy.flatnonzero(condition.array).astype(numpy.int64)
        return graph.gather(value, node.constant(rows).value, axis=axis)
    order = [axis, *(i for i in range(len(shape)) if i != axis)]
    moved = [shape[i] for i in order]
    if node.extents.equal(condition.shape[0], moved[0]) is not True:
        moved[0] = condition.shape[0]
        value = graph.slice(value, [0] * len(shape), [moved[order.index(i)] for i in range(len(shape))])
    kept = graph.compact(graph.transpose(value, order), condition.value)
    return graph.transpose(kept, [order.index(i) for i in range(len(order))])
