"""Operators that onnxruntime's optimizer and quantizers write: one compilation at several shapes, compared with it."""
import unittest

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import tailor
import tailor.onnx

FLOAT, INT32, INT64, BOOL, U8, I8 = (TensorProto.FLOAT, TensorProto.INT32, TensorProto.INT64, TensorProto.BOOL,
                                     TensorProto.UINT8, TensorProto.INT8)
FAILURES = (tailor.onnx.ModelError, tailor.onnx.Unsupported)
RNG = np.random.default_rng(7)


def floats(*shape):
    return RNG.uniform(-1, 1, shape).astype(np.float32)


def scale(value):
    return np.array(value, np.float32)


class Case:
    """One node, compiled by both."""

    def __init__(self, op, operands, outputs=("y",), domain="com.microsoft", version=17, kinds=(), **attributes):
        """operands: in order, each a (type, dims) of an input, a constant or its proto,
        or None. kinds: the outputs' types."""
        inputs, constants, names = [], [], []
        for i, operand in enumerate(operands):
            names.append("" if operand is None else f"x{i}")
            if isinstance(operand, tuple):
                inputs.append(helper.make_tensor_value_info(f"x{i}", *operand))
            elif isinstance(operand, TensorProto):
                constants.append(operand)
            elif operand is not None:
                constants.append(numpy_helper.from_array(np.asarray(operand), f"x{i}"))
        node = helper.make_node(op, names, outputs, domain=domain, **attributes)
        results = [helper.make_tensor_value_info(name, kind, None)
                   for name, kind in zip([name for name in outputs if name], kinds or [FLOAT] * len(outputs))]
        graph = helper.make_graph([node], "g", inputs, results, constants)
        opsets = [helper.make_opsetid("", version), helper.make_opsetid("com.microsoft", 1)]
        self.model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
        self.executable = tailor.onnx.load(self.model).compile("host")
        self.session = onnxruntime.InferenceSession(self.model.SerializeToString(),
                                                    providers=["CPUExecutionProvider"])

    def check(self, test, *arrays, atol=2e-6, rtol=2e-5):
        given = {value.name: array for value, array in zip(self.model.graph.input, arrays, strict=True)}
        wanted = self.session.run(None, given)
        for got, array in zip(self.executable.run(**given), wanted, strict=True):
            test.assertEqual(got.dtype, array.dtype)
            if array.dtype in (np.uint8, np.int8):  # both round, but not the same sums
                test.assertEqual(got.shape, array.shape)
                off = np.abs(got.astype(int) - array.astype(int))
                test.assertLessEqual(off.max(), 1)
                test.assertLessEqual(np.mean(off > 0), 0.01)
            else:
                np.testing.assert_allclose(got, array, rtol=rtol, atol=atol)


