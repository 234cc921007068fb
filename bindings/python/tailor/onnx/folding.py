"""Nodes that need no code: shape arithmetic becomes extents, small constant subgraphs are computed here."""
import math

import numpy
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from . import dtypes, narrow
from .dtypes import SIGNED, UNSIGNED
from .registry import find_glue, glue
from .tensors import MAX_ENTRIES

# Nodes whose operands' element counts multiply to more stay in the graph.
MAX_FOLDED = 1 << 20

# What is computed from constants: the ops whose result is not larger than what they are given.
_FOLDED = frozenset("""
    Abs Add And Cast Ceil Concat Cos Div Equal Erf Exp Flatten Floor Gather Greater GreaterOrEqual Less LessOrEqual Log
    Max Min Mod Mul Neg Not Or Pow Reciprocal ReduceMax ReduceMin ReduceProd ReduceSum Reshape Round Sin Slice Sqrt
    Squeeze Sub Transpose Unsqueeze Where Xor""".split())


def fold(node, inputs):
    """The result of a node that needs no code, or None."""
    function = find_glue(node.domain, node.proto.op_type)
    if function is not None and all(tensor is None or tensor.entries is not None or i in function.any_data
                                    for i, tensor in enumerate(inputs)) or _moves_parts(function, inputs):
        result = function(node, *inputs)
        if result is not None:
            return result
    travels = node.proto.op_type == "Cast" and (inputs[0].narrow or narrow.is_narrow(node.attribute("to")))
    if node.domain == "" and node.proto.op_type in _FOLDED and inputs and not travels:
        return _constant(node, inputs)
    return None


def _moves_parts(function, inputs):
    """Whether a node only moves the elements of lists of which data gives some."""
    if function is None or function not in _MOVES or inputs[0] is None:
        return False
    moved, others = (inputs, []) if function is _concat else (inputs[:1], inputs[1:])
    if not any(tensor.listed or (function is _rerank and tensor.shape in ((), (1,))) for tensor in moved):
        return False
    return (all(tensor is None or tensor.entries is not None for tensor in others)
            and all(tensor.parts is not None for tensor in moved))


