"""Matmuls and convolutions of bytes: ONNX's integer operators have the bits of its reference or of onnxruntime, dequantized operands
onnxruntime's results."""
import ctypes
import itertools
import mmap
import unittest

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import tailor
import tailor.onnx

U8, I8, I32, FLOAT = TensorProto.UINT8, TensorProto.INT8, TensorProto.INT32, TensorProto.FLOAT
NUMPY = {U8: np.uint8, I8: np.int8}


def numbers(kind, shape, seed=1):
    info = np.iinfo(NUMPY[kind])
    return np.random.default_rng(seed).integers(info.min, info.max + 1, shape).astype(NUMPY[kind])


class Case:
    def __init__(self, nodes, inputs, constants, output):
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(*value) for value in inputs],
                                  [helper.make_tensor_value_info("y", output, None)],
                                  [numpy_helper.from_array(np.asarray(array), name)
                                   for name, array in constants.items()])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        self.graph = tailor.onnx.load(model)
        self.executable = self.graph.compile("host")
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        if any(node.op_type == "MatMulInteger" for node in nodes):
            self.session = ReferenceEvaluator(model)  # onnxruntime's sums of u8 by i8 saturate on CPUs without VNNI
        else:
            self.session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                                        providers=["CPUExecutionProvider"])

    def check(self, test, tolerance=0.0, **arrays):
        wanted = self.session.run(None, arrays)[0]
        got = self.executable.run(**arrays)[0]
        test.assertEqual((got.dtype, got.shape), (wanted.dtype, wanted.shape))
        np.testing.assert_allclose(got, wanted, rtol=0, atol=tolerance * np.abs(wanted).max(initial=1))

    def dots(self):
        return [line for line in self.graph.text.splitlines() if " = dot " in line]


class IntegerTest(unittest.TestCase):
    # Weights exceed i8 without their zero point where that is far from the middle.
    ZEROS = ((U8, I8, np.uint8(7), np.int8(0)), (I8, I8, np.int8(-3), np.int8(0)), (U8, U8, np.uint8(200), np.uint8(128)),
             (U8, U8, np.uint8(0), np.uint8(3)), (U8, I8, None, None))

    def test_matmuls(self):
        for (a, b, a_zero, b_zero), depth in itertools.product(self.ZEROS, (3, 64, 70)):
            with self.subTest(a=a, b=b, a_zero=a_zero, depth=depth):
                constants = {"w": numbers(b, (depth, 21))}
                if a_zero is not None:
                    constants.update(a_zero=a_zero, w_zero=b_zero)
                node = helper.make_node("MatMulInteger", ["x", *constants], ["y"])
                case = Case([node], [("x", a, ["b", "m", depth])], constants, I32)
                for shape in ((1, 1), (2, 5), (3, 37)):
                    case.check(self, x=numbers(a, (*shape, depth)))

    def test_matmuls_of_inputs(self):
        node = helper.make_node("MatMulInteger", ["x", "w", "a", "b"], ["y"])
        case = Case([node], [("x", U8, ["m", "k"]), ("w", U8, ["k", "n"])], {"a": np.uint8(9), "b": np.uint8(1)}, I32)
        for m, k, n in ((1, 1, 1), (5, 33, 18), (40, 64, 3)):
            case.check(self, x=numbers(U8, (m, k)), w=numbers(U8, (k, n), 2))

    def test_zero_points_of_rows_and_columns(self):
        node = helper.make_node("MatMulInteger", ["x", "w", "a", "b"], ["y"])
        constants = {"w": numbers(I8, (10, 6)), "a": np.uint8(4), "b": np.arange(6, dtype=np.int8) - 3}
        Case([node], [("x", U8, ["m", 10])], constants, I32).check(self, x=numbers(U8, (7, 10)))

    def test_convolutions(self):
        forms = (((9, 5, 3, 3), {"pads": [1, 1, 1, 1]}), ((6, 5, 1, 1), {"strides": [2, 2]}),
                 ((10, 1, 3, 3), {"group": 5, "pads": [1, 0, 1, 0]}), ((8, 5, 3, 2), {"auto_pad": "SAME_UPPER"}),
                 ((5, 5, 3, 1), {"dilations": [9, 1], "pads": [9, 0, 9, 0]}))
        for (shape, attributes), (a, b, a_zero, b_zero) in itertools.product(forms, self.ZEROS[:4]):
            with self.subTest(shape=shape, a=a, b=b):
                node = helper.make_node("ConvInteger", ["x", "w", "a", "b"], ["y"], **attributes)
                case = Case([node], [("x", a, ["n", 5, "h", "w"])], {"w": numbers(b, shape), "a": a_zero, "b": b_zero},
                            I32)
                for n, h, w in ((1, 20, 21), (2, 19, 40)):
                    case.check(self, x=numbers(a, (n, 5, h, w)))


