"""Branches and loops that depend on data, against onnxruntime: closures, nesting, ends, dim sizes that change."""
import unittest

import numpy
from onnx import TensorProto, helper, numpy_helper

import tailor
import tailor.onnx
from import_test import ints, model
from operators_test import OperatorTest

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
node = helper.make_node


def body(nodes, inputs, outputs, initializers=()):
    """A subgraph."""
    infos = [helper.make_tensor_value_info(name, dtype, shape) for name, dtype, shape in inputs]
    results = [helper.make_tensor_value_info(name, dtype, None) for name, dtype in outputs]
    return helper.make_graph(nodes, "body", infos, results, [numpy_helper.from_array(a, n) for n, a in initializers])


def looped(nodes, states, rows=(), initializers=()):
    """A loop's body: `i` and `going` come in, `on` and for every state s its s_out go out, then the rows."""
    inputs = [("i", INT64, []), ("going", BOOL, []), *states]
    outputs = [("on", BOOL), *((f"{name}_out", dtype) for name, dtype, _ in states), *rows]
    return body(nodes, inputs, outputs, initializers)


def floats(*shape):
    return numpy.random.default_rng(sum(shape) + 1).standard_normal(shape, numpy.float32)


class BranchTest(OperatorTest):
    def test_branches_see_what_is_around_them(self):
        doubled = body([node("Add", ["x", "x"], ["d"]), node("Mul", ["d", "w"], ["y1"])], [], [("y1", FLOAT)])
        rows = body([node("Shape", ["x"], ["s"]), node("Gather", ["s", "zero"], ["n"]),
                     node("Cast", ["n"], ["f"], to=FLOAT), node("Add", ["x", "f"], ["y2"])], [], [("y2", FLOAT)],
                    [("zero", numpy.asarray(0))])
        proto = model([node("ReduceSum", ["x"], ["t"], keepdims=0), node("Greater", ["t", "half"], ["c"]),
                       node("If", ["c"], ["y"], then_branch=doubled, else_branch=rows)],
                      [("x", FLOAT, ["a", 3])], [("y", FLOAT)], [("w", floats(3)), ("half", numpy.float32(0.5))])
        self.run_both(proto, [{"x": numpy.full((n, 3), sign, numpy.float32)} for n in (1, 2, 7) for sign in (-1, 1)])
        text = tailor.onnx.load(proto).text
        self.assertIn("f32[a, 3]\n", text)  # the result's extents are known
        self.assertNotIn("extents", text)  # x has all that the branches speak of

    def test_branches_of_different_extents(self):
        one = body([node("Slice", ["x", "zero", "two"], ["y1"])], [], [("y1", FLOAT)])
        other = body([node("Concat", ["x", "x"], ["y2"], axis=0)], [], [("y2", FLOAT)])
        proto = model([node("If", ["c"], ["z"], then_branch=one, else_branch=other), node("Neg", ["z"], ["y"])],
                      [("c", BOOL, []), ("x", FLOAT, ["a", 3])], [("y", FLOAT)], [("zero", ints(0)), ("two", ints(2))])
        self.run_both(proto, [{"c": numpy.asarray(c), "x": floats(n, 3)} for c in (True, False) for n in (1, 2, 5)])

    def test_a_loop_in_a_branch(self):
        powers = looped([node("Mul", ["p", "x"], ["p_out"]), node("Identity", ["going"], ["on"]),
                         node("Mul", ["p", "minus"], ["r"])], [("p", FLOAT, None)], [("r", FLOAT)])
        inner = body([node("Loop", ["n", "", "x"], ["last", "all"], body=powers),
                      node("ReduceSum", ["all", "zero"], ["sum"], keepdims=0),
                      node("Add", ["sum", "last"], ["y1"])], [], [("y1", FLOAT)], [("zero", ints(0))])
        other = body([node("Identity", ["x"], ["y2"])], [], [("y2", FLOAT)])
        proto = model([node("If", ["c"], ["y"], then_branch=inner, else_branch=other)],
                      [("c", BOOL, []), ("n", INT64, []), ("x", FLOAT, ["a"])], [("y", FLOAT)],
                      [("minus", numpy.float32(-1))])
        self.run_both(proto, [{"c": numpy.asarray(c), "n": numpy.asarray(n), "x": floats(size)}
                              for c in (True, False) for n, size in ((0, 3), (1, 1), (4, 5))])

    def test_branches_know_extents_that_data_gave(self):
        one = body([node("Shape", ["places"], ["s1"]), node("Gather", ["s1", "last"], ["y1"])], [], [("y1", INT64)])
        other = body([node("Shape", ["r"], ["s2"]), node("Add", ["s2", "s2"], ["t2"]),
                      node("ConstantOfShape", ["t2"], ["z2"]), node("Size", ["z2"], ["y2"])], [], [("y2", INT64)])
        proto = model([node("NonZero", ["x"], ["places"]), node("Range", ["zero", "k", "step"], ["r"]),
                       node("If", ["c"], ["y"], then_branch=one, else_branch=other)],
                      [("x", FLOAT, ["a", "b"]), ("k", INT64, []), ("c", BOOL, [])], [("y", INT64)],
                      [("zero", numpy.asarray(0)), ("step", numpy.asarray(2)), ("last", numpy.asarray(-1))])
        x = (numpy.arange(12).reshape(3, 4) % 3).astype(numpy.float32)
        self.run_both(proto, [{"x": x, "k": numpy.asarray(k), "c": numpy.asarray(c)} for k in (0, 5)
                              for c in (True, False)])

    def test_a_branch_in_a_loop_in_a_branch(self):
        even = body([node("Add", ["s", "x"], ["e1"])], [], [("e1", FLOAT)])
        odd = body([node("Mul", ["s", "w"], ["o1"])], [], [("o1", FLOAT)])
        steps = looped([node("Mod", ["i", "two"], ["m"]), node("Equal", ["m", "zero"], ["is"]),
                        node("If", ["is"], ["s_out"], then_branch=even, else_branch=odd),
                        node("ReduceMax", ["s_out"], ["top"], keepdims=0), node("Less", ["top", "most"], ["on"])],
                       [("s", FLOAT, None)])
        run = body([node("Loop", ["n", "", "x"], ["y1"], body=steps)], [], [("y1", FLOAT)])
        stay = body([node("Neg", ["x"], ["y2"])], [], [("y2", FLOAT)])
        proto = model([node("If", ["c"], ["y"], then_branch=run, else_branch=stay)],
                      [("c", BOOL, []), ("n", INT64, []), ("x", FLOAT, ["a", 2])], [("y", FLOAT)],
                      [("two", numpy.asarray(2)), ("zero", numpy.asarray(0)), ("w", floats(2)),
                       ("most", numpy.float32(3))])
        self.run_both(proto, [{"c": numpy.asarray(c), "n": numpy.asarray(n), "x": numpy.abs(floats(a, 2))}
                              for c in (True, False) for n in (0, 1, 9) for a in (1, 3)])

    def test_ranks_that_differ_need_the_condition(self):
        one = body([node("Identity", ["x"], ["y1"])], [], [("y1", FLOAT)])
        other = body([node("ReduceSum", ["x"], ["y2"], keepdims=0)], [], [("y2", FLOAT)])
        proto = model([node("If", ["c"], ["y"], "pick", then_branch=one, else_branch=other)],
                      [("c", BOOL, []), ("x", FLOAT, ["a"])], [("y", FLOAT)])
        with self.assertRaisesRegex(tailor.onnx.DependsOnData, 'If node "pick".*rank') as caught:
            tailor.onnx.load(proto)
        self.assertEqual(caught.exception.inputs, {"c"})
        self.assertIn("f32[a]", tailor.onnx.load(proto, fixed={"c": numpy.asarray(True)}).text)


    def squeezing(self, name, divisor):
        """Drops dim 1 of x, floor(size / divisor), where that is 1: as PyTorch exports x.squeeze(1)."""
        one = body([node("Squeeze", ["p", "first"], ["s"])], [], [("s", FLOAT)], [("first", ints(1))])
        other = body([node("Identity", ["p"], ["q"])], [], [("q", FLOAT)])
        return [node("MaxPool", ["x"], ["t"], kernel_shape=[divisor], strides=[divisor]),
                node("Transpose", ["t"], ["p"], perm=[0, 2, 1]), node("Shape", ["p"], ["sizes"], start=1, end=2),
                node("Equal", ["sizes", "single"], ["is_one"]),
                node("If", ["is_one"], [name], "narrow", then_branch=one, else_branch=other)]

    def test_a_squeeze_that_the_size_decides_is_assumed(self):
        proto = model([*self.squeezing("y", 4)], [("x", FLOAT, ["batch", 3, "n"])], [("y", FLOAT)],
                      [("single", ints(1))])
        executable = self.run_both(proto, [{"x": floats(b, 3, n)} for b in (1, 2) for n in (4, 7)])
        with self.assertRaisesRegex(tailor.Error, 'If node "narrow" drops dim 1 of the tensor.*dims= that give n a range'):
            executable.run(floats(2, 3, 8))
        several = tailor.onnx.load(proto, dims={"n": tailor.symbol("n", min=8, max=100)}).compile("host")
        self.assertEqual(several.run(floats(2, 3, 17))[0].shape, (2, 4, 3))

    def test_a_squeeze_is_assumed_only_where_ranks_differ_by_it(self):
        def chosen(condition, squeezed):
            one = body([node("Squeeze", [squeezed, "first"], ["s"])], [], [("s", FLOAT)], [("first", ints(0))])
            return [node("Shape", ["x"], ["sizes"], start=condition, end=condition + 1),
                    node("Equal", ["sizes", "size"], ["c"]),
                    node("If", ["c"], ["y"], "pick", then_branch=one,
                         else_branch=body([node("Identity", ["x"], ["q"])], [], [("q", FLOAT)]))]
        # Of another tensor: the ranks are equal.
        self.run_both(model(chosen(0, "w"), [("x", FLOAT, ["n"]), ("w", FLOAT, [1, "n"])], [("y", FLOAT)],
                            [("size", ints(4))]), [{"x": floats(n), "w": floats(1, n)} for n in (4, 5)])
        # By another dim's size, or another size than 1.
        for condition, size in ((1, 1), (0, 5)):
            with self.assertRaisesRegex(tailor.onnx.Unsupported, 'If node "pick".*rank of what the branches return'):
                tailor.onnx.load(model(chosen(condition, "x"), [("x", FLOAT, ["a", "b", 3])], [("y", FLOAT)],
                                       [("size", ints(size))]))

    def test_a_squeeze_in_a_loop_is_not_assumed(self):
        """Runs without an iteration would fail, too."""
        loop = looped([node("Identity", ["going"], ["on"]), node("Neg", ["s"], ["s_out"]), *self.squeezing("r", 4)],
                      [("s", FLOAT, [])], [("r", FLOAT)])
        proto = model([node("Loop", ["n", "", "zero"], ["y", "rows"], body=loop)],
                      [("n", INT64, []), ("x", FLOAT, ["batch", 3, "m"])], [("y", FLOAT), ("rows", FLOAT)],
                      [("zero", numpy.float32(0)), ("single", ints(1))])
        with self.assertRaisesRegex(tailor.onnx.Unsupported, 'If node "narrow".*dims= that give m a fixed size'):
            tailor.onnx.load(proto)
        tailor.onnx.load(proto, dims={"m": tailor.symbol("m", min=4, max=7)})

    def test_a_branch_checks_its_own_sizes(self):
        """Each rate's branch squeezes other sizes: only those of the branch that runs are checked."""
        branches = {f"{kind}_branch": body(self.squeezing(f"y{size}", size), [], [(f"y{size}", FLOAT)])
                    for kind, size in (("then", 4), ("else", 16))}
        proto = model([node("Equal", ["rate", "fast"], ["c"]), node("If", ["c"], ["y"], "rates", **branches)],
                      [("rate", INT64, []), ("x", FLOAT, [1, 3, "n"])], [("y", FLOAT)],
                      [("single", ints(1)), ("fast", numpy.asarray(16))])
        executable = self.run_both(proto, [{"rate": numpy.asarray(rate), "x": floats(1, 3, n)}
                                           for rate, n in ((16, 5), (8, 17), (8, 31))])
        with self.assertRaisesRegex(tailor.Error, 'If node "narrow"'):
            executable.run(numpy.asarray(16), floats(1, 3, 17))

    def test_long_chains_of_branches(self):
        """One branch for each of 24 rates, each in the one before."""
        chain = body([node("Neg", ["x"], ["none"])], [], [("none", FLOAT)])
        for rate in range(24):
            scaled = body([node("Mul", ["x", f"scale{rate}"], [f"y{rate}"])], [], [(f"y{rate}", FLOAT)],
                          [(f"scale{rate}", numpy.float32(rate))])
            nodes = [node("Equal", ["rate", f"rate{rate}"], [f"c{rate}"]),
                     node("If", [f"c{rate}"], [f"z{rate}"], then_branch=scaled, else_branch=chain)]
            chain = body(nodes, [], [(f"z{rate}", FLOAT)], [(f"rate{rate}", numpy.asarray(rate))])
        proto = model([node("Greater", ["rate", "least"], ["known"]),
                       node("If", ["known"], ["y"], then_branch=chain,
                            else_branch=body([node("Abs", ["x"], ["a"])], [], [("a", FLOAT)]))],
                      [("rate", INT64, []), ("x", FLOAT, ["n"])], [("y", FLOAT)], [("least", numpy.asarray(-1))])
        self.run_both(proto, [{"rate": numpy.asarray(rate), "x": floats(5)} for rate in (-2, 0, 7, 23, 24)])

    def test_one_element_in_two_ranks(self):
        """Paddle's exports: a flag of rank 0 in one branch, of rank 1 in the other; the higher one holds."""
        one = body([node("Identity", ["true"], ["y1"])], [], [("y1", BOOL)], [("true", numpy.asarray(True))])
        other = body([node("Equal", ["n", "three"], ["y2"])], [], [("y2", BOOL)], [("three", ints(3))])
        proto = model([node("If", ["c"], ["flag"], then_branch=one, else_branch=other),
                       node("Not", ["flag"], ["not"]), node("And", ["not", "with"], ["y"])],
                      [("c", BOOL, []), ("n", INT64, [1]), ("with", BOOL, ["a"])], [("y", BOOL)])
        self.run_both(proto, [{"c": numpy.asarray(c), "n": ints(n), "with": numpy.array([True, False, True])}
                              for c in (True, False) for n in (3, 4)])


