"""Writes the ONNX models of tests/hosts into the folder that is argument 1.

scale.onnx  y = x * [1, 2, 3, 4]; x f32 [batch, 4]
sum.onnx    y = ReduceSum(x, axes); x f32 [batch, ?], axes i64 [1]
wrong.onnx  a matmul whose node, "product", has operands that do not fit
"""
import pathlib
import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save

FOLDER = pathlib.Path(sys.argv[1])


def write(name, node, inputs, constants=()):
    initializers = [numpy_helper.from_array(array, constant) for constant, array in constants]
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph([node], name, inputs, [output], initializers)
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), FOLDER / f"{name}.onnx")


FOLDER.mkdir(exist_ok=True)
x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 4])
write("scale", helper.make_node("Mul", ["x", "scales"], ["y"]), [x], [("scales", np.arange(1, 5, dtype=np.float32))])
write("wrong", helper.make_node("MatMul", ["x", "weights"], ["y"], name="product"), [x],
      [("weights", np.ones((3, 2), np.float32))])
write("sum", helper.make_node("ReduceSum", ["x", "axes"], ["y"], keepdims=0),
      [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", None]),
       helper.make_tensor_value_info("axes", TensorProto.INT64, [1])])
