"""Nodes that need no code: shape arithmetic becomes extents, small constant subgraphs are computed here."""
import math

import numpy
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from ..errors import Error
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
    return node.entries(x.parts, dtype, shape=x.shape)


@glue("Unsqueeze", "Squeeze", "Reshape")
@_any_data(1)
def _rerank(node, x, axes=None):
    """Between rank 0 and rank 1 of one element; a Reshape also of a list to a table and back."""
    if x.array is not None or x.parts is None:
        return None
    if node.proto.op_type == "Reshape":
        shape = _target(len(x.parts), axes.entries)
        return None if shape is None else node.entries(x.parts, x.dtype, shape=shape)
    axes = node.attribute("axes") if axes is None else axes.entries
    if node.proto.op_type == "Unsqueeze":
        return node.entries(x.parts, x.dtype) if x.rank == 0 and axes is not None and len(axes) == 1 else None
    return node.entries(x.parts, x.dtype, rank=0) if x.rank == 1 and len(x.parts) == 1 else None


def _target(count, shape):
    """The shape of rank 0 to 2 to which a Reshape brings `count` entries, or None."""
    if shape is None or len(shape) > 2 or not all(isinstance(size, int) and size not in (0, False) for size in shape):
        return None
    rest = math.prod(size for size in shape if size != -1)
    if list(shape).count(-1) > 1 or count % rest or (-1 not in shape and rest != count):
        return None
    return tuple(count // rest if size == -1 else size for size in shape)


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
def _slice(node, x, starts=None, ends=None, axes=None, steps=None):
    starts, ends = (node.attribute(name) if tensor is None else tensor.entries
                    for name, tensor in (("starts", starts), ("ends", ends)))
    count = len(starts)
    axes = node.attribute("axes", range(count)) if axes is None else axes.entries
    parts = [starts, ends, axes, [1] * count if steps is None else steps.entries]
    if not x.listed or any(len(part) != count or not all(isinstance(i, int) for i in part) for part in parts):
        return None
    cut = [slice(None)] * x.rank
    for start, end, axis, step in zip(*parts):
        axis = node.axis(axis, x.rank)
        size = x.shape[axis]
        start = max(start, -size) if step < 0 else start  # beyond the front it is the first element
        cut[axis] = slice(start, None if step < 0 and end < -size else end, step)
    return _moved(node, x, lambda table: table[tuple(cut)])


@glue("Transpose")
@_any_data()
def _transpose(node, x):
    return _moved(node, x, lambda table: table.transpose(node.attribute("perm", None))) if x.listed else None


def _moved(node, x, move):
    """The entries of a list or table where `move` brings them."""
    table = numpy.empty(len(x.parts), object)
    table[:] = x.parts
    table = move(table.reshape(x.shape))
    return node.entries(table.reshape(-1).tolist(), x.dtype, shape=table.shape)


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


_MOVES = (_same, _rerank, _concat, _gather, _slice, _transpose, _split)


def _elementwise(node, function, dtype, *xs):
    """function over entries, broadcast, bools as 0 and 1; None where one result cannot be told."""
    if not any(x.symbolic for x in xs) or not _is_index(*xs) or any(x.rank > 1 for x in xs):
        return None
    count = max(len(x.entries) for x in xs)
    if 0 in (len(x.entries) for x in xs):
        count = 0
    if any(len(x.entries) not in (1, count) for x in xs) and count:
        return None
    entries = [[int(entry) if isinstance(entry, bool) else entry for entry in x.entries] for x in xs]
    columns = [row if len(row) == count else row * count for row in entries]
    try:
        results = [function(*row) for row in zip(*columns)]
    except Error as error:
        if error.code != "RESOURCE_EXHAUSTED":
            raise
        return None  # too long for a dim: the graph computes it
    if any(result is None for result in results):
        return None
    return node.entries(results, dtype or xs[0].dtype, max(x.rank for x in xs))


def _remainder(node, lhs, rhs):
    """With the sign of the divisor, or with `fmod` that of the dividend."""
    if node.attribute("fmod", 0):
        return node.extents.truncmod(lhs, rhs)
    return node.extents.remainder(lhs, rhs)


_ARITHMETIC = {
    "Add": lambda node, a, b: node.extents.add(a, b), "Sub": lambda node, a, b: node.extents.sub(a, b),
    "Mul": lambda node, a, b: node.extents.mul(a, b), "Div": lambda node, a, b: node.extents.truncdiv(a, b),
    "Mod": _remainder, "Min": lambda node, a, b: node.extents.min(a, b),
    "Max": lambda node, a, b: node.extents.max(a, b),
}
_COMPARISONS = {
    "Equal": lambda e, a, b: e.same(a, b), "Less": lambda e, a, b: e.less(a, b),
    "LessOrEqual": lambda e, a, b: e.sub(1, e.less(b, a)), "Greater": lambda e, a, b: e.less(b, a),
    "GreaterOrEqual": lambda e, a, b: e.sub(1, e.less(a, b)),
}
_LOGIC = {"And": lambda e, a, b: e.min(a, b), "Or": lambda e, a, b: e.max(a, b),
          "Xor": lambda e, a, b: e.sub(1, e.same(a, b))}


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
    return _elementwise(node, lambda a, b: function(node.extents, a, b), "bool", lhs, rhs)


@glue(*_LOGIC)
@_any_data()
def _logic(node, lhs, rhs):
    function = _LOGIC[node.proto.op_type]
    return _elementwise(node, lambda a, b: function(node.extents, a, b), "bool", lhs, rhs)


@glue("Not")
@_any_data()
def _not(node, x):
    return _elementwise(node, lambda a: node.extents.sub(1, a), None, x)


@glue("Neg")
@_any_data()
def _neg(node, x):
    return _elementwise(node, lambda a: node.extents.sub(0, a), None, x)


@glue("Where")
@_any_data()
def _where(node, condition, lhs, rhs):
    return _elementwise(node, node.extents.select, lhs.dtype, condition, lhs, rhs)


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
    if not x.symbolic or x.rank > 1 or len(counts) != 1 or not isinstance(counts[0], int) or not 0 < counts[0] <= MAX_ENTRIES:
        return None
    if node.proto.op_type == "Tile":
        return node.entries(x.entries * counts[0], x.dtype) if x.rank else None
    return node.entries(x.entries * counts[0] if len(x.entries) == 1 else x.entries, x.dtype)
