"""Single operators beyond the node suite: symbols, unusual operands, errors of a run."""
import re
import unittest

import numpy
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import tailor
import tailor.onnx
from import_test import ints, model

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


class OperatorTest(unittest.TestCase):
    def run_both(self, proto, cases, reference=None):
        """Compiles once; every case against another implementation."""
        executable = tailor.onnx.load(proto).compile("host")
        if reference is None:
            session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
            reference = lambda inputs: session.run(None, inputs)
        for inputs in cases:
            with self.subTest(**{name: array.shape for name, array in inputs.items()}):
                for got, wanted in zip(executable.run(**inputs), reference(inputs)):
                    self.assertEqual(got.dtype, wanted.dtype)
                    most = float(numpy.abs(wanted).max(initial=1))
                    numpy.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5 * most)
        return executable


class SharedConstantTest(OperatorTest):
    def test_reshape_leaves_its_shape_to_other_nodes(self):
        node = helper.make_node
        proto = model([node("Reshape", ["x", "all"], ["r"], allowzero=1),
                       node("Reshape", ["z", "all"], ["t"], allowzero=1),
                       node("Slice", ["r", "zero", "all"], ["y"])],
                      [("x", FLOAT, ["m", "k"]), ("z", FLOAT, ["n"])], [("r", FLOAT), ("t", FLOAT), ("y", FLOAT)],
                      [("all", ints(-1)), ("zero", ints(0))])
        self.run_both(proto, [{"x": numpy.arange(m * k, dtype=numpy.float32).reshape(m, k),
                               "z": numpy.ones(n, numpy.float32)} for m, k, n in ((2, 3, 5), (1, 4, 9), (3, 3, 1))])


class ShapeArithmeticTest(OperatorTest):
    def test_division_truncates_where_it_is_negative(self):
        """(s - 5) / 4 and what it leaves of s - 5, as extents: known without data, and right on both sides of 0."""
        node = helper.make_node
        proto = model([node("Shape", ["x"], ["s"], start=1, end=2), node("Sub", ["s", "five"], ["less"]),
                       node("Div", ["less", "four"], ["quotient"]), node("Mod", ["less", "four"], ["rest"], fmod=1),
                       node("Mod", ["less", "four"], ["modulo"]),
                       node("Concat", ["quotient", "rest", "modulo"], ["numbers"], axis=0),
                       node("Add", ["numbers", "five"], ["shape"]), node("Expand", ["one", "shape"], ["y"])],
                      [("x", FLOAT, ["b", "s"])], [("y", FLOAT), ("numbers", INT64)],
                      [("five", ints(5)), ("four", ints(4)),
                       ("one", numpy.array(1, numpy.float32))])
        self.assertNotIn("bind", tailor.onnx.load(proto).text)
        self.run_both(proto, [{"x": numpy.zeros((2, s), numpy.float32)} for s in range(12)])


class NotANumberTest(OperatorTest):
    X = numpy.array([[1, numpy.nan, 2], [numpy.nan] * 3, [3, 1, 2], [-numpy.inf, numpy.inf, 0]], numpy.float32)

    def test_the_extreme_of_a_row_is_its_first_or_last_nan(self):
        for op, reference in (("ArgMax", numpy.argmax), ("ArgMin", numpy.argmin)):
            for last in (0, 1):
                proto = model([helper.make_node(op, ["x"], ["y"], axis=1, keepdims=0, select_last_index=last)],
                              [("x", FLOAT, ["n", 3])], [("y", INT64)])
                wanted = 2 - reference(self.X[:, ::-1], 1) if last else reference(self.X, 1)
                self.run_both(proto, [{"x": self.X}], lambda inputs: [wanted])

    def test_hardmax_takes_it(self):
        proto = model([helper.make_node("Hardmax", ["x"], ["y"], axis=1)], [("x", FLOAT, ["n", 3])], [("y", FLOAT)])
        wanted = numpy.eye(3, dtype=numpy.float32)[self.X.argmax(1)]
        self.run_both(proto, [{"x": self.X}], lambda inputs: [wanted])

    def test_sign(self):
        proto = model([helper.make_node("Sign", ["x"], ["y"])], [("x", FLOAT, ["n", 3])], [("y", FLOAT)])
        got, = tailor.onnx.load(proto).compile("host").run(self.X)
        numpy.testing.assert_array_equal(got, numpy.sign(self.X))


class SoftplusTest(unittest.TestCase):
    def test_digits_of_small_results(self):
        x = numpy.concatenate([numpy.linspace(-80, 20, 1001), [-1e-30, 0, 1e-30, 88, 1e30]]).astype(numpy.float32)
        proto = model([helper.make_node("Softplus", ["x"], ["y"])], [("x", FLOAT, ["n"])], [("y", FLOAT)])
        got, = tailor.onnx.load(proto).compile("host").run(x)
        numpy.testing.assert_allclose(got, numpy.logaddexp(0, x.astype(numpy.float64)), rtol=1e-6)


