"""Sequences, which importing resolves: every result is that of onnxruntime. And splits, whose sizes must cover the axis."""
import unittest

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper, shape_inference

import tailor
import tailor.onnx

FLOAT, I64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
node = helper.make_node


def made(nodes, constants=None, inputs=None, outputs=("y",)):
    values = inputs or [("x", FLOAT, ["n", "k"])]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(*value) for value in values],
                              [helper.make_empty_tensor_value_info(name) for name in outputs],
                              [numpy_helper.from_array(np.asarray(array), name)
                               for name, array in (constants or {}).items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return shape_inference.infer_shapes(model)  # the outputs' types


def x(*shape):
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(np.float32)


class SequenceTest(unittest.TestCase):
    def check(self, model, *runs):
        executable = tailor.onnx.load(model).compile("host")
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        for arrays in runs:
            arrays = arrays if isinstance(arrays, dict) else {"x": arrays}
            for got, wanted in zip(executable.run(**arrays), session.run(None, arrays)):
                self.assertEqual((got.dtype, got.shape), (wanted.dtype, wanted.shape))
                np.testing.assert_array_equal(got, wanted)

    def test_positions(self):
        for position, after in ((0, 1), (2, -1), (-2, 0), (None, 3)):
            with self.subTest(position=position):
                constants = {"at": np.int64(after)}
                inserted = ["s", "u"]
                if position is not None:
                    constants["position"] = np.int64(position)
                    inserted.append("position")
                self.check(made([node("Neg", ["x"], ["u"]), node("Exp", ["x"], ["v"]),
                                 node("SequenceConstruct", ["x", "v", "x"], ["s"]),
                                 node("SequenceInsert", inserted, ["t"]), node("Identity", ["t"], ["i"]),
                                 node("SequenceAt", ["i", "at"], ["y"])], constants), x(3, 4))

    def test_erased(self):
        for position in (0, -1, None):
            with self.subTest(position=position):
                constants = {"first": np.int64(0), **({} if position is None else {"position": np.int64(position)})}
                erased = ["s"] if position is None else ["s", "position"]
                self.check(made([node("Neg", ["x"], ["u"]), node("SequenceConstruct", ["x", "u", "x"], ["s"]),
                                 node("SequenceErase", erased, ["t"]), node("SequenceAt", ["t", "first"], ["y"]),
                                 node("SequenceLength", ["t"], ["z"])], constants, outputs=("y", "z")), x(3, 4))

    def test_joined(self):
        for axis in (0, 1, -1):
            for stacks in (0, 1):
                with self.subTest(axis=axis, stacks=stacks):
                    self.check(made([node("Neg", ["x"], ["u"]), node("SequenceConstruct", ["x", "u"], ["s"]),
                                     node("ConcatFromSequence", ["s"], ["y"], axis=axis, new_axis=stacks)]),
                               x(3, 4), x(1, 2))

    def test_split_and_joined(self):
        splits = ({"split": np.array([2, 3])}, 1), ({"split": np.int64(2)}, 1), ({}, 1), ({}, 0)
        for constants, keeps in splits:  # sizes are given, or one, or none
            with self.subTest(split=constants, keeps=keeps):
                self.check(made([node("SplitToSequence", ["x", *constants], ["s"], axis=1, keepdims=keeps),
                                 node("ConcatFromSequence", ["s"], ["y"], axis=1, new_axis=1 - keeps)],
                                constants, [("x", FLOAT, ["n", 5])]), x(3, 5))

    def test_a_split_of_unknown_length(self):
        for keeps in (0, 1):
            for stacks in (0, 1):
                for axis in (0, 1):
                    with self.subTest(keeps=keeps, stacks=stacks, axis=axis):
                        constants = {"last": np.int64(-1)}
                        self.check(made([node("SplitToSequence", ["x"], ["s"], axis=1, keepdims=keeps),
                                         node("SequenceLength", ["s"], ["l"]), node("SequenceAt", ["s", "last"], ["a"]),
                                         node("SequenceInsert", ["s", "a"], ["t"]),
                                         node("ConcatFromSequence", ["t"], ["y"], axis=axis, new_axis=stacks)],
                                        constants, [("x", FLOAT, ["n", "k", 3])], ("y", "l", "a")),
                                   x(2, 4, 3), x(3, 1, 3))

    def loop(self, trips, body_nodes, after, constants=None, states=("s",), types=None, outputs=("y",), rows=()):
        sequence = helper.make_tensor_sequence_value_info
        tensor = helper.make_tensor_value_info
        infos = types or [sequence("before", FLOAT, None)]
        body = helper.make_graph(body_nodes, "body", [tensor("i", I64, []), tensor("going", BOOL, []), *infos],
                                 [tensor("still", BOOL, []),
                                  *([sequence("after", FLOAT, None)] if types is None else types_after(types)),
                                  *[tensor(name, FLOAT, None) for name in rows]])
        ends = [f"{state}_end" for state in states]
        return made([node("SequenceEmpty", [], ["s"]), *trips,
                     node("Loop", ["trips", "yes", *states], [*ends, *[f"{row}_rows" for row in rows]], body=body), *after],
                    {"yes": np.bool_(True), "first": np.int64(0), **(constants or {})}, outputs=outputs)

    STEP = [node("Identity", ["going"], ["still"]), node("Cast", ["i"], ["f"], to=FLOAT), node("Mul", ["x", "f"], ["m"])]

    def test_a_loop_of_known_length_may_do_anything_with_its_sequence(self):
        model = self.loop([], [*self.STEP, node("SequenceInsert", ["before", "m", "first"], ["after"]),
                               node("Neg", ["m"], ["row"])],
                          [node("ConcatFromSequence", ["s_end"], ["y"], axis=0)],
                          {"trips": np.int64(3)}, outputs=("y", "row_rows"), rows=("row",))
        self.check(model, x(3, 4))

    def test_a_loop_that_appends_has_any_length(self):
        trips = [node("Shape", ["x"], ["shape"]), node("Gather", ["shape", "first"], ["trips"])]
        model = self.loop(trips, [*self.STEP, node("SequenceInsert", ["before", "m"], ["after"]),
                                  node("Neg", ["m"], ["row"])],
                          [node("ConcatFromSequence", ["s_end"], ["y"], axis=1, new_axis=1)],
                          outputs=("y", "row_rows"), rows=("row",))
        self.check(model, x(3, 4), x(1, 2))

    def test_a_sequence_beside_another_state(self):
        trips = [node("Shape", ["x"], ["shape"]), node("Gather", ["shape", "first"], ["trips"])]
        types = [helper.make_tensor_value_info("sum", FLOAT, None),
                 helper.make_tensor_sequence_value_info("before", FLOAT, None)]
        model = self.loop(trips, [*self.STEP, node("Add", ["sum", "m"], ["total"]),
                                  node("SequenceInsert", ["before", "total"], ["after"])],
                          [node("ConcatFromSequence", ["s_end"], ["y"], axis=0), node("Identity", ["x_end"], ["z"])],
                          states=("x", "s"), types=types, outputs=("y", "z"))
        self.check(model, x(3, 4), x(1, 2))

    def test_a_loop_of_fixed_length_that_data_ends(self):
        step = [node("Mul", ["x", "two"], ["m"]), node("ReduceSum", ["x"], ["sum"], keepdims=0),
                node("Less", ["sum", "none"], ["still"])]
        model = self.loop([], [*step, node("SequenceInsert", ["before", "m"], ["after"])],
                          [node("ConcatFromSequence", ["s_end"], ["y"], axis=0)],
                          {"trips": np.int64(3), "two": np.float32(2), "none": np.float32(0)})
        self.check(model, np.abs(x(3, 4)), -np.abs(x(3, 4)))

    def test_a_loop_reads_a_sequence_by_its_iteration(self):
        body = [node("SequenceAt", ["outer", "i"], ["item"]), node("Add", ["sum", "item"], ["total"]),
                node("Identity", ["going"], ["still"])]
        model = self.loop([node("Neg", ["x"], ["u"]), node("SequenceConstruct", ["x", "u", "x"], ["outer"])], body,
                          [node("Identity", ["x_end"], ["y"])], {"trips": np.int64(3)}, states=("x",),
                          types=[helper.make_tensor_value_info("sum", FLOAT, None)])
        self.check(model, x(3, 4))

    def test_random_numbers_of_iterations_and_items_differ(self):
        item = node("RandomNormalLike", ["x"], ["m"])
        models = {
            "loop": self.loop([], [node("Identity", ["going"], ["still"]), item,
                                   node("SequenceInsert", ["before", "m"], ["after"])],
                              [node("ConcatFromSequence", ["s_end"], ["y"], axis=0, new_axis=1)], {"trips": np.int64(2)}),
            "map": made([node("SequenceConstruct", ["x", "x"], ["s"]),
                         node("SequenceMap", ["s"], ["t"], body=helper.make_graph(
                             [node("RandomNormalLike", ["a"], ["b"])], "body",
                             [helper.make_tensor_value_info("a", FLOAT, None)],
                             [helper.make_tensor_value_info("b", FLOAT, None)])),
                         node("ConcatFromSequence", ["t"], ["y"], axis=0, new_axis=1)])}
        for name, model in models.items():
            with self.subTest(name):
                one, other = tailor.onnx.load(model).compile("host").run(x(5, 4))[0]
                self.assertFalse(np.any(one == other))

    def test_a_map(self):
        body = helper.make_graph([node("Add", ["a", "b"], ["c"])], "body",
                                 [helper.make_tensor_value_info(name, FLOAT, None) for name in "ab"],
                                 [helper.make_tensor_value_info("c", FLOAT, None)])
        self.check(made([node("Neg", ["x"], ["u"]), node("SequenceConstruct", ["x", "u"], ["s"]),
                         node("SequenceMap", ["s", "x"], ["t"], body=body),
                         node("ConcatFromSequence", ["t"], ["y"], axis=0)]), x(3, 4))

    def refused(self, text, model):
        with self.assertRaisesRegex(tailor.onnx.Unsupported, text):
            tailor.onnx.load(model)

    def test_what_graphs_cannot_hold(self):
        construct = node("SequenceConstruct", ["x", "x"], ["s"])
        self.refused("an output of sequence kind", made([construct], outputs=("s",)))
        self.refused('"s" is a sequence, which the operator does not take',
                     made([construct, node("Neg", ["s"], ["y"])]))
        self.refused("the position depends on data",
                     made([construct, node("Cast", ["x"], ["i"], to=I64), node("SequenceAt", ["s", "i"], ["y"])]))
        trips = [node("Shape", ["x"], ["shape"]), node("Gather", ["shape", "first"], ["trips"])]
        self.refused('state "before" is a sequence, and the number of iterations is not fixed',
                     self.loop(trips, [*self.STEP, node("SequenceInsert", ["before", "m", "first"], ["after"])],
                               [node("ConcatFromSequence", ["s_end"], ["y"], axis=0)]))

    def test_items_of_a_sequence_of_unknown_length_have_one_shape(self):
        trips = [node("Shape", ["x"], ["shape"]), node("Gather", ["shape", "first"], ["trips"])]
        types = [helper.make_tensor_value_info("sum", FLOAT, None),
                 helper.make_tensor_sequence_value_info("before", FLOAT, None)]
        self.refused("may differ in shape",
                     self.loop(trips, [self.STEP[0], node("Transpose", ["sum"], ["total"]),
                                       node("SequenceInsert", ["before", "sum"], ["after"])],
                               [node("SequenceAt", ["s_end", "first"], ["y"])], states=("x", "s"), types=types))
        self.refused("a tensor of another shape",
                     made([node("SplitToSequence", ["x"], ["s"], axis=0), node("Transpose", ["x"], ["u"]),
                           node("SequenceInsert", ["s", "u"], ["t"]), node("SequenceLength", ["t"], ["y"])]))

    def test_what_would_take_long_to_import(self):
        body = [node("Identity", ["going"], ["still"]), node("Identity", ["before"], ["after"])]
        for trips in (10**4, 2**63 - 1):
            self.refused("more than 2000 graphs", self.loop([], body, [node("SequenceLength", ["s_end"], ["y"])],
                                                            {"trips": np.int64(trips)}))
        inserts = [node("SequenceInsert", [f"s{i}", "x"], [f"s{i + 1}"]) for i in range(2000)]
        self.refused("more than 1048576 tensors in all",
                     made([node("SequenceEmpty", [], ["s0"]), *inserts, node("SequenceLength", ["s2000"], ["y"])]))

    def test_malformed_nodes(self):
        for text, model in {
                "its operand is a tensor, not a sequence": made([node("SequenceAt", ["x", "one"], ["y"])],
                                                                {"one": np.int64(1)}),
                "the size of a part has rank 2": made([node("SplitToSequence", ["x", "split"], ["s"]),
                                                       node("SequenceLength", ["s"], ["y"])],
                                                      {"split": np.zeros((0, 0), np.int64)}),
                "a size is -1": made([node("SplitToSequence", ["x", "split"], ["s"]),
                                      node("SequenceLength", ["s"], ["y"])], {"split": np.array([4, -1])},
                                     [("x", FLOAT, [3, "k"])]),
                "add up to 2, not 3": made([node("SplitToSequence", ["x", "split"], ["s"]),
                                            node("SequenceLength", ["s"], ["y"])], {"split": np.array([1, 1])},
                                           [("x", FLOAT, [3, "k"])])}.items():
            with self.assertRaisesRegex(tailor.onnx.ModelError, text):
                tailor.onnx.load(model)

    def test_positions_out_of_range(self):
        with self.assertRaisesRegex(tailor.onnx.ModelError, "position 2 is out of range for 2"):
            tailor.onnx.load(made([node("SequenceConstruct", ["x", "x"], ["s"]),
                                   node("SequenceAt", ["s", "two"], ["y"])], {"two": np.int64(2)}))


def types_after(types):
    names = {"sum": "total", "before": "after"}
    renamed = []
    for info in types:
        copy = type(info)()
        copy.CopyFrom(info)
        copy.name = names[info.name]
        renamed.append(copy)
    return renamed


class SplitTest(unittest.TestCase):
    def test_sizes_cover_the_axis(self):
        model = made([node("Split", ["x", "sizes"], ["y", "z"], axis=0, name="parts")], {"sizes": np.array([1, 2])},
                     outputs=("y", "z"))
        executable = tailor.onnx.load(model).compile("host")
        self.assertEqual([got.shape for got in executable.run(x(3, 4))], [(1, 4), (2, 4)])
        with self.assertRaisesRegex(tailor.Error, 'Split node "parts", the sum of its sizes'):
            executable.run(x(4, 4))
        with self.assertRaises(tailor.Error):
            executable.run(x(2, 4))


if __name__ == "__main__":
    unittest.main()