class FusedTest(unittest.TestCase):
    def test_activations(self):
        x, bias = (FLOAT, ["n", 6]), floats(6)
        for op, operands, attributes in (("Gelu", [x], {}), ("BiasGelu", [x, bias], {}), ("FastGelu", [x], {}),
                                         ("FastGelu", [x, bias], {}), ("QuickGelu", [x], {}),
                                         ("QuickGelu", [x], {"alpha": 0.7})):
            with self.subTest(op=op, **attributes):
                case = Case(op, operands, **attributes)
                for n in (1, 5):
                    case.check(self, floats(n, 6) * 4, rtol=2e-4, atol=1e-5)

    def test_skip_layer_normalization(self):
        x, gamma, beta, bias = (FLOAT, ["b", "s", 8]), floats(8), floats(8), floats(8)
        cases = (("SkipLayerNormalization", [x, x, gamma, beta, bias], ("y", "", "", "sum")),
                 ("SkipLayerNormalization", [x, (FLOAT, ["s", 8]), gamma], ("y",)),
                 ("SkipLayerNormalization", [x, (FLOAT, [1, "s", 8]), gamma, beta], ("y",)),
                 ("SkipSimplifiedLayerNormalization", [x, x, gamma, bias], ("y", "", "", "sum")),
                 ("SkipSimplifiedLayerNormalization", [x, x, gamma], ("y",)))
        for op, operands, outputs in cases:
            with self.subTest(op=op, operands=len(operands)):
                case = Case(op, operands, outputs, epsilon=1e-3)
                skip = operands[1][1]
                for b, s in ((1, 3), (2, 5)):
                    shape = [{"b": b, "s": s}.get(dim, dim) for dim in skip]
                    case.check(self, floats(b, s, 8), floats(*shape), rtol=1e-4, atol=1e-5)

    def test_layer_normalization_of_old_opsets(self):
        x, gamma, beta = (FLOAT, ["b", "s", 8]), floats(8), floats(8)
        for op, operands, outputs in (("LayerNormalization", [x, gamma, beta], ("y", "mean", "inverse")),
                                      ("SimplifiedLayerNormalization", [x, gamma], ("y", "inverse")),
                                      ("SimplifiedLayerNormalization", [x, gamma], ("y",))):
            with self.subTest(op=op):
                case = Case(op, operands, outputs, domain="", version=11, axis=-1, epsilon=1e-3)
                for b, s in ((1, 3), (2, 5)):
                    case.check(self, floats(b, s, 8), rtol=1e-4, atol=1e-5)

    def test_embedding(self):
        words, positions, segments, gamma, beta = floats(11, 8), floats(9, 8), floats(2, 8), floats(8), floats(8)
        ids = (INT32, ["b", "s"])
        outputs, kinds = ("y", "mask", "sum"), (FLOAT, INT32, FLOAT)
        full = Case("EmbedLayerNormalization", [ids, ids, words, positions, segments, gamma, beta, ids], outputs,
                    kinds=kinds, epsilon=1e-3)
        plain = Case("EmbedLayerNormalization", [ids, None, words, positions, None, gamma, beta, None, ids], outputs,
                     kinds=kinds)
        for b, s in ((1, 3), (3, 9)):
            draw = lambda most: RNG.integers(0, most, (b, s)).astype(np.int32)
            full.check(self, draw(11), draw(2), draw(2), rtol=1e-4, atol=1e-5)
            plain.check(self, draw(11), draw(9), rtol=1e-4, atol=1e-5)

    def test_matmul(self):
        for attributes, a, b in (({"alpha": 0.5}, "bnk", "bkm"), ({"transA": 1}, "bkn", "bkm"),
                                 ({"transB": 1}, "bnk", "bmk"), ({"transB": 1}, "bnk", "mk"),
                                 ({"transBatchA": 1}, "nbk", "bkm"),
                                 ({"transBatchA": 1, "transA": 1, "transBatchB": 1, "transB": 1}, "kbn", "mbk")):
            with self.subTest(**attributes):
                sizes = {"k": 4, "m": 3}
                case = Case("FusedMatMul", [(FLOAT, [sizes.get(c, c) for c in a]),
                                            (FLOAT, [sizes.get(c, c) for c in b])], **attributes)
                for rows, batch in ((1, 1), (5, 2)):
                    now = {**sizes, "n": rows, "b": batch}
                    case.check(self, floats(*[now[c] for c in a]), floats(*[now[c] for c in b]))

    def test_gemm(self):
        for attributes in ({"activation": "Relu"}, {"activation": "LeakyRelu", "activation_alpha": 0.3, "alpha": 0.5},
                           {"activation": "Sigmoid", "beta": 0.5},
                           {"activation": "HardSigmoid", "activation_alpha": 0.3, "activation_beta": 0.4}):
            with self.subTest(**attributes):
                case = Case("FusedGemm", [(FLOAT, ["n", 5]), floats(4, 5), floats(4)], transB=1, **attributes)
                for n in (1, 6):
                    case.check(self, floats(n, 5))

    def test_convolution(self):
        x, weight, bias = (FLOAT, ["n", 3, "h", 7]), floats(4, 3, 3, 3), floats(4)
        for attributes in ({"activation": "Relu"}, {"activation": "LeakyRelu", "activation_params": [0.3]},
                           {"activation": "Clip", "activation_params": [-0.2, 0.5]}, {"activation": "Tanh"},
                           {"activation": "HardSigmoid", "activation_params": [0.3, 0.4]}):
            with self.subTest(**attributes):
                case = Case("FusedConv", [x, weight, bias], kernel_shape=[3, 3], pads=[1, 1, 1, 1], **attributes)
                for n, h in ((1, 4), (2, 6)):
                    case.check(self, floats(n, 3, h, 7), rtol=1e-4, atol=1e-5)
        case = Case("FusedConv", [x, weight, bias, (FLOAT, ["n", 4, "h", 7])], pads=[1, 1, 1, 1], activation="Relu")
        for n, h in ((1, 4), (2, 6)):
            case.check(self, floats(n, 3, h, 7), floats(n, 4, h, 7), rtol=1e-4, atol=1e-5)

    def test_errors_name_the_node(self):
        with self.assertRaisesRegex(FAILURES, "FusedGemm node.*activation \"Cosh\" is not supported"):
            Case("FusedGemm", [(FLOAT, ["n", 5]), floats(5, 4)], activation="Cosh")