class NarrowTypesTest(unittest.TestCase):
    """Formulas over f16 compute in f32 and round once; the reference is float64."""

    def check(self, node, inputs, reference, opset=21, **given):
        arrays = {name: numpy.asarray(array, numpy.float16) for name, array in given.items()}
        proto = model([node], [(name, TensorProto.FLOAT16, array.shape) for name, array in arrays.items()],
                      [("y", TensorProto.FLOAT16)], opset=opset)
        got, = tailor.onnx.load(proto).compile("host").run(**arrays)
        wanted = reference(*[arrays[name].astype(numpy.float64) for name in inputs])
        self.assertEqual((got.dtype, got.shape), (numpy.float16, wanted.shape))
        error = numpy.abs(got.astype(numpy.float64) - wanted) - 1e-6
        self.assertLessEqual(float((error / numpy.abs(wanted)).max()), 2.0 ** -11)

    def test_instance_normalization(self):
        def reference(x, scale, bias):
            centered = x - x.mean(-1, keepdims=True)
            normal = centered / numpy.sqrt((centered ** 2).mean(-1, keepdims=True) + 1e-5)
            return normal * scale[:, None] + bias[:, None]

        random = numpy.random.default_rng(0)
        self.check(helper.make_node("InstanceNormalization", ["x", "s", "b"], ["y"]), "xsb", reference,
                   x=random.standard_normal((2, 3, 1000)) + 5, s=random.standard_normal(3), b=random.standard_normal(3))

    def test_lp_and_mean_variance_normalization(self):
        x = numpy.random.default_rng(1).standard_normal((2, 1000)) * 10  # whose sum of squares is beyond f16
        self.check(helper.make_node("LpNormalization", ["x"], ["y"]), "x",
                   lambda x: x / numpy.sqrt((x ** 2).sum(-1, keepdims=True)), x=x)
        self.check(helper.make_node("LpNormalization", ["x"], ["y"], p=1), "x",
                   lambda x: x / numpy.abs(x).sum(-1, keepdims=True), x=x)
        self.check(helper.make_node("MeanVarianceNormalization", ["x"], ["y"], axes=[1]), "x",
                   lambda x: (x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True), x=x)

    def test_reductions_of_several_ops(self):
        x = numpy.random.default_rng(2).uniform(-4, 4, (1000, 5))
        for name, reference in (("ReduceL2", lambda x: numpy.sqrt((x ** 2).sum(1, keepdims=True))),
                                ("ReduceSumSquare", lambda x: (x ** 2).sum(1, keepdims=True)),
                                ("ReduceLogSum", lambda x: numpy.log(x.sum(1, keepdims=True))),
                                ("ReduceLogSumExp", lambda x: numpy.log(numpy.exp(x).sum(1, keepdims=True)))):
            with self.subTest(name):
                self.check(helper.make_node(name, ["x"], ["y"], axes=[1]), "x", reference, opset=13,
                           x=numpy.abs(x) if name == "ReduceLogSum" else x)


class AffineGridTest(OperatorTest):
    def test_a_batch_of_one(self):
        theta = numpy.random.default_rng(5).standard_normal((4, 2, 3), numpy.float32)
        for align in (0, 1):
            proto = model([helper.make_node("AffineGrid", ["theta", "size"], ["y"], align_corners=align)],
                          [("theta", FLOAT, ["n", 2, 3]), ("size", INT64, [4])], [("y", FLOAT)], opset=20)
            cases = [{"theta": theta[:n], "size": ints(n, 3, 5, 6)} for n in (1, 2, 4)]
            executable = self.run_both(proto, cases)
            whole = tailor.onnx.load(proto, fixed={"size": ints(1, 3, 5, 6)}).compile("host")
            numpy.testing.assert_array_equal(whole.run(theta[:1])[0], executable.run(**cases[0])[0])


class GridSampleTest(OperatorTest):
    def test_places_far_beyond_the_border(self):
        """They are places at the border; onnxruntime converts them to integers, which has no meaning."""
        x = numpy.arange(1, 7, dtype=numpy.float32).reshape(1, 1, 2, 3)
        grid = numpy.array([[-1e30, 0], [1e9, 0], [3e7, 3e7], [-numpy.inf, 1e20], [-0.2, 0.3]], numpy.float32)
        for mode, wanted in (("bilinear", [2.5, 4.5, 6, 4, 4.1]), ("nearest", [1, 3, 6, 4, 5])):
            proto = model([helper.make_node("GridSample", ["x", "grid"], ["y"], mode=mode, padding_mode="border")],
                          [("x", FLOAT, [1, 1, "h", "w"]), ("grid", FLOAT, [1, "n", 1, 2])], [("y", FLOAT)])
            got, = tailor.onnx.load(proto).compile("host").run(x, grid.reshape(1, 5, 1, 2))
            numpy.testing.assert_allclose(got.ravel(), wanted, rtol=1e-6)

    def test_images_and_grids_are_as_many(self):
        def loaded(images, grids):
            return tailor.onnx.load(model([helper.make_node("GridSample", ["x", "grid"], ["y"], name="warp")],
                                          [("x", FLOAT, [images, 1, 2, 3]), ("grid", FLOAT, [grids, 1, 1, 2])],
                                          [("y", FLOAT)]))

        with self.assertRaisesRegex(tailor.onnx.ModelError, 'node "warp": dim sizes 2 and 1 have to be equal'):
            loaded(2, 1)
        executable = loaded("images", "grids").compile("host")
        x, grid = numpy.ones((2, 1, 2, 3), numpy.float32), numpy.zeros((2, 1, 1, 2), numpy.float32)
        numpy.testing.assert_array_equal(executable.run(x, grid)[0], numpy.ones((2, 1, 1, 1)))
        with self.assertRaisesRegex(tailor.Error, "grid"):
            executable.run(x, grid[:1])


