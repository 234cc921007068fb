"""Writes ONNX models node by node, the way exporters do: shapes go through Shape, Gather, Concat and Reshape."""
import math

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Writer:
    """One model being written. Values are names; op() gives the name of what it appends."""

    def __init__(self, name, seed, opset=17):
        self.name, self.opset, self.rng = name, opset, np.random.default_rng(seed)
        self.nodes, self.inputs, self.outputs, self.initializers = [], [], [], {}
        self.scope, self._count = "", 0

    def input(self, name, dims, dtype=TensorProto.FLOAT):
        self.inputs.append(helper.make_tensor_value_info(name, dtype, dims))
        return name

    def output(self, name, value, dims, dtype=TensorProto.FLOAT):
        """`dims` are what an exporter would call them: hints that need not be the inputs' names."""
        self.nodes.append(helper.make_node("Identity", [value], [name], f"/output/{name}"))
        self.outputs.append(helper.make_tensor_value_info(name, dtype, dims))

    def op(self, op_type, *inputs, outputs=1, **attributes):
        """The name of the result, or the list of them."""
        self._count += 1
        name = f"{self.scope}/{op_type}_{self._count}"
        names = [f"{name}_output_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op_type, list(inputs), names, name, **attributes))
        return names[0] if outputs == 1 else names

    def weight(self, name, *shape, scale=None):
        """An initializer of normal numbers, by default scaled for a fan-in of the first dim."""
        if name in self.initializers:
            return name
        scale = 1 / math.sqrt(shape[0]) if scale is None else scale
        return self.initializer(name, self.rng.standard_normal(shape, np.float32) * np.float32(scale))

    def initializer(self, name, array):
        """A weight; one that was written before is shared."""
        self.initializers.setdefault(name, numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def norm_scale(self, name, width):
        """A weight of numbers around 1."""
        return self.initializer(name, 1 + np.float32(0.1) * self.rng.standard_normal(width, np.float32))

    def constant(self, value, dtype=np.float32):
        return self.op("Constant", value=numpy_helper.from_array(np.asarray(value, dtype)))

    def ints(self, *values):
        return self.constant(values, np.int64)

    def size(self, x, axis):
        """A dim as an i64 scalar."""
        return self.op("Gather", self.op("Shape", x), self.constant(axis, np.int64), axis=0)

    def listed(self, *parts):
        """A list of scalars and ints as one i64 tensor."""
        return self.op("Concat", *(self.ints(part) if isinstance(part, int) else
                                   self.op("Unsqueeze", part, self.ints(0)) for part in parts), axis=0)

    def reshape(self, x, *parts):
        return self.op("Reshape", x, self.listed(*parts))

    def expand(self, x, *parts):
        """x broadcast to a shape in which -1 keeps a dim."""
        shape = self.listed(*parts)
        ones = self.op("ConstantOfShape", self.ints(len(parts)), value=numpy_helper.from_array(np.ones(1, np.int64)))
        kept = self.op("Equal", shape, self.op("Mul", ones, self.constant(-1, np.int64)))
        return self.op("Expand", x, self.op("Where", kept, ones, shape))

    def sliced(self, x, axis, start, end):
        """x[start:end] on one axis; start and end are ints or i64 scalars."""
        return self.op("Slice", x, self.listed(start), self.listed(end), self.ints(axis))

    def positions(self, start, end):
        """start, start + 1, ... end - 1 as i64."""
        start = self.constant(start, np.int64) if isinstance(start, int) else start
        return self.op("Range", start, end, self.constant(1, np.int64))

    def linear(self, x, name, inputs, outputs, bias=True):
        y = self.op("MatMul", x, self.weight(f"{name}.weight", inputs, outputs))
        return self.op("Add", self.weight(f"{name}.bias", outputs, scale=0.1), y) if bias else y

    def body(self, name, scope):
        """A writer of a subgraph, whose weights are this model's; finish it with graph()."""
        inner = Writer(name, 0, self.opset)
        inner.rng, inner.initializers, inner.scope = self.rng, self.initializers, scope
        return inner

    def graph(self):
        return helper.make_graph(self.nodes, self.name, self.inputs, self.outputs)

    def model(self):
        graph = helper.make_graph(self.nodes, self.name, self.inputs, self.outputs,
                                  list(self.initializers.values()))
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8)
        onnx.checker.check_model(model)
        return model
