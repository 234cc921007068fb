"""The values of each op are those of the op reference (docs/ops.md)."""
import unittest

import numpy as np

import tailor

F, I = np.float32, np.int32
NAN, INF = np.nan, np.inf
LEAST = -2**31


def evaluate(build, *arrays):
    """The output of build(graph, *values) for inputs with all dims symbolic."""
    graph = tailor.Graph("semantics")
    values = [graph.input(f"x{i}", array.dtype, [f"D{i}_{d}" for d in range(array.ndim)])
              for i, array in enumerate(arrays)]
    graph.output("y", build(graph, *values))
    return graph.compile("host").run(*arrays)[0]


def numbers(dtype, *values):
    return np.array(values, dtype)


class SemanticsTest(unittest.TestCase):
    def expect(self, build, arrays, wanted):
        got = evaluate(build, *arrays)
        np.testing.assert_array_equal(got, wanted)
        self.assertEqual(got.dtype, wanted.dtype)

    def test_integers_wrap(self):
        x = numbers(I, 2**31 - 1, LEAST, 70000)
        with np.errstate(over="ignore"):
            self.expect(lambda g, a, b: a + b, [x, x], x + x)
            self.expect(lambda g, a, b: a - b, [x, -x], x + x)
            self.expect(lambda g, a, b: a * b, [x, x], x * x)
        self.expect(lambda g, a: -a, [x], numbers(I, 1 - 2**31, LEAST, -70000))
        self.expect(lambda g, a: g.abs(a), [x], numbers(I, 2**31 - 1, LEAST, 70000))

    def test_division(self):
        lhs, rhs = numbers(I, 7, -7, 7, 5, LEAST, LEAST), numbers(I, 2, 2, -2, 0, -1, 0)
        self.expect(lambda g, a, b: a / b, [lhs, rhs], numbers(I, 3, -3, -3, 0, LEAST, 0))
        self.expect(lambda g, a, b: a / b, [numbers(np.uint8, 200, 9), numbers(np.uint8, 7, 0)], numbers(np.uint8, 28, 0))
        self.expect(lambda g, a, b: a / b, [numbers(F, 1, -1, 0), numbers(F, 0, 0, 0)], numbers(F, INF, -INF, NAN))

    def test_max_and_min_propagate_nan(self):
        lhs, rhs = numbers(F, 1, NAN, 3, -INF), numbers(F, 2, 2, NAN, INF)
        self.expect(lambda g, a, b: g.max(a, b), [lhs, rhs], np.maximum(lhs, rhs))
        self.expect(lambda g, a, b: g.min(a, b), [lhs, rhs], np.minimum(lhs, rhs))

    def test_comparisons_are_ieee(self):
        lhs, rhs = numbers(F, 1, 2, NAN, 0.0), numbers(F, 2, 2, NAN, -0.0)
        for name, wanted in (("eq", lhs == rhs), ("ne", lhs != rhs), ("lt", lhs < rhs), ("le", lhs <= rhs),
                             ("gt", lhs > rhs), ("ge", lhs >= rhs)):
            with self.subTest(name):
                self.expect(lambda g, a, b: getattr(g, name)(a, b), [lhs, rhs], wanted)

    def test_logic(self):
        lhs, rhs = numbers(np.uint16, 12, 65535), numbers(np.uint16, 10, 1)
        self.expect(lambda g, a, b: a & b, [lhs, rhs], lhs & rhs)
        self.expect(lambda g, a, b: a | b, [lhs, rhs], lhs | rhs)
        self.expect(lambda g, a, b: a ^ b, [lhs, rhs], lhs ^ rhs)
        self.expect(lambda g, a: ~a, [lhs], ~lhs)
        self.expect(lambda g, a: ~a, [numbers(bool, 0, 1)], numbers(bool, 1, 0))

    def test_casts(self):
        x = numbers(F, 1.9, -1.9, 300, -300, 3e10, -3e10, NAN, INF)
        self.expect(lambda g, a: a.cast("i8"), [x], numbers(np.int8, 1, -1, 127, -128, 127, -128, 0, 127))
        self.expect(lambda g, a: a.cast("u8"), [x], numbers(np.uint8, 1, 0, 255, 0, 255, 0, 0, 255))
        self.expect(lambda g, a: a.cast("i32"), [x], numbers(I, 1, -1, 300, -300, 2**31 - 1, LEAST, 0, 2**31 - 1))
        self.expect(lambda g, a: a.cast("bool"), [numbers(F, 0, -0.0, 0.5, NAN)], numbers(bool, 0, 0, 1, 1))
        self.expect(lambda g, a: a.cast("bool"), [numbers(I, 0, 256, -1)], numbers(bool, 0, 1, 1))
        self.expect(lambda g, a: a.cast("i8"), [numbers(I, 300, -129)], numbers(np.int8, 44, 127))
        self.expect(lambda g, a: a.cast("f32"), [numbers(bool, 0, 1)], numbers(F, 0, 1))
        halves = numbers(F, 1 + 2**-11, 65520, 1e-8)
        with np.errstate(over="ignore"):
            self.expect(lambda g, a: a.cast("f16"), [halves], halves.astype(np.float16))

    def test_elementary_functions(self):
        x = numbers(F, -2, -0.5, 0, 0.25, 1, 3)
        for name, wanted in (("exp", np.exp), ("tanh", np.tanh), ("sigmoid", lambda v: 1 / (1 + np.exp(-v)))):
            with self.subTest(name):
                got = evaluate(lambda g, a: getattr(g, name)(a), x)
                np.testing.assert_allclose(got, wanted(x.astype(np.float64)), rtol=5e-7)
        with np.errstate(invalid="ignore", divide="ignore"):
            for name, wanted in (("log", np.log), ("sqrt", np.sqrt), ("rsqrt", lambda v: 1 / np.sqrt(v))):
                with self.subTest(name):
                    got = evaluate(lambda g, a: getattr(g, name)(a), x)
                    np.testing.assert_allclose(got, wanted(x.astype(np.float64)), rtol=5e-7)
        np.testing.assert_allclose(evaluate(lambda g, a: g.erf(a), numbers(F, 0, 0.5, -1)),
                                   [0, 0.5204998778130465, -0.8427007929497149], rtol=5e-7)
        np.testing.assert_allclose(evaluate(lambda g, a, b: a**b, numbers(F, 2, 9, -2, 0), numbers(F, 10, 0.5, 3, 0)),
                                   [1024, 3, -8, 1], rtol=5e-7)

    def test_trigonometry(self):
        x = numbers(F, -1e30, -3, -0.75, 0, 0.3, 1, 2, 12345.678)
        for name in ("sin", "cos", "tan"):
            with self.subTest(name):
                got = evaluate(lambda g, a: getattr(g, name)(a), x)
                np.testing.assert_allclose(got, getattr(np, name)(x.astype(np.float64)), rtol=5e-7)
        with np.errstate(invalid="ignore"):
            for name, wanted in (("asin", np.arcsin), ("acos", np.arccos), ("atan", np.arctan)):
                with self.subTest(name):
                    got = evaluate(lambda g, a: getattr(g, name)(a), x)
                    np.testing.assert_allclose(got, wanted(x.astype(np.float64)), rtol=5e-7)

    def test_rounding(self):
        x = numbers(F, -2.5, -1.5, -0.2, 0.5, 1.5, 2.5, 1e10, NAN, INF)
        for name, wanted in (("floor", np.floor), ("ceil", np.ceil), ("round", np.round), ("trunc", np.trunc)):
            with self.subTest(name):
                self.expect(lambda g, a: getattr(g, name)(a), [x], wanted(x))

    def test_remainders(self):
        lhs, rhs = numbers(I, 7, -7, 7, -7, LEAST, 5), numbers(I, 3, 3, -3, -3, -1, 0)
        self.expect(lambda g, a, b: a % b, [lhs, rhs], numbers(I, 1, 2, -2, -1, 0, 0))
        self.expect(lambda g, a, b: a.rem(b), [lhs, rhs], numbers(I, 1, -1, 1, -1, 0, 0))
        x, y = numbers(F, 5.5, -5.5, 5.5, 1e30, 1, -1), numbers(F, 2, 2, -2, 7, 0, INF)
        with np.errstate(invalid="ignore"):
            self.expect(lambda g, a, b: a % b, [x, y], np.mod(x, y))
            self.expect(lambda g, a, b: a.rem(b), [x, y], np.fmod(x, y))

    def test_shifts(self):
        x, count = numbers(np.int16, -5, 300, 1, 7), numbers(np.int16, 1, 2, 17, 16)
        self.expect(lambda g, a, b: a << b, [x, count], numbers(np.int16, -10, 1200, 2, 7))
        self.expect(lambda g, a, b: a >> b, [x, count], numbers(np.int16, -3, 75, 0, 7))
        self.expect(lambda g, a: a >> 4, [numbers(np.uint8, 255, 16)], numbers(np.uint8, 15, 1))

    def test_select(self):
        self.expect(lambda g, c, a, b: c.select(a, b), [numbers(bool, 1, 0), numbers(I, 1, 2), numbers(I, 3, 4)],
                    numbers(I, 1, 4))

    def test_reductions(self):
        x = np.arange(24, dtype=F).reshape(2, 3, 4)
        x[1, 1, 1] = NAN
        for name, wanted in (("sum", np.sum), ("max", np.max), ("min", np.min), ("mean", np.mean), ("prod", np.prod)):
            for axes in ((2,), (0,), (0, 2), (-1, 0, 1)):
                with self.subTest(name=name, axes=axes):
                    reduce = lambda g, a, keep=0: getattr(g, f"reduce_{name}")(a, axes, keep_dims=keep)
                    np.testing.assert_allclose(evaluate(reduce, x), wanted(x, axis=axes), rtol=1e-6)
                    got = evaluate(lambda g, a: reduce(g, a, 1), x)
                    np.testing.assert_allclose(got, wanted(x, axis=axes, keepdims=True), rtol=1e-6)

    def test_reductions_of_nothing(self):
        x = np.zeros((3, 0), F)
        for name, wanted in (("sum", 0), ("max", -INF), ("min", INF), ("mean", NAN), ("prod", 1)):
            with self.subTest(name):
                self.expect(lambda g, a: getattr(g, f"reduce_{name}")(a, 1), [x], np.full(3, wanted, F))
        self.expect(lambda g, a: g.reduce_max(a, 1), [x.astype(I)], np.full(3, LEAST, I))
        self.expect(lambda g, a: g.reduce_min(a, 1), [x.astype(I)], np.full(3, 2**31 - 1, I))

    def test_views(self):
        x = np.arange(24, dtype=I).reshape(2, 3, 4)
        self.expect(lambda g, a: a.transpose([2, 0, 1]), [x], x.transpose(2, 0, 1))
        self.expect(lambda g, a: a.reshape([a.shape[0] * a.shape[1], a.shape[2]]), [x], x.reshape(6, 4))
        self.expect(lambda g, a: a.broadcast([5, *a.shape]), [x], np.broadcast_to(x, (5, 2, 3, 4)))
        self.expect(lambda g, a: a.slice([1, 0, 0], [1, 2, 2], steps=[1, 2, 3]), [x], x[1:2, ::2, ::3])
        self.expect(lambda g, a: a.slice([0, 0, 3], [2, 3, 4], steps=[1, 1, -1]), [x], x[:, :, ::-1])
        self.expect(lambda g, a: g.concat([a, a + 1], axis=-2), [x], np.concatenate([x, x + 1], -2))
        self.expect(lambda g, a: g.iota(a.shape, 1, "i64") + 0, [x], np.broadcast_to(np.arange(3)[:, None], (2, 3, 4)))

    def test_pad(self):
        x = np.arange(6, dtype=I).reshape(2, 3)
        self.expect(lambda g, a: a.pad(g.scalar(9, "i32"), [1, 0], [0, 2]), [x],
                    np.pad(x, ((1, 0), (0, 2)), constant_values=9))
        spread = np.full((2, 7), -1, I)
        spread[:, 1:6:2] = x
        self.expect(lambda g, a: a.pad(-1, [0, 1], [0, 1], interior=[0, 1]), [x], spread)
        self.expect(lambda g, a: a.pad(0, [-1, 2], [1, -2]), [x], np.array([[0, 0, 3], [0, 0, 0]], I))
        with self.assertRaises(tailor.Error) as caught:
            evaluate(lambda g, a: a.pad(0, [-2, 0], [-1, 0]), x)
        self.assertIn("must be at least 0", caught.exception.message)

    def test_window(self):
        x = np.arange(40, dtype=F).reshape(2, 20)
        view = np.lib.stride_tricks.sliding_window_view
        self.expect(lambda g, a: a.window([1], [4]), [x], view(x, 4, 1))
        self.expect(lambda g, a: a.window([0, 1], [2, 5], strides=[1, 3], dilations=[1, 2]), [x],
                    view(x, (2, 9))[:, ::3, :, ::2])
        self.expect(lambda g, a: a.window([-1], [21]), [x], np.zeros((2, 0, 21), F))
        weights = np.random.default_rng(1).standard_normal((4, 3), F)
        got = evaluate(lambda g, a, w: a.window([1], [4], strides=[2]).dot(w), x, weights)
        np.testing.assert_allclose(got, view(x, 4, 1)[:, ::2] @ weights, rtol=1e-5, atol=1e-5)

    def convolve(self, x, weights, strides, dilations, pads, groups):
        """By windows of numpy and one einsum a group."""
        x = np.pad(x, [(0, 0), (0, 0), *pads])
        axes = tuple(range(2, x.ndim))
        extents = [(k - 1) * d + 1 for k, d in zip(weights.shape[2:], dilations)]
        steps = [slice(None, None, s) for s in strides], [slice(None, None, d) for d in dilations]
        windows = np.lib.stride_tricks.sliding_window_view(x, extents, axes)[(..., *steps[0], *steps[1])]
        inner, outer = weights.shape[1], weights.shape[0] // groups
        letters = "uvw"[:len(axes)]
        parts = [np.einsum(f"nc...{letters},mc{letters}->nm...", windows[:, g * inner:(g + 1) * inner],
                           weights[g * outer:(g + 1) * outer]) for g in range(groups)]
        return np.concatenate(parts, 1)

    def test_conv(self):
        rng = np.random.default_rng(2)
        for shape, kernel, strides, dilations, pads, groups in (
                ((2, 3, 9, 8), (5, 3, 3, 3), (1, 1), (1, 1), ((1, 1), (1, 1)), 1),
                ((1, 4, 11), (6, 2, 4), (2,), (2,), ((3, 0),), 2),
                ((2, 6, 5, 7), (6, 1, 3, 2), (2, 1), (1, 2), ((0, 1), (2, 1)), 6),
                ((2, 6, 5, 7), (8, 3, 1, 1), (1, 1), (1, 1), ((0, 0), (0, 0)), 2),
                ((1, 2, 4, 5, 6), (3, 2, 2, 3, 2), (1, 2, 1), (1, 1, 2), ((1, 0), (1, 1), (0, 0)), 1)):
            x, weights = rng.standard_normal(shape, F), rng.standard_normal(kernel, F)
            bias = rng.standard_normal(kernel[0], F)
            wanted = self.convolve(x, weights, strides, dilations, pads, groups)
            wanted += bias.reshape(-1, *[1] * (x.ndim - 2))
            options = dict(strides=strides, dilations=dilations, pads=pads, groups=groups)
            with self.subTest(kernel=kernel, weights="constant"):
                got = evaluate(lambda g, a: a.conv(weights, bias, **options), x)
                np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)
            with self.subTest(kernel=kernel, weights="input"):
                graph = tailor.Graph("conv")
                values = [graph.input("x", F, ["N", shape[1], *"ABC"[:len(shape) - 2]]), graph.input("w", F, kernel)]
                graph.output("y", graph.conv(*values, bias, **options))
                np.testing.assert_allclose(graph.compile("host").run(x, weights)[0], wanted, rtol=1e-4, atol=1e-5)

    def test_conv_multiplies_its_padding(self):
        """Zeros around the image times weights that are no finite numbers, whatever form the product takes."""
        rng = np.random.default_rng(3)
        for shape, kernel, strides, groups in (
                ((1, 3, 5, 6), (4, 3, 1, 1), (1, 1), 1), ((2, 3, 5, 6), (4, 3, 1, 1), (2, 2), 1),
                ((1, 4, 5, 6), (6, 2, 1, 1), (2, 1), 2), ((1, 4, 5, 6), (4, 1, 1, 1), (1, 1), 4),
                ((1, 4, 5, 6), (4, 1, 1, 1), (2, 2), 4), ((1, 4, 5, 6), (4, 1, 3, 3), (1, 1), 4),
                ((1, 3, 5, 6), (4, 3, 3, 3), (1, 1), 1), ((1, 16, 9, 8), (16, 16, 3, 3), (1, 1), 1)):
            x, weights = rng.uniform(1, 2, shape).astype(F), rng.standard_normal(kernel, F)
            for special in (INF, -INF, NAN):
                weights[1, 0, 0, 0] = special
                options = dict(strides=strides, dilations=(1, 1), pads=((1, 2), (2, 1)), groups=groups)
                with np.errstate(invalid="ignore"):
                    wanted = self.convolve(x, weights, **options)
                with self.subTest(kernel=kernel, strides=strides, special=special, weights="constant"):
                    got = evaluate(lambda g, a: g.conv(a.reshape(shape), weights, **options), x)
                    np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)
                with self.subTest(kernel=kernel, strides=strides, special=special, weights="input"):
                    graph = tailor.Graph("conv")
                    values = [graph.input("x", F, ["N", shape[1], "A", "B"]), graph.input("w", F, kernel)]
                    graph.output("y", graph.conv(*values, **options))
                    np.testing.assert_allclose(graph.compile("host").run(x, weights)[0], wanted, rtol=1e-4, atol=1e-5)

    def test_pools(self):
        x = np.random.default_rng(3).standard_normal((2, 3, 8, 9), F)
        view = np.lib.stride_tricks.sliding_window_view
        around = ((0, 0), (0, 0), (1, 1), (0, 1))
        windows = view(np.pad(x, around, constant_values=-INF), (3, 2), (2, 3))[:, :, ::2]
        options = dict(strides=(2, 1), pads=(1, (0, 1)))
        self.expect(lambda g, a: a.max_pool((3, 2), **options), [x], windows.max((-2, -1)))
        sums = view(np.pad(x, around), (3, 2), (2, 3))[:, :, ::2].sum((-2, -1))
        counts = view(np.pad(np.ones_like(x), around), (3, 2), (2, 3))[:, :, ::2].sum((-2, -1))
        got = evaluate(lambda g, a: a.average_pool((3, 2), **options), x)
        np.testing.assert_allclose(got, sums / counts, rtol=1e-5, atol=1e-6)
        got = evaluate(lambda g, a: a.average_pool((3, 2), count_include_pad=True, **options), x)
        np.testing.assert_allclose(got, sums / 6, rtol=1e-5, atol=1e-6)

    def test_gather(self):
        x = np.arange(12, dtype=F).reshape(4, 3)
        ids = numbers(np.int64, 3, 0, -1, -4)
        self.expect(lambda g, a, i: a.gather(i), [x, ids], x[ids])
        columns = numbers(I, 2, -3)
        self.expect(lambda g, a, i: a.gather(i, axis=1), [x, columns], x[:, columns])
        for bad in (4, -5):
            with self.assertRaises(tailor.Error) as caught:
                evaluate(lambda g, a, i: a.gather(i), x, numbers(np.int64, 0, bad))
            self.assertIn(str(bad), caught.exception.message)

    # Elements of a gathered row are contiguous, though the row begins at a multiple of its length inside a larger one.
    def test_gather_from_parts_of_rows(self):
        rng = np.random.default_rng(1)
        for parts, width in ((8, 32), (4, 24), (3, 5), (2, 64), (5, 16)):
            x = rng.standard_normal((3, 7, parts * width), F)
            ids = rng.integers(0, 3 * 7 * parts, (6, 4))
            scale = rng.standard_normal((6, 4), F)
            graph = tailor.Graph("parts")
            a = graph.input("x", "f32", ["A", "B", parts * width])
            rows = graph.reshape(graph.exp(a), ["A*B*" + str(parts), width]).gather(graph.input("ids", "i64", ["Q", 4]))
            weight = graph.reshape(graph.input("scale", "f32", ["Q", 4]), ["Q", 4, 1])
            graph.output("y", rows * weight)
            graph.output("part", graph.reshape(a, ["A", "B", parts, width]).gather(graph.input("i", "i64", [2]), axis=2) + 1)
            picked = np.array([0, parts - 1])
            got, part = graph.compile("host").run(x, ids, scale, picked)
            np.testing.assert_allclose(got, np.exp(x.astype(float)).reshape(-1, width)[ids] * scale[:, :, None], rtol=1e-5)
            np.testing.assert_array_equal(part, x.reshape(3, 7, parts, width)[:, :, picked] + F(1))

    # The updates of a loop's state, or of a donated input, are a view of it: they are read before they are overwritten.
    def test_scatters_of_views_of_the_state(self):
        updates = {
            "shifted": """
      %at = constant [1, 2, 3, 4, 5, 6, 7] : i64[7]
      %rows = reshape %at {shape = [7, 1]}
      %update = slice %s {starts = [0], sizes = [7]}
      %next = scatter %s, %rows, %update {combiner = "set"}""",
            "transposed": """
      %at = constant [0, 1, 2, 3, 4, 5, 6, 7] : i64[8]
      %rows = reshape %at {shape = [8, 1]}
      %square = reshape %s {shape = [2, 4]}
      %turned = transpose %square {permutation = [1, 0]}
      %update = reshape %turned {shape = [8]}
      %next = scatter %s, %rows, %update {combiner = "add"}"""}
        state = np.arange(8, dtype=F)
        wanted = {"shifted": state[[0, 0, 1, 2, 3, 4, 5, 6]], "transposed": state + state.reshape(2, 4).T.reshape(8)}
        for name, body in updates.items():
            loop = tailor.Graph.parse("""graph @loop(%n: i64[], %s: f32[8]) {
  %left, %last = while(%n, %s) {
    region(%n: i64[], %s: f32[8]) {
      %none = constant 0 : i64[]
      %more = gt %n, %none
      return %more
    }
    region(%n: i64[], %s: f32[8]) {
      %one = constant 1 : i64[]
      %rest = sub %n, %one""" + body + """
      return %rest, %next
    }
  }
  return "s" = %last
}""")
            got, = loop.compile("host").run(np.array(1), state)
            np.testing.assert_array_equal(got, wanted[name])
            step = tailor.Graph.parse("graph @step(%s: f32[8]) {" + body + "\n  return %next\n}")
            got, = step.compile("host", donated=["s"]).run(state.copy())
            np.testing.assert_array_equal(got, wanted[name])

    # 64 elements of one group are two rows of 32 in the other: axes of equal strides within a row do not merge.
    def test_groups_of_two_sizes(self):
        for dim, columns in (("3", 64), ("N", 64), ("3", 96)):
            rows = 4 * columns // 32
            graph = tailor.Graph.parse(f"""graph @groups(%s: f32[4], %y: f32[{rows}, {dim}, 32]) {{
  %a = reshape %s {{shape = [4, 1]}}
  %b = broadcast %a {{shape = [4, {columns}]}}
  %c = reshape %b {{shape = [{rows}, 1, 32]}}
  %d = broadcast %c {{shape = [{rows}, {dim}, 32]}}
  %e = add %y, %d
  return %e
}}""")
            scale, y = np.arange(1, 5, dtype=F), np.zeros((rows, 3, 32), F)
            got, = graph.compile("host").run(scale, y)
            np.testing.assert_array_equal(got, np.broadcast_to(np.repeat(scale, rows // 4)[:, None, None], y.shape))

    # Two results of one symbol: whether they agree is known after the branch.
    def test_results_of_one_symbol_that_differ(self):
        graph = tailor.Graph.parse("""graph @either(%c: bool[], %x: f32[A], %y: f32[B]) where P in [0, 1000] {
  %r, %s = if(%c, %x, %y) {shapes = [P, P]} {
    region(%u: f32[A], %v: f32[B]) {
      %a = neg %u
      %b = neg %v
      return %a, %b
    }
    region(%u: f32[A], %v: f32[B]) {
      %a = abs %u
      %b = abs %v
      return %a, %b
    }
  }
  %sum = add %r, %s
  return %sum
}""")
        executable = graph.compile("host")
        np.testing.assert_array_equal(executable.run(np.array(True), np.ones(7, F), np.ones(7, F))[0], np.full(7, -2, F))
        for sizes in ((7, 4), (4, 7)):
            with self.assertRaisesRegex(tailor.Error, "but P is"):
                executable.run(np.array(True), *(np.ones(size, F) for size in sizes))

    def test_dot(self):
        rng = np.random.default_rng(0)
        lhs, rhs = rng.standard_normal((2, 5, 7), F), rng.standard_normal((1, 7, 3), F)
        for transpose_lhs in (0, 1):
            for transpose_rhs in (0, 1):
                a = np.ascontiguousarray(lhs.swapaxes(1, 2)) if transpose_lhs else lhs
                b = np.ascontiguousarray(rhs.swapaxes(1, 2)) if transpose_rhs else rhs
                got = evaluate(lambda g, x, y: x.dot(y, transpose_lhs=transpose_lhs, transpose_rhs=transpose_rhs), a, b)
                np.testing.assert_allclose(got, lhs @ rhs, rtol=1e-5, atol=1e-6)


if __name__ == "__main__":
    unittest.main()