class AttentionScoresTest(OperatorTest):
    """qk_matmul_output under masks: -inf where the mask is added, as in the standard's definition."""
    mask = numpy.array([[1, 1, 0, 1], [1, 0, 1, 1], [1, 1, 1, 0]], bool)

    def check(self, mode, wanted_of):
        random, queries, keys = numpy.random.default_rng(6), 3, 4
        q, k, v = (random.standard_normal((2, 2, n, 8), numpy.float32) for n in (queries, keys, keys))
        scores = q.astype(numpy.float64) @ k.astype(numpy.float64).swapaxes(2, 3) / numpy.sqrt(8)
        for kind, causal, softcap in ((None, 0, 0.5), (None, 1, 0.5), ("bool", 0, 0.0), ("bool", 1, 0.5),
                                      ("float", 0, 0.5), ("float", 1, 0.0)):
            with self.subTest(mask=kind, causal=causal, softcap=softcap):
                node = helper.make_node("Attention", ["q", "k", "v"] + ["m"] * (kind is not None),
                                        ["y", "", "", "scores"], is_causal=causal, softcap=softcap,
                                        qk_matmul_output_mode=mode)
                inputs = [(name, FLOAT, ["b", 2, f"{name}_length", 8]) for name in "qkv"]
                given, bias = {"q": q, "k": k, "v": v}, numpy.zeros((queries, keys), numpy.float32)
                if kind:
                    inputs.append(("m", TensorProto.BOOL if kind == "bool" else FLOAT, ["rows", "columns"]))
                    bias = numpy.where(self.mask, numpy.float32(0 if kind == "bool" else 0.25), -numpy.float32("inf"))
                    given["m"] = self.mask if kind == "bool" else bias
                if causal:
                    bias = numpy.where(numpy.tri(queries, keys, dtype=bool), bias, -numpy.inf)
                proto = model([node], inputs, [("y", FLOAT), ("scores", FLOAT)], opset=23)
                executable = tailor.onnx.load(proto, dims={"k_length": keys, "v_length": keys}).compile("host")
                _, got = executable.run(**given)
                capped = softcap * numpy.tanh(scores / softcap) if softcap else scores
                wanted = wanted_of(scores, capped, capped + bias)
                numpy.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5)
                self.assertEqual((got == -numpy.inf).any(), mode == 2 and (kind is not None or causal == 1))

    def test_mode_0_is_the_scaled_product(self):
        self.check(0, lambda scores, capped, masked: scores)

    def test_mode_1_is_after_the_softcap(self):
        self.check(1, lambda scores, capped, masked: capped)

    def test_mode_2_is_under_the_mask(self):
        self.check(2, lambda scores, capped, masked: masked)

    def test_mode_3_is_the_softmax(self):
        def softmax(scores, capped, masked):
            powers = numpy.exp(masked - masked.max(-1, keepdims=True))
            return powers / powers.sum(-1, keepdims=True)
        self.check(3, softmax)


class GatherTest(OperatorTest):
    """Indices are checked by dim, although the elements are found by their place in all of the data."""

    def refuse(self, proto, **inputs):
        with self.assertRaisesRegex(tailor.Error, "index -?[5-7] is out of range for dim .* of .*5 entries"):
            tailor.onnx.load(proto).compile("host").run(x=numpy.zeros((3, 5), numpy.float32), **inputs)

    def test_elements(self):
        proto = model([helper.make_node("GatherElements", ["x", "i"], ["y"], axis=1)],
                      [("x", FLOAT, ["n", "m"]), ("i", INT64, ["n", "k"])], [("y", FLOAT)])
        x = numpy.arange(15, dtype=numpy.float32).reshape(3, 5)
        self.run_both(proto, [{"x": x, "i": numpy.array([[0, -5, 4, -1]] * 3)}])
        for wrong in (-6, 7):
            self.refuse(proto, i=numpy.array([[0, 1], [wrong, 2], [0, 0]]))

    def test_rows_of_several_indices(self):
        proto = model([helper.make_node("GatherND", ["x", "i"], ["y"])],
                      [("x", FLOAT, ["n", "m"]), ("i", INT64, ["k", 2])], [("y", FLOAT)])
        x = numpy.arange(15, dtype=numpy.float32).reshape(3, 5)
        self.run_both(proto, [{"x": x, "i": numpy.array([[2, -5], [-1, 4], [0, 0]])}])
        for wrong in (-6, 7):
            self.refuse(proto, i=numpy.array([[0, 1], [1, wrong]]))

    def test_elements_beside_the_data(self):
        def gather(rows):
            return model([helper.make_node("GatherElements", ["x", "i"], ["y"], "pick", axis=1)],
                         [("x", FLOAT, [3, 5]), ("i", INT64, [rows, 1])], [("y", FLOAT)])

        with self.assertRaisesRegex(tailor.onnx.ModelError, 'node "pick": dim 0 of the indices is 4, more than .* 3'):
            tailor.onnx.load(gather(4))
        executable = tailor.onnx.load(gather("n")).compile("host")
        x = numpy.arange(15, dtype=numpy.float32).reshape(3, 5)
        self.assertEqual(executable.run(x, numpy.array([[1], [0]]))[0].tolist(), [[1], [5]])
        with self.assertRaisesRegex(tailor.Error, "dim 0 of the indices"):
            executable.run(x, numpy.zeros((4, 1), numpy.int64))

    def test_batches(self):
        proto = model([helper.make_node("GatherND", ["x", "i"], ["y"], "rows", batch_dims=1)],
                      [("x", FLOAT, [3, 5]), ("i", INT64, [4, 1])], [("y", FLOAT)])
        with self.assertRaisesRegex(tailor.onnx.ModelError, 'node "rows": dim sizes 4 and 3 have to be equal'):
            tailor.onnx.load(proto)

    def test_sequences_longer_than_the_data(self):
        proto = model([helper.make_node("ReverseSequence", ["x", "n"], ["y"], batch_axis=0, time_axis=1)],
                      [("x", FLOAT, [3, 5]), ("n", INT64, [3])], [("y", FLOAT)])
        self.run_both(proto, [{"x": numpy.arange(15, dtype=numpy.float32).reshape(3, 5), "n": numpy.array([5, 1, 3])}])
        self.refuse(proto, n=numpy.array([2, 7, 5]))

    def test_classes(self):
        proto = model([helper.make_node("NegativeLogLikelihoodLoss", ["x", "t"], ["y"], reduction="none")],
                      [("x", FLOAT, ["n", "c"]), ("t", INT64, ["n"])], [("y", FLOAT)])
        self.refuse(proto, t=numpy.array([0, 7, 1]))

    def test_constant_indices(self):
        proto = model([helper.make_node("GatherElements", ["x", "i"], ["y"], "pick", axis=1)], [("x", FLOAT, [3, 5])],
                      [("y", FLOAT)], [("i", numpy.array([[0], [7], [1]]))])
        with self.assertRaisesRegex(tailor.onnx.ModelError, 'node "pick": index 7 is out of range for dim 1 of x'):
            tailor.onnx.load(proto)


