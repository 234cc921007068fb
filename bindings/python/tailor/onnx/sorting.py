"""Operators that sort."""
from .registry import operator


@operator("TopK", since=10)
def _top_k(node, x, k):
    count = node.dims(k, "the number of elements")
    if len(count) != 1:
        node.fail(f"K has {len(count)} elements")
    return _first(node, x, count[0])


@operator("TopK")
def _top_k_by_attribute(node, x):
    return _first(node, x, node.attribute("k"))


def _first(node, x, count):
    """Sorted whether or not that is asked for."""
    axis = node.axis(node.attribute("axis", -1), x.rank)
    return node.graph.top_k(x.value, count, axis, bool(node.attribute("largest", 1)))
