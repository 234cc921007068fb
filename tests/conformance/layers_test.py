"""Recurrent layers, sorting and selection of ONNX: one compilation at many shapes, compared with onnxruntime."""
import itertools
import unittest

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import tailor
import tailor.onnx

FLOAT, INT32, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT32, TensorProto.INT64, TensorProto.BOOL
HIDDEN, INPUTS = 3, 2


class Case:
    """One node, compiled by both."""

    def __init__(self, op, inputs, outputs, initializers=(), opset=14, **attributes):
        """inputs: (name, type, dims); outputs: (name, type); operands: all that there may be, in order."""
        given = {name for name, _, _ in inputs} | {name for name, _ in initializers}
        order = attributes.pop("operands", [name for name, _, _ in inputs] + [name for name, _ in initializers])
        operands = [name if name in given else "" for name in order]
        while not operands[-1]:
            operands.pop()
        node = helper.make_node(op, operands, [name for name, _ in outputs], **attributes)
        graph = helper.make_graph([node], "g", [helper.make_tensor_value_info(*value) for value in inputs],
                                  [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs],
                                  [numpy_helper.from_array(array, name) for name, array in initializers])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
        self.executable = tailor.onnx.load(model).compile("host")
        self.session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])

    def check(self, test, **arrays):
        wanted = self.session.run(None, arrays)
        for got, array in zip(self.executable.run(**arrays), wanted, strict=True):
            test.assertEqual(got.dtype, array.dtype)
            np.testing.assert_allclose(got, array, rtol=2e-5, atol=2e-6)


def weights(rng, directions, gates, names="WRB"):
    shapes = {"W": (gates * HIDDEN, INPUTS), "R": (gates * HIDDEN, HIDDEN), "B": (2 * gates * HIDDEN,),
              "P": (3 * HIDDEN,)}
    return [(name, rng.uniform(-0.6, 0.6, (directions, *shapes[name])).astype(np.float32)) for name in names]


class RecurrentTest(unittest.TestCase):
    GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
    SHAPES = ((1, 1), (4, 1), (3, 5), (7, 2), (1, 6))

    def run_case(self, op, direction="forward", lengths=False, initial=False, names="WRB", **attributes):
        rng, directions = np.random.default_rng(3), 2 if direction == "bidirectional" else 1
        inputs = [("X", FLOAT, ["time", "batch", INPUTS])]
        states = ["h", "c"] if op == "LSTM" else ["h"]
        if lengths:
            inputs.append(("lengths", INT32, ["batch"]))
        if initial:
            inputs += [(name, FLOAT, [directions, "batch", HIDDEN]) for name in states]
        outputs = [(name, FLOAT) for name in ("Y", "Y_h", "Y_c")[:1 + len(states)]]
        case = Case(op, inputs, outputs, weights(rng, directions, self.GATES[op], names), hidden_size=HIDDEN,
                    direction=direction, operands=["X", "W", "R", "B", "lengths", *states, "P"], **attributes)
        for time, batch in self.SHAPES:
            with self.subTest(op=op, time=time, batch=batch):
                arrays = {"X": rng.standard_normal([time, batch, INPUTS], np.float32)}
                if lengths:
                    arrays["lengths"] = rng.integers(1, time + 1, batch).astype(np.int32)
                    arrays["lengths"][0] = time  # onnxruntime wants one sequence of the full length
                for name in states if initial else ():
                    arrays[name] = rng.standard_normal([directions, batch, HIDDEN], np.float32)
                case.check(self, **arrays)

    def test_every_direction(self):
        for op, direction in itertools.product(self.GATES, ("forward", "reverse", "bidirectional")):
            self.run_case(op, direction)

    def test_lengths_and_initial_states(self):
        for op, direction in itertools.product(self.GATES, ("forward", "bidirectional")):
            self.run_case(op, direction, lengths=True, initial=True)

    def test_without_a_bias(self):
        for op in self.GATES:
            self.run_case(op, names="WR")

    def test_options(self):
        self.run_case("LSTM", "bidirectional", initial=True, names="WRBP", clip=0.4)
        self.run_case("LSTM", input_forget=1)
        self.run_case("GRU", "bidirectional", initial=True, linear_before_reset=1)

    def test_activations(self):
        self.run_case("RNN", "bidirectional", activations=["Affine", "Softsign"], activation_alpha=[0.5],
                      activation_beta=[0.25])
        self.run_case("LSTM", activations=["HardSigmoid", "ScaledTanh", "LeakyRelu"], activation_alpha=[0.3, 1.5, 0.2],
                      activation_beta=[0.4, 0.75])
        self.run_case("GRU", activations=["Sigmoid", "Softplus"])
        self.run_case("GRU", activations=["Sigmoid", "Elu"], activation_alpha=[0.5])

    def test_errors_name_the_node(self):
        with self.assertRaisesRegex(tailor.onnx.ModelError, "RNN node.*unknown activation \"Tan\""):
            self.run_case("RNN", activations=["Tan"])
        with self.assertRaisesRegex(tailor.onnx.ModelError, "GRU node.*1 activations for 1 directions of 2"):
            self.run_case("GRU", activations=["Tanh"])