class ExpandedIndicesTest(OperatorTest):
    """One index for a whole row, expanded to the elements of the row: rows are moved."""
    SIZES = {"a": 3, "b": 4, "c": 5, "n": 2}

    def expanded(self, sizes, axis, last, inputs, outputs):
        """x [a, b, c]; indices of `sizes`, expanded to x's dims but n along `axis`; `last`: the node after it."""
        dims = ["n" if i == axis else "abc"[i] for i in range(3)]
        nodes = [helper.make_node("Shape", ["x"], ["x_shape"]), helper.make_node("Shape", ["i"], ["i_shape"]),
                 *(helper.make_node("Gather", ["i_shape" if i == axis else "x_shape", f"at{i}"], [f"dim{i}"]) for i in range(3)),
                 helper.make_node("Concat", [f"dim{i}" for i in range(3)], ["shape"], axis=0), helper.make_node("Expand", ["i", "shape"], ["e"]), last]
        return model(nodes, [("x", FLOAT, ["a", "b", "c"]), ("i", INT64, sizes), *inputs(dims)], outputs,
                     [(f"at{i}", ints(i)) for i in range(3)], opset=18)

    def cases(self, axis):
        for sizes in ([None, None, "n"], [None, "n", None], ["n", None, None], ["a", "n", None], [None, "n", "c"],
                      ["a", None, "n"], ["n", "b", None], ["a", "b", "c"]):
            if "n" in sizes and sizes.index("n") == axis:
                yield [1 if size is None else size for size in sizes]

    def test_both(self):
        random = numpy.random.default_rng(2)
        for axis in range(3):
            for sizes in self.cases(axis):
                shape = [size if size == 1 else self.SIZES[size] for size in sizes]
                shape[axis] = (3, 4, 5)[axis]  # two of these, each once
                index = numpy.argsort(random.random(shape), axis=axis).take(range(2), axis)
                x = random.standard_normal((3, 4, 5), numpy.float32)
                updates = random.standard_normal([2 if i == axis else x.shape[i] for i in range(3)], numpy.float32)
                rank = max(i for i, size in enumerate(sizes) if size != 1 or i == axis) + 1  # without the dims of a row
                gather = helper.make_node("GatherElements", ["x", "e"], ["y"], axis=axis)
                proto = self.expanded(sizes, axis, gather, lambda dims: [], [("y", FLOAT)])
                indices, = re.findall(r'\(indices\)" = gather .* : i64\[(.*)\]', tailor.onnx.load(proto).text)
                self.assertEqual(len(indices.split(",")), rank, (axis, sizes))
                self.run_both(proto, [{"x": x, "i": index}])
                scatter = helper.make_node("ScatterElements", ["x", "e", "u"], ["y"], axis=axis)
                proto = self.expanded(sizes, axis, scatter, lambda dims: [("u", FLOAT, dims)], [("y", FLOAT)])
                entries = re.findall(r" = concat .* : i64\[.*, (.)\]", tailor.onnx.load(proto).text)
                self.assertEqual(entries, [str(rank)] if rank > 1 else [], (axis, sizes))
                self.run_both(proto, [{"x": x, "i": index, "u": updates}])


