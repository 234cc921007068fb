import numpy as np
import onnx
from onnx import TensorProto, helper

inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"]) for name in ("input_ids", "attention_mask")]
nodes = [helper.make_node("Mul", ["input_ids", "attention_mask"], ["masked"]),
         helper.make_node("Cast", ["masked"], ["logits"], to=TensorProto.FLOAT)]
output = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", "length"])
onnx.save(helper.make_model(helper.make_graph(nodes, "model", inputs, [output]), ir_version=8,
                            opset_imports=[helper.make_opsetid("", 17)]), "model.onnx")
ids = mask = np.zeros((1, 4), np.int64)
