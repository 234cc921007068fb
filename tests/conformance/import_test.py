"""Importing a model: symbols, folded shape arithmetic, borrowed constants, the command line."""
import contextlib
import io
import os
import pathlib
import tempfile
import unittest

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

import tailor
import tailor.__main__
import tailor.onnx



def model(nodes, inputs, outputs, initializers=(), opset=17):
    infos = [helper.make_tensor_value_info(name, dtype, shape) for name, dtype, shape in inputs]
    results = [helper.make_tensor_value_info(name, dtype, None) for name, dtype in outputs]
    tensors = [numpy_helper.from_array(array, name) for name, array in initializers]
    graph = helper.make_graph(nodes, "g", infos, results, tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


def ints(*values):
    return numpy.array(values, numpy.int64)


def exported_attention():
    """Self-attention with every dynamic reshape spelled out as exporters do."""
    node, nodes = helper.make_node, []
    for i, name in enumerate("qkv"):
        nodes += [
            node("MatMul", ["x", f"w{name}"], [f"{name}0"]),
            node("Shape", [f"{name}0"], [f"{name}s"]),
            node("Gather", [f"{name}s", "zero"], [f"{name}b"], axis=0),
            node("Shape", [f"{name}0"], [f"{name}s2"]),
            node("Gather", [f"{name}s2", "one"], [f"{name}l"], axis=0),
            node("Unsqueeze", [f"{name}b", "axis0"], [f"{name}b1"]),
            node("Unsqueeze", [f"{name}l", "axis0"], [f"{name}l1"]),
            node("Concat", [f"{name}b1", f"{name}l1", "heads", "width"], [f"{name}shape"], axis=0),
            node("Reshape", [f"{name}0", f"{name}shape"], [f"{name}1"]),
            node("Transpose", [f"{name}1"], [f"{name}2"], perm=[0, 2, 3, 1] if name == "k" else [0, 2, 1, 3]),
        ]
    nodes += [
        node("Shape", ["mask"], ["ms"]), node("ConstantOfShape", ["ms"], ["unused"]),
        node("MatMul", ["q2", "k2"], ["scores"]), node("Div", ["scores", "root"], ["scaled"]),
        node("Cast", ["mask"], ["maskf"], to=TensorProto.FLOAT), node("Sub", ["onef", "maskf"], ["inverted"]),
        node("Mul", ["inverted", "least"], ["bias"]), node("Unsqueeze", ["bias", "axes12"], ["bias4"]),
        node("Add", ["scaled", "bias4"], ["masked"]), node("Softmax", ["masked"], ["weights"], axis=-1),
        node("MatMul", ["weights", "v2"], ["mixed"]), node("Transpose", ["mixed"], ["back"], perm=[0, 2, 1, 3]),
        node("Shape", ["back"], ["bs"]), node("Slice", ["bs", "from0", "to2"], ["front"]),
        node("Concat", ["front", "all"], ["flat"], axis=0), node("Reshape", ["back", "flat"], ["y"]),
    ]
    random = numpy.random.default_rng(1)
    weights = [(f"w{name}", random.standard_normal((16, 16), numpy.float32) / 4) for name in "qkv"]
    constants = [("zero", numpy.int64(0)), ("one", numpy.int64(1)), ("axis0", ints(0)), ("heads", ints(4)),
                 ("width", ints(4)), ("root", numpy.float32(2)), ("onef", numpy.float32(1)), ("axes12", ints(1, 2)),
                 ("least", numpy.float32(-1e9)), ("from0", ints(0)), ("to2", ints(2)), ("all", ints(16))]
    constants = [(name, numpy.asarray(value)) for name, value in constants]
    return model(nodes, [("x", TensorProto.FLOAT, ["batch", "length", 16]),
                         ("mask", TensorProto.INT64, ["batch", "length"])], [("y", TensorProto.FLOAT)],
                 weights + constants)


class ShapeArithmeticTest(unittest.TestCase):
    def test_exported_attention_has_no_shape_node_left(self):
        text = tailor.onnx.load(exported_attention()).text
        for op in ("gather", "concat", "slice", "iota"):
            self.assertNotIn(f" {op} ", text)
        self.assertEqual(text.count("i64["), 1, text)  # the mask
        self.assertIn("%y = reshape %back {shape = [batch, length, 16]}", text)

    def test_exported_attention_runs_at_every_shape(self):
        import onnxruntime
        proto = exported_attention()
        executable = tailor.onnx.load(proto).compile("host")
        session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
        random = numpy.random.default_rng(2)
        for batch, length in ((1, 1), (2, 7), (3, 64), (1, 130)):
            x = random.standard_normal((batch, length, 16), numpy.float32)
            mask = (random.random((batch, length)) < 0.8).astype(numpy.int64)
            mask[:, 0] = 1
            got, = executable.run(x=x, mask=mask)
            wanted, = session.run(None, {"x": x, "mask": mask})
            numpy.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)

    def test_shapes_as_results(self):
        proto = model([helper.make_node("Shape", ["x"], ["s"]), helper.make_node("Size", ["x"], ["n"])],
                      [("x", TensorProto.FLOAT, ["a", "b", 3])], [("s", TensorProto.INT64), ("n", TensorProto.INT64)])
        executable = tailor.onnx.load(proto).compile("host")
        for a, b in ((2, 5), (0, 4), (7, 1)):
            shape, count = executable.run(numpy.zeros((a, b, 3), numpy.float32))
            self.assertEqual(shape.tolist(), [a, b, 3])
            self.assertEqual(count.item(), a * b * 3)

    def test_condition_on_what_is_known_of_a_dim(self):
        nodes = [helper.make_node("Shape", ["x"], ["s"]), helper.make_node("Equal", ["s", "minus"], ["is"]),
                 helper.make_node("Where", ["is", "ones", "s"], ["t"]), helper.make_node("Expand", ["z", "t"], ["y"])]
        proto = model(nodes, [("x", TensorProto.FLOAT, ["a", "b"]), ("z", TensorProto.FLOAT, [1, "b"])],
                      [("y", TensorProto.FLOAT)], [("minus", ints(-1)), ("ones", ints(1, 1))])
        self.assertIn("f32[a, b]", tailor.onnx.load(proto).text.splitlines()[-3])