class ScatterTest(OperatorTest):
    random = numpy.random.default_rng(1)

    def numbers(self, *shape):
        return self.random.standard_normal(shape, numpy.float32)

    def test_elements_of_every_reduction(self):
        for reduction in ("none", "add", "mul", "max", "min"):
            proto = model([helper.make_node("ScatterElements", ["x", "i", "u"], ["y"], axis=1, reduction=reduction)],
                          [("x", FLOAT, ["a", "b", 3]), ("i", INT64, ["c", "d", 2]), ("u", FLOAT, ["c", "d", 2])],
                          [("y", FLOAT)], opset=18)
            cases = []
            for a, b, c, d in ((4, 5, 4, 5), (3, 7, 2, 4), (1, 1, 1, 1), (5, 4, 0, 3)):
                # Without a reduction the order of equal indices is open, so there are none.
                index = numpy.argsort(self.random.random((c, b, 2)), axis=1)[:, :d].copy()
                index[:, ::2] -= b
                cases.append({"x": self.numbers(a, b, 3), "i": index, "u": self.numbers(c, d, 2)})
            self.run_both(proto, cases)

    def test_rows(self):
        proto = model([helper.make_node("ScatterND", ["x", "i", "u"], ["y"], reduction="add")],
                      [("x", FLOAT, ["a", "b", "c"]), ("i", INT64, ["n", 2]), ("u", FLOAT, ["n", "c"])],
                      [("y", FLOAT)], opset=18)
        cases = [{"x": self.numbers(a, b, c), "u": self.numbers(n, c),
                  "i": self.random.integers((-a, -b), (a, b), (n, 2))}
                 for a, b, c, n in ((2, 3, 4, 5), (5, 1, 33, 9), (3, 2, 1, 0))]
        executable = self.run_both(proto, cases)
        with self.assertRaisesRegex(tailor.Error, "index"):
            executable.run(x=self.numbers(2, 3, 4), i=ints(0, 3).reshape(1, 2), u=self.numbers(1, 4))

    def test_updates_of_another_shape(self):
        proto = model([helper.make_node("ScatterND", ["x", "i", "u"], ["y"], "put")],
                      [("x", FLOAT, [4, 3]), ("i", INT64, [2, 1]), ("u", FLOAT, [2, 4])], [("y", FLOAT)])
        with self.assertRaisesRegex(tailor.onnx.ModelError, 'ScatterND node "put"'):
            tailor.onnx.load(proto)

    def test_cache(self):
        for mode, axis in (("linear", 2), ("circular", 2), ("linear", 1)):
            dims = ["a", 2, "b", 3]
            proto = model([helper.make_node("TensorScatter", ["x", "u", "s"], ["y"], mode=mode, axis=axis - 4)],
                          [("x", FLOAT, dims), ("u", FLOAT, [*dims[:axis], "n", *dims[axis + 1:]]),
                           ("s", INT64, ["a"])], [("y", FLOAT)], opset=24)

            def reference(inputs):
                out = inputs["x"].copy()
                for batch, start in enumerate(inputs["s"]):
                    rows = (start + numpy.arange(inputs["u"].shape[axis])) % out.shape[axis]
                    numpy.moveaxis(out[batch], axis - 1, 0)[rows] = numpy.moveaxis(inputs["u"][batch], axis - 1, 0)
                return [out]

            cases = []
            for a, b, n in ((2, 5, 2), (1, 1, 1), (3, 4, 1)):
                shape = [a, 2, b, 3]
                x, shape[axis] = self.numbers(*shape), n
                last = x.shape[axis] - (1 if mode == "circular" else n)
                cases.append({"x": x, "u": self.numbers(*shape), "s": self.random.integers(0, last + 1, a)})
            self.run_both(proto, cases, reference)

    def test_unpooling_undoes_pooling(self):
        window = {"kernel_shape": [2, 2], "strides": [2, 2]}
        proto = model([helper.make_node("MaxPool", ["x"], ["p", "i"], **window),
                       helper.make_node("MaxUnpool", ["p", "i"], ["y"], **window)],
                      [("x", FLOAT, ["n", 3, "h", "w"])], [("y", FLOAT)])
        self.run_both(proto, [{"x": self.numbers(n, 3, h, w)} for n, h, w in ((1, 4, 6), (2, 2, 2), (3, 8, 2))])

    def test_columns_of_an_image_whose_extents_are_symbols(self):
        nodes = [helper.make_node("Shape", ["like"], ["image"], start=2),
                 helper.make_node("Col2Im", ["x", "image", "block"], ["y"], pads=[1, 0, 1, 2], strides=[2, 1],
                                  dilations=[1, 2])]
        proto = model(nodes, [("x", FLOAT, ["n", "c", "columns"]), ("like", FLOAT, [1, 1, "h", "w"])],
                      [("y", FLOAT)], [("block", ints(3, 2))], opset=18)
        cases = []
        for n, c, h, w in ((1, 1, 5, 4), (2, 3, 7, 9), (3, 2, 1, 1)):
            count = ((h + 2 - 3) // 2 + 1) * (w + 2 - 3 + 1)
            cases.append({"x": self.numbers(n, c * 6, count), "like": numpy.zeros((1, 1, h, w), numpy.float32)})
        self.run_both(proto, cases)


class ProductTest(OperatorTest):
    def test_quantized_with_a_scale_for_each_row_and_column(self):
        random = numpy.random.default_rng(2)
        constants = [("as", numpy.array([0.1, 0.02, 0.3], numpy.float32)),
                     ("az", numpy.array([3, 0, 250], numpy.uint8)),
                     ("bs", numpy.array([0.1, 0.05], numpy.float32)), ("bz", numpy.array([-3, 7], numpy.int8)),
                     ("ys", numpy.float32(0.5)), ("yz", numpy.uint8(9))]
        proto = model([helper.make_node("QLinearMatMul", ["a", "as", "az", "b", "bs", "bz", "ys", "yz"], ["y"])],
                      [("a", TensorProto.UINT8, ["n", 3, "k"]), ("b", TensorProto.INT8, ["k", 2])],
                      [("y", TensorProto.UINT8)], constants)
        parts = dict(constants)

        def reference(inputs):
            a = (inputs["a"].astype(int) - parts["az"][:, None]) * parts["as"][:, None]
            b = (inputs["b"].astype(int) - parts["bz"]) * parts["bs"]
            return [numpy.clip(numpy.rint(a @ b / parts["ys"]) + 9, 0, 255).astype(numpy.uint8)]

        cases = [{"a": random.integers(0, 256, (n, 3, k)).astype(numpy.uint8),
                  "b": random.integers(-128, 128, (k, 2)).astype(numpy.int8)} for n, k in ((2, 7), (1, 1), (3, 40))]
        self.run_both(proto, cases, reference)

    def test_sums_of_products_are_products_of_matrices(self):
        random, sizes = numpy.random.default_rng(6), {"b": 2, "h": 3, "q": 5, "k": 4, "d": 7, "e": 6}
        for equation, products in (("bqhd,bkhd->bhqk", 1), ("bhqk,bkhd->bqhd", 1), ("qd,kd", 1), ("qdk,kqe->de", 1),
                                   ("bq,qd,dk->bk", 2), ("bd,bd->b", 1), ("qd,d->q", 1), ("bqe,d->bqd", 0),
                                   ("bqq,qd->bd", 1), ("...qd,dk->...qk", 1), ("...qd,...dk->...qk", 0), ("qd->d", 0)):
            terms = [term.replace("...", "bh") for term in equation.split("->")[0].split(",")]
            names = [f"x{i}" for i in range(len(terms))]
            proto = model([helper.make_node("Einsum", names, ["y"], equation=equation)],
                          [(name, FLOAT, [f"{name}_{i}" for i in range(len(term))])
                           for name, term in zip(names, terms)], [("y", FLOAT)])
            self.assertEqual(tailor.onnx.load(proto).text.count(" dot "), products, equation)
            cases = []
            for more in (0, 30):
                cases.append({name: random.standard_normal([sizes[letter] + more for letter in term], numpy.float32)
                              for name, term in zip(names, terms)})
            self.run_both(proto, cases, lambda inputs: [numpy.einsum(equation, *inputs.values())])

    def test_products_of_integers_are_exact(self):
        for kind, dtype in ((TensorProto.INT64, numpy.int64), (TensorProto.UINT32, numpy.uint32)):
            proto = model([helper.make_node("MatMul", ["a", "b"], ["y"])],
                          [("a", kind, ["n", "k"]), ("b", kind, ["k", "m"])], [("y", kind)])
            text = tailor.onnx.load(proto).text
            self.assertIn(" dot ", text)
            random = numpy.random.default_rng(3)
            low, high = (-2**60, 2**60) if dtype is numpy.int64 else (0, 2**32)
            cases = [{"a": random.integers(low, high, (n, k)).astype(dtype),
                      "b": random.integers(low, high, (k, m)).astype(dtype)} for n, k, m in ((2, 3, 4), (9, 70, 33))]
            executable = tailor.onnx.load(proto).compile("host")
            for inputs in cases:
                numpy.testing.assert_array_equal(executable.run(**inputs)[0], inputs["a"] @ inputs["b"])


class UnselectedIndexTest(OperatorTest):
    # An index is checked also where Where takes the other source, a concat of masked loads.
    def test_it_is_out_of_range(self):
        indices = numpy.zeros((6, 40), numpy.int64)
        indices[3, 5] = 99
        mask = numpy.zeros((6, 40), bool)
        mask[0] = True
        for op in ("Gather", "GatherElements"):
            gathered = indices[:, 5].copy() if op == "Gather" else indices
            nodes = [helper.make_node("Pad", ["table", "pads"], ["padded"]),
                     helper.make_node(op, ["padded", "indices"], ["gathered"], axis=0),
                     helper.make_node("Neg", ["gathered"], ["first"]),
                     helper.make_node("Concat", ["a", "b", "c"], ["second"], axis=0),
                     helper.make_node("Where", ["mask", "first", "second"], ["y"])]
            parts = [(name, FLOAT, [2, 40]) for name in "abc"]
            proto = model(nodes, [("table", FLOAT, [6, 38]), ("indices", INT64, list(gathered.shape)),
                                  ("mask", TensorProto.BOOL, [6, 40]), *parts], [("y", FLOAT)],
                          [("pads", numpy.asarray([0, 1, 0, 1]))])
            executable = tailor.onnx.load(proto).compile("host")
            inputs = {"table": numpy.ones((6, 38), numpy.float32), "mask": mask,
                      **{name: numpy.ones((2, 40), numpy.float32) for name in "abc"}}
            executable.run(indices=numpy.zeros_like(gathered), **inputs)
            with self.assertRaisesRegex(tailor.Error, "index 99 is out of range"):
                executable.run(indices=gathered, **inputs)


class TransposedConvolutionTest(OperatorTest):
    random = numpy.random.default_rng(3)

    def check(self, kernel, strides, pads, extra, groups=1, channels=4, outputs=3):
        spatial = [f"d{i}" for i in range(len(kernel))]
        node = helper.make_node("ConvTranspose", ["x", "w", "b"], ["y"], strides=strides, pads=pads, group=groups,
                                output_padding=extra)
        proto = model([node], [("x", FLOAT, ["n", channels, *spatial]), ("w", FLOAT, [channels, outputs, *kernel]),
                               ("b", FLOAT, [outputs * groups])], [("y", FLOAT)], opset=18)
        numbers = lambda *shape: self.random.standard_normal(shape, numpy.float32)
        sizes = ((1, 5, 4, 3), (3, 6, 9, 2))
        with self.subTest(kernel=kernel, strides=strides, pads=pads, extra=extra, groups=groups):
            self.run_both(proto, [{"x": numbers(n, channels, *own[:len(kernel)]),
                                   "w": numbers(channels, outputs, *kernel),
                                   "b": numbers(outputs * groups)} for n, *own in sizes])

    def test_taps_within_and_beyond_a_stride(self):
        for kernel, stride, pads, extra in ((2, 2, (0, 0), 0), (3, 2, (1, 1), 1), (4, 2, (1, 1), 0), (5, 3, (2, 1), 2),
                                            (1, 3, (0, 0), 2), (2, 3, (0, 1), 1), (3, 1, (1, 0), 0)):
            self.check([kernel], [stride], list(pads), [extra])

    def test_dims_of_their_own(self):
        self.check([3, 4], [2, 1], [1, 0, 0, 2], [1, 0], groups=2)
        self.check([2, 5], [2, 3], [0, 2, 1, 1], [0, 1], groups=4)
        self.check([2, 1, 3], [2, 1, 2], [0] * 6, [0, 0, 1])

    def test_phases_with_different_taps_are_convolutions_of_their_own(self):
        self.check([3, 3], [2, 2], [1] * 4, [1, 1], channels=16, outputs=16)
        self.check([5, 2], [3, 2], [0, 0, 1, 1], [2, 0], groups=2, channels=32, outputs=17)
        self.check([3, 1, 5], [2, 2, 4], [0, 0, 1, 1, 0, 0], [1, 0, 0], channels=18, outputs=16)


class ResizeTest(OperatorTest):
    COORDINATES = ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "asymmetric")
    ROUNDINGS = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")

    def check(self, shape, scales, sizes, **attributes):
        dims = [f"d{i}" for i in range(len(shape))]
        node = helper.make_node("Resize", ["x", "", "scales"], ["y"], mode="nearest", **attributes)
        proto = model([node], [("x", FLOAT, dims)], [("y", FLOAT)],
                      [("scales", numpy.array(scales, numpy.float32))], opset=19)
        cases = [{"x": numpy.random.default_rng(2).standard_normal(size, numpy.float32)} for size in (shape, *sizes)]
        with self.subTest(scales=scales, **attributes):
            return self.run_both(proto, cases, lambda inputs: ReferenceEvaluator(proto).run(None, inputs))

    def test_whole_factors(self):
        for coordinates in self.COORDINATES:
            for rounding in self.ROUNDINGS:
                for factor in (2, 3, 4):
                    self.check((2, 3, 5), [1, factor, 2], [(1, 1, 1), (2, 7, 19)], nearest_mode=rounding,
                               coordinate_transformation_mode=coordinates)

    def test_elements_that_are_repeated_are_not_gathered(self):
        executable = self.check((2, 3, 5), [1, 2, 2], [], nearest_mode="floor",
                                coordinate_transformation_mode="asymmetric")
        self.assertEqual(len(executable.describe()["variants"][0]["launches"]), 1)

    def test_of_many_dims(self):
        self.check((1, 2, 1, 2, 1, 2, 1), [1, 2, 2, 2, 1, 2, 2], [], coordinate_transformation_mode="asymmetric",
                   nearest_mode="floor")