class QuantizedTest(unittest.TestCase):
    TYPES = ((U8, np.uint8, 120), (I8, np.int8, -3))

    def check(self, case, dtype, *shapes):
        case.check(self, *[RNG.integers(np.iinfo(dtype).min, np.iinfo(dtype).max + 1, s).astype(dtype)
                           for s in shapes])

    def test_elementwise(self):
        for kind, dtype, zero in self.TYPES:
            zero, other = dtype(zero), dtype(zero + 5)
            x, scales = (kind, ["n", 6]), (scale(0.02), zero, scale(0.03), other)
            cases = (("QLinearSigmoid", [x, scale(0.04), zero, scale(1 / 256), zero], {}),
                     ("QLinearLeakyRelu", [x, *scales], {"alpha": 0.3}),
                     ("QLinearSoftmax", [x, scale(0.04), zero, scale(1 / 256), dtype(np.iinfo(dtype).min)],
                      {"opset": 13, "axis": -1}),
                     ("QLinearSoftmax", [x, scale(0.04), zero, scale(1 / 256), dtype(np.iinfo(dtype).min)],
                      {"opset": 11, "axis": 1}))
            for op, operands, attributes in cases:
                with self.subTest(op=op, dtype=dtype, **attributes):
                    case = Case(op, operands, kinds=(kind,), **attributes)
                    for n in (1, 70):
                        self.check(case, dtype, (n, 6))
            for op, y in (("QLinearAdd", 0.05), ("QLinearMul", 0.04)):
                with self.subTest(op=op, dtype=dtype):
                    case = Case(op, [x, scale(0.02), zero, x, scale(0.03), other, scale(y), zero], kinds=(kind,))
                    for n in (1, 70):
                        self.check(case, dtype, (n, 6), (n, 6))
            with self.subTest(op="QLinearWhere", dtype=dtype):
                case = Case("QLinearWhere", [(BOOL, ["n", 6]), x, scale(0.02), zero, x, scale(0.03), other,
                                             scale(0.03), zero], kinds=(kind,))
                for n in (1, 70):
                    arrays = [RNG.integers(0, 100, (n, 6)).astype(dtype) for _ in range(2)]
                    case.check(self, RNG.integers(0, 2, (n, 6)).astype(bool), *arrays)

    def test_concat(self):
        for kind, dtype, zero in self.TYPES:
            with self.subTest(dtype=dtype):
                zero, x, y = dtype(zero), (kind, ["n", 6]), (kind, ["n", 2])
                case = Case("QLinearConcat", [scale(0.03), zero, x, scale(0.02), zero, y, scale(0.03), dtype(4)],
                            kinds=(kind,), axis=1)
                for n in (1, 40):
                    self.check(case, dtype, (n, 6), (n, 2))

    def test_pools(self):
        for last in (0, 1):
            for kind, dtype, zero in self.TYPES:
                zero = dtype(zero)
                x = (kind, ["n", "h", 7, 3] if last else ["n", 3, "h", 7])
                operands = [x, scale(0.02), zero, scale(0.015), dtype(zero + 5)]
                for op, attributes in (("QLinearGlobalAveragePool", {}),
                                       ("QLinearAveragePool", {"kernel_shape": [3, 2], "strides": [2, 2]}),
                                       ("QLinearAveragePool", {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}),
                                       ("QLinearAveragePool", {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1],
                                                               "count_include_pad": 1})):
                    if dtype == np.int8 and op == "QLinearGlobalAveragePool":
                        continue  # onnxruntime has it for u8 only
                    with self.subTest(op=op, dtype=dtype, last=last, **attributes):
                        case = Case(op, operands, kinds=(kind,), channels_last=last, **attributes)
                        for n, h in ((1, 4), (2, 6)):
                            self.check(case, dtype, (n, h, 7, 3) if last else (n, 3, h, 7))

    def test_gemm(self):
        b = RNG.integers(-100, 100, (4, 5)).astype(np.int8)
        c = RNG.integers(-1000, 1000, 4).astype(np.int32)
        per_column = (floats(4) * 0.01 + 0.02, np.zeros(4, np.int8))
        for weight in ((scale(0.02), np.int8(3)), per_column):
            for to in ((), (scale(0.3), np.uint8(128))):
                with self.subTest(columns=np.ndim(weight[0]), quantized=bool(to)):
                    operands = [(U8, ["n", 5]), scale(0.03), np.uint8(120), b, *weight, c, *to]
                    case = Case("QGemm", operands, kinds=(U8 if to else FLOAT,), transB=1, alpha=0.7)
                    for n in (1, 30):
                        self.check(case, np.uint8, (n, 5))

    def test_dynamic_matmul(self):
        b, bias = RNG.integers(-100, 100, (5, 4)).astype(np.int8), floats(4)
        for operands in ((scale([0.02]),), (floats(4) * 0.01 + 0.02, np.arange(4, dtype=np.int8), bias)):
            with self.subTest(operands=len(operands)):
                dynamic = Case("DynamicQuantizeMatMul", [(FLOAT, ["b", "n", 5]), b, *operands])
                given = Case("MatMulIntegerToFloat", [(U8, ["b", "n", 5]), b, scale(0.03), operands[0], np.uint8(120),
                                                      *operands[1:]])
                for batch, n in ((1, 1), (3, 8)):
                    dynamic.check(self, floats(batch, n, 5), rtol=1e-4, atol=1e-5)
                    given.check(self, RNG.integers(0, 256, (batch, n, 5)).astype(np.uint8), rtol=1e-4, atol=1e-4)
        dynamic.check(self, np.zeros((2, 3, 5), np.float32))

    def test_quantize_linear(self):
        case = Case("QuantizeLinear", [(FLOAT, ["n", 6]), scale(0.02), np.uint8(3)], kinds=(U8,))
        back = Case("DequantizeLinear", [(U8, ["n", 6]), floats(6), np.arange(6, dtype=np.uint8)], axis=1)
        for n in (1, 9):
            case.check(self, floats(n, 6) * 4)
            self.check(back, np.uint8, (n, 6))

    def test_matmul_of_few_bits(self):
        columns, rows = 6, 72
        for bits, size in ((4, 16), (4, 32), (4, 128), (8, 32), (2, 16)):
            blocks = -(-rows // size)
            draw = lambda *shape: RNG.integers(0, 256, shape).astype(np.uint8)
            weight, scales = draw(columns, blocks, size * bits // 8), floats(columns, blocks)
            packed = draw(columns, -(-blocks * bits // 8))
            numbers = RNG.integers(0, 1 << bits, (columns, blocks)).astype(np.float32)
            for zero in (None, packed, numbers)[:2 if bits == 8 else 3]:  # onnxruntime has no more for 8 bits
                with self.subTest(bits=bits, size=size, zero=None if zero is None else zero.dtype):
                    operands = [(FLOAT, ["b", "n", rows]), weight, scales]
                    case = Case("MatMulNBits", operands + ([] if zero is None else [zero]), K=rows, N=columns,
                                bits=bits, block_size=size)
                    for b, n in ((1, 1), (2, 5)):
                        case.check(self, floats(b, n, rows), rtol=1e-3, atol=1e-3)

    def test_matmul_of_few_bits_with_a_bias_and_an_index(self):
        weight, scales, bias = RNG.integers(0, 256, (6, 4, 8)).astype(np.uint8), floats(6, 4), floats(6)
        index = RNG.integers(0, 4, 64).astype(np.int32)
        for extra in ([None, index], [None, None, bias]):
            with self.subTest(extra=len(extra)):
                case = Case("MatMulNBits", [(FLOAT, ["n", 64]), weight, scales, *extra], K=64, N=6, bits=4,
                            block_size=16)
                for n in (1, 5):
                    case.check(self, floats(n, 64), rtol=1e-3, atol=1e-3)

    def test_gather_of_blocks(self):
        packed, scales, ids = RNG.integers(0, 256, (11, 20)).astype(np.uint8), floats(11, 3), (INT64, ["b", "n"])
        zeros = RNG.integers(0, 256, (11, 2)).astype(np.uint8)
        signed = helper.make_tensor("x0", TensorProto.INT4, (11, 40), RNG.integers(-8, 8, 440))
        for operands, bits in (([packed, ids, scales], 4), ([packed, ids, scales, zeros], 4),
                               ([packed, ids, floats(11, 2)], 8), ([signed, ids, scales], 4)):
            with self.subTest(operands=len(operands), bits=bits):
                case = Case("GatherBlockQuantized", operands, bits=bits, block_size=16)
                for b, n in ((1, 1), (2, 5)):
                    case.check(self, RNG.integers(0, 11, (b, n)))

    def test_lstm(self):
        hidden, inputs, draw = 3, 5, lambda *shape: RNG.integers(-100, 100, shape).astype(np.int8)
        for directions, direction in ((1, "reverse"), (2, "bidirectional")):
            with self.subTest(direction=direction):
                scales = [0.004 * np.ones(directions, np.float32), np.zeros(directions, np.int8)]
                case = Case("DynamicQuantizeLSTM",
                            [(FLOAT, ["t", "b", inputs]), draw(directions, inputs, 4 * hidden),
                             draw(directions, hidden, 4 * hidden), floats(directions, 8 * hidden), *[None] * 4,
                             *scales, *scales], ("y", "h", "c"), hidden_size=hidden, direction=direction)
                for t, b in ((1, 1), (6, 2)):  # onnxruntime rounds operands to 8 bits
                    case.check(self, floats(t, b, inputs), rtol=0.02, atol=0.02)

    def test_errors_name_the_node(self):
        weight, scales = np.zeros((6, 4, 8), np.uint8), floats(6, 4)
        for text, changed in (("N, K or block_size is 0", {"block_size": 0}), ("N, K or block_size is -1", {"K": -1}),
                              ("3 bits", {"bits": 3}), ("no whole bytes", {"block_size": 1}), ("", {"K": 1 << 30}),
                              ("", {"N": 7})):
            attributes = {"K": 64, "N": 6, "bits": 4, "block_size": 16, **changed}
            with self.assertRaisesRegex(FAILURES, f"MatMulNBits node.*{text}"):
                Case("MatMulNBits", [(FLOAT, ["n", "k"]), weight, scales], **attributes)
        to = [scale(0.03), np.uint8(0)]
        for operands, text in ((to, ""), ([*to, (U8, ["n"])], "3 for each")):
            with self.assertRaisesRegex(FAILURES, f"QLinearConcat node.*{text}"):
                Case("QLinearConcat", operands, axis=0)
        with self.assertRaisesRegex(FAILURES, "QLinearAveragePool node.*spatial dims"):
            Case("QLinearAveragePool", [(U8, ["n", "m"]), scale(1), np.uint8(0), scale(1), np.uint8(0)],
                 kernel_shape=[2], channels_last=1)


if __name__ == "__main__":
    unittest.main()