class ExtentsOfInputsTest(unittest.TestCase):
    """Whatever follows from extents of inputs is an extent: the graph has no `bind`."""

    def check(self, nodes, initializers, expected, shapes, rank=2):
        proto = model(nodes, [("x", TensorProto.FLOAT, [f"d{i}" for i in range(rank)])], [("y", TensorProto.FLOAT)],
                      initializers)
        graph = tailor.onnx.load(proto)
        self.assertNotIn(" bind ", graph.text)
        executable = graph.compile()
        for shape in shapes:
            with self.subTest(shape=shape):
                x = numpy.random.default_rng(0).standard_normal(shape, numpy.float32)
                numpy.testing.assert_array_equal(executable.run(x)[0], expected(x))

    def test_exports_whose_arithmetic_is_rich(self):
        folder = pathlib.Path(__file__).resolve().parents[1] / "models" / "exported"
        for name in ("conformer_dynamo", "retinanet_dynamo", "ssdlite_dynamo", "swin_dynamo", "vits_encoder_legacy"):
            with self.subTest(name):
                self.assertNotIn(" bind ", tailor.onnx.load(folder / f"{name}.onnx").text)

    def check_size(self, nodes, constants, expected):
        """`size`, an i64 of rank 0 that the nodes compute from the f32 `f` of dim d1, is expected(d1)."""
        node = helper.make_node
        nodes = [node("Shape", ["x"], ["shape"]), node("Gather", ["shape", "one"], ["n"]),
                 node("Cast", ["n"], ["f"], to=TensorProto.FLOAT), *nodes, node("Unsqueeze", ["size", "first"], ["to"]),
                 node("ConstantOfShape", ["to"], ["y"])]
        constants = [(name, numpy.float32(value)) for name, value in constants.items()]
        self.check(nodes, [("one", ints(1)[0]), ("first", ints(0)), *constants],
                   lambda x: numpy.zeros(expected(x.shape[1]), numpy.float32),
                   [(1, n) for n in (1, 2, 5, 6, 7, 49, 100)])

    def test_sizes_rounded_in_floating_point(self):
        """Sizes as exporters round them."""
        node = helper.make_node
        integer = lambda of: node("Cast", [of], ["size"], to=TensorProto.INT64)
        divide = node("Div", ["f", "a"], ["q"])
        for wanted, constants, nodes in (
                (lambda n: -(-n // 4) * 4, {"a": 4.0}, [divide, node("Ceil", ["q"], ["c"]),
                                                        node("Mul", ["c", "a"], ["m"]), integer("m")]),
                (lambda n: n // 49, {"a": 49.0}, [divide, node("Floor", ["q"], ["m"]), integer("m")]),
                (lambda n: n // 3, {"a": 3.0}, [divide, integer("q")]),
                (lambda n: -(-(n + 3) // 3), {"a": 3.0, "b": 1.0},
                 [divide, node("Add", ["q", "b"], ["p"]), node("Ceil", ["p"], ["m"]), integer("m")]),
                (lambda n: max(n // 2, 3), {"a": 0.5, "b": 3.0},
                 [node("Mul", ["a", "f"], ["p"]), node("Floor", ["p"], ["r"]), node("Max", ["r", "b"], ["m"]),
                  integer("m")]),
                (lambda n: 8 * n - 1, {"a": 0.125, "b": 1.0},
                 [divide, node("Sub", ["q", "b"], ["m"]), integer("m")]),
                (lambda n: n * n, {}, [node("Mul", ["f", "f"], ["m"]), integer("m")])):
            with self.subTest([each.op_type for each in nodes]):
                self.check_size(nodes, constants, wanted)

    def test_range_in_floating_point(self):
        node = helper.make_node
        nodes = [node("Shape", ["x"], ["shape"]), node("Gather", ["shape", "one"], ["n"]),
                 node("Cast", ["n"], ["f"], to=TensorProto.FLOAT), node("Range", ["start", "f", "step"], ["y"])]
        for start, step in ((0.0, 1.0), (1.0, 2.0)):
            self.check(nodes, [("one", ints(1)[0]), ("start", numpy.float32(start)), ("step", numpy.float32(step))],
                       lambda x: numpy.arange(start, x.shape[1], step, numpy.float32), [(1, n) for n in (1, 2, 5, 8)])

    def test_quotients_that_round_twice_are_computed(self):
        """n / 49 * 49 in f32 may lie below n: the graph computes it as onnxruntime does."""
        node = helper.make_node
        nodes = [node("Shape", ["x"], ["n"]), node("Cast", ["n"], ["f"], to=TensorProto.FLOAT),
                 node("Div", ["f", "a"], ["q"]), node("Mul", ["q", "a"], ["m"]),
                 node("Cast", ["m"], ["y"], to=TensorProto.INT64)]
        proto = model(nodes, [("x", TensorProto.FLOAT, ["n"])], [("y", TensorProto.INT64)], [("a", numpy.float32(49))])
        executable = tailor.onnx.load(proto).compile()
        for n in range(1, 200):
            wanted = int(numpy.float32(n) / numpy.float32(49) * numpy.float32(49))
            self.assertEqual(executable.run(numpy.zeros(n, numpy.float32))[0].tolist(), [wanted])

    def test_remainder_by_an_extent(self):
        """torch.roll by 3, as exporters write it."""
        node = helper.make_node
        nodes = [node("Shape", ["x"], ["n"], start=0, end=1), node("Mod", ["three", "n"], ["at"]),
                 node("Slice", ["x", "zero", "at", "zero"], ["a"]), node("Slice", ["x", "at", "n", "zero"], ["b"]),
                 node("Concat", ["b", "a"], ["y"], axis=0)]
        self.check(nodes, [("three", ints(3)), ("zero", ints(0))], lambda x: numpy.roll(x, -3, 0),
                   ((7, 2), (3, 1), (2, 2), (1, 4)))

    def test_quotient_of_extents_that_is_exact(self):
        node = helper.make_node
        nodes = [node("Shape", ["x"], ["n"], start=0, end=1), node("Mul", ["n", "six"], ["many"]),
                 node("Div", ["many", "n"], ["each"]), node("Concat", ["n", "each"], ["shape"], axis=0),
                 node("Expand", ["x", "shape"], ["y"])]
        self.check(nodes, [("six", ints(6))], lambda x: numpy.broadcast_to(x, (len(x), 6)), ((3, 1), (1, 1)))

    def test_comparisons_and_selections(self):
        """Rows up to the lesser of 5 and 2 * rows, by Less and Where; then a row more where there are 3."""
        node = helper.make_node
        nodes = [node("Shape", ["x"], ["n"], start=0, end=1), node("Less", ["n", "three"], ["few"]),
                 node("Sub", ["n", "one"], ["less"]), node("Where", ["few", "n", "less"], ["a"]),
                 node("Equal", ["n", "three"], ["is3"]), node("Not", ["is3"], ["other"]),
                 node("And", ["few", "other"], ["both"]), node("Or", ["both", "is3"], ["either"]),
                 node("Cast", ["either"], ["e"], to=TensorProto.INT64), node("Sub", ["a", "e"], ["b"]),
                 node("Slice", ["x", "zero", "b", "zero"], ["y"])]
        def expected(x):
            n = len(x)
            return x[:max((n if n < 3 else n - 1) - (n <= 3), 0)]
        self.check(nodes, [("three", ints(3)), ("one", ints(1)), ("zero", ints(0))], expected,
                   ((1, 2), (2, 2), (3, 2), (4, 1), (9, 2)))

    def test_slices_whose_bounds_may_count_from_the_end(self):
        node = helper.make_node
        for step in (1, 2, -1, -3):
            nodes = [node("Shape", ["x"], ["n"], start=0, end=1), node("Sub", ["n", "four"], ["from"]),
                     node("Sub", ["six", "n"], ["to"]), node("Slice", ["x", "from", "to", "zero", "step"], ["y"])]
            with self.subTest(step=step):
                self.check(nodes, [("four", ints(4)), ("six", ints(6)), ("zero", ints(0)), ("step", ints(step))],
                           lambda x: x[len(x) - 4:6 - len(x):step],
                           [(n, 2) for n in range(1, 12)])

    def test_paddings_that_are_turned_in_a_table(self):
        """F.pad by the legacy exporter: a list becomes a table of pairs, is reversed, transposed, and a list again."""
        node = helper.make_node
        nodes = [node("Shape", ["x"], ["n"], start=0, end=1), node("Mod", ["n", "five"], ["high"]),
                 node("Concat", ["two", "one", "one", "high"], ["pairs"], axis=0),
                 node("Reshape", ["pairs", "table"], ["t"]),
                 node("Slice", ["t", "last", "front", "zero", "last"], ["reversed"]),
                 node("Transpose", ["reversed"], ["turned"]), node("Reshape", ["turned", "all"], ["pads"]),
                 node("Pad", ["x", "pads"], ["y"])]
        self.check(nodes, [("five", ints(5)), ("one", ints(1)), ("two", ints(2)), ("table", ints(-1, 2)),
                           ("last", ints(-1)), ("front", ints(-2**63 + 1)), ("zero", ints(0)), ("all", ints(-1))],
                   lambda x: numpy.pad(x, ((1, len(x) % 5), (2, 1))), ((3, 2), (5, 1), (6, 3)))

    def runs(self, nodes, initializers, x):
        proto = model(nodes, [("x", TensorProto.FLOAT, [f"d{i}" for i in range(x.ndim)])], [("y", TensorProto.FLOAT)],
                      initializers)
        return tailor.onnx.load(proto).compile().run(x)[0]

    def test_a_selected_size_of_minus_1_or_0_is_what_is_left_or_there(self):
        node = helper.make_node
        nodes = [node("Shape", ["x"], ["n"], start=0, end=1), node("Shape", ["x"], ["m"], start=1, end=2),
                 node("Less", ["n", "three"], ["few"]), node("Where", ["few", "rest", "n"], ["d"]),
                 node("Concat", ["d", "m"], ["shape"], axis=0), node("Reshape", ["x", "shape"], ["y"])]
        for asked in (-1, 0):
            for shape in ((2, 3), (5, 3)):
                x = numpy.ones(shape, numpy.float32)
                numpy.testing.assert_array_equal(self.runs(nodes, [("three", ints(3)), ("rest", ints(asked))], x), x)

    def test_ranks_of_entries(self):
        """The sum of what is made of [n] and broadcast, of the rank that it has."""
        node = helper.make_node
        cases = (([node("Reshape", ["n", "table"], ["t"]), node("Squeeze", ["t"], ["r"])], 0),
                 ([node("Reshape", ["n", "table"], ["t"]), node("Expand", ["t", "three"], ["r"])], 2),
                 ([node("Squeeze", ["n"], ["s"]), node("Unsqueeze", ["s", "both"], ["r"])], 2))
        for middle, rank in cases:
            nodes = [node("Shape", ["x"], ["n"], start=0, end=1), *middle,
                     node("Cast", ["r"], ["y"], to=TensorProto.FLOAT)]
            constants = [("table", ints(1, 1)), ("three", ints(3)), ("both", ints(0, 1))]
            used = {name for each in nodes for name in each.input}
            result = self.runs(nodes, [each for each in constants if each[0] in used], numpy.ones((5, 2), numpy.float32))
            self.assertEqual((result.ndim, result.reshape(-1)[0]), (rank, 5))

    def test_a_slice_that_begins_before_the_front_of_a_list(self):
        node = helper.make_node
        nodes = [node("Shape", ["x"], ["s"]), node("Slice", ["s", "from", "to", "zero", "back"], ["f"]),
                 node("Expand", ["c", "f"], ["y"])]
        constants = [("from", ints(-10)), ("to", ints(-100)), ("zero", ints(0)), ("back", ints(-1)),
                     ("c", numpy.ones(1, numpy.float32))]
        self.assertEqual(self.runs(nodes, constants, numpy.ones((5, 2), numpy.float32)).shape, (5,))

    def test_comparisons_that_outgrow_a_dim_are_values(self):
        node, a, b = helper.make_node, "d0", "d1"
        nodes = [node("Shape", ["x"], ["d0"], start=0, end=1), node("Shape", ["x"], ["d1"], start=1, end=2)]
        for i in range(4):
            nodes += [node("Less", [a, b], [f"c{i}"]), node("Where", [f"c{i}", a, b], [f"w{i}"]),
                      node("Sub", ["seven", f"w{i}"], [f"v{i}"])]
            a, b = f"w{i}", f"v{i}"
        nodes += [node("Equal", [a, b], ["same"]), node("Cast", ["same"], ["y"], to=TensorProto.FLOAT)]
        for shape in ((2, 3), (4, 9), (7, 1)):
            c, d = shape
            for _ in range(4):
                c, d = min(c, d), 7 - min(c, d)
            self.assertEqual(self.runs(nodes, [("seven", ints(7))], numpy.ones(shape, numpy.float32)), float(c == d))

    def test_a_dim_that_outgrows_its_bound_is_computed_by_the_graph(self):
        """Products of sums: 1024 terms are the most."""
        node, nodes = helper.make_node, [helper.make_node("Shape", ["x"], ["s0"])]
        for i in range(4):
            nodes.append(node("Gather", ["s0", f"i{i}"], [f"d{i}"]))
        last = "one"
        for i in range(11):
            nodes += [node("Mul", [f"d{i % 4}", f"p{i}"], [f"m{i}"]), node("Div", [f"m{i}", "seven"], [f"q{i}"]),
                      node("Add", [f"q{i}", "one"], [f"t{i}"]), node("Mul", [last, f"t{i}"], [f"l{i}"])]
            last = f"l{i}"
        nodes += [node("Mod", [last, "three"], ["r"]), node("Add", ["r", "one"], ["size"]),
                  node("Expand", ["c", "size"], ["y"])]
        constants = [(f"i{i}", ints(i)) for i in range(4)] + [(f"p{i}", ints(i + 1)) for i in range(11)]
        constants += [("one", ints(1)), ("three", ints(3)), ("seven", ints(7)), ("c", numpy.ones(1, numpy.float32))]
        proto = model(nodes, [("x", TensorProto.FLOAT, ["a", "b", "c", "d"])], [("y", TensorProto.FLOAT)], constants)
        executable = tailor.onnx.load(proto).compile()
        for shape in ((2, 3, 4, 5), (1, 1, 1, 1), (9, 8, 7, 6)):
            product = 1
            for i in range(11):
                product *= shape[i % 4] * (i + 1) // 7 + 1
            self.assertEqual(executable.run(numpy.zeros(shape, numpy.float32))[0].shape, (product % 3 + 1,))


class SymbolTest(unittest.TestCase):
    def load(self, shape, **options):
        proto = model([helper.make_node("Neg", ["x"], ["y"])], [("x", TensorProto.FLOAT, shape)],
                      [("y", TensorProto.FLOAT)])
        proto.graph.output[0].type.tensor_type.shape.dim.add().dim_param = "invented"
        return tailor.onnx.load(proto, **options).text.splitlines()[0]

    def test_convolutions_are_one_kernel_each(self):
        """Padding, bias, residual and activation included, with weights in panels."""
        random = numpy.random.default_rng(3)
        weights = [(f"w{i}", (random.standard_normal((24, 24, 3, 3)) / 16).astype(numpy.float32)) for i in range(2)]
        biases = [(f"b{i}", random.standard_normal(24).astype(numpy.float32)) for i in range(2)]
        nodes = [helper.make_node("Conv", ["x", "w0", "b0"], ["c0"], pads=[1, 1, 1, 1]),
                 helper.make_node("Relu", ["c0"], ["r0"]),
                 helper.make_node("Conv", ["r0", "w1", "b1"], ["c1"], pads=[1, 1, 1, 1]),
                 helper.make_node("Add", ["c1", "x"], ["sum"]), helper.make_node("Relu", ["sum"], ["y"])]
        block = model(nodes, [("x", TensorProto.FLOAT, ["N", 24, "H", "W"])], [("y", TensorProto.FLOAT)],
                      weights + biases)
        for direct, layout in ((False, "winograd_panels16"), (True, "panels16")):
            executable = tailor.onnx.load(block).compile("host", direct_convolutions=direct)
            description = executable.describe()
            self.assertEqual(len(description["variants"][0]["launches"]), 2)
            layouts = [constant["layout"] for constant in description["constants"]]
            self.assertEqual(layouts.count(layout), 2, layouts)
            x = random.standard_normal((2, 24, 9, 11), numpy.float32)
            windows = numpy.lib.stride_tricks.sliding_window_view
            y = x.astype(numpy.float64)
            for (_, weight), (_, bias), added in zip(weights, biases, (0, x)):
                padded = numpy.pad(y, ((0, 0), (0, 0), (1, 1), (1, 1)))
                y = numpy.einsum("nchwij,mcij->nmhw", windows(padded, (3, 3), (2, 3)), weight.astype(numpy.float64))
                y = numpy.maximum(y + bias[:, None, None] + added, 0)
            numpy.testing.assert_allclose(executable.run(x)[0], y, atol=2e-5)

    def test_weights_of_transposed_convolutions_are_moved_while_importing(self):
        weight = numpy.random.default_rng(4).standard_normal((24, 16, 4, 4)).astype(numpy.float32)
        for strides, launches in (([2, 2], 2), ([1, 1], 1)):  # phases take turns
            node = helper.make_node("ConvTranspose", ["x", "w"], ["y"], strides=strides)
            proto = model([node], [("x", TensorProto.FLOAT, ["N", 24, "H", "W"])], [("y", TensorProto.FLOAT)],
                          [("w", weight)])
            description = tailor.onnx.load(proto).compile("host").describe()
            self.assertEqual(len(description["variants"][0]["launches"]), launches)
            self.assertEqual([constant["layout"] for constant in description["constants"]], ["panels16"])

    def test_names(self):
        self.assertIn("(%x: f32[batch, x_dim1, 4])", self.load(["batch", None, 4]))

    def test_given_dims(self):
        batch = tailor.symbol("batch", min=1, max=8, likely=[4])
        self.assertIn("batch in [1, 8] likely [4]", self.load(["batch", 3], dims={"batch": batch}))
        self.assertIn("f32[2*n, 3]", self.load(["batch", 3], dims={"batch": 2 * tailor.symbol("n")}))
        self.assertIn("f32[5, 7]", self.load(["batch", None], dims={"batch": 5, "x_dim1": 7}))


class MissingOperatorTest(unittest.TestCase):
    def refused(self, proto, **options):
        with self.assertRaises(tailor.onnx.ModelError) as caught:
            tailor.onnx.load(proto, **options)
        return caught.exception

    def test_all_are_named_with_counts_before_anything_is_imported(self):
        """Of the graph, of subgraphs and of the model's own functions; functions once, and only where called."""
        node = helper.make_node
        function = helper.make_function(
            "own", "Twice", ["a"], ["b"], [node("Foo", ["a"], ["c"]), node("Baz", ["c"], ["b"], domain="com.x")],
            [helper.make_opsetid("", 17), helper.make_opsetid("com.x", 1)])
        unused = helper.make_function("own", "Unused", ["a"], ["b"], [node("Odd", ["a"], ["b"])],
                                      [helper.make_opsetid("", 17)])
        branches = [helper.make_graph([node(op, ["x"], [op], domain=domain)], op, [],
                                      [helper.make_tensor_value_info(op, TensorProto.FLOAT, None)])
                    for op, domain in (("Bar", "com.x"), ("Neg", ""))]
        proto = model([node("Reshape", ["x", "wrong"], ["r"]), node("Foo", ["x"], ["f"], "first"),
                       node("Twice", ["f"], ["t"], domain="own"), node("Twice", ["t"], ["u"], domain="own"),
                       node("If", ["c"], ["v"], then_branch=branches[0], else_branch=branches[1]),
                       node("ImageDecoder", ["x"], ["w"]), node("RegexFullMatch", ["x"], ["y"])],
                      [("x", TensorProto.FLOAT, ["n"]), ("c", TensorProto.BOOL, [])], [("v", TensorProto.FLOAT)],
                      [("wrong", ints(-2))])
        proto.functions.extend([function, unused])
        proto.opset_import.extend([helper.make_opsetid("own", 1), helper.make_opsetid("com.x", 1)])
        error = self.refused(proto)
        self.assertIsInstance(error, tailor.onnx.Unsupported)
        self.assertEqual(error.reason, "5 operators are not supported: Foo (2 nodes), ImageDecoder (1 node), "
                         "RegexFullMatch (1 node), com.x::Bar (1 node), com.x::Baz (1 node); "
                         "the model is of opset 17")
        self.assertEqual(error.node, 'Foo node "first"')

    def test_operators_that_the_opset_does_not_have(self):
        proto = model([helper.make_node("Gelu", ["x"], ["y"], "late")], [("x", TensorProto.FLOAT, ["n"])],
                      [("y", TensorProto.FLOAT)], opset=17)
        error = self.refused(proto)
        self.assertIsInstance(error, tailor.onnx.Unsupported)
        self.assertEqual(str(error), 'Gelu node "late": 1 operator is not supported: Gelu (1 node); '
                         "the model is of opset 17")
        proto.opset_import[0].version = 20
        tailor.onnx.load(proto)

    def test_a_branch_that_is_left_out_may_have_any(self):
        node = helper.make_node
        branches = [helper.make_graph([node(op, ["x"], [op])], op, [],
                                      [helper.make_tensor_value_info(op, TensorProto.FLOAT, None)])
                    for op in ("Neg", "Foo")]
        for taken, missing in ((True, False), (False, True)):
            proto = model([node("If", ["c"], ["y"], "if", then_branch=branches[0], else_branch=branches[1])],
                          [("x", TensorProto.FLOAT, ["n"])], [("y", TensorProto.FLOAT)], [("c", numpy.array(taken))])
            if missing:
                self.assertRegex(str(self.refused(proto)), r'Foo node "Foo": 1 operator .*: Foo \(1 node\)')
            else:
                self.assertIn("neg", tailor.onnx.load(proto).text)


class InputErrorTest(unittest.TestCase):
    def test_errors_name_the_input(self):
        def load(dtype, shape, **options):
            tailor.onnx.load(model([helper.make_node("Identity", ["x"], ["y"])], [("x", dtype, shape)],
                                   [("y", dtype)]), **options)
        n = tailor.symbol("n")
        for shape, options, reason in (
                (["n"], {"fixed": {"x": numpy.zeros((2, 2), numpy.float32)}}, "fixed to f32 of rank 2"),
                (["n"], {"fixed": {"x": numpy.zeros(2, numpy.int8)}}, "fixed to i8 of rank 1"),
                (["n"], {"fixed": {"x": numpy.array(["text"])}}, "U4"),
                (["n"], {"fixed": {"x": [[1], [1, 2]]}}, "inhomogeneous"),
                ([-3], {}, "dim 0 is -3"), (None, {}, "without a rank"), ([2] * 9, {}, "9"),
                ([2**40, 2**40], {}, "too many elements")):
            with self.subTest(reason), self.assertRaisesRegex(tailor.onnx.ModelError, reason) as caught:
                load(TensorProto.FLOAT, shape, **options)
            self.assertEqual(caught.exception.node, 'input "x"')
        with self.assertRaisesRegex(tailor.onnx.Unsupported, "STRING") as caught:
            load(TensorProto.STRING, [n.name])
        self.assertEqual(caught.exception.node, 'input "x"')

    def test_errors_name_the_dim(self):
        proto = model([helper.make_node("Identity", ["x"], ["y"])], [("x", TensorProto.FLOAT, ["n"])],
                      [("y", TensorProto.FLOAT)])
        for dims, node, reason in (({"n": 1.5}, 'dim "n"', "float"), ({"m": 3}, "", 'no dim "m"'),
                                   ({"n": "2 *"}, 'input "x"', "column 4")):
            with self.subTest(reason), self.assertRaisesRegex(tailor.onnx.ModelError, reason) as caught:
                tailor.onnx.load(proto, dims=dims)
            self.assertEqual(caught.exception.node, node)
        with self.assertRaisesRegex(tailor.onnx.ModelError, 'no input "y"'):
            tailor.onnx.load(proto, fixed={"y": numpy.zeros(1)})

    def test_dims_that_exporters_do_not_know_are_symbols(self):
        proto = model([helper.make_node("Neg", ["x"], ["y"])], [("x", TensorProto.FLOAT, [-1, 0, "?", "n", 3])],
                      [("y", TensorProto.FLOAT)])
        self.assertIn("%x: f32[x_dim0, x_dim1, x_dim2, n, 3]", tailor.onnx.load(proto).text)

    def test_errors_name_the_operand_and_its_node(self):
        proto = model([helper.make_node("Neg", ["x"], ["y"], "minus")], [("x", TensorProto.INT4, ["n"])],
                      [("y", TensorProto.INT4)], opset=21)
        with self.assertRaisesRegex(tailor.onnx.Unsupported, 'its input "x" of type INT4') as caught:
            tailor.onnx.load(proto)
        self.assertEqual(caught.exception.node, 'Neg node "minus"')


class SqueezeTest(unittest.TestCase):
    """Without axes: the rank of the result has to be known."""

    def proto(self, shape, *, before=()):
        return model([*before, helper.make_node("Squeeze", ["x" if not before else "z"], ["y"], "narrow")],
                     [("x", TensorProto.FLOAT, shape)], [("y", TensorProto.FLOAT)])

    def refused(self, proto, *patterns, kind=tailor.onnx.Unsupported, **options):
        with self.assertRaises(kind) as caught:
            tailor.onnx.load(proto, **options)
        self.assertIs(type(caught.exception), kind)
        self.assertEqual(caught.exception.node, 'Squeeze node "narrow"')
        for pattern in patterns:
            self.assertIn(pattern, caught.exception.reason)

    def test_an_extent_that_may_be_1_is_refused(self):
        self.refused(self.proto([1, "batch", 3]), 'dim 1 of its input "x" is batch', "dims= that give batch")
        self.refused(self.proto([1, None, 3]), "x_dim1")
        self.refused(self.proto(["batch", 3]), "batch", dims={"batch": tailor.symbol("batch", min=1, max=8)})
        self.refused(self.proto(["batch", 3]), "dims= that give n ", dims={"batch": tailor.symbol("n") + 1})
        pooled = [helper.make_node("Concat", ["x", "x"], ["c"], axis=1),
                  helper.make_node("MaxPool", ["c"], ["z"], kernel_shape=[4], strides=[4])]
        self.refused(self.proto([1, 2, "length"], before=pooled), 'input "z"', "dims= that give length")

    def test_an_extent_that_data_gives_is_refused(self):
        counted = [helper.make_node("NonZero", ["x"], ["z"])]
        self.refused(self.proto([7], before=counted), 'dim 1 of its input "z" is nonzero0', "depends on data",
                     kind=tailor.onnx.DependsOnData)

    def test_a_stated_rank_decides(self):
        """Of the output: every run checks that dims which stay are not 1, and that those which go are."""
        for given, stated, shape, other, message in (
                ([1, "batch", "w"], [None, None], (1, 4, 3), (1, 1, 12), "keeps dim 1"),
                ([1, "batch", "w"], ["batch", "w"], (1, 2, 6), (1, 12, 1), "keeps dim 2"),
                ([1, "batch", 6], [None], (1, 1, 6), (1, 4, 6), "drops dim 1.*load with dims="),
                ([1, "batch", 6], [None], (1, 1, 6), (1, 0, 6), "batch")):
            proto = self.proto(given)
            proto.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", TensorProto.FLOAT, stated))
            executable = tailor.onnx.load(proto).compile("host")
            x = numpy.arange(numpy.prod(shape), dtype=numpy.float32).reshape(shape)
            numpy.testing.assert_array_equal(executable.run(x)[0], x.squeeze())
            with self.assertRaisesRegex(tailor.Error, message):
                executable.run(numpy.zeros(other, numpy.float32))
        proto = self.proto(["a", "b", "c"])  # which of the three go?
        proto.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, None]))
        self.refused(proto, "dims= that give a")

    def test_a_stated_rank_of_what_follows_decides(self):
        """Of halves of scores: only without the batch are there two."""
        proto = model([helper.make_node("Squeeze", ["x"], ["z"], "narrow"),
                       helper.make_node("Slice", ["z", "none", "two", "none"], ["first"]),
                       helper.make_node("Slice", ["z", "two", "four", "none"], ["last"]),
                       helper.make_node("Sub", ["first", "last"], ["y"])],
                      [("x", TensorProto.FLOAT, ["batch", 4])], [("y", TensorProto.FLOAT)],
                      [("none", ints(0)), ("two", ints(2)), ("four", ints(4))])
        self.refused(proto, "dims= that give batch")
        proto.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n"]))
        executable = tailor.onnx.load(proto).compile("host")
        got, = executable.run(numpy.array([[5, 6, 7, 9]], numpy.float32))
        numpy.testing.assert_array_equal(got, [-2, -3])

    def test_ranges_and_sizes_that_decide(self):
        for batch, shape in ((tailor.symbol("batch", min=2, max=8), (1, 5, 3)), (5, (1, 5, 3)), (1, (1, 1, 3)),
                             (tailor.symbol("batch", max=0), (1, 0, 3))):
            executable = tailor.onnx.load(self.proto([1, "batch", 3]), dims={"batch": batch}).compile("host")
            x = numpy.arange(numpy.prod(shape), dtype=numpy.float32).reshape(shape)
            got, = executable.run(x)
            self.assertEqual(got.shape, x.squeeze().shape)
            numpy.testing.assert_array_equal(got, x.squeeze())

    def test_axes_leave_the_rest_as_it_is(self):
        proto = model([helper.make_node("Squeeze", ["x", "axes"], ["y"])], [("x", TensorProto.FLOAT, [1, "batch", 3])],
                      [("y", TensorProto.FLOAT)], [("axes", ints(0))])
        executable = tailor.onnx.load(proto).compile("host")
        for batch in (1, 4):
            self.assertEqual(executable.run(numpy.zeros((1, batch, 3), numpy.float32))[0].shape, (batch, 3))


class CommandLineTest(unittest.TestCase):
    def run_main(self, *arguments):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            tailor.__main__.main(arguments)
        return out.getvalue()

    def test_commands(self):
        with tempfile.TemporaryDirectory() as folder:
            path, artifact = os.path.join(folder, "m.onnx"), os.path.join(folder, "m.tlr")
            onnx.save(exported_attention(), path)
            self.assertIn("batch in [1, 8]", self.run_main("import", path, "--text", "--dim", "batch=1..8"))
            self.assertIn("symbols", self.run_main("facts", path))
            self.assertIn("out y: f32[batch, length, 16]",
                          self.run_main("compile", path, "-o", artifact, "--target", "x86-64-v2"))
            self.assertEqual([spec.name for spec in tailor.load(artifact).inputs], ["x", "mask"])
            self.run_main("compile", path, "-o", artifact, "--target", "host", "--max-versions", "1", "--donate", "x")
            bounded = tailor.load(artifact)
            self.assertEqual([spec.donated for spec in bounded.inputs], [True, False])
            self.assertEqual({launch.versions for launch in bounded.launches}, {1})

    def test_errors_end_with_the_file_and_the_reason(self):
        with self.assertRaisesRegex(SystemExit, "nowhere.onnx.*No such file"):
            self.run_main("import", "nowhere.onnx")
        with self.assertRaisesRegex(SystemExit, "batch=1..x"):
            self.run_main("import", "nowhere.onnx", "--dim", "batch=1..x")


if __name__ == "__main__":
    unittest.main()