class TreeEnsembleTest(OperatorTest):
    def forest(self, random, trees, depth, **attributes):
        """Complete trees of random thresholds and modes, over 5 features and for 3 targets."""
        inner, leaves = 2**depth - 1, 2**depth
        nodes, children = trees * inner, {branch: ([], []) for branch in ("true", "false")}
        for tree in range(trees):
            for i in range(inner):
                for side, (ids, leaf) in enumerate(children.values()):
                    child = 2 * i + 1 + side
                    leaf.append(int(child >= inner))
                    ids.append(tree * leaves + child - inner if child >= inner else tree * inner + child)
        tensors = {"nodes_splits": random.integers(-2, 3, nodes).astype(numpy.float32),
                   "nodes_modes": random.integers(0, 6, nodes).astype(numpy.uint8),
                   "leaf_weights": random.standard_normal(trees * leaves, numpy.float32)}
        for branch, (ids, leaf) in children.items():
            attributes.update({f"nodes_{branch}nodeids": ids, f"nodes_{branch}leafs": leaf})
        attributes.update({name: numpy_helper.from_array(array) for name, array in tensors.items()})
        node = helper.make_node(
            "TreeEnsemble", ["x"], ["y"], "forest", domain="ai.onnx.ml", n_targets=3,
            tree_roots=[tree * inner for tree in range(trees)], nodes_featureids=random.integers(0, 5, nodes).tolist(),
            nodes_missing_value_tracks_true=random.integers(0, 2, nodes).tolist(),
            leaf_targetids=random.integers(0, 3, trees * leaves).tolist(), **attributes)
        proto = model([node], [("x", FLOAT, ["n", 5])], [("y", FLOAT)])
        proto.opset_import.append(helper.make_opsetid("ai.onnx.ml", 5))
        return proto

    def test_every_mode_and_aggregate(self):
        random = numpy.random.default_rng(4)
        for trees, depth, aggregate in ((1, 1, 1), (7, 4, 0), (3, 2, 2), (4, 3, 3)):
            proto = self.forest(random, trees, depth, aggregate_function=aggregate)
            evaluator = ReferenceEvaluator(proto)
            cases = []
            for rows in (1, 33):
                x = random.integers(-2, 3, (rows, 5)).astype(numpy.float32)
                x[random.random(x.shape) < 0.2] = numpy.nan
                cases.append({"x": x})
            self.run_both(proto, cases, lambda inputs: [evaluator.run(None, inputs)[0].astype(numpy.float32)])

    def test_trees_that_never_end(self):
        proto = self.forest(numpy.random.default_rng(5), 1, 2)
        for attribute in proto.graph.node[0].attribute:
            if attribute.name == "nodes_truenodeids":
                attribute.ints[1] = 0
            if attribute.name == "nodes_trueleafs":
                attribute.ints[1] = 0
        with self.assertRaisesRegex(tailor.onnx.ModelError, 'TreeEnsemble node "forest".*cycle'):
            tailor.onnx.load(proto)


