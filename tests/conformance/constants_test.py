"""Nodes that depend on constants alone are computed while importing: none is left in the graph, results exist once."""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import ml_dtypes
import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper

import tailor
import tailor.onnx

from import_test import ints, model

FLOAT, N = TensorProto.FLOAT, 96


def ops(proto, **options):
    """The ops of the graph, sorted."""
    text = tailor.onnx.load(proto, **options).text
    return sorted(re.findall(r"^ +%\S+ = (\w+)", text, re.MULTILINE))


class ConstantsTest(unittest.TestCase):
    def setUp(self):
        self.random = numpy.random.default_rng(1)

    def numbers(self, *shape):
        return self.random.standard_normal(shape, numpy.float32)

    def product(self, nodes, initializers, opset=21):
        """x times what the nodes make of the initializers, "w"."""
        return model([*nodes, helper.make_node("MatMul", ["x", "w"], ["y"])], [("x", FLOAT, ["n", N])],
                     [("y", FLOAT)], initializers, opset=opset)

    def check(self, proto, wanted=("constant", "dot")):
        self.assertEqual(ops(proto), sorted(wanted))
        executable = tailor.onnx.load(proto).compile("host")
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL  # or it quantizes x
        session = onnxruntime.InferenceSession(proto.SerializeToString(), options, ["CPUExecutionProvider"])
        for rows in (1, 7):
            x = self.numbers(rows, N)
            numpy.testing.assert_allclose(executable.run(x=x)[0], session.run(None, {"x": x})[0], rtol=1e-4, atol=1e-4)

    def test_weights_that_are_moved(self):
        nodes = [helper.make_node("Transpose", ["a"], ["t"], perm=[1, 0]),
                 helper.make_node("Concat", ["t", "b"], ["c"], axis=1),
                 helper.make_node("Slice", ["c", "from", "to", "axes"], ["s"]),
                 helper.make_node("Reshape", ["s", "shape"], ["r"]),
                 helper.make_node("Squeeze", ["r", "axes"], ["w"])]
        proto = self.product(nodes, [("a", self.numbers(2 * N, N)), ("b", self.numbers(N, 5)), ("from", ints(3)),
                                     ("to", ints(2 * N + 4)), ("axes", ints(1)), ("shape", ints(N, 1, -1))])
        self.check(proto)

    def test_weights_that_are_quantized(self):
        for dtype, axis in ((numpy.int8, 0), (numpy.uint8, 1)):
            quantized = self.random.integers(0, 100, (N, 2 * N)).astype(dtype)
            scales = numpy.abs(self.numbers(quantized.shape[axis])) + 1
            zeros = self.random.integers(0, 100, scales.shape).astype(dtype)
            self.check(self.product([helper.make_node("DequantizeLinear", ["q", "s", "z"], ["w"], axis=axis)],
                                    [("q", quantized), ("s", scales), ("z", zeros)]))

    def test_weights_of_other_types(self):
        for dtype in (numpy.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.int4, numpy.float64):
            weight = (4 * self.numbers(N, N)).astype(dtype)
            proto = self.product([helper.make_node("Cast", ["a"], ["w"], to=FLOAT)], [("a", weight)])
            self.assertEqual(ops(proto), ["constant", "dot"])
            x = self.numbers(3, N)
            numpy.testing.assert_allclose(tailor.onnx.load(proto).compile("host").run(x=x)[0],
                                          x @ weight.astype(numpy.float32), rtol=1e-4, atol=1e-4)

    def test_what_a_model_computes_on_its_own(self):
        nodes = [helper.make_node("ReduceMax", ["a"], ["top"], keepdims=0), helper.make_node("Sigmoid", ["top"], ["s"]),
                 helper.make_node("Mul", ["a", "s"], ["scaled"]), helper.make_node("Softmax", ["scaled"], ["soft"]),
                 helper.make_node("Gather", ["soft", "rows"], ["w"])]
        proto = self.product(nodes, [("a", self.numbers(2 * N, N)), ("rows", self.random.permutation(N))])
        self.check(proto)

    def test_small_ones(self):
        nodes = [helper.make_node("DequantizeLinear", ["q", "s"], ["b"]), helper.make_node("Add", ["x", "b"], ["y"])]
        proto = model(nodes, [("x", FLOAT, ["n", 3])], [("y", FLOAT)],
                      [("q", numpy.array([7, -9, 0], numpy.int32)), ("s", numpy.float32(0.5))])
        self.assertEqual(ops(proto), ["add", "constant"])

    def test_functions_of_the_model(self):
        proto = self.product([helper.make_node("Halved", ["a"], ["w"], domain="own")], [("a", self.numbers(N, N))])
        proto.opset_import.append(helper.make_opsetid("own", 1))
        body = [helper.make_node("Constant", [], ["two"], value_float=2.0),
                helper.make_node("Div", ["v", "two"], ["h"])]
        proto.functions.append(helper.make_function("own", "Halved", ["v"], ["h"], body,
                                                    [helper.make_opsetid("", 21)]))
        self.check(proto)

    def test_results_that_are_outputs(self):
        weight = self.numbers(N, N)
        proto = model([helper.make_node("Neg", ["w"], ["y"])], [], [("y", FLOAT)], [("w", weight)])
        numpy.testing.assert_array_equal(tailor.onnx.load(proto).compile("host").run()[0], -weight)

    def test_broadcasts_stay(self):
        nodes = [helper.make_node("Mul", ["column", "row"], ["w"])]
        proto = self.product(nodes, [("column", self.numbers(N, 1)), ("row", self.numbers(1, 200 * N))])
        self.check(proto, ["constant", "constant", "dot", "mul"])

    def test_what_others_read_is_not_copied_to_show_it_otherwise(self):
        table = [("table", self.numbers(200 * N, N)), ("shape", ints(N, -1))]
        for view, result in ((helper.make_node("Transpose", ["table"], ["t"]), "transpose"),
                             (helper.make_node("Reshape", ["table", "shape"], ["t"]), "reshape")):
            nodes = [helper.make_node("Gather", ["table", "ids"], ["x"]), view,
                     helper.make_node("MatMul", ["x", "t"], ["y"])]
            proto = model(nodes, [("ids", TensorProto.INT64, ["n"])], [("y", FLOAT)], table)
            self.assertEqual(ops(proto), ["constant", "dot", "gather", result])

    def test_other_names_of_a_weight_are_the_weight(self):
        nodes = [helper.make_node("Identity", ["a"], ["b"]), helper.make_node("MatMul", ["x", "b"], ["h"]),
                 helper.make_node("MatMul", ["h", "a"], ["z"]), helper.make_node("Neg", ["b"], ["w"])]
        proto = self.product(nodes, [("a", self.numbers(N, N))])
        proto.graph.output.append(helper.make_tensor_value_info("z", FLOAT, None))
        self.assertEqual(ops(proto), ["constant", "constant", "dot", "dot", "dot"])

    def test_errors_name_the_node(self):
        proto = self.product([helper.make_node("Concat", ["a", "b"], ["w"], "join", axis=1)],
                             [("a", self.numbers(N, N)), ("b", self.numbers(N + 1, N))])
        with self.assertRaisesRegex(tailor.onnx.ModelError, 'Concat node "join"'):
            tailor.onnx.load(proto)

    def test_weights_stay_in_the_file(self):
        """Peak memory of importing, in a process of its own, without the pages of the mapped file."""
        rows, columns = 4096, 4096
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "model.onnx")
            weight = numpy.ones((rows, columns), numpy.float32)
            proto = model([helper.make_node("MatMul", ["x", "w"], ["y"])], [("x", FLOAT, ["n", rows])], [("y", FLOAT)],
                          [("w", weight)])
            onnx.save(proto, path, save_as_external_data=True)
            before, after = map(int, subprocess.check_output([sys.executable, "-c", _PEAK, path], text=True).split())
        self.assertLess(after - before, weight.nbytes // 10)


_PEAK = """
import sys, tailor.onnx
def anonymous():
    with open("/proc/self/status") as lines:
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("RssAnon"))
tailor.Graph("loads the libraries")
before = anonymous()
graph = tailor.onnx.load(sys.argv[1])
print(before, anonymous())
"""

if __name__ == "__main__":
    unittest.main()