def _constant(node, inputs):
    """The node's result from constants; broadcasts may not make it large."""
    arrays = [None if tensor is None else tensor.array for tensor in inputs]
    present = [array for array, tensor in zip(arrays, inputs) if tensor is not None]
    if any(array is None or array.dtype.name == "bfloat16" for array in present):
        return None
    if math.prod(max(array.size, 1) for array in present) > MAX_FOLDED:
        return None
    names = [f"x{i}" if array is not None else "" for i, array in enumerate(arrays)]
    proto = helper.make_node(node.proto.op_type, names, ["y"])
    proto.attribute.extend(node.proto.attribute)
    given = {name: array for name, array in zip(names, arrays) if name}
    types = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
             for name, array in given.items()]
    graph = helper.make_graph([proto], "constants", types, [helper.make_tensor_value_info("y", TensorProto.UNDEFINED,
                                                                                          None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", node.opset)])
    with numpy.errstate(all="ignore"):
        result, = ReferenceEvaluator(model).run(None, given)
    return node.constant(numpy.asarray(result))


def _any_data(*positions):
    """Marks the operands of a glue function whose elements need not be known."""
    def mark(function):
        function.any_data = positions
        return function
    return mark


def _is_index(*tensors):
    return all(tensor.dtype in (*SIGNED, *UNSIGNED, "bool") for tensor in tensors)


@glue("Shape")
@_any_data(0)
def _shape(node, x):
    return node.entries(x.shape[slice(node.attribute("start", 0), node.attribute("end", None))])


@glue("Size")
@_any_data(0)
def _size(node, x):
    return node.entries([node.extents.product(x.shape)], rank=0)


@glue("Identity", "Cast")
@_any_data()
def _same(node, x):
    if node.proto.op_type == "Identity":
        return x
    if not x.listed or node.attribute("to") not in (TensorProto.INT64, TensorProto.INT32):
        return None
    dtype = dtypes.from_onnx(node.attribute("to"))
    return node.entries(x.parts, dtype, x.rank)


@glue("Unsqueeze", "Squeeze", "Reshape")
@_any_data(1)
def _rerank(node, x, axes=None):
    """Between rank 0 and rank 1 of one element."""
    if x.array is not None or x.parts is None:
        return None
    if node.proto.op_type == "Reshape":
        if axes.entries is None or len(axes.entries) > 1 or axes.entries not in ((), (-1,), (1,), (len(x.parts),)):
            return None
        return node.entries(x.parts, x.dtype, len(axes.entries)) if axes.entries or len(x.parts) == 1 else None
    rank = x.rank + (1 if node.proto.op_type == "Unsqueeze" else -1)
    if node.proto.op_type == "Squeeze" and (x.rank == 0 or len(x.parts) != 1):
        return None
    return node.entries(x.parts, x.dtype, rank) if rank in (0, 1) else None


@glue("Concat")
@_any_data()
def _concat(node, *xs):
    if not any(x.listed for x in xs) or any(x.rank != 1 for x in xs):
        return None
    return node.entries([entry for x in xs for entry in x.parts], xs[0].dtype)


@glue("Gather")
@_any_data()
def _gather(node, x, indices):
    if not x.listed or x.rank != 1 or indices.rank > 1 or not all(isinstance(i, int) for i in indices.entries):
        return None
    count = len(x.parts)
    if any(not -count <= i < count for i in indices.entries):
        node.fail(f"index {indices.entries} is out of range for {count} elements")
    return node.entries([x.parts[i] for i in indices.entries], x.dtype, indices.rank)


@glue("Slice")
@_any_data()
def _slice(node, x, starts, ends, axes=None, steps=None):
    parts = [starts.entries, ends.entries, steps.entries if steps else [1]]
    if not x.listed or x.rank != 1 or any(len(part) != 1 or not isinstance(part[0], int) for part in parts):
        return None
    (start,), (end,), (step,) = parts
    end = None if step < 0 and end < -len(x.parts) else end
    return node.entries(x.parts[start:end:step], x.dtype)


@glue("Split")
@_any_data()
def _split(node, x, sizes=None):
    if x.rank != 1:
        return None
    outputs = len(node.proto.output)
    each = -(-len(x.parts) // outputs)
    sizes = sizes.entries if sizes else [each] * outputs
    out, start = [], 0
    for size in sizes:
        out.append(node.entries(x.parts[start:start + size], x.dtype))
        start += size
    return out


_MOVES = (_same, _rerank, _concat, _gather, _slice, _split)


def _elementwise(node, function, dtype, *xs):
    """function over entries, broadcast; None where one result cannot be decided."""
    if not any(x.symbolic for x in xs) or not _is_index(*xs):
        return None
    count = max(len(x.entries) for x in xs)
    if 0 in (len(x.entries) for x in xs):
        count = 0
    if any(len(x.entries) not in (1, count) for x in xs) and count:
        return None
    columns = [x.entries if len(x.entries) == count else x.entries * count for x in xs]
    results = [function(*row) for row in zip(*columns)]
    if any(result is None for result in results):
        return None
    return node.entries(results, dtype or xs[0].dtype, max(x.rank for x in xs))


def _remainder(node, lhs, rhs):
    """With the sign of the divisor, or with `fmod` that of the dividend."""
    if node.attribute("fmod", 0):
        return node.extents.truncmod(lhs, rhs)
    return node.extents.mod(lhs, rhs) if node.extents.bounds(rhs)[0] > 0 else None


_ARITHMETIC = {
    "Add": lambda node, a, b: node.extents.add(a, b), "Sub": lambda node, a, b: node.extents.sub(a, b),
    "Mul": lambda node, a, b: node.extents.mul(a, b), "Div": lambda node, a, b: node.extents.truncdiv(a, b),
    "Mod": _remainder, "Min": lambda node, a, b: node.extents.min(a, b),
    "Max": lambda node, a, b: node.extents.max(a, b),
}
_COMPARISONS = {
    "Equal": lambda e, a, b: e.compare(a, b, "eq"), "Less": lambda e, a, b: e.compare(a, b, "lt"),
    "LessOrEqual": lambda e, a, b: e.compare(a, b, "le"), "Greater": lambda e, a, b: e.compare(b, a, "lt"),
    "GreaterOrEqual": lambda e, a, b: e.compare(b, a, "le"),
}


@glue(*_ARITHMETIC)
@_any_data()
def _arithmetic(node, first, *others):
    function, out = _ARITHMETIC[node.proto.op_type], first
    for other in others:
        out = _elementwise(node, lambda a, b: function(node, a, b), None, out, other)
        if out is None:
            return None
    return out if others else None


@glue(*_COMPARISONS)
@_any_data()
def _comparison(node, lhs, rhs):
    function = _COMPARISONS[node.proto.op_type]
    result = _elementwise(node, lambda a, b: function(node.extents, a, b), "bool", lhs, rhs)
    if result is None:
        return None
    array = numpy.asarray(result.entries, bool)
    return node.constant(array if result.rank else array.reshape(()))


@glue("Neg")
@_any_data()
def _neg(node, x):
    return _elementwise(node, lambda a: node.extents.sub(0, a), None, x)


@glue("Where")
@_any_data()
def _where(node, condition, lhs, rhs):
    return _elementwise(node, lambda c, a, b: a if c else b, lhs.dtype, condition, lhs, rhs)


@glue("ReduceProd")
@_any_data(1)
def _product(node, x, axes=None):
    keep = node.attribute("keepdims", 1)
    if not x.symbolic or x.rank != 1 or (axes is not None and axes.entries not in ((0,), (-1,))):
        return None
    return node.entries([node.extents.product(x.entries)], x.dtype, 1 if keep else 0)


@glue("ReduceSum", "ReduceMax", "ReduceMin")
@_any_data(1)
def _reduce(node, x, axes=None):
    keep = node.attribute("keepdims", 1)
    if not x.symbolic or x.rank != 1 or not x.entries or (axes is not None and axes.entries not in ((0,), (-1,))):
        return None
    combine = {"ReduceSum": node.extents.add, "ReduceMax": node.extents.max, "ReduceMin": node.extents.min}
    out = x.entries[0]
    for entry in x.entries[1:]:
        out = combine[node.proto.op_type](out, entry)
    return node.entries([out], x.dtype, 1 if keep else 0)


@glue("ConstantOfShape")
@_any_data()
def _constant_of_shape(node, shape):
    """A short list of one integer: the ones that exporters build shapes of."""
    fill = node.attribute("value")
    sizes = shape.entries
    if len(sizes) != 1 or not isinstance(sizes[0], int) or not 0 <= sizes[0] <= MAX_ENTRIES or fill is None:
        return None
    return node.constant(numpy.full(sizes, fill.array.reshape(-1)[0]))


@glue("Range")
@_any_data()
def _range(node, start, limit, delta):
    parts = [start.entries[0], limit.entries[0], delta.entries[0]]
    if not all(isinstance(part, int) for part in parts) or parts[2] == 0:
        return None
    values = range(*parts)
    dtype = numpy.dtype({"i64": "int64", "i32": "int32", "i16": "int16"}.get(start.dtype, "int64"))
    return node.constant(numpy.arange(*parts, dtype=dtype)) if len(values) <= MAX_ENTRIES else None


@glue("Expand", "Tile")
@_any_data()
def _repeat(node, x, shape):
    """One entry or a list, a fixed number of times."""
    counts = shape.entries
    if not x.symbolic or len(counts) != 1 or not isinstance(counts[0], int) or not 0 < counts[0] <= MAX_ENTRIES:
        return None
    if node.proto.op_type == "Tile":
        return node.entries(x.entries * counts[0], x.dtype) if x.rank else None
    return node.entries(x.entries * counts[0] if len(x.entries) == 1 else x.entries, x.dtype)