class GuardedTest(unittest.TestCase):
    """Nothing past an input's end is read: it ends where memory does."""

    def guarded(self, array):
        page, libc = mmap.PAGESIZE, ctypes.CDLL(None, use_errno=True)
        size = -(-array.nbytes // page) * page
        pages = mmap.mmap(-1, size + page)
        address = ctypes.addressof(ctypes.c_char.from_buffer(pages))
        self.assertEqual(libc.mprotect(ctypes.c_void_p(address + size), ctypes.c_size_t(page), 0), 0)
        out = np.frombuffer(pages, np.uint8, array.nbytes, size - array.nbytes).view(array.dtype).reshape(array.shape)
        out[...] = array
        return out

    def test_windows_of_channels_that_are_no_whole_vectors(self):
        for channels, size in itertools.product((36, 100, 24, 3), (1, 2)):
            weights = numbers(I8, (40, channels, size, size))
            nodes = [helper.make_node("Transpose", ["x"], ["t"], perm=[0, 3, 1, 2]),
                     helper.make_node("ConvInteger", ["t", "w"], ["y"], strides=[2, 2])]
            case = Case(nodes, [("x", U8, [1, "h", 9, channels])], {"w": weights}, I32)
            for target in ("host", "x86-64-v3", "x86-64-v2"):
                with self.subTest(channels=channels, size=size, target=target):
                    case.executable = case.graph.compile(target)
                    for height in (9, 11, 25):
                        case.check(self, x=self.guarded(numbers(U8, (1, height, 9, channels))))


class DequantizedTest(unittest.TestCase):
    """Products of dequantized operands are those of their bytes, where these fit."""

    def case(self, op, rhs, scale, zero, axis, kind=U8, x_zero=np.uint8(11), **attributes):
        constants = {"sx": np.float32(0.03), "zx": x_zero, "w": rhs, "sw": scale, "zw": zero}
        nodes = [helper.make_node("QuantizeLinear", ["x", "sx", "zx"], ["q"]),
                 helper.make_node("DequantizeLinear", ["q", "sx", "zx"], ["d"]),
                 helper.make_node("DequantizeLinear", ["w", "sw", "zw"], ["v"], axis=axis),
                 helper.make_node(op, ["d", "v"], ["y"], **attributes)]
        return Case(nodes, [("x", FLOAT, ["m", 24])], constants, FLOAT)

    def check(self, case, lhs):
        self.assertEqual(len(case.dots()), 1)
        self.assertIn(lhs, case.dots()[0])
        for rows in (1, 6, 33):
            case.check(self, 1e-5, x=np.random.default_rng(rows).standard_normal((rows, 24)).astype(np.float32))

    def test_one_scale_or_one_for_each_column(self):
        scales = np.linspace(0.01, 0.05, 18, dtype=np.float32)
        self.check(self.case("MatMul", numbers(I8, (24, 18)), np.float32(0.02), np.int8(0), 1), "i32[m, 18]")
        self.check(self.case("MatMul", numbers(I8, (24, 18)), scales, np.zeros(18, np.int8), 1), "i32[m, 18]")
        self.check(self.case("Gemm", numbers(I8, (18, 24)), scales, np.zeros(18, np.int8), 0, transB=1), "i32[m, 18]")
        self.check(self.case("Gemm", numbers(I8, (24, 18)), np.float32(0.1), np.int8(0), 0, alpha=0.5), "i32[m, 18]")
        self.check(self.case("MatMul", numbers(U8, (24, 18)), np.float32(0.02), np.uint8(128), 1), "i32[m, 18]")

    def convolution(self, weights, scale, zero, bias=True, kind=U8, **attributes):
        channels = weights.shape[1] * attributes.get("group", 1)
        constants = {"sx": np.float32(0.03), "zx": NUMPY[kind](11), "w": weights, "sw": scale, "zw": zero,
                     "b": np.linspace(-1, 1, weights.shape[0], dtype=np.float32)}
        nodes = [helper.make_node("QuantizeLinear", ["x", "sx", "zx"], ["q"]),
                 helper.make_node("DequantizeLinear", ["q", "sx", "zx"], ["d"]),
                 helper.make_node("DequantizeLinear", ["w", "sw", "zw"], ["v"], axis=0),
                 helper.make_node("Conv", ["d", "v", "b"] if bias else ["d", "v"], ["y"], **attributes)]
        spatial = ["h", "w"][:weights.ndim - 2]
        return Case(nodes, [("x", FLOAT, ["n", channels, *spatial])], constants, FLOAT)

    def check_convolution(self, case, channels, expected, rank=4):
        self.assertEqual([expected in line for line in case.dots()], [True] * len(case.dots()))
        for size in (5, 14, 37):
            shape = (2, channels, size, size + 1)[:rank]
            case.check(self, 1e-5, x=np.random.default_rng(size).standard_normal(shape).astype(np.float32))

    def test_convolutions(self):
        scales, zeros = np.linspace(0.01, 0.05, 18, dtype=np.float32), np.zeros(18, np.int8)
        for shape, attributes in (((18, 5, 3, 3), {"pads": [1, 1, 1, 1]}), ((18, 32, 3, 3), {"strides": [2, 2]}),
                                  ((18, 64, 1, 1), {}), ((18, 5, 3), {"pads": [2, 0]}),
                                  ((18, 4, 2, 2), {"group": 2, "dilations": [2, 2], "pads": [1, 0, 1, 0]})):
            channels = shape[1] * attributes.get("group", 1)
            for kind in (U8, I8):
                with self.subTest(shape=shape, kind=kind):
                    case = self.convolution(numbers(I8, shape), scales, zeros, kind=kind, **attributes)
                    self.check_convolution(case, channels, "i32[", rank=len(shape))
        case = self.convolution(numbers(U8, (18, 5, 3, 3)), np.float32(0.02), np.uint8(128), bias=False)
        self.check_convolution(case, 5, "i32[")

    def test_other_convolutions_are_real(self):
        far = self.convolution(numbers(U8, (18, 5, 3, 3)), np.float32(0.02), np.uint8(3))
        self.check_convolution(far, 5, "f32[")
        scales, zeros = np.linspace(0.01, 0.05, 18, dtype=np.float32), np.zeros(18, np.int8)
        depthwise = self.convolution(numbers(I8, (18, 1, 3, 3)), scales, zeros, group=18)
        self.assertEqual(depthwise.dots(), [])
        self.check_convolution(depthwise, 18, "f32[")

    def test_sums_that_would_wrap_are_real(self):
        depth = 70000
        constants = {"s": np.float32(0.01), "z": np.uint8(0), "w": np.full((depth, 2), 127, np.int8), "zw": np.int8(0)}
        nodes = [helper.make_node("DequantizeLinear", ["x", "s", "z"], ["d"]),
                 helper.make_node("DequantizeLinear", ["w", "s", "zw"], ["v"]),
                 helper.make_node("MatMul", ["d", "v"], ["y"])]
        case = Case(nodes, [("x", U8, ["m", depth])], constants, FLOAT)
        case.check(self, 1e-3, x=np.full((1, depth), 255, np.uint8))

    def test_scales_whose_product_is_no_number(self):
        for x, w in ((1e30, 1e30), (1e-22, 1e-20), (1e30, 1e-35)):
            constants = {"sx": np.float32(x), "sw": np.float32(w), "z": np.uint8(1), "zw": np.int8(0),
                         "w": np.array([[0, 3], [0, -2]], np.int8)}
            nodes = [helper.make_node("DequantizeLinear", ["x", "sx", "z"], ["d"]),
                     helper.make_node("DequantizeLinear", ["w", "sw", "zw"], ["v"]),
                     helper.make_node("MatMul", ["d", "v"], ["y"])]
            case = Case(nodes, [("x", U8, ["m", 2])], constants, FLOAT)
            rows = np.array([[1, 1], [200, 7]] if x < 1 or w < 1 else [[1, 1], [200, 1]], np.uint8)
            wanted, got = case.session.run(None, {"x": rows})[0], case.executable.run(x=rows)[0]
            np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=0, err_msg=f"{x} {w}")

    def test_others_are_real(self):
        scales = np.linspace(0.01, 0.05, 24, dtype=np.float32)
        self.check(self.case("MatMul", numbers(I8, (24, 18)), scales, np.zeros(24, np.int8), 0), "f32[m, 18]")
        self.check(self.case("MatMul", numbers(U8, (24, 18)), np.float32(0.02), np.uint8(3), 1), "f32[m, 18]")