class BitCastTest(unittest.TestCase):
    def test_eight_bit_floats_keep_their_bytes(self):
        proto = model([helper.make_node("BitCast", ["x"], ["f"], to=TensorProto.FLOAT8E5M2),
                       helper.make_node("Cast", ["f"], ["y"], to=FLOAT),
                       helper.make_node("BitCast", ["f"], ["z"], to=TensorProto.INT8)],
                      [("x", TensorProto.INT8, ["n"])], [("y", FLOAT), ("z", TensorProto.INT8)], opset=26)
        x = numpy.array([0x3c, 0x40, -0x44, 0], numpy.int8)
        y, z = tailor.onnx.load(proto).compile("host").run(x=x)
        numpy.testing.assert_array_equal(y, numpy.array([1, 2, -1, 0], numpy.float32))
        numpy.testing.assert_array_equal(z, x)

    def test_other_widths_are_refused(self):
        for code, kind in ((TensorProto.INT32, tailor.onnx.ModelError), (TensorProto.INT4, tailor.onnx.Unsupported)):
            proto = model([helper.make_node("BitCast", ["x"], ["y"], "bits", to=code)],
                          [("x", TensorProto.INT8, ["n"])], [("y", code)], opset=26)
            with self.assertRaisesRegex(kind, 'BitCast node "bits"'):
                tailor.onnx.load(proto)


