import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 4]),
          helper.make_tensor_value_info("ids", TensorProto.INT64, ["batch"]),
          helper.make_tensor_value_info("mask", TensorProto.FLOAT, ["batch", 1])]
table = numpy_helper.from_array(np.eye(2, 4, dtype=np.float32), "table")
nodes = [helper.make_node("Gather", ["table", "ids"], ["row"]), helper.make_node("Mul", ["x", "mask"], ["masked"]),
         helper.make_node("Add", ["row", "masked"], ["y"])]
output = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 4])
onnx.save(helper.make_model(helper.make_graph(nodes, "model", inputs, [output], [table]), ir_version=8,
                            opset_imports=[helper.make_opsetid("", 17)]), "model.onnx")

batch = {"x": np.ones((3, 4), np.float32), "ids": np.zeros(3, np.int64), "mask": np.ones((3, 1), np.float32)}
np.save("x.npy", batch["x"])
np.savez("batch.npz", **batch)
np.savez("expected.npz", y=batch["x"] + np.eye(2, 4, dtype=np.float32)[:1])