class RequantizedTest(unittest.TestCase):
    """Quantized and dequantized at once: saturated, NaN as 0, a difference of 0 positive, whatever the element."""

    def test_all_kinds_of_numbers(self):
        bits = np.random.default_rng(5).integers(0, 2**32, 20000, np.uint32).view(np.float32)
        scale = np.float32(0.0307106)
        ties = (np.arange(-400, 400, dtype=np.float32) + np.float32(0.5)) * scale
        special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, -1e-40, 3e38, -3e38, -0.3 * scale], np.float32)
        x = np.concatenate([bits, ties, special])
        for kind, zero in ((U8, 0), (U8, 128), (I8, 0), (I8, -1), (TensorProto.UINT16, 300), (TensorProto.INT16, 0)):
            with self.subTest(kind=kind, zero=zero):
                dtype = helper.tensor_dtype_to_np_dtype(kind)
                graph = helper.make_graph(
                    [helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
                     helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"])], "g",
                    [helper.make_tensor_value_info("x", FLOAT, ["n"])], [helper.make_tensor_value_info("y", FLOAT, None)],
                    [numpy_helper.from_array(np.asarray(scale), "s"),
                     numpy_helper.from_array(np.asarray(zero, dtype), "z")])
                model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
                got = tailor.onnx.load(model).compile("host").run(x=x)[0]
                info = np.iinfo(dtype)
                with np.errstate(over="ignore", invalid="ignore"):
                    rounded = np.rint(x / scale) + np.float32(zero)
                numbers_of = np.where(np.isnan(rounded), 0, np.clip(rounded, info.min, info.max)).astype(np.int64)
                wanted = (numbers_of - zero).astype(np.float32) * scale
                np.testing.assert_array_equal(got.view(np.uint32), wanted.view(np.uint32))

    def test_layers_share_a_kernel(self):
        """Scales and zero points are parameters of it."""
        layers = [(0.0307106, 1), (0.11, 128), (2.5, 255), (0.0071, 7)]
        rng = np.random.default_rng(6)
        feeds = {f"x{i}": np.concatenate([(rng.standard_normal(999 + i) * 200 * scale).astype(np.float32),
                                          np.array([-0.0, np.nan, np.inf, -np.inf], np.float32)])
                 for i, (scale, _) in enumerate(layers)}
        nodes, inputs, outputs, constants = [], [], [], []
        for i, (scale, zero) in enumerate(layers):
            nodes += [helper.make_node("QuantizeLinear", [f"x{i}", f"s{i}", f"z{i}"], [f"q{i}"]),
                      helper.make_node("DequantizeLinear", [f"q{i}", f"s{i}", f"z{i}"], [f"y{i}"])]
            inputs.append(helper.make_tensor_value_info(f"x{i}", FLOAT, [f"n{i}"]))
            outputs.append(helper.make_tensor_value_info(f"y{i}", FLOAT, None))
            constants += [numpy_helper.from_array(np.float32(scale), f"s{i}"),
                          numpy_helper.from_array(np.asarray(zero, np.uint8), f"z{i}")]
        model = helper.make_model(helper.make_graph(nodes, "g", inputs, outputs, constants),
                                  opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
        artifact = tailor.onnx.load(model).compile("host")
        self.assertEqual(len({launch.code for launch in artifact.launches}), 1)
        for (scale, zero), x, got in zip(layers, feeds.values(), artifact.run(**feeds)):
            with np.errstate(over="ignore", invalid="ignore"):
                rounded = np.rint(x / np.float32(scale)) + np.float32(zero)
            numbers_of = np.where(np.isnan(rounded), 0, np.clip(rounded, 0, 255)).astype(np.int64)
            wanted = (numbers_of - zero).astype(np.float32) * np.float32(scale)
            np.testing.assert_array_equal(got.view(np.uint32), wanted.view(np.uint32))


if __name__ == "__main__":
    unittest.main()