class CumulateTest(OperatorTest):
    random = numpy.random.default_rng(3)

    def test_every_form(self):
        for form in range(4):
            for axis in (0, 1, -1):
                proto = model([helper.make_node("CumSum", ["x", "axis"], ["y"], exclusive=form % 2, reverse=form // 2)],
                              [("x", FLOAT, ["a", "b", "c"])], [("y", FLOAT)], [("axis", ints(axis))])
                self.run_both(proto, [{"x": self.random.standard_normal(shape, numpy.float32)}
                                      for shape in ((2, 3, 4), (1, 40, 1), (3, 1, 70), (2, 0, 3))])

    def test_positions_of_a_mask(self):
        """Positions as exported models count them: elementwise work on both sides of the sum."""
        nodes = [helper.make_node("Cast", ["mask"], ["number"], to=INT64),
                 helper.make_node("CumSum", ["number", "axis"], ["sum"]),
                 helper.make_node("Mul", ["sum", "number"], ["y"])]
        proto = model(nodes, [("mask", TensorProto.BOOL, ["a", "b"])], [("y", INT64)], [("axis", ints(1))])
        self.run_both(proto, [{"mask": self.random.random(shape) < 0.7} for shape in ((2, 33), (4, 1), (1, 0))])

    def test_products(self):
        proto = model([helper.make_node("CumProd", ["x", "axis"], ["y"], exclusive=1)],
                      [("x", FLOAT, ["a", "b"])], [("y", FLOAT)], [("axis", ints(1))], opset=26)

        def reference(inputs):
            ones = numpy.ones((len(inputs["x"]), 1), numpy.float32)
            return [numpy.cumprod(numpy.hstack([ones, inputs["x"][:, :-1]]), 1)]

        self.run_both(proto, [{"x": self.random.standard_normal(shape, numpy.float32)} for shape in ((3, 20), (1, 1))],
                      reference)

    def test_an_axis_from_data(self):
        proto = model([helper.make_node("CumSum", ["x", "axis"], ["y"])],
                      [("x", FLOAT, ["a"]), ("axis", INT64, [1])], [("y", FLOAT)])
        with self.assertRaisesRegex(tailor.onnx.DependsOnData, "axis"):
            tailor.onnx.load(proto)


if __name__ == "__main__":
    unittest.main()