class LoopTest(OperatorTest):
    def test_early_exit_and_rows(self):
        """Doubles until the sum is beyond a limit; rows up to there."""
        loop = looped([node("Add", ["s", "s"], ["s_out"]), node("ReduceSum", ["s_out"], ["t"], keepdims=0),
                       node("Less", ["t", "limit"], ["on"]), node("Identity", ["s_out"], ["r"]),
                       node("Cast", ["i"], ["ri"], to=FLOAT)], [("s", FLOAT, None)], [("r", FLOAT), ("ri", FLOAT)])
        for bound in ([("n", INT64, [])], []):
            limits = [] if bound else [("n", numpy.asarray(2**63 - 1))]  # exporters' word for no bound
            proto = model([node("Loop", ["n", "c", "x"], ["y", "rows", "counts"], body=loop)],
                          [*bound, ("c", BOOL, []), ("limit", FLOAT, []), ("x", FLOAT, ["a"])],
                          [("y", FLOAT), ("rows", FLOAT), ("counts", FLOAT)], limits)
            cases = [{"n": numpy.asarray(n), "c": numpy.asarray(c), "limit": numpy.asarray(limit, numpy.float32),
                      "x": numpy.ones(3, numpy.float32)}
                     for n, c, limit in ((10, True, 50), (2, True, 50), (10, True, 1), (10, False, 50), (0, True, 50))]
            if not bound:
                cases = [{name: array for name, array in case.items() if name != "n"} for case in cases[:-1]]
            executable = self.run_both(proto, cases[:3])
            for case in cases[3:]:  # no trip at all: rows of no step, each as long as a row is
                y, rows, counts = executable.run(**case)
                numpy.testing.assert_array_equal(y, case["x"])
                self.assertEqual((rows.shape, counts.shape), ((0, 3), (0,)))

    def test_early_exit_within_a_bound_that_an_extent_gives(self):
        loop = looped([node("Gather", ["x", "i"], ["v"]), node("Add", ["s", "v"], ["s_out"]),
                       node("Greater", ["v", "zero"], ["on"]), node("Mul", ["v", "v"], ["r"])],
                      [("s", FLOAT, [])], [("r", FLOAT)])
        proto = model([node("Shape", ["x"], ["shape"]), node("Squeeze", ["shape"], ["n"]),
                       node("Loop", ["n", "", "zero"], ["y", "rows"], body=loop)], [("x", FLOAT, ["a"])],
                      [("y", FLOAT), ("rows", FLOAT)], [("zero", numpy.float32(0))])
        self.run_both(proto, [{"x": numpy.asarray(x, numpy.float32)} for x in ([1, 2, -3, 4], [-1], [5, 6], [])])
        self.assertIn("broadcast", tailor.onnx.load(proto).text)  # room for as many rows as x has elements

    def test_a_first_condition_and_a_bound_that_an_extent_gives(self):
        loop = looped([node("Identity", ["going"], ["on"]), node("Add", ["s", "s"], ["s_out"])], [("s", FLOAT, None)])
        proto = model([node("Shape", ["x"], ["shape"]), node("Squeeze", ["shape"], ["n"]),
                       node("Loop", ["n", "c", "x"], ["y"], body=loop)], [("x", FLOAT, ["a"]), ("c", BOOL, [])],
                      [("y", FLOAT)])
        self.run_both(proto, [{"x": floats(a), "c": numpy.asarray(c)} for a in (0, 1, 5) for c in (True, False)])

    def test_extents_that_change(self):
        grow = looped([node("Concat", ["s", "x"], ["s_out"], axis=0), node("Identity", ["going"], ["on"]),
                       node("Add", ["t", "w"], ["t_out"])], [("s", FLOAT, None), ("t", FLOAT, None)])
        proto = model([node("Loop", ["n", "", "x", "x"], ["y", "z"], body=grow)],
                      [("n", INT64, []), ("x", FLOAT, ["a", 3])], [("y", FLOAT), ("z", FLOAT)], [("w", floats(3))])
        self.run_both(proto, [{"n": numpy.asarray(n), "x": floats(a, 3)} for n in (0, 1, 4) for a in (1, 2)])
        signature = tailor.onnx.load(proto).text.split("region")[2]
        self.assertIn("%s: f32[n1, 3], %t: f32[a, 3]", signature)  # what does not change keeps its extent

    def test_states_that_grow_alike_share_their_extent(self):
        grow = looped([node("Concat", ["s", "x"], ["s_out"], axis=0), node("Identity", ["going"], ["on"]),
                       node("Neg", ["s_out"], ["t_out"]), node("Add", ["s", "t"], ["u"]),
                       node("ReduceSum", ["u"], ["r"], keepdims=0)],
                      [("s", FLOAT, None), ("t", FLOAT, None)], [("r", FLOAT)])
        proto = model([node("Loop", ["n", "", "x", "x"], ["y", "z", "rows"], body=grow)],
                      [("n", INT64, []), ("x", FLOAT, ["a"])], [("y", FLOAT), ("z", FLOAT), ("rows", FLOAT)])
        self.run_both(proto, [{"n": numpy.asarray(n), "x": floats(a)} for n in (0, 1, 3) for a in (1, 2)])
        self.assertIn("%s: f32[n1], %t: f32[n1]", tailor.onnx.load(proto).text.split("region")[2])

    def test_rows_whose_extents_only_the_body_knows(self):
        loop = looped([node("Range", ["zero", "k", "one"], ["r0"]), node("Cast", ["r0"], ["r"], to=FLOAT),
                       node("Identity", ["going"], ["on"]), node("Identity", ["s"], ["s_out"])],
                      [("s", FLOAT, None)], [("r", FLOAT)], [("zero", numpy.asarray(0)), ("one", numpy.asarray(1))])
        proto = model([node("Loop", ["n", "c", "x"], ["y", "rows"], body=loop)],
                      [("n", INT64, []), ("c", BOOL, []), ("k", INT64, []), ("x", FLOAT, ["a"])],
                      [("y", FLOAT), ("rows", FLOAT)])
        self.run_both(proto, [{"n": numpy.asarray(n), "c": numpy.asarray(True), "k": numpy.asarray(k), "x": floats(2)}
                              for n, k in ((3, 4), (1, 1), (2, 7))])

    def test_loops_in_loops(self):
        """The inner loop reads the outer one's number, state and extents."""
        inner = body([node("Add", ["i", "j"], ["ij"]), node("Cast", ["ij"], ["f"], to=FLOAT),
                      node("Mul", ["s", "f"], ["sf"]), node("Add", ["v", "sf"], ["v_out"]),
                      node("Identity", ["more"], ["more_out"]), node("ReduceSum", ["v_out"], ["q"], keepdims=0)],
                     [("j", INT64, []), ("more", BOOL, []), ("v", FLOAT, None)],
                     [("more_out", BOOL), ("v_out", FLOAT), ("q", FLOAT)])
        outer = looped([node("Loop", ["m", "", "s"], ["s_out", "r"], body=inner),
                        node("Identity", ["going"], ["on"])], [("s", FLOAT, None)], [("r", FLOAT)])
        proto = model([node("Loop", ["n", "", "x"], ["y", "rows"], body=outer)],
                      [("n", INT64, []), ("m", INT64, []), ("x", FLOAT, ["a"])], [("y", FLOAT), ("rows", FLOAT)])
        self.run_both(proto, [{"n": numpy.asarray(n), "m": numpy.asarray(m), "x": floats(a)}
                              for n, m, a in ((2, 3, 4), (1, 1, 1), (3, 2, 5))])

    def test_constants_stay_constants(self):
        """A state that the body returns as it came is known inside."""
        loop = looped([node("Identity", ["k"], ["k_out"]), node("Reshape", ["s", "k"], ["r"]),
                       node("Add", ["s", "w"], ["s_out"]), node("Identity", ["going"], ["on"])],
                      [("k", INT64, None), ("s", FLOAT, None)], [("r", FLOAT)])
        proto = model([node("Loop", ["n", "", "two", "x"], ["k1", "y", "rows"], body=loop)],
                      [("n", INT64, []), ("x", FLOAT, ["a", 4])], [("y", FLOAT), ("rows", FLOAT)],
                      [("two", ints(2, -1)), ("w", floats(4))])
        text = tailor.onnx.load(proto).text
        self.assertIn("f32[2, 2*a]", text)
        self.run_both(proto, [{"n": numpy.asarray(n), "x": floats(a, 4)} for n, a in ((2, 3), (1, 1), (3, 0))])

    def test_greedy_decoding(self):
        """The next token until an end for all, at most n: what is decoded grows, its scores are rows."""
        loop = looped([node("Gather", ["table", "ids"], ["e"]), node("ReduceMean", ["e", "axis"], ["m"], keepdims=0),
                       node("MatMul", ["m", "w"], ["scores"]),
                       node("ArgMax", ["scores"], ["next"], axis=-1, keepdims=1),
                       node("Concat", ["ids", "next"], ["ids_out"], axis=1), node("Equal", ["next", "end"], ["is_end"]),
                       node("Not", ["is_end"], ["open"]), node("Cast", ["open"], ["open_n"], to=FLOAT),
                       node("ReduceMax", ["open_n"], ["any"], keepdims=0), node("Cast", ["any"], ["on"], to=BOOL)],
                      [("ids", INT64, None)], [("scores", FLOAT)])
        proto = model([node("Loop", ["n", "", "start"], ["y", "rows"], body=loop)],
                      [("n", INT64, []), ("start", INT64, ["batch", "length"])], [("y", INT64), ("rows", FLOAT)],
                      [("table", floats(11, 8)), ("w", floats(8, 11)), ("end", numpy.asarray(3)), ("axis", ints(1))],
                      opset=18)
        random = numpy.random.default_rng(0)
        self.run_both(proto, [{"n": numpy.asarray(n), "start": random.integers(0, 11, (batch, length))}
                              for batch, length, n in ((1, 1, 20), (3, 4, 20), (5, 1, 7))])

    def test_axes_from_data_name_the_input(self):
        loop = looped([node("ReduceSum", ["s", "axes"], ["t"], "sum", keepdims=1), node("Sub", ["s", "t"], ["s_out"]),
                       node("Identity", ["going"], ["on"])], [("s", FLOAT, None)])
        proto = model([node("Loop", ["n", "", "x"], ["y"], body=loop)],
                      [("n", INT64, []), ("axes", INT64, [1]), ("x", FLOAT, ["a", 3])], [("y", FLOAT)])
        with self.assertRaisesRegex(tailor.onnx.DependsOnData, 'ReduceSum node "sum"') as caught:
            tailor.onnx.load(proto)
        self.assertEqual(caught.exception.inputs, {"axes"})
        executable = tailor.onnx.load(proto, fixed={"axes": ints(1)}).compile("host")
        x = floats(2, 3)
        got, = executable.run(n=numpy.asarray(1), x=x)
        numpy.testing.assert_allclose(got, x - x.sum(1, keepdims=True), rtol=1e-5, atol=1e-6)

    def test_states_of_one_element_that_change_their_rank(self):
        loop = looped([node("Identity", ["going"], ["on"]), node("Add", ["s", "one"], ["s_out"]),
                       node("Mul", ["x", "s"], ["r"])], [("s", FLOAT, [])], [("r", FLOAT)])
        proto = model([node("Loop", ["n", "", "zero"], ["y", "rows"], body=loop)],
                      [("n", INT64, []), ("x", FLOAT, ["a"])], [("y", FLOAT), ("rows", FLOAT)],
                      [("zero", numpy.float32(0)), ("one", numpy.ones(1, numpy.float32))])
        executable = self.run_both(proto, [{"n": numpy.asarray(n), "x": floats(3)} for n in (1, 4)])
        self.assertEqual(executable.run(numpy.asarray(0), floats(3))[0].shape, (1,))

    def test_products_that_are_the_same_in_every_iteration_come_before_the_loop(self):
        """As in decoders with attention: keys, a state that stays, are projected in the body."""
        loop = body([node("Identity", ["going"], ["on"]), node("Constant", [], ["two"], value_float=2.0),
                     node("Mul", ["keys", "two"], ["doubled"]), node("MatMul", ["doubled", "w"], ["projected"]),
                     node("MatMul", ["x", "w"], ["direct"]), node("MatMul", ["s", "w"], ["changing"]),
                     node("Add", ["projected", "changing"], ["t"]), node("Add", ["t", "bias"], ["s_out"]),
                     node("Identity", ["keys"], ["keys_out"])],
                    [("i", INT64, []), ("going", BOOL, []), ("s", FLOAT, ["a", 4]), ("keys", FLOAT, ["a", 4])],
                    [("on", BOOL), ("s_out", FLOAT), ("keys_out", FLOAT), ("direct", FLOAT)],
                    [("w", 0.25 * floats(4, 4)), ("bias", floats(4))])
        proto = model([node("Neg", ["x"], ["k"]), node("Loop", ["n", "", "x", "k"], ["y", "z", "rows"], body=loop)],
                      [("n", INT64, []), ("x", FLOAT, ["a", 4])], [("y", FLOAT), ("z", FLOAT), ("rows", FLOAT)])
        executable = self.run_both(proto, [{"n": numpy.asarray(n), "x": floats(a, 4)} for n in (1, 3) for a in (1, 5)])
        numpy.testing.assert_array_equal(executable.run(numpy.asarray(0), floats(5, 4))[0], floats(5, 4))
        before, _, inside = tailor.onnx.load(proto).text.partition(" while(")
        self.assertEqual((before.count(" dot "), inside.count(" dot ")), (1, 2))  # rows are the body's

    def test_states_of_one_element_beside_states_that_grow(self):
        """Their rank follows from sizes that the body is found to change only later."""
        flat = body([node("ReduceMax", ["s"], ["m0"], keepdims=0)], [], [("m0", FLOAT)])
        kept = body([node("ReduceMax", ["s"], ["m1"], keepdims=1)], [], [("m1", FLOAT)])
        for reads in (True, False):
            loop = looped([node("Identity", ["going"], ["on"]), node("Concat", ["s", "one"], ["s_out"], axis=0),
                           node("Size", ["s"], ["size"]), node("Equal", ["size", "single"], ["c"]),
                           node("If", ["c"], ["m"], then_branch=flat, else_branch=kept),
                           *([node("Add", ["m", "u"], ["u_out"])] if reads else [node("Neg", ["m"], ["u_out"])])],
                          [("s", FLOAT, ["k"]), ("u", FLOAT, [])],
                          initializers=[("one", numpy.ones(1, numpy.float32)), ("single", numpy.asarray(1))])
            proto = model([node("Loop", ["n", "", "x", "zero"], ["y", "u"], body=loop)],
                          [("n", INT64, []), ("x", FLOAT, [1])], [("y", FLOAT), ("u", FLOAT)],
                          [("zero", numpy.float32(0))])
            executable = tailor.onnx.load(proto).compile("host")
            for n in (1, 2, 5):
                y, u = executable.run(numpy.asarray(n), numpy.full(1, 2, numpy.float32))
                self.assertEqual((y.shape, u.shape), ((n + 1,), (1,)))
                numpy.testing.assert_array_equal(u, [2 * n if reads else -2])

    def test_states_that_the_body_does_not_read_may_be_anything_before(self):
        """Paddle's exports begin with placeholders of rank 0 and of another type."""
        loop = looped([node("Identity", ["going"], ["on"]), node("Add", ["s", "x"], ["s_out"]),
                       node("Neg", ["s_out"], ["t_out"]), node("Shape", ["s_out"], ["u_out"])],
                      [("s", FLOAT, ["a", 3]), ("t", FLOAT, []), ("u", INT64, [])])
        proto = model([node("Loop", ["n", "", "x", "zero", "none"], ["y", "t", "u"], body=loop)],
                      [("n", INT64, []), ("x", FLOAT, ["a", 3])], [("y", FLOAT), ("t", FLOAT), ("u", INT64)],
                      [("zero", numpy.float32(0)), ("none", numpy.asarray(0))])
        executable = self.run_both(proto, [{"n": numpy.asarray(n), "x": floats(a, 3)} for n in (1, 4) for a in (1, 2)])
        x = floats(2, 3)
        y, t, u = executable.run(numpy.asarray(0), x)  # onnxruntime returns the placeholders
        numpy.testing.assert_array_equal(y, x)
        numpy.testing.assert_array_equal(t, numpy.zeros_like(x))
        self.assertEqual(u.shape, (2,))

    def test_loops_that_cannot_be(self):
        loop = looped([node("Identity", ["going"], ["on"]), node("Neg", ["s"], ["s_out"])], [("s", FLOAT, None)])
        proto = model([node("Loop", ["", "", "x"], ["y"], "for", body=loop)], [("x", FLOAT, ["a"])], [("y", FLOAT)])
        with self.assertRaisesRegex(tailor.onnx.ModelError, 'Loop node "for".*never ends'):
            tailor.onnx.load(proto)
        loop = looped([node("Identity", ["going"], ["on"]), node("Cast", ["s"], ["s_out"], to=INT64)],
                      [("s", FLOAT, None)])
        proto = model([node("Loop", ["n", "", "x"], ["y"], "for", body=loop)],
                      [("n", INT64, []), ("x", FLOAT, ["a"])], [("y", FLOAT)])
        with self.assertRaisesRegex(tailor.onnx.ModelError, 'Loop node "for".*gets f32 of rank 1 as "s".*i64'):
            tailor.onnx.load(proto)