class SortingTest(unittest.TestCase):
    def test_top_k_along_any_axis(self):
        rng = np.random.default_rng(4)
        for axis, largest in itertools.product((0, 1, -1), (0, 1)):
            case = Case("TopK", [("x", FLOAT, ["a", "b", "c"])], [("values", FLOAT), ("indices", INT64)],
                        [("k", np.array([2], np.int64))], axis=axis, largest=largest)
            for shape in ((2, 2, 2), (3, 2, 5), (2, 17, 3), (5, 3, 40)):
                with self.subTest(axis=axis, largest=largest, shape=shape):
                    case.check(self, x=rng.integers(-4, 5, shape).astype(np.float32))

    def test_as_many_as_data_says(self):
        case = Case("TopK", [("x", FLOAT, ["n"]), ("k", INT64, [1])], [("values", FLOAT), ("indices", INT64)])
        rng = np.random.default_rng(5)
        for n, k in ((1, 1), (4, 0), (9, 9), (1000, 7)):
            with self.subTest(n=n, k=k):
                case.check(self, x=rng.standard_normal(n, np.float32), k=np.array([k]))
        with self.assertRaises(tailor.Error):
            case.executable.run(x=np.zeros(3, np.float32), k=np.array([4]))

    def test_unique(self):
        rng = np.random.default_rng(6)
        outputs = [("y", FLOAT), ("indices", INT64), ("inverse", INT64), ("counts", INT64)]
        for attributes in ({}, {"sorted": 0}, {"axis": 0}, {"axis": -1, "sorted": 0}):
            case = Case("Unique", [("x", FLOAT, ["n", "m"])], outputs, **attributes)
            for shape in ((1, 1), (5, 2), (2, 9), (30, 1), (12, 12)):
                with self.subTest(shape=shape, **attributes):
                    case.check(self, x=rng.integers(0, 3, shape).astype(np.float32))


class SelectionTest(unittest.TestCase):
    def test_nonzero(self):
        rng, case = np.random.default_rng(7), Case("NonZero", [("x", FLOAT, ["n", "m"])], [("y", INT64)])
        for shape in ((1, 1), (0, 3), (4, 5), (33, 17)):
            with self.subTest(shape=shape):
                case.check(self, x=rng.integers(0, 2, shape).astype(np.float32))

    def test_compress(self):
        rng = np.random.default_rng(8)
        for axis in (0, 1, None):
            attributes = {} if axis is None else {"axis": axis}
            case = Case("Compress", [("x", FLOAT, ["n", "m"]), ("keep", BOOL, ["k"])], [("y", FLOAT)], **attributes)
            for n, m, k in ((3, 3, 3), (4, 5, 2), (6, 3, 3), (2, 9, 0)):
                with self.subTest(axis=axis, n=n, m=m, k=k):
                    case.check(self, x=rng.standard_normal((n, m), np.float32), keep=rng.integers(0, 2, k) > 0)


