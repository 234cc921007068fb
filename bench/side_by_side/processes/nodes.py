"""Models of one ONNX node each, with symbolic dims, to time single operators."""
import collections

import numpy
from onnx import TensorProto, helper, numpy_helper

from .operands import numbers

# `inputs`: (element type, dims), where a dim is a number or a letter of SIZES; `make` gives another array than numbers
# from -1 to 1. Constants come after the inputs.
Node = collections.namedtuple("Node", "op inputs attributes constants make", defaults=({}, (), {}))

SIZES = {"B": 16, "S": 256, "C": 768, "R": 1000, "Q": 1200, "N": 8, "H": 56, "W": 60, "T": 2000}
F32, I64, U8, BOOL, F16 = (TensorProto.FLOAT, TensorProto.INT64, TensorProto.UINT8, TensorProto.BOOL,
                           TensorProto.FLOAT16)
ROWS = (F32, "BSC")
IMAGES = (F32, ["N", 64, "H", "W"])
MATRIX = (F32, "RQ")


def ints(*values):
    return numpy.array(values, numpy.int64)


def below(limit):
    return lambda shape: numpy.random.default_rng(1).integers(0, limit, shape)


NODES = {
    "add a row": Node("Add", [ROWS, (F32, "C")]),
    "add a column": Node("Add", [ROWS, (F32, ["B", "S", 1])]),
    "add, where either may broadcast": Node("Add", [ROWS, (F32, "XYZ")], make={1: (16, 256, 1)}),
    "exp": Node("Exp", [ROWS]),
    "tanh": Node("Tanh", [ROWS]),
    "sigmoid": Node("Sigmoid", [ROWS]),
    "erf": Node("Erf", [ROWS]),
    "where": Node("Where", [(BOOL, "RQ"), MATRIX, MATRIX], make={0: below(2)}),
    "cast to f16": Node("Cast", [ROWS], {"to": F16}),
    "cast to i64": Node("Cast", [ROWS], {"to": I64}),
    "quantize": Node("QuantizeLinear", [ROWS], {}, (numpy.float32(0.02), numpy.uint8(3))),
    "dequantize": Node("DequantizeLinear", [(U8, "BSC")], {}, (numpy.float32(0.02), numpy.uint8(3)), {0: below(255)}),
    "sum of rows": Node("ReduceSum", [ROWS], {"keepdims": 0}, (ints(2),)),
    "sum of columns": Node("ReduceSum", [ROWS], {"keepdims": 0}, (ints(1),)),
    "sum over the first axis": Node("ReduceSum", [ROWS], {"keepdims": 0}, (ints(0),)),
    "mean of images": Node("GlobalAveragePool", [IMAGES]),
    "argmax of rows": Node("ArgMax", [MATRIX], {"axis": 1, "keepdims": 0}),
    "argmax of columns": Node("ArgMax", [MATRIX], {"axis": 0, "keepdims": 0}),
    "cumulative sum of rows": Node("CumSum", [MATRIX], {}, (numpy.int64(1),)),
    "cumulative sum of columns": Node("CumSum", [MATRIX], {}, (numpy.int64(0),)),
    "top 10 of rows": Node("TopK", [(F32, "ST")], {"axis": 1}, (ints(10),)),
    "softmax of rows": Node("Softmax", [ROWS], {"axis": -1}),
    "softmax of columns": Node("Softmax", [ROWS], {"axis": 1}),
    "layer norm": Node("LayerNormalization", [(F32, ["B", "S", 768])], {"axis": -1},
                       (numbers((768,), 2), numbers((768,), 3))),
    "transpose a matrix": Node("Transpose", [MATRIX], {"perm": [1, 0]}),
    "transpose each matrix": Node("Transpose", [ROWS], {"perm": [0, 2, 1]}),
    "transpose to channels last": Node("Transpose", [IMAGES], {"perm": [0, 2, 3, 1]}),
    "concatenate columns": Node("Concat", [MATRIX, (F32, "RT")], {"axis": 1}),
    "every second column": Node("Slice", [MATRIX], {}, (ints(0), ints(1 << 30), ints(1), ints(2))),
    "pad images": Node("Pad", [IMAGES], {}, (ints(0, 0, 1, 1, 0, 0, 1, 1),)),
    "gather rows": Node("Gather", [(F32, [30000, 384]), (I64, "NS")], {"axis": 0}, (), {1: below(30000)}),
    "gather columns": Node("Gather", [MATRIX, (I64, "S")], {"axis": 1}, (), {1: below(1000)}),
    "tile": Node("Tile", [(F32, "SC")], {}, (ints(2, 4),)),
    "largest of windows": Node("MaxPool", [IMAGES], {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}),
    "resize to twice the size": Node("Resize", [IMAGES], {"mode": "nearest", "nearest_mode": "floor",
                                                          "coordinate_transformation_mode": "asymmetric"},
                                     (numpy.array([], numpy.float32), numpy.array([1, 1, 2, 2], numpy.float32))),
    "mean of windows": Node("AveragePool", [IMAGES], {"kernel_shape": [2, 2], "strides": [2, 2]}),
    "depthwise convolution": Node("Conv", [IMAGES], {"pads": [1, 1, 1, 1], "group": 64}, (numbers((64, 1, 3, 3), 2),)),
    "transposed convolution": Node("ConvTranspose", [(F32, [1, 64, "H", "W"])], {"strides": [2, 2]},
                                   (numbers((64, 32, 2, 2), 2),)),
    "matmul of two inputs": Node("MatMul", [MATRIX, (F32, "QT")]),
    "batched matmul": Node("MatMul", [(F32, "BRS"), (F32, "BSQ")]),
    "matrix times vector": Node("MatMul", [MATRIX, (F32, "Q")]),
}


def model(name):
    """A ModelProto, and the inputs by name."""
    node = NODES[name]
    infos, arrays = [], {}
    for i, (dtype, dims) in enumerate(node.inputs):
        infos.append(helper.make_tensor_value_info(f"x{i}", dtype, list(dims)))
        made = node.make.get(i)
        shape = made if isinstance(made, tuple) else tuple(SIZES.get(dim, dim) for dim in dims)
        array = made(shape) if callable(made) else numbers(shape, i + 1)
        arrays[f"x{i}"] = array.astype(helper.tensor_dtype_to_np_dtype(dtype))
    constants = [numpy_helper.from_array(numpy.asarray(value), f"c{i}") for i, value in enumerate(node.constants)]
    outputs = ["y", "positions"] if node.op == "TopK" else ["y"]
    made = helper.make_node(node.op, [*arrays, *(constant.name for constant in constants)], outputs, **node.attributes)
    y = helper.make_empty_tensor_value_info("y")
    graph = helper.make_graph([made], "node", infos, [y], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), arrays