class ScanTest(OperatorTest):
    def test_directions_and_axes(self):
        step = body([node("Mul", ["s", "u"], ["su"]), node("Add", ["su", "v"], ["s1"]),
                     node("Add", ["s1", "w"], ["s_out"]), node("Neg", ["s1"], ["p"]), node("Sub", ["u", "v"], ["q"])],
                    [("s", FLOAT, None), ("u", FLOAT, None), ("v", FLOAT, None)],
                    [("s_out", FLOAT), ("p", FLOAT), ("q", FLOAT)])
        for there, back in (([0, 0], [0, 0]), ([0, 1], [1, 0]), ([1, 1], [1, 1])):
            proto = model([node("Scan", ["x", "a", "b"], ["y", "p", "q"], body=step, num_scan_inputs=2,
                                scan_input_directions=there, scan_input_axes=[1, 0], scan_output_directions=back,
                                scan_output_axes=[1, 0])],
                          [("x", FLOAT, ["m"]), ("a", FLOAT, ["m", "t"]), ("b", FLOAT, ["t", "m"])],
                          [("y", FLOAT), ("p", FLOAT), ("q", FLOAT)], [("w", floats(1))])
            self.run_both(proto, [{"x": floats(m), "a": floats(m, t), "b": floats(t, m)}
                                  for m, t in ((3, 4), (1, 1), (2, 7))])

    def test_rows_whose_extents_only_the_body_knows_in_both_directions(self):
        step = body([node("Add", ["s", "u"], ["r"]), node("Identity", ["s"], ["s_out"])],
                    [("s", FLOAT, None), ("u", FLOAT, None)], [("s_out", FLOAT), ("r", FLOAT)])
        for back in (0, 1):
            proto = model([node("Scan", ["x", "u"], ["y", "r"], body=step, num_scan_inputs=1,
                                scan_output_directions=[back])],
                          [("x", FLOAT, ["a"]), ("u", FLOAT, ["n", "b"])], [("y", FLOAT), ("r", FLOAT)])
            self.run_both(proto, [{"x": floats(a), "u": floats(n, b)}
                                  for a, n, b in ((1, 4, 3), (3, 4, 1), (2, 5, 2), (1, 1, 1))])

    def test_what_is_scanned_is_as_long(self):
        step = body([node("Add", ["u", "v"], ["r"])], [("u", FLOAT, None), ("v", FLOAT, None)], [("r", FLOAT)])
        proto = model([node("Scan", ["a", "b"], ["y"], body=step, num_scan_inputs=2)],
                      [("a", FLOAT, ["m"]), ("b", FLOAT, ["t"])], [("y", FLOAT)])
        executable = tailor.onnx.load(proto).compile("host")
        self.assertEqual(executable.run(floats(0), floats(0))[0].shape, (0,))
        with self.assertRaises(tailor.Error):
            executable.run(floats(3), floats(4))


