"""Reductions and running reductions along axes."""
from .dtypes import FLOATS, through_f32
from .registry import operator


def _axes(node, x, axes):
    """The reduced axes, or None where the operator changes nothing."""
    listed = node.known_ints(axes, "the list of axes") if axes is not None else node.attribute("axes")
    if not listed:
        return None if node.attribute("noop_with_empty_axes", 0) else list(range(x.rank))
    return [node.axis(axis, x.rank) for axis in listed]


def _sum(graph, x, axes, keep):
    return graph.reduce_sum(x, axes, keep_dims=keep)


def _max(graph, x, axes, keep):
    return _as_i32(graph, x, lambda v: graph.reduce_max(v, axes, keep_dims=keep))


def _min(graph, x, axes, keep):
    return _as_i32(graph, x, lambda v: graph.reduce_min(v, axes, keep_dims=keep))


def _as_i32(graph, x, reduce):
    """bool has no order of its own here."""
    return graph.cast(reduce(graph.cast(x, "i32")), "bool") if x.dtype == "bool" else reduce(x)


def _mean(graph, x, axes, keep):
    if x.dtype in FLOATS:
        return graph.reduce_mean(x, axes, keep_dims=keep)
    return graph.cast(graph.reduce_mean(graph.cast(x, "f64"), axes, keep_dims=keep), x.dtype)


def _through_float(graph, x, function):
    return through_f32(graph, [x], function) if x.dtype in FLOATS else graph.cast(function(graph.cast(x, "f64")), x.dtype)


def _log_sum_exp(graph, x, axes, keep):
    """max + log(sum(e^(x - max))), which overflows nowhere."""
    top = graph.reduce_max(x, axes, keep_dims=1)
    top = graph.select(graph.lt(graph.abs(top), float("inf")), top, 0.0)
    total = graph.reduce_sum(graph.exp(graph.sub(x, top)), axes, keep_dims=keep)
    return graph.add(graph.log(total), top if keep else graph.reduce_max(top, axes))


_REDUCTIONS = {
    "ReduceSum": _sum, "ReduceMax": _max, "ReduceMin": _min, "ReduceMean": _mean,
    "ReduceProd": lambda g, x, axes, keep: g.reduce_prod(x, axes, keep_dims=keep),
    "ReduceL1": lambda g, x, axes, keep: _sum(g, g.abs(x), axes, keep),
    "ReduceL2": lambda g, x, axes, keep: _through_float(g, x, lambda v: g.sqrt(_sum(g, g.mul(v, v), axes, keep))),
    "ReduceSumSquare": lambda g, x, axes, keep: through_f32(g, [x], lambda v: _sum(g, g.mul(v, v), axes, keep)),
    "ReduceLogSum": lambda g, x, axes, keep: _through_float(g, x, lambda v: g.log(_sum(g, v, axes, keep))),
    "ReduceLogSumExp": lambda g, x, axes, keep: _through_float(g, x, lambda v: _log_sum_exp(g, v, axes, keep)),
}
# What each makes of single elements, where there are no axes to reduce but the operator is not a copy.
_OF_ELEMENTS = {
    "ReduceL1": lambda g, x: g.abs(x), "ReduceL2": lambda g, x: g.abs(x), "ReduceSumSquare": lambda g, x: g.mul(x, x),
    "ReduceLogSum": lambda g, x: _through_float(g, x, g.log),
}


@operator(*_REDUCTIONS)
def _reduce(node, x, axes=None):
    name, axes = node.proto.op_type, _axes(node, x, axes)
    if not axes:
        return _OF_ELEMENTS.get(name, lambda graph, value: value)(node.graph, x.value)
    return _REDUCTIONS[name](node.graph, x.value, axes, node.attribute("keepdims", 1))


@operator("CumSum", "CumProd")
def _cumulate(node, x, axis):
    listed = node.known_ints(axis, "the axis")
    if len(listed) != 1:
        node.fail(f"{len(listed)} axes, needs one")
    return node.graph.scan(x.value, node.axis(listed[0], x.rank),
                           "add" if node.proto.op_type == "CumSum" else "mul",
                           reverse=node.attribute("reverse", 0), exclusive=node.attribute("exclusive", 0))


def _equals(graph, x, extreme):
    """Which elements are the extreme one: a NaN, where there is one."""
    hit = graph.eq(x, extreme)
    return graph.or_(hit, graph.ne(x, x)) if x.dtype in FLOATS else hit


@operator("ArgMax", "ArgMin")
def _arg_extreme(node, x):
    """The first (or last) index along the axis whose element equals the extreme one, which is NaN where one is."""
    graph, axis = node.graph, node.axis(node.attribute("axis", 0), x.rank)
    reduce = graph.reduce_max if node.proto.op_type == "ArgMax" else graph.reduce_min
    hit = _equals(graph, x.value, reduce(x.value, [axis], keep_dims=1))
    index = graph.iota([x.shape[axis]] + [1] * (x.rank - 1 - axis), 0, "i64")
    keep = node.attribute("keepdims", 1)
    if node.attribute("select_last_index", 0):
        return graph.reduce_max(graph.select(hit, index, -1), [axis], keep_dims=keep)
    return graph.reduce_min(graph.select(hit, index, 2**31), [axis], keep_dims=keep)


@operator("Softmax", "LogSoftmax", "Hardmax", since=13)
def _softmax(node, x):
    axis = node.axis(node.attribute("axis", -1), x.rank)
    return _normalized(node, x.value, x.shape, axis)


@operator("Softmax", "LogSoftmax", "Hardmax", since=1)
def _softmax_of_rows(node, x):
    """Before opset 13 all dims from `axis` on form one row."""
    axis = node.attribute("axis", 1)
    axis = axis + x.rank if axis < 0 else axis
    rows, row = node.extents.product(x.shape[:axis]), node.extents.product(x.shape[axis:])
    flat = node.graph.reshape(x.value, [rows, row])
    return node.graph.reshape(_normalized(node, flat, (rows, row), 1), x.shape)


def _normalized(node, x, shape, axis):
    graph = node.graph
    if node.proto.op_type == "Softmax":
        return graph.softmax(x, axis)
    if node.proto.op_type == "LogSoftmax":
        return graph.log_softmax(x, axis)
    hit = _equals(graph, x, graph.reduce_max(x, [axis], keep_dims=1))
    index = graph.iota([shape[axis]] + [1] * (len(shape) - 1 - axis), 0, "i64")
    first = graph.reduce_min(graph.select(hit, index, 2**31), [axis], keep_dims=1)
    return graph.cast(graph.eq(index, first), x.dtype)
