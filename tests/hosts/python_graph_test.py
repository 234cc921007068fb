"""Building graphs in Python: dims, operators, ops, constants, errors."""
import contextlib
import gc
import io
import pathlib
import re
import unittest
import weakref

import numpy as np

import tailor


class DimTest(unittest.TestCase):
    def setUp(self):
        self.b, self.s = tailor.symbol("B", min=1, max=512, multiple_of=8, likely=[8, 64]), tailor.symbol("S")
        self.graph = tailor.Graph("dims")

    def shape(self, *dims):
        return [repr(dim) for dim in self.graph.input(f"x{len(self.graph._symbols)}{dims!r}", "f32", dims).shape]

    def test_operators_give_canonical_dims(self):
        b, s = self.b, self.s
        self.assertEqual(self.shape(b * s, 2 * b + 1, 4 + b - b, 7), ["B*S", "2*B + 1", "4", "7"])
        self.assertEqual(self.shape(s // 2, s % 3, 10 - s), ["floordiv(S, 2)", "mod(S, 3)", "-S + 10"])
        self.assertEqual(self.shape(tailor.minimum(s, 4)), self.shape(tailor.minimum(4, s)))

    def test_divisions_comparisons_and_selections(self):
        s, dims = self.s, tailor.dims
        self.assertEqual(self.shape(dims.ceildiv(s, 4), dims.truncdiv(s, 4), dims.truncmod(s, 4)),
                         ["floordiv(S + 3, 4)", "floordiv(S, 4)", "mod(S, 4)"])
        self.assertEqual(self.shape(dims.equal(s, s), dims.less(s, s), dims.select(dims.less(s, s + 1), s, 3)),
                         ["1", "0", "S"])
        graph = tailor.Graph("selected")
        graph.input("x", "f32", [s])
        graph.output("y", graph.iota([dims.select(dims.less(s, 3), 5, dims.truncdiv(s - 7, 2) + 9)], 0, "i32"))
        executable = graph.compile()
        for size, wanted in ((2, 5), (4, 8), (9, 10)):  # (4 - 7) / 2 is -1
            [y] = executable.run(np.zeros(size, np.float32))
            self.assertEqual(y.shape, (wanted,))
        with self.assertRaisesRegex(TypeError, "min takes dims and integers, not float, Symbol"):
            tailor.minimum(1.5, s)

    def test_symbols_carry_what_is_known(self):
        self.shape(self.b)
        self.assertIn("B in [1, 512] multiple_of 8 likely [8, 64]", self.graph.text)

    def test_names_stand_for_symbols(self):
        self.assertEqual(self.shape("N", "N"), ["N", "N"])

    def test_one_symbol_serves_many_graphs(self):
        self.shape(self.b)
        self.assertEqual(repr(tailor.Graph().input("x", "f32", [self.b]).shape[0]), "B")

    def test_two_symbols_of_one_name_are_refused(self):
        self.shape(self.b)
        with self.assertRaisesRegex(tailor.Error, '"B"') as caught:
            self.shape(tailor.symbol("B"))
        self.assertEqual(caught.exception.code, "INVALID_ARGUMENT")

    def test_dims_of_another_graph_are_refused(self):
        foreign = tailor.Graph().input("x", "f32", [self.b]).shape[0]
        with self.assertRaisesRegex(tailor.Error, "another graph"):
            self.shape(foreign + 1)

    def test_what_is_no_dim_is_refused(self):
        for wrong in (1.5, None, "x" * 3 + "\0"):
            with self.assertRaises((TypeError, tailor.Error)):
                self.shape(wrong)
        with self.assertRaises(TypeError):
            self.b + 1.5


class OpTest(unittest.TestCase):
    def setUp(self):
        self.graph = tailor.Graph("ops")
        self.x = self.graph.input("x", "f32", ["B", 4])
        self.ids = self.graph.input("ids", "i64", ["B"])

    def assert_type(self, value, text):
        self.assertEqual(repr(value), f"<tailor.Value {text}>")

    def test_operators(self):
        x = self.x
        for value in (x + 1, 1 - x, x * x, 2.5 / x, x**2, -x, abs(x), x + np.ones(4, np.float32),
                      np.ones(4, np.float32) - x, x + np.float32(1)):
            self.assert_type(value, "f32[B, 4]")
        for value in (x < 1, x <= x, x > 0, x >= 0, (x < 1) & (x > 0), ~(x < 1), (x < 1) | (x > 0), (x < 1) ^ (x > 0),
                      x.eq(x), x.ne(0)):
            self.assert_type(value, "bool[B, 4]")
        self.assert_type(x @ np.ones((4, 2), np.float32), "f32[B, 2]")

    def test_methods_and_functions_are_the_same_ops(self):
        self.assert_type(self.x.reduce_sum([1], keep_dims=True), "f32[B, 1]")
        self.assert_type(self.graph.reduce_sum(self.x, 1), "f32[B]")
        self.assert_type(self.x.reshape([self.x.shape[0] * 2, 2]), "f32[2*B, 2]")
        self.assert_type(self.x.transpose([1, 0]), "f32[4, B]")
        self.assert_type(self.x.slice([0, 0], ["B", 2], steps=[1, 2]), "f32[B, 2]")
        self.assert_type(self.graph.concat([self.x, self.x], axis=1), "f32[B, 8]")
        self.assert_type(self.x.gather(self.ids), "f32[B, 4]")
        self.assert_type((self.x > 0).select(self.x, 0), "f32[B, 4]")
        self.assert_type(self.x.cast("bf16"), "bf16[B, 4]")
        self.assert_type(self.x.dot(self.x, transpose_rhs=True), "f32[B, B]")
        self.assert_type(self.graph.iota(["B", 3], 1, np.int32), "i32[B, 3]")

    def test_builders(self):
        ones = self.graph.constant(np.ones(4, np.float32))
        for value in (self.x.softmax(), self.x.log_softmax(0), self.x.layer_norm(ones, ones), self.x.layer_norm(),
                      self.x.gelu(), self.x.gelu_tanh(), self.x.l2_normalize(),
                      self.graph.attention(self.x, self.x, self.x)):
            self.assert_type(value, "f32[B, 4]")

    def test_layers(self):
        graph, ones = self.graph, lambda *shape: np.ones(shape, np.float32)
        steps = graph.input("steps", "f32", ["T", "B", 3])
        y, h, c = graph.lstm(steps, ones(8, 3), ones(8, 2), bias=ones(8), lengths=self.ids, reverse=True, clip=3,
                             activations=["relu", ("affine", 0.75, None), ("scaled_tanh", 2, 3)], peepholes=ones(6))
        for value, text in ((y, "f32[T, B, 2]"), (h, "f32[B, 2]"), (c, "f32[B, 2]")):
            self.assert_type(value, text)
        self.assertIn("constant 0.75 : f32[]", graph.text)
        for build, gates in ((graph.rnn, 1), (graph.gru, 3)):
            y, h = build(steps, ones(gates * 2, 3), ones(gates * 2, 2), initial_h=ones(1, 2))
            self.assert_type(y, "f32[T, B, 2]")
        with self.assertRaisesRegex(tailor.Error, "rnn: there are 2 activation functions, needs 1"):
            graph.rnn(steps, ones(2, 3), ones(2, 2), activations=["tanh", "tanh"])

    def test_sorting(self):
        values, indices = self.graph.sort(self.x, 0, descending=True)
        self.assert_type(values, "f32[B, 4]")
        self.assert_type(indices, "i64[B, 4]")
        self.assert_type(self.graph.argsort(self.x), "i64[B, 4]")
        self.assert_type(self.graph.top_k(self.x, 3)[1], "i64[B, 3]")
        self.assert_type(self.graph.top_k(self.x, "K", 0, largest=False)[0], "f32[K, 4]")
        with self.assertRaisesRegex(tailor.Error, "top_k: k is 5"):
            self.graph.top_k(self.x, 5)

    def test_extents_that_data_gives(self):
        kept = self.graph.compact(self.x, self.ids > 0)
        self.assert_type(kept, "f32[compact0, 4]")
        self.assert_type(kept * kept.reduce_sum([0]), "f32[compact0, 4]")
        self.assert_type(self.graph.nonzero(self.x), "i64[2, nonzero0]")
        types = "i64[unique0]", "i64[unique0]", "i64[B]", "i64[unique0]"
        for value, text in zip(self.graph.unique(self.ids, sorted=False), types):
            self.assert_type(value, text)
        self.assert_type(self.graph.unique(self.x, axis=1)[0], "f32[B, unique1]")

    def test_every_op_is_documented(self):
        from tailor._ops import SIGNATURES, GraphOps
        for function in SIGNATURES:
            name = function.removeprefix("tailor_graph_")
            method = getattr(GraphOps, name, None) or getattr(GraphOps, name + "_")
            self.assertIn("Types:", method.__doc__)

    def test_errors_name_op_and_operand(self):
        for call, words in ((lambda: self.x + self.ids, 'add: operand "rhs"'),
                            (lambda: self.x.softmax(2), "axis 2"),
                            (lambda: tailor.Graph().neg(self.x), "neg: x is a value of another graph"),
                            (lambda: self.graph.input("x", "f32", []), "the name \"x\" is taken"),
                            (lambda: self.graph.input("y", "f32", [1] * 9), "9 dims, more than 8")):
            with self.assertRaises(tailor.Error) as caught:
                call()
            self.assertEqual(caught.exception.code, "INVALID_ARGUMENT")
            self.assertIn(words, caught.exception.message)
        for call in (lambda: self.graph.input("z", "f33", []), lambda: self.graph.add(1, 2), lambda: self.x + "1",
                     lambda: self.x.cast(object)):
            with self.assertRaises(TypeError):
                call()

    def test_names_show_in_text(self):
        self.assertIn("%double = add %x, %x", (self.x + self.x).named("double").graph.text)

    def test_text_is_read_back(self):
        self.graph.output("y", self.x.softmax())
        self.assertEqual(tailor.Graph.parse(self.graph.text).text, self.graph.text)
        with self.assertRaisesRegex(tailor.Error, "line 1, column"):
            tailor.Graph.parse("grph @g() {}")

    def test_facts_are_text(self):
        self.assertIn("B", self.graph.facts)


class ConstantTest(unittest.TestCase):
    def test_arrays_are_borrowed_until_the_graph_goes(self):
        class Array(np.ndarray):
            """An array that can be watched."""

        array = Array(4, np.float32)
        array[:] = 1
        alive = weakref.ref(array)
        graph = tailor.Graph()
        value = graph.constant(array, "c")
        del array
        gc.collect()
        self.assertIsNotNone(alive(), "the graph borrows the array")
        del value, graph
        gc.collect()
        self.assertIsNone(alive(), "and gives it back")

    def test_a_refused_constant_is_given_back(self):
        from tailor import graph as module
        before = len(module._borrowed)
        with self.assertRaises(tailor.Error):
            tailor.Graph().constant(np.ones(2, np.float32), "a\0b")
        self.assertEqual(len(module._borrowed), before)

    def test_strided_arrays_are_copied(self):
        strided, dense = tailor.Graph(), tailor.Graph()
        strided.constant(np.arange(6).reshape(2, 3).T, "c")
        dense.constant(np.array([[0, 3], [1, 4], [2, 5]]), "c")
        self.assertEqual(strided.text, dense.text)

    def test_empty_and_scalar_arrays(self):
        graph = tailor.Graph()
        self.assertEqual(repr(graph.constant(np.zeros((0, 3), np.int8), "e")), "<tailor.Value i8[0, 3]>")
        self.assertEqual(repr(graph.constant(np.float64(1.5))), "<tailor.Value f64[]>")

    def test_bf16_is_taken_as_bits(self):
        value = tailor.Graph().constant(np.array([0x3F80], np.uint16), "b", dtype="bf16")
        self.assertEqual(value.dtype, "bf16")


class CompileTest(unittest.TestCase):
    def broadcast_sum(self):
        graph = tailor.Graph("sum")
        graph.output("y", graph.input("a", "f32", ["N", 8]) + graph.input("b", "f32", ["K", 8]))
        return graph

    def test_versions_and_code_are_reported(self):
        executable = self.broadcast_sum().compile("host")
        launch, = executable.launches
        plan = executable.plan((3, 8), (1, 8))
        self.assertGreaterEqual(launch.versions, 2)
        self.assertEqual((plan.kernels, plan.versions, launch.dropped), (1, launch.versions, 0))
        self.assertTrue(0 < launch.code_bytes < plan.code_bytes)
        self.assertNotEqual(plan.chosen, executable.plan((3, 8), (3, 8)).chosen)

    def test_bounds_on_code_leave_versions_out(self):
        executable = self.broadcast_sum().compile("host", max_versions=1)
        launch, = executable.launches
        self.assertEqual(launch.versions, 1)
        self.assertGreaterEqual(launch.dropped, 1)
        dropped = executable.describe()["variants"][0]["launches"][0]["dropped"]
        self.assertIn("(more than 1 version)", dropped[0])
        x = np.arange(24, dtype=np.float32).reshape(3, 8)
        for b in (x, x[:1]):
            np.testing.assert_array_equal(executable.run(x, b)[0], x + b)
        with self.assertRaisesRegex(tailor.Error, "max_code_bytes is 10"):
            self.broadcast_sum().compile("host", max_code_bytes=10)

    def test_compiling_may_be_isolated_and_limited(self):
        graph = self.broadcast_sum()
        self.assertEqual(graph.compile_artifact("host", isolated=True), graph.compile_artifact("host"))
        for isolated, message in ((False, "an estimated .* MiB on one thread, above memory_limit of 1.0 MiB"),
                                  (True, "out of memory, within memory_limit of 1.0 MiB")):
            with self.assertRaisesRegex(tailor.Error, "RESOURCE_EXHAUSTED: .*" + message):
                graph.compile("host", memory_limit=1 << 20, isolated=isolated)
        with self.assertRaisesRegex(OverflowError, "memory_limit"):
            graph.compile("host", memory_limit=-1)
        told = []
        with self.assertRaisesRegex(tailor.Error, "CANCELLED"):
            graph.compile("host", isolated=True, progress=lambda phase, done: told.append(phase) or len(told) < 2)
        self.assertEqual(len(told), 2)

    def test_points_of_any_number_of_rows(self):
        """Large images pack rows, strided ones always (codegen/cpu/gemm/pack_rows.h); K beyond one part, and so long that runs
        poll."""
        rng = np.random.default_rng(3)
        for channels, columns, stride in [(100, 130, 1), (9000, 128, 1), (98, 260, 2), (1100, 256, 2)]:
            graph = tailor.Graph("points")
            weights = rng.standard_normal((columns, channels, 1, 1)).astype(np.float32) / np.float32(channels**0.5)
            y = graph.conv(graph.input("x", "f32", [1, channels, "H", "W"]), graph.constant(weights, "w"),
                           strides=[stride, stride])
            graph.output("y", graph.mul(y, y))
            session = graph.compile("host").session(threads=2)
            for height, width in [(33, 34), (5, 7), (1, 1), (40, 26)]:
                x = rng.standard_normal((1, channels, height, width)).astype(np.float32)
                image = x[:, :, ::stride, ::stride].astype(np.float64)
                wanted = np.einsum("oc,nchw->nohw", weights[:, :, 0, 0].astype(np.float64), image, optimize=True)**2
                np.testing.assert_allclose(session.run(x)[0], wanted, rtol=1e-4, atol=1e-4,
                                           err_msg=f"{channels} channels, stride {stride}, {height} x {width}")

    def test_convolutions_may_be_direct(self):
        rng, graph = np.random.default_rng(1), tailor.Graph("conv")
        x, weights = (rng.integers(-3, 4, dims).astype(np.float32) for dims in ((2, 16, 6, 8), (20, 16, 3, 3)))
        graph.output("y", graph.conv(graph.input("x", "f32", ["N", 16, "H", "W"]), graph.constant(weights, "w")))
        windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), (2, 3))
        for direct, layout in ((False, "winograd_panels16"), (True, "panels16")):
            artifact = graph.compile_artifact("host", direct_convolutions=direct)
            compiled = graph.compile("host", direct_convolutions=direct)
            for executable in (compiled, tailor.Executable.from_bytes(artifact)):
                described = executable.describe()
                self.assertEqual([constant["layout"] for constant in described["constants"]], [layout])
                self.assertEqual("direct_convolutions" in described["provenance"]["options"], direct)
                np.testing.assert_array_equal(executable.run(x)[0], np.einsum("nchwij,mcij->nmhw", windows, weights))

    def test_denormals_are_flushed_if_weights_have_some(self):
        """Results are NumPy's, or zeros where they or an operand are denormal, on workers' threads too."""
        tiny = np.float32(1.2e-38)
        x = np.resize(np.float32([1, 1e-40, -tiny, 3, tiny, -1e-45]), 1 << 20)
        for weight, denormals, flushed in ((1e-40, "auto", True), (1e-40, "keep", False), (0.5, "auto", False),
                                           (0.5, "flush", True), (0.5, "keep", False)):
            graph = tailor.Graph("scale")
            row = np.float32([weight, 0.5] * 256)
            graph.output("y", graph.input("x", "f32", ["N", 512]) * graph.constant(row, "w"))
            for executable in (graph.compile("host", denormals=denormals),
                               tailor.Executable.from_bytes(graph.compile_artifact(denormals=denormals))):
                described = executable.describe()
                self.assertEqual(described["flush_denormals"], flushed)
                said = [fact for fact in described["facts"] if "denormals are flushed" in fact]
                self.assertEqual(len(said), flushed)
                if flushed:
                    self.assertIn('"w"' if denormals == "auto" else "denormals=flush", said[0])
                wanted, rows = x.reshape(-1, 512) * row, x.reshape(-1, 512)
                if flushed:
                    wanted = np.where((abs(rows) < tiny / 1.01) | (abs(row) < tiny / 1.01), 0, wanted)
                    wanted[abs(wanted) < np.finfo(np.float32).tiny] = 0
                for threads in (1, 3):
                    np.testing.assert_array_equal(executable.session(threads=threads).run(rows)[0], wanted)
        log = tailor.Graph("log")
        log.output("y", log.input("x", "f32", ["N"]).log())
        got, = log.compile("host", denormals="flush").run(np.float32([1e-40, 1e-45, 1.2e-38, 0, -1e-40]))
        np.testing.assert_array_equal(np.isneginf(got), [True, True, False, True, True])
        for wrong in (None, 1, True, b"auto", ["auto"], np.array(["auto"])):
            with self.assertRaises(ValueError):
                log.compile("host", denormals=wrong)
        with self.assertRaisesRegex(ValueError, "denormals is 'never', not one of auto, keep, flush"):
            graph.compile("host", denormals="never")

    def test_unoptimized_code_gives_the_same_bits(self):
        rng, graph = np.random.default_rng(2), tailor.Graph("block")
        x = graph.input("x", "f32", ["N", 20, "H", "W"])
        weights = graph.constant(rng.standard_normal((24, 20, 5, 5)).astype(np.float32), "w")
        graph.output("y", graph.softmax(graph.gelu(graph.conv(x, weights)), 1))
        image = rng.standard_normal((2, 20, 9, 11)).astype(np.float32)
        results = []
        for optimize in (0, 1):
            executable = graph.compile(optimize=optimize)
            self.assertEqual("optimize=0" in executable.describe()["provenance"]["options"], not optimize)
            self.assertEqual("optimize=0" in tailor.Executable.from_bytes(graph.compile_artifact(
                "host", optimize=optimize)).describe()["provenance"]["options"], not optimize)
            results.append(executable.run(image)[0])
        np.testing.assert_array_equal(*results)
        with self.assertRaisesRegex(tailor.Error, "options.optimize is 2, not 0 or 1"):
            graph.compile("host", optimize=2)

    def test_passes_may_be_left_out(self):
        rng, graph = np.random.default_rng(2), tailor.Graph("block")
        x = graph.input("x", "f32", ["N", 20])
        weights = [graph.constant(rng.standard_normal((20, 24)).astype(np.float32), name) for name in "ab"]
        products = [graph.dot(graph.gelu(x), weight) for weight in weights]
        graph.output("y", graph.softmax(graph.add(*products), 1))
        rows = rng.standard_normal((5, 20)).astype(np.float32)
        with self.assertRaisesRegex(tailor.Error, 'no optional pass "glue"') as raised:
            graph.compile("host", without="glue")
        with self.assertRaisesRegex(ValueError, "pass 'stitch.x00e' contains NUL"):
            graph.compile("host", without="stitch\0e")
        passes = str(raised.exception).split("left out: ")[1].split(", ")
        page = (pathlib.Path(__file__).parents[2] / "docs" / "compiling.md").read_text()
        section = page.split("## Leaving passes out")[1].split("\n## ")[0]
        self.assertEqual(re.findall(r"^\| `([a-z-]+)`", section, re.MULTILINE), passes)
        expected = graph.compile("host").run(rows)[0]
        for one in passes:
            with self.subTest(without=one):
                executable = graph.compile("host", without=[one])
                self.assertIn(f"without={one}", executable.describe()["provenance"]["options"])
                np.testing.assert_allclose(executable.run(rows)[0], expected, rtol=1e-5, atol=1e-6)

    def test_matmuls_are_compiled_for_a_cost_profile(self):
        rng, graph = np.random.default_rng(2), tailor.Graph("matmul")
        weights = graph.constant(rng.standard_normal((64, 96)).astype(np.float32), "w")
        graph.output("y", graph.dot(graph.input("x", "f32", ["N", 64]), weights))
        rows = rng.standard_normal((5, 64)).astype(np.float32)
        expected, profile = graph.compile("host").run(rows)[0], "tile 2x1 1 2 3\n"
        artifact = graph.compile_artifact("host", cost_profile=profile)
        for executable in graph.compile("host", cost_profile=profile), tailor.Executable.from_bytes(artifact):
            self.assertIn(" cost_profile", executable.describe()["provenance"]["options"])
            np.testing.assert_array_equal(executable.run(rows)[0], expected)
        with self.assertRaisesRegex(tailor.Error, "options.cost_profile: line 2: a tile has three costs"):
            graph.compile("host", cost_profile="line 4\ntile 2x1")
        two = ["x86-64-v2", "x86-64-v3"]
        for targets, given in ((), "all levels"), (two, ", ".join(two)), ("sm_80", "none"):
            with self.assertRaisesRegex(tailor.Error, f"needs exactly one CPU target; given: {given}"):
                graph.compile_artifact(targets, cost_profile=profile)

    def projected_constants(self, size):
        rng, graph = np.random.default_rng(3), tailor.Graph("projected")
        table, weights = (rng.standard_normal((size, size)).astype(np.float32) for _ in range(2))
        keys = graph.dot(graph.constant(table, "table"), graph.constant(weights, "weights"))
        graph.output("y", graph.dot(graph.input("x", "f32", ["N", size]), graph.max(keys, 0), transpose_rhs=1))
        return graph, np.maximum(table.astype(np.float64) @ weights, 0)

    def test_constant_subgraphs_are_computed_once(self):
        graph, keys = self.projected_constants(192)
        executable = graph.compile()
        constant, = executable.describe()["constants"]
        self.assertEqual((constant["dtype"], constant["dims"]), ("f32", [192, 192]))
        self.assertEqual(len(executable.launches), 1)
        x = np.random.default_rng(4).standard_normal((5, 192)).astype(np.float32)
        np.testing.assert_allclose(executable.run(x)[0], x @ keys.T, rtol=1e-4, atol=1e-2)
        artifact = graph.compile_artifact("host", threads=1)
        self.assertEqual(graph.compile_artifact("host", threads=2), artifact)
        self.assertEqual(graph.compile_artifact("host", isolated=True), artifact)
        bits = [graph.compile("host", optimize=optimize).run(x)[0] for optimize in (0, 1)]
        np.testing.assert_array_equal(*bits)

    def test_computing_constants_is_cancelled(self):
        graph, _ = self.projected_constants(3072)
        for reports in (1, 3, 1000000):  # at first; in the run of the subgraph; never
            seen = []

            def progress(phase, done):
                if phase == "fold-constants":
                    seen.append(done)
                return len([share for share in seen if share == max(seen)]) < reports

            if reports == 1000000:
                self.assertEqual(len(graph.compile("host", progress=progress).launches), 1)
                self.assertEqual(seen, sorted(seen))
            else:
                with self.assertRaisesRegex(tailor.Error, "cancelled during fold-constants"):
                    graph.compile("host", progress=progress)

    def step(self):
        graph = tailor.Graph("step")
        cache = graph.input("cache", "f32", ["S", 4])
        at, row = graph.input("at", "i64", [1, 1]), graph.input("row", "f32", [1, 4])
        graph.output("next", graph.scatter(cache, at, row, combiner="set"))
        return graph.compile("host", donated=["cache"])

    def test_a_donated_cache_is_updated_where_it_is(self):
        executable = self.step()
        self.assertTrue(executable.inputs[0].donated)
        self.assertEqual(executable.outputs[0].memory_of, "cache")
        cache, session = np.zeros((3, 4), np.float32), executable.session()
        for i, run in enumerate((executable.run, session.run, lambda *inputs: session.run(*inputs, borrow=True))):
            after, = run(cache, np.array([[i]]), np.full((1, 4), i + 1, np.float32))
            self.assertEqual(after.__array_interface__["data"], cache.__array_interface__["data"])
        np.testing.assert_array_equal(cache[:, 0], [1, 2, 3])

    def test_what_cannot_be_donated_is_refused(self):
        executable, at, row = self.step(), np.array([[0]]), np.ones((1, 4), np.float32)
        frozen = np.zeros((3, 4), np.float32)
        frozen.flags.writeable = False
        with self.assertRaisesRegex(ValueError, "'cache' is donated"):
            executable.run(frozen, at, row)
        cache = np.zeros((3, 4), np.float32)
        with self.assertRaisesRegex(tailor.Error, 'input "cache": it is donated, but overlaps input "row"'):
            executable.run(cache, at, cache[:1])
        with self.assertRaisesRegex(tailor.Error, "its data must be null or that input's"):
            executable.run(cache, at, row, out=[np.zeros((3, 4), np.float32)])
        with self.assertRaisesRegex(tailor.Error, '"x" is no input'):
            self.broadcast_sum().compile("host", donated="x")


class DocsTest(unittest.TestCase):
    def test_the_loop_of_the_docs_runs(self):
        docs = pathlib.Path(__file__).parents[2] / "docs" / "control-flow.md"
        code = re.search(r"```python\n(.*?)```", docs.read_text(), re.DOTALL).group(1)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, {})
        self.assertEqual(re.findall(r"\d\.", printed.getvalue()), ["1.", "1.", "2.", "2.", "3.", "3."])


if __name__ == "__main__":
    unittest.main()