class SelectionTest(OperatorTest):
    def test_boxes(self):
        random = numpy.random.default_rng(5)
        for center in (0, 1):
            proto = model([node("NonMaxSuppression", ["boxes", "scores", "most", "overlap", "least"], ["y"],
                                center_point_box=center)],
                          [("boxes", FLOAT, ["b", "n", 4]), ("scores", FLOAT, ["b", "c", "n"]), ("most", INT64, [1]),
                           ("overlap", FLOAT, [1]), ("least", FLOAT, [1])], [("y", INT64)])
            self.run_both(proto, [{"boxes": random.random((b, n, 4), numpy.float32),
                                   "scores": random.random((b, c, n), numpy.float32), "most": ints(most),
                                   "overlap": numpy.asarray([0.3], numpy.float32),
                                   "least": numpy.asarray([least], numpy.float32)}
                                  for b, c, n, most, least in ((1, 1, 1, 5, 0), (2, 3, 40, 7, 0.2), (1, 2, 9, 0, 0),
                                                               (1, 1, 30, 2**40, 0.1), (2, 1, 6, 3, 2))])

    # Candidates fill several blocks of 64, boxes that are found several chunks of 256; classes end at different blocks.
    def test_many_boxes(self):
        random = numpy.random.default_rng(6)
        names = ["boxes", "scores", "most", "overlap"]

        def boxes(batch, count, size):
            corner = random.random((batch, count, 2), numpy.float32)
            return numpy.concatenate([corner, corner + size * random.random((batch, count, 2), numpy.float32)], 2)

        def scores(*dims):
            return numpy.round(random.random(dims, numpy.float32) * 50) / 50  # many are equal

        for least in (None, 0.4):
            given = names if least is None else [*names, "least"]
            weights = [] if least is None else [("least", numpy.asarray([least], numpy.float32))]
            proto = model([node("NonMaxSuppression", given, ["y"])],
                          [("boxes", FLOAT, ["b", "n", 4]), ("scores", FLOAT, ["b", "c", "n"]), ("most", INT64, [1]),
                           ("overlap", FLOAT, [1])], [("y", INT64)], weights)
            self.run_both(proto, [{"boxes": boxes(b, n, size), "scores": scores(b, c, n), "most": ints(most),
                                   "overlap": numpy.asarray([overlap], numpy.float32)}
                                  for b, c, n, size, most, overlap in (
                                      (1, 1, 900, 0.02, 900, 0.5), (2, 3, 200, 0.5, 40, 0.3), (1, 2, 65, 1, 64, 0.9),
                                      (1, 1, 1500, 0.01, 700, 0), (1, 4, 300, 0.1, 2, 0.5), (1, 1, 64, 0.1, 64, 1))])

    # Lines and points share no area with anything, not even with their like; corners come in any order.
    def test_boxes_without_area(self):
        random = numpy.random.default_rng(8)
        boxes = random.integers(0, 4, (1, 90, 4)).astype(numpy.float32)
        for overlap in (0, 0.25, 0.5):
            proto = model([node("NonMaxSuppression", ["boxes", "scores", "most", "overlap"], ["y"])],
                          [("boxes", FLOAT, ["b", "n", 4]), ("scores", FLOAT, ["b", "c", "n"]), ("most", INT64, [1]),
                           ("overlap", FLOAT, [1])], [("y", INT64)])
            self.run_both(proto, [{"boxes": boxes, "scores": random.random((1, 1, 90), numpy.float32),
                                   "most": ints(90), "overlap": numpy.asarray([overlap], numpy.float32)}])


if __name__ == "__main__":
    unittest.main()
