"""Exports an encoder to ONNX with dynamic axes B and S.

    export_encoder.py FILE [--model minilm|one_layer|bert_base]

minilm has the weights of the demo, one_layer only its first layer. bert_base has the size of BERT-base and random
weights. The nodes are those that frameworks export for a BERT: Erf gelu, attention from primitives.
"""
import argparse
import math
import pathlib
import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "bindings" / "python" / part)
                for part in ("", "examples")]

OPSET = 17  # the first with LayerNormalization
HEADS = 12  # of every model here
BERT_BASE = {"layers": 12, "hidden": 768, "inner": 3072}


class OnnxEncoder:
    """Nodes and initializers, appended in order."""

    def __init__(self, parameters, layers):
        from minilm import weights
        self.heads, self.layers, self.epsilon = HEADS, layers, weights.EPSILON
        self.hidden = parameters["embeddings.word_embeddings.weight"].shape[1]
        self.parameters, self.nodes, self.initializers, self.known = parameters, [], [], {}

    def constant(self, name, array):
        if name not in self.known:
            self.known[name] = True
            self.initializers.append(numpy_helper.from_array(numpy.ascontiguousarray(array), name))
        return name

    def parameter(self, name):
        return self.constant(name, self.parameters[name])

    def f32(self, value):
        return self.constant(f"f32_{value!r}", numpy.float32(value))

    def i64(self, *values):
        return self.constant("i64_" + "_".join(map(str, values)), numpy.array(values, numpy.int64))

    def op(self, kind, *inputs, **attributes):
        out = f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [out], name=out, **attributes))
        return out

    def norm(self, x, name):
        return self.op("LayerNormalization", x, self.parameter(f"{name}.weight"), self.parameter(f"{name}.bias"),
                       axis=-1, epsilon=self.epsilon)

    def dense(self, x, name):
        weight = self.constant(f"{name}.weight.T", self.parameters[f"{name}.weight"].T)
        return self.op("Add", self.parameter(f"{name}.bias"), self.op("MatMul", x, weight))

    def split_heads(self, x, order):
        shape = self.i64(0, 0, self.heads, self.hidden // self.heads)
        return self.op("Transpose", self.op("Reshape", x, shape), perm=order)

    def attention(self, x, layer, bias):
        query = self.split_heads(self.dense(x, f"{layer}.attention.self.query"), [0, 2, 1, 3])
        key = self.split_heads(self.dense(x, f"{layer}.attention.self.key"), [0, 2, 3, 1])
        value = self.split_heads(self.dense(x, f"{layer}.attention.self.value"), [0, 2, 1, 3])
        scores = self.op("Div", self.op("MatMul", query, key), self.f32(math.sqrt(self.hidden // self.heads)))
        weights = self.op("Softmax", self.op("Add", scores, bias), axis=-1)
        context = self.op("Transpose", self.op("MatMul", weights, value), perm=[0, 2, 1, 3])
        return self.op("Reshape", context, self.i64(0, 0, self.hidden))

    def gelu(self, x):
        erf = self.op("Erf", self.op("Div", x, self.f32(math.sqrt(2))))
        return self.op("Mul", self.op("Mul", x, self.op("Add", erf, self.f32(1))), self.f32(0.5))

    def layer(self, x, layer, bias):
        attended = self.dense(self.attention(x, layer, bias), f"{layer}.attention.output.dense")
        x = self.norm(self.op("Add", attended, x), f"{layer}.attention.output.LayerNorm")
        inner = self.gelu(self.dense(x, f"{layer}.intermediate.dense"))
        return self.norm(self.op("Add", self.dense(inner, f"{layer}.output.dense"), x), f"{layer}.output.LayerNorm")

    def embed(self):
        words = self.op("Gather", self.parameter("embeddings.word_embeddings.weight"), "ids", axis=0)
        length = self.op("Slice", self.op("Shape", "ids"), self.i64(1), self.i64(2))
        positions = self.op("Slice", self.parameter("embeddings.position_embeddings.weight"), self.i64(0), length,
                            self.i64(0))
        types = self.constant("type0", self.parameters["embeddings.token_type_embeddings.weight"][:1])
        return self.norm(self.op("Add", self.op("Add", words, types), positions), "embeddings.LayerNorm")

    def pool(self, x):
        mask = self.op("Unsqueeze", self.op("Cast", "mask", to=TensorProto.FLOAT), self.i64(2))
        total = self.op("ReduceSum", self.op("Mul", x, mask), self.i64(1), keepdims=0)
        count = self.op("Max", self.op("ReduceSum", mask, self.i64(1), keepdims=0), self.f32(1e-9))
        mean = self.op("Div", total, count)
        length = self.op("Max", self.op("ReduceL2", mean, axes=[-1], keepdims=1), self.f32(1e-12))
        return self.op("Div", mean, length)

    def encode(self, x):
        mask = self.op("Unsqueeze", self.op("Unsqueeze", "mask", self.i64(1)), self.i64(2))
        absent = self.op("Sub", self.f32(1), self.op("Cast", mask, to=TensorProto.FLOAT))
        bias = self.op("Mul", absent, self.f32(-10000))
        for i in range(self.layers):
            x = self.layer(x, f"encoder.layer.{i}", bias)
        return x

    def model(self):
        x = self.encode(self.embed())
        self.nodes.append(helper.make_node("Identity", [self.pool(x)], ["embedding"]))
        graph = helper.make_graph(
            self.nodes, "encoder",
            [helper.make_tensor_value_info(name, TensorProto.INT64, ["B", "S"]) for name in ("ids", "mask")],
            [helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["B", self.hidden])], self.initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
        model.ir_version = 8
        helper.set_model_props(model, {name: str(getattr(self, name)) for name in ("heads", "layers", "epsilon")})
        onnx.checker.check_model(model)
        return model


def export(path, model="minilm"):
    """Writes the model; returns "real" or "seeded", the kind of its weights."""
    from minilm import weights
    if model == "bert_base":
        kind, parameters, layers = "seeded", weights.seeded(**BERT_BASE), BERT_BASE["layers"]
    else:
        kind, parameters, _ = weights.load()
        layers = 1 if model == "one_layer" else weights.LAYERS
    onnx.save(OnnxEncoder(parameters, layers).model(), str(path))
    return kind


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("file", type=pathlib.Path)
    arguments.add_argument("--model", choices=("minilm", "one_layer", "bert_base"), default="minilm")
    options = arguments.parse_args()
    print(export(options.file, options.model), "weights")