class WindowTest(unittest.TestCase):
    """Windows that do not fit: onnxruntime refuses them too."""

    def run_case(self, op, fitting, refused, initializers=(), **attributes):
        rng, dims = np.random.default_rng(9), ["n", 3, "h", "w"]
        case = Case(op, [("x", FLOAT, dims)], [("y", FLOAT)], initializers, name="stem", **attributes)
        for shape in fitting:
            with self.subTest(op=op, shape=shape):
                case.check(self, x=rng.standard_normal(shape, np.float32))
        for shape in refused:
            with self.subTest(op=op, shape=shape):
                x = np.zeros(shape, np.float32)
                with self.assertRaises(Exception):
                    case.session.run(None, {"x": x})
                with self.assertRaisesRegex(tailor.Error, f'{op} node "stem", the.* input along dim 2: '):
                    case.executable.run(x=x)

    def test_convolution(self):
        weight = np.random.default_rng(10).standard_normal((4, 3, 3, 3)).astype(np.float32)
        self.run_case("Conv", [(1, 3, 1, 1), (2, 3, 9, 4), (0, 3, 5, 5)], [(1, 3, 0, 8)], [("W", weight)],
                      pads=[1, 1, 1, 1], strides=[2, 2])
        self.run_case("Conv", [(1, 3, 5, 5), (0, 3, 6, 9)], [(1, 3, 4, 8), (1, 3, 0, 8)], [("W", weight)],
                      dilations=[2, 2])
        self.run_case("Conv", [(1, 3, 1, 1), (2, 3, 4, 7)], [(1, 3, 0, 8)], [("W", weight[:, :, :1, :1])])

    def test_the_sizes_that_a_network_takes_are_those_of_onnxruntime(self):
        weights = np.random.default_rng(15).standard_normal((3, 3, 3, 3)).astype(np.float32)
        convs = [helper.make_node("Conv", [f"x{i}", "W"], [f"x{i + 1}"], strides=[2, 2]) for i in range(3)]
        graph = helper.make_graph(convs, "g", [helper.make_tensor_value_info("x0", FLOAT, [1, 3, "h", "w"])],
                                  [helper.make_tensor_value_info("x3", FLOAT, None)],
                                  [numpy_helper.from_array(weights, "W")])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)
        executable = tailor.onnx.load(model).compile("host")
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        refused = 0
        for height in range(1, 24):
            x = np.random.default_rng(height).standard_normal((1, 3, height, 17), np.float32)
            try:
                wanted = session.run(None, {"x0": x})[0]
            except Exception:
                refused += 1
                with self.assertRaisesRegex(tailor.Error, "Conv node .*, the padded input along dim 2: "):
                    executable.run(x0=x)
                continue
            np.testing.assert_allclose(executable.run(x0=x)[0], wanted, rtol=1e-4, atol=1e-4)
        self.assertEqual(refused, 14)

    def test_a_branch_that_is_not_taken_demands_nothing(self):
        x = helper.make_tensor_value_info("x", FLOAT, ["n", 3, "h", "w"])
        taken = helper.make_tensor_value_info("taken", BOOL, [])
        weight = np.random.default_rng(11).standard_normal((4, 3, 3, 3)).astype(np.float32)
        constants = [numpy_helper.from_array(weight, "W"), numpy_helper.from_array(np.array([1, 2, 3]), "axes")]

        def branch(name, *nodes):
            return helper.make_graph(nodes, name, [], [helper.make_tensor_value_info(name, FLOAT, None)])
        then = branch("sum", helper.make_node("Conv", ["x", "W"], ["c"], name="stem"),
                      helper.make_node("ReduceSum", ["c", "axes"], ["sum"], keepdims=0))
        other = branch("all", helper.make_node("ReduceSum", ["x", "axes"], ["all"], keepdims=0))
        node = helper.make_node("If", ["taken"], ["y"], then_branch=then, else_branch=other)
        graph = helper.make_graph([node], "g", [x, taken], [helper.make_tensor_value_info("y", FLOAT, None)], constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)
        executable = tailor.onnx.load(model).compile("host")
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        for height, taken in ((5, True), (5, False), (2, False)):
            inputs = {"x": np.random.default_rng(12).standard_normal((2, 3, height, 6), np.float32),
                      "taken": np.array(taken)}
            np.testing.assert_allclose(executable.run(**inputs)[0], session.run(None, inputs)[0], rtol=1e-4, atol=1e-4)
        with self.assertRaisesRegex(tailor.Error, 'Conv node "stem", the padded input along dim 2: h is 2'):
            executable.run(x=np.zeros((2, 3, 2, 6), np.float32), taken=np.array(True))

    def test_a_convolution_of_selected_rows(self):
        weight = np.random.default_rng(13).standard_normal((4, 3, 3, 3)).astype(np.float32)
        nodes = [helper.make_node("NonZero", ["keep"], ["places"]),
                 helper.make_node("Squeeze", ["places", "first"], ["rows"]),
                 helper.make_node("Gather", ["x", "rows"], ["kept"], axis=2),
                 helper.make_node("Conv", ["kept", "W"], ["y"], name="stem")]
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", FLOAT, ["n", 3, "h", "w"]),
                                               helper.make_tensor_value_info("keep", BOOL, ["h"])],
                                  [helper.make_tensor_value_info("y", FLOAT, None)],
                                  [numpy_helper.from_array(weight, "W"),
                                   numpy_helper.from_array(np.array([0]), "first")])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)
        executable = tailor.onnx.load(model).compile("host")
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        x = np.random.default_rng(14).standard_normal((1, 3, 6, 5), np.float32)
        for count in (6, 3):
            inputs = {"x": x, "keep": np.arange(6) < count}
            np.testing.assert_allclose(executable.run(**inputs)[0], session.run(None, inputs)[0], rtol=1e-4, atol=1e-5)
        for count in (2, 0):
            with self.assertRaisesRegex(tailor.Error, f'Conv node "stem".* is {count}, but must be at least 3'):
                executable.run(x=x, keep=np.arange(6) < count)

    def test_pools(self):
        for op in ("MaxPool", "AveragePool"):
            self.run_case(op, [(1, 3, 1, 1), (2, 3, 9, 4), (0, 3, 5, 5)], [(1, 3, 0, 8)], pads=[1, 1, 1, 1],
                          strides=[2, 2], kernel_shape=[3, 3])
            self.run_case(op, [(1, 3, 3, 3), (1, 3, 2, 8)], [(1, 3, 0, 8)], kernel_shape=[3, 3])


if __name__ == "__main__":
    unittest.main()
