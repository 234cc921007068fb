"""Graphs of a few nodes that show one mechanism of the papers each, as ONNX files with random weights."""
import dataclasses

import numpy


@dataclasses.dataclass(frozen=True)
class SmallGraph:
    """`text`: in the syntax of onnx.parser, with the inputs that stay inputs; `inputs`: {name: dims}, symbols and sizes;
    `weights`: {name: shape}; `sizes`, `new`: of the symbols, as in papers.csv. `papers`: where its shape is from."""
    papers: str
    text: str
    inputs: dict
    weights: dict
    sizes: dict
    new: dict

    def entry(self):
        """As in a manifest of tools/export_models."""
        return {"inputs": [{"name": name, "dtype": "float32", "dims": list(dims), "values": "normal"}
                           for name, dims in self.inputs.items()]}

    def save(self, path):
        import onnx
        from onnx import numpy_helper
        random = numpy.random.default_rng(0)
        inputs = ", ".join(f"float[{', '.join(map(str, dims))}] {name}" for name, dims in self.inputs.items())
        model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> small ({inputs}) => (y) {{ {self.text} }}')
        model.graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.FLOAT
        for name, shape in self.weights.items():
            values = random.standard_normal(shape) / numpy.sqrt(shape[0])
            model.graph.initializer.append(numpy_helper.from_array(values.astype(numpy.float32), name))
        onnx.save(onnx.shape_inference.infer_shapes(model), path)


ROWS = {"x": ("R", "C")}
SMALL_GRAPHS = {
    "softmax of few long rows": SmallGraph(
        "AStitch 3.3: <64, 30000>", "y = Softmax <axis = -1> (x)", ROWS, {}, {"R": 64, "C": 30000}, {"R": 48, "C": 20000}),
    "softmax of many short rows": SmallGraph(
        "AStitch 3.3: <750000, 32>", "y = Softmax <axis = -1> (x)", ROWS, {}, {"R": 750000, "C": 32}, {"R": 500000, "C": 24}),
    "softmax of rows of 8": SmallGraph(
        "AStitch 3.3", "y = Softmax <axis = -1> (x)", ROWS, {}, {"R": 100000, "C": 8}, {"R": 70000, "C": 6}),
    "sum of many rows": SmallGraph(
        "AStitch 3.3: <750000, 32>", "axes = Constant <value_ints = [0]> () y = ReduceSum <keepdims = 0> (x, axes)", ROWS, {},
        {"R": 750000, "C": 32}, {"R": 500000, "C": 24}),
    "elementwise chain": SmallGraph(
        "DISC 4.3", "a = Mul (x, s) b = Add (a, t) c = Tanh (b) d = Mul (c, x) e = Sigmoid (d) f = Add (e, x) y = Mul (f, c)",
        ROWS, {"s": (1,), "t": (1,)}, {"R": 1000, "C": 1000}, {"R": 700, "C": 900}),
    "layer norm": SmallGraph(
        "AStitch 3.1, BladeDISC 4.2", "a = Add (x, r) y = LayerNormalization <axis = -1> (a, s, t)",
        {"x": ("R", 768), "r": ("R", 768)}, {"s": (768,), "t": (768,)}, {"R": 512}, {"R": 300}),
    "three matmuls of one operand": SmallGraph(
        "BladeDISC 4.3", "q = MatMul (x, a) k = MatMul (x, b) v = MatMul (x, c) s = Mul (q, k) y = Add (s, v)",
        {"x": ("R", 256)}, {"a": (256, 32), "b": (256, 32), "c": (256, 32)}, {"R": 8}, {"R": 6}),
    "chain of small matmuls": SmallGraph(
        "AStitch 4.1", "a = MatMul (x, p) b = Relu (a) c = MatMul (b, q) d = Relu (c) y = MatMul (d, r)",
        {"x": ("R", 64)}, {"p": (64, 64), "q": (64, 64), "r": (64, 64)}, {"R": 20000}, {"R": 15000}),
    "attention of short sentences": SmallGraph(
        "BladeDISC 4.1", "s = MatMul (q, k) p = Softmax <axis = -1> (s) y = MatMul (p, v)",
        {"q": ("B", 12, "S", 64), "k": ("B", 12, 64, "S"), "v": ("B", 12, "S", 64)}, {}, {"B": 8, "S": 24}, {"B": 5, "S": 17}),
    "attention of long sentences": SmallGraph(
        "AStitch 4.1", "s = MatMul (q, k) p = Softmax <axis = -1> (s) y = MatMul (p, v)",
        {"q": ("B", 12, "S", 64), "k": ("B", 12, 64, "S"), "v": ("B", 12, "S", 64)}, {}, {"B": 1, "S": 2048}, {"B": 1, "S": 1500}),
    "matmul of few rows": SmallGraph(
        "MikPoly table 3", "y = MatMul (x, w)", {"x": ("R", 1024)}, {"w": (1024, 1024)}, {"R": 10}, {"R": 11}),
    "matmul of odd sizes": SmallGraph(
        "MikPoly table 3", "y = MatMul (x, w)", {"x": ("R", 300)}, {"w": (300, 200)}, {"R": 105}, {"R": 83}),
}
