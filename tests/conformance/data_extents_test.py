"""Data-dependent dims: compiled once, run with several sizes, against onnxruntime."""
import unittest

import numpy
from onnx import TensorProto, helper

import tailor
import tailor.onnx
from import_test import ints, model
from operators_test import OperatorTest

FLOAT, INT32, INT64 = TensorProto.FLOAT, TensorProto.INT32, TensorProto.INT64
node = helper.make_node


def floats(*shape):
    return numpy.random.default_rng(sum(shape) + 1).standard_normal(shape, numpy.float32)


def real(*values):
    return numpy.asarray(values, numpy.float32)


class DataExtentsTest(OperatorTest):
    def run_node(self, op, inputs, cases, opset=18, **attributes):
        """One node whose inputs are (name, type, shape); a case is a list of arrays."""
        names = [name for name, _, _ in inputs]
        proto = model([node(op, names, ["y"], **attributes)], inputs, [("y", inputs[0][1])], opset=opset)
        return self.run_both(proto, [dict(zip(names, case)) for case in cases])

    def test_reshape(self):
        x = floats(6, 4)
        inputs = [("x", FLOAT, ["a", 4]), ("s", INT64, [3])]
        shapes = ((2, 3, 4), (0, -1, 2), (-1, 0, 6), (24, 1, 1), (4, 6, -1), (-1, 4, 1))
        self.run_node("Reshape", inputs, [[x, ints(*s)] for s in shapes])
        self.run_node("Reshape", inputs, [[floats(0, 4), ints(*s)] for s in ((0, 2, 2), (3, 0, 5))], allowzero=1)
        executable = self.run_node("Reshape", inputs, [])
        with self.assertRaisesRegex(tailor.Error, "n1|n2|n3|elements|%y"):
            executable.run(x, ints(5, 5, 1))

    def test_reshape_with_known_entries(self):
        """The rest of a list stays known: the batch is the batch."""
        nodes = [node("Shape", ["x"], ["shape"]), node("Gather", ["shape", "zero"], ["batch"]),
                 node("Unsqueeze", ["batch", "axis"], ["b"]), node("Unsqueeze", ["k", "axis"], ["k1"]),
                 node("Concat", ["b", "k1", "rest"], ["s"], axis=0), node("Reshape", ["x", "s"], ["y"]),
                 node("ConstantOfShape", ["k1"], ["z"]), node("Unsqueeze", ["z", "one"], ["z1"]),
                 node("Add", ["y", "z1"], ["w"])]
        proto = model(nodes, [("x", FLOAT, ["batch", 12]), ("k", INT64, [])], [("w", FLOAT)],
                      [("zero", numpy.asarray(0)), ("axis", ints(0)), ("one", ints(1)), ("rest", ints(-1))])
        self.run_both(proto, [{"x": floats(b, 12), "k": numpy.asarray(k)} for b, k in ((2, 3), (1, 12), (5, 1))])
        self.assertIn("f32[batch, n", tailor.onnx.load(proto).text)

    def test_slice(self):
        inputs = [("x", FLOAT, ["a", 5]), ("s", INT64, [1]), ("e", INT64, [1])]
        bounds = ((0, 3), (-2, 2**62), (2, -1), (-100, 100), (3, 1), (0, 0))
        self.run_node("Slice", inputs, [[floats(a, 5), ints(s), ints(e)] for a in (4, 1) for s, e in bounds])
        proto = model([node("Slice", ["x", "s", "e", "axis", "t"], ["y"])], [*inputs, ("t", INT64, [1])],
                      [("y", FLOAT)], [("axis", ints(0))])
        self.run_both(proto, [{"x": floats(a, 5), "s": ints(s), "e": ints(e), "t": ints(t)} for a in (7, 1)
                              for s, e, t in ((0, 6, 2), (-1, -100, -2), (5, 0, -1), (1, 2**62, 3), (2, 5, -1))])
        back = model([node("Slice", ["x", "s", "e", "axis", "t"], ["y"])], [("x", FLOAT, ["a"]), ("s", INT64, [1])],
                     [("y", FLOAT)], [("axis", ints(0)), ("e", ints(-2**63)), ("t", ints(-2))])
        self.run_both(back, [{"x": floats(a), "s": ints(s)} for a, s in ((6, -1), (6, 3), (1, 0), (5, 9), (5, -9))])
        for start in (-1, -3, -9, 2, 9):
            back = model([node("Slice", ["x", "s", "e", "axis", "t"], ["y"])], [("x", FLOAT, ["a"])], [("y", FLOAT)],
                         [("s", ints(start)), ("axis", ints(0)), ("e", ints(-2**63)), ("t", ints(-1))])
            self.run_both(back, [{"x": floats(a)} for a in (6, 3, 1, 0)])

    def test_range(self):
        for dtype, kind in ((INT64, numpy.int64), (INT32, numpy.int32), (FLOAT, numpy.float32)):
            inputs = [(name, dtype, []) for name in ("start", "limit", "delta")]
            self.run_node("Range", inputs, [[numpy.asarray(value, kind) for value in case] for case in (
                (0, 5, 1), (3, 10, 4), (10, 3, -3), (5, 5, 1), (5, 0, 1), (-4, 4, 8))])
        self.run_node("Range", [(name, FLOAT, []) for name in ("start", "limit", "delta")],
                      [[numpy.asarray(value, numpy.float32) for value in (0.5, 2.6, 0.25)]])

    def test_expand_tile_fill(self):
        self.run_node("Expand", [("x", FLOAT, ["a", 1]), ("s", INT64, [3])],
                      [[floats(a, 1), ints(*s)] for a, s in ((3, (2, 3, 4)), (1, (2, 5, 1)), (4, (1, 1, 7)))])
        self.run_node("Tile", [("x", FLOAT, ["a", 3]), ("r", INT64, [2])],
                      [[floats(2, 3), ints(*r)] for r in ((1, 1), (2, 3), (0, 4))])
        proto = model([node("ConstantOfShape", ["s"], ["y"])], [("s", INT64, [2])], [("y", FLOAT)])
        executable = self.run_both(proto, [{"s": ints(*s)} for s in ((2, 3), (0, 4))])
        with self.assertRaisesRegex(tailor.Error, "n1"):
            executable.run(ints(-1, 2))

    def test_pad(self):
        inputs = [("x", FLOAT, ["a", 5]), ("p", INT64, [4])]
        pads = ((1, 2, 3, 0), (-1, 0, 0, -2), (0, 0, 0, 0), (2, -1, -1, 1))
        for mode in ("constant", "edge", "reflect"):
            self.run_node("Pad", inputs, [[floats(4, 5), ints(*p)] for p in pads], mode=mode)

    def test_split(self):
        proto = model([node("Split", ["x", "s"], ["y", "z", "w"], axis=1)],
                      [("x", FLOAT, ["a", "b"]), ("s", INT64, [3])], [("y", FLOAT), ("z", FLOAT), ("w", FLOAT)],
                      opset=18)
        self.run_both(proto, [{"x": floats(2, sum(s)), "s": ints(*s)} for s in ((1, 2, 3), (4, 0, 1), (2, 2, 2))])

    def test_one_hot(self):
        proto = model([node("OneHot", ["i", "depth", "v"], ["y"])],
                      [("i", INT64, ["a"]), ("depth", INT64, []), ("v", FLOAT, [2])], [("y", FLOAT)])
        self.run_both(proto, [{"i": ints(1, 0, -1, 7), "depth": numpy.asarray(d), "v": real(0, 2)} for d in (3, 8, 1)])

    def test_resize(self):
        x = floats(1, 2, 6, 5)
        for mode in ("nearest", "linear", "cubic"):
            proto = model([node("Resize", ["x", "", "", "s"], ["y"], mode=mode)],
                          [("x", FLOAT, [1, 2, "h", "w"]), ("s", INT64, [4])], [("y", FLOAT)], opset=18)
            self.run_both(proto, [{"x": x, "s": ints(1, 2, *s)} for s in ((6, 5), (3, 10), (12, 4), (1, 1))])
            proto = model([node("Resize", ["x", "", "s"], ["y"], mode=mode)],
                          [("x", FLOAT, [1, 2, "h", "w"]), ("s", FLOAT, [4])], [("y", FLOAT)], opset=18)
            self.run_both(proto, [{"x": x, "s": real(1, 1, *s)} for s in ((1, 1), (0.5, 2), (1.7, 0.8))])

    def test_resize_antialiased(self):
        x = floats(1, 2, 12, 9)
        for mode in ("linear", "cubic"):
            proto = model([node("Resize", ["x", "", "", "s"], ["y"], mode=mode, antialias=1)],
                          [("x", FLOAT, [1, 2, "h", "w"]), ("s", INT64, [4])], [("y", FLOAT)], opset=18)
            self.run_both(proto, [{"x": x, "s": ints(1, 2, *s)} for s in ((12, 9), (5, 4), (3, 12), (20, 2))])

    def test_within_a_loop(self):
        """The count of each trip is another."""
        infos = [helper.make_tensor_value_info(name, dtype, shape)
                 for name, dtype, shape in (("i", INT64, []), ("going", TensorProto.BOOL, []), ("s", FLOAT, []))]
        nodes = [node("Range", ["zero", "i", "one"], ["r"]), node("Cast", ["r"], ["f"], to=FLOAT),
                 node("ReduceSum", ["f"], ["t"], keepdims=0), node("Add", ["s", "t"], ["s_out"]),
                 node("Identity", ["going"], ["on"])]
        outs = [helper.make_tensor_value_info("on", TensorProto.BOOL, None),
                helper.make_tensor_value_info("s_out", FLOAT, None)]
        proto = model([node("Loop", ["n", "", "x"], ["y"], body=helper.make_graph(nodes, "body", infos, outs))],
                      [("n", INT64, []), ("x", FLOAT, [])], [("y", FLOAT)],
                      [("zero", numpy.asarray(0)), ("one", numpy.asarray(1))])
        self.run_both(proto, [{"n": numpy.asarray(n), "x": real(0.5).reshape(())} for n in (0, 1, 6)])


if __name__ == "__main__":
    unittest.main()
