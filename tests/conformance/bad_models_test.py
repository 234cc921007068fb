"""Invalid and hostile models: each gives, within a time limit, an error that names the node or tensor and the reason."""
import os
import pathlib
import tempfile
import unittest

import numpy
import onnx
from onnx import TensorProto, helper

import tailor
import tailor.onnx


def model(nodes, inputs=(("x", [2, 3]),), outputs=("y",), initializers=(), opset=17):
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs]
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    graph = helper.make_graph(list(nodes), "bad", infos, results, list(initializers))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


class BadModelTest(unittest.TestCase):
    def refuse(self, proto, *patterns, kind=tailor.onnx.ModelError, **options):
        with self.assertRaises(kind) as caught:
            tailor.onnx.load(proto, **options)
        for pattern in patterns:
            self.assertRegex(str(caught.exception), pattern)


class GraphTest(BadModelTest):
    def test_bytes_that_are_no_model(self):
        self.refuse(b"\x00\x01\x02 no model", "not an ONNX model")
        self.refuse(b"", "no graph")

    def test_unknown_operator(self):
        self.refuse(model([helper.make_node("Frobnicate", ["x"], ["y"], "odd")]), 'Frobnicate node "odd"', "opset 17")

    def test_unknown_domain(self):
        self.refuse(model([helper.make_node("Gelu", ["x"], ["y"], domain="com.example")]), "com.example")

    def test_missing_tensor(self):
        self.refuse(model([helper.make_node("Add", ["x", "nowhere"], ["y"], "sum")]), 'Add node "sum"', '"nowhere"')

    def test_missing_output(self):
        self.refuse(model([helper.make_node("Neg", ["x"], ["z"])]), '"y"')

    def test_cycle(self):
        nodes = [helper.make_node("Add", ["x", "b"], ["a"], "first"), helper.make_node("Neg", ["a"], ["b"], "second"),
                 helper.make_node("Neg", ["b"], ["y"])]
        self.refuse(model(nodes), "cycle")

    def test_node_that_reads_itself(self):
        self.refuse(model([helper.make_node("Add", ["x", "y"], ["y"], "own")]), 'Add node "own"', "cycle")

    def test_value_computed_twice(self):
        nodes = [helper.make_node("Neg", ["x"], ["y"], "one"), helper.make_node("Abs", ["x"], ["y"], "two")]
        self.refuse(model(nodes), 'Abs node "two"', "computed twice")

    def test_nodes_in_any_order_are_fine(self):
        nodes = [helper.make_node("Neg", ["a"], ["y"]), helper.make_node("Abs", ["x"], ["a"])]
        self.assertIn("neg", tailor.onnx.load(model(nodes)).text)

    def test_chain_of_many_nodes_backwards(self):
        nodes = [helper.make_node("Neg", [f"v{i}"], [f"v{i + 1}"]) for i in range(3000)]
        nodes = [helper.make_node("Neg", ["x"], ["v0"]), *nodes, helper.make_node("Neg", ["v3000"], ["y"])]
        self.assertEqual(tailor.onnx.load(model(nodes[::-1])).text.count(" neg "), 3002)

    def test_deep_nesting(self):
        def field(number, data):
            size, out = len(data), bytes([number << 3 | 2])
            while size > 127:
                out, size = out + bytes([size & 127 | 128]), size >> 7
            return out + bytes([size]) + data

        data = b""
        for _ in range(2000):  # a graph (7) of a node (1) with an attribute (5) that is a graph (6)
            data = field(6, field(1, field(5, data)))
        self.refuse(field(7, field(1, field(5, data))), "graphs nest deeper than 64")

    def test_function_that_calls_itself(self):
        proto = model([helper.make_node("F", ["x"], ["y"], domain="own")])
        proto.opset_import.append(helper.make_opsetid("own", 1))
        proto.functions.append(helper.make_function("own", "F", ["a"], ["b"],
                                                    [helper.make_node("F", ["a"], ["b"], domain="own")],
                                                    [helper.make_opsetid("own", 1)]))
        self.refuse(proto, "nest deeper")

    def test_bytes_of_a_node_that_are_cut_off(self):
        def changed(old, new):
            data = model([helper.make_node("Softmax", ["x"], ["y"], "soft", axis=1)]).SerializeToString()
            self.assertEqual(data.count(old), 1)
            return data.replace(old, new)

        axis = b"\x0a\x04axis\x18\x01"  # a name (1), and an integer (3)
        self.refuse(changed(axis, b"\x0a\x04axis\x1a\x7f"), 'Softmax node "soft": a field is cut off')
        self.refuse(changed(axis, b"\x0a\x04axis\x1f\x01"), 'Softmax node "soft": a field has an unknown wire type')
        self.refuse(changed(b"\x0a\x01x\x12\x01y", b"\x0a\x01x\x0a\x7fy"), "^node 0: a field is cut off")
        self.refuse(changed(axis, axis)[:-20], "not an ONNX model: a field is cut off")

    def test_names_that_are_no_text(self):
        proto = model([helper.make_node("Neg", ["x"], ["y"], "minus")]).SerializeToString()
        self.refuse(proto.replace(b"Neg", b"\x00\xffg"), '^\ufffd\ufffdg node "minus": 1 operator is not supported')
        exp = model([helper.make_node("Neg", ["x"], ["z"], "one"), helper.make_node("Exp", ["z"], ["y"], "two")])
        self.refuse(exp.SerializeToString().replace(b"\x01z", b"\x01\xff"), 'Neg node "one"', "UTF-8")

    def test_graph_without_outputs(self):
        self.refuse(model([helper.make_node("Neg", ["x"], ["y"])], outputs=()), "has no output")

    def test_input_without_type(self):
        proto = model([helper.make_node("Neg", ["x"], ["y"])])
        proto.graph.input[0].ClearField("type")
        self.refuse(proto, 'input "x": it has no type')


class ShapeTest(BadModelTest):
    def constant(self, name, values, dtype=TensorProto.INT64):
        return helper.make_tensor(name, dtype, [len(values)], values)

    def test_negative_input_dim(self):
        self.refuse(model([helper.make_node("Neg", ["x"], ["y"])], [("x", [2, -3])]), '"x"', "-3")

    def test_input_without_rank(self):
        self.refuse(model([helper.make_node("Neg", ["x"], ["y"])], [("x", None)]), '"x"', "rank")

    def test_enormous_dims(self):
        self.refuse(model([helper.make_node("Neg", ["x"], ["y"])], [("x", [2**62, 2**62])]), '"x"')

    def test_enormous_fill(self):
        shape = self.constant("shape", [2**40, 2**40])
        proto = model([helper.make_node("ConstantOfShape", ["shape"], ["y"], "fill")], initializers=[shape])
        with self.assertRaises((tailor.onnx.ModelError, tailor.Error)):
            tailor.onnx.load(proto).compile("host")

    def test_negative_fill(self):
        proto = model([helper.make_node("ConstantOfShape", ["shape"], ["y"], "fill")],
                      initializers=[self.constant("shape", [2, -1])])
        self.refuse(proto, 'ConstantOfShape node "fill"', "negative")

    def test_reshape_to_another_count(self):
        proto = model([helper.make_node("Reshape", ["x", "shape"], ["y"], "re")],
                      initializers=[self.constant("shape", [4, 2])])
        self.refuse(proto, 'Reshape node "re"')

    def test_reshape_that_does_not_divide(self):
        proto = model([helper.make_node("Reshape", ["x", "shape"], ["y"], "re")],
                      initializers=[self.constant("shape", [-1, 4])])
        self.refuse(proto, 'Reshape node "re"', "6 elements")

    def test_two_unknown_dims(self):
        proto = model([helper.make_node("Reshape", ["x", "shape"], ["y"], "re")],
                      initializers=[self.constant("shape", [-1, -1])])
        self.refuse(proto, 'Reshape node "re"', "no shape")

    def test_axis_out_of_range(self):
        self.refuse(model([helper.make_node("Softmax", ["x"], ["y"], "soft", axis=5)]), 'Softmax node "soft"',
                    "axis 5")

    def test_operand_that_is_no_scalar(self):
        proto = model([helper.make_node("Clip", ["x", "z"], ["y"], "clip")], [("x", [2, 3]), ("z", [2, 3])])
        self.refuse(proto, 'Clip node "clip": its operand "min" is no scalar: dim 0 is 2')

    def test_wrong_rank(self):
        nodes = [helper.make_node("Conv", ["x", "x"], ["y"], "conv")]
        self.refuse(model(nodes), 'Conv node "conv"')

    def test_channels(self):
        def conv(x, w, **attributes):
            return model([helper.make_node("Conv", ["x", "w"], ["y"], "conv", **attributes)], [("x", x), ("w", w)])

        self.refuse(conv([1, 3, 8], [4, 2, 3]), "the input has 3 channels, the weight 2 for each of 1 groups")
        self.refuse(conv([1, 4, 8], [3, 2, 3], group=2), "3 output channels do not divide into 2 groups")
        loss = helper.make_node("NegativeLogLikelihoodLoss", ["x", "t"], ["y"], "loss")
        proto = model([loss], [("x", [3, 5])])
        proto.graph.input.append(helper.make_tensor_value_info("t", TensorProto.INT64, [4]))
        self.refuse(proto, 'node "loss": dim sizes 3 and 4 have to be equal')

    def test_attention_of_other_heads(self):
        attention = helper.make_node("Attention", ["q", "k", "v"], ["y"], "heads")
        proto = model([attention], [("q", [1, 4, 3, 8]), ("k", [1, 4, 5, 8]), ("v", [1, 2, 5, 8])], opset=23)
        self.refuse(proto, 'Attention node "heads": the number of heads of V is 2')

    def test_shapes_that_do_not_broadcast(self):
        self.refuse(model([helper.make_node("Add", ["x", "z"], ["y"], "sum")], [("x", [2, 3]), ("z", [2, 4])]),
                    'Add node "sum"')

    def test_slice_with_step_0(self):
        parts = [self.constant(name, [value]) for name, value in (("s", 0), ("e", 2), ("a", 0), ("t", 0))]
        self.refuse(model([helper.make_node("Slice", ["x", "s", "e", "a", "t"], ["y"], "cut")], initializers=parts),
                    'Slice node "cut"', "step")

    def test_stride_0(self):
        proto = model([helper.make_node("MaxPool", ["x"], ["y"], "pool", kernel_shape=[2], strides=[0])],
                      [("x", [1, 1, 8])])
        self.refuse(proto, 'MaxPool node "pool"', "positive")

    def test_rank_from_data(self):
        proto = model([helper.make_node("Reshape", ["x", "s"], ["y"], "re")])
        proto.graph.input.append(helper.make_tensor_value_info("s", TensorProto.INT64, ["rank"]))
        self.refuse(proto, 'Reshape node "re"', "length of the shape depends on data", kind=tailor.onnx.DependsOnData)
        graph = tailor.onnx.load(proto, fixed={"s": numpy.array([3, 2])})
        self.assertIn("f32[3, 2]", graph.text)

    def test_fixed_to_another_type(self):
        proto = model([helper.make_node("Neg", ["x"], ["y"])])
        self.refuse(proto, '"x"', "fixed to i64", fixed={"x": numpy.array([[1]])})


class SubgraphTest(BadModelTest):
    def loop(self, nodes, states, inputs=("i", "on", "s"), outputs=("on", "t"), name="for"):
        kinds = {"i": TensorProto.INT64, "on": TensorProto.BOOL}
        infos, results = ([helper.make_tensor_value_info(value, kinds.get(value, TensorProto.FLOAT), None)
                           for value in values] for values in (inputs, outputs))
        body = helper.make_graph(nodes, "body", infos, results)
        return helper.make_node("Loop", ["", "", *states], [f"{name}_{i}" for i in range(max(len(outputs) - 1, 1))],
                                name, body=body)

    def refuse_loop(self, *patterns, nodes=None, **options):
        nodes = [helper.make_node("Neg", ["s"], ["t"])] if nodes is None else nodes
        self.refuse(model([self.loop(nodes, ["x"], **options)], outputs=("for_0",)), *patterns)

    def test_numbers_of_states(self):
        self.refuse_loop('Loop node "for"', "3 inputs and 1 outputs for 1 states", outputs=("on",))
        self.refuse_loop('Loop node "for"', "2 inputs", inputs=("i", "on"),
                         nodes=[helper.make_node("Neg", ["x"], ["t"])])

    def test_missing_names(self):
        self.refuse_loop('"nowhere"', nodes=[helper.make_node("Add", ["s", "nowhere"], ["t"])])
        self.refuse_loop('Loop node "for"', '"t"', nodes=[])

    def test_names_computed_twice(self):
        self.refuse_loop("computed twice", nodes=[helper.make_node(op, ["s"], ["t"]) for op in ("Neg", "Abs")])

    def test_loops_that_nest_deep(self):
        """Each level alone would have its body imported several times."""
        inner = helper.make_node("Concat", ["s", "x"], ["t"], axis=0)
        for depth in range(12):
            inner = self.loop([inner], ["x"], name=f"for{depth}")
            inner.output[0] = "t"
        proto = model([self.loop([inner], ["x"])], outputs=("for_0",))
        self.refuse(proto, "loops nest deeper than 6")


class TensorTest(BadModelTest):
    def with_initializer(self, tensor):
        return model([helper.make_node("Add", ["x", "w"], ["y"], "sum")], initializers=[tensor])

    def raw(self, dims, data):
        return TensorProto(name="w", data_type=TensorProto.FLOAT, dims=dims, raw_data=data)

    def test_too_few_bytes(self):
        self.refuse(self.with_initializer(self.raw([2, 3], b"\0" * 20)), '"w"', "24 bytes", "20")

    def test_too_many_bytes(self):
        self.refuse(self.with_initializer(self.raw([2, 3], b"\0" * 28)), '"w"', "24 bytes", "28")

    def test_negative_dim(self):
        self.refuse(self.with_initializer(self.raw([-2, -3], b"\0" * 24)), '"w"', "negative")

    def test_product_that_overflows(self):
        self.refuse(self.with_initializer(self.raw([2**32, 2**32, 4], b"")), '"w"', "too many elements")

    def test_too_few_elements(self):
        tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[6], float_data=[1.0])
        self.refuse(self.with_initializer(tensor), '"w"', "6")

    def test_unsupported_type(self):
        tensor = TensorProto(name="w", data_type=TensorProto.COMPLEX64, dims=[1], raw_data=b"\0" * 8)
        self.refuse(self.with_initializer(tensor), '"w"', "COMPLEX64", kind=tailor.onnx.Unsupported)


class ExternalDataTest(BadModelTest):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.outside = pathlib.Path(scratch.name, "secret")
        self.folder = pathlib.Path(scratch.name, "model")
        self.folder.mkdir()
        self.outside.write_bytes(b"\0" * 64)
        (self.folder / "weights").write_bytes(numpy.arange(12, dtype=numpy.float32).tobytes())

    def path(self, **entries):
        tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2, 3], data_location=TensorProto.EXTERNAL)
        for key, value in entries.items():
            tensor.external_data.add(key=key, value=str(value))
        proto = model([helper.make_node("Add", ["x", "w"], ["y"], "sum")], initializers=[tensor])
        path = self.folder / "model.onnx"
        path.write_bytes(proto.SerializeToString())
        return path

    def test_data_is_read_at_its_offset(self):
        executable = tailor.onnx.load(self.path(location="weights", offset=24, length=24)).compile("host")
        y, = executable.run(numpy.zeros((2, 3), numpy.float32))
        numpy.testing.assert_array_equal(y, numpy.arange(6, 12, dtype=numpy.float32).reshape(2, 3))

    def test_path_that_leaves_the_folder(self):
        self.refuse(self.path(location="../secret"), '"w"', "leaves the model's folder")
        self.refuse(self.path(location="a/../../secret"), "leaves the model's folder")
        self.refuse(self.path(location=str(self.outside)), "leaves the model's folder")

    def test_symbolic_links(self):
        os.symlink(self.outside, self.folder / "link")
        self.refuse(self.path(location="link"), '"w"', "symbolic link")
        os.symlink(self.outside.parent, self.folder / "up")
        self.refuse(self.path(location="up/secret"), "symbolic link")

    def test_things_that_are_no_files(self):
        os.mkfifo(self.folder / "pipe")
        self.refuse(self.path(location="pipe"), "not a regular file")
        self.refuse(self.path(location="."), '"w"')
        self.refuse(self.path(location="absent"), '"absent"', "No such file")

    def test_ends_outside_the_file(self):
        self.refuse(self.path(location="weights", offset=32), "of 24 bytes from byte 32", "has 48")
        self.refuse(self.path(location="weights", offset=2**63), '"weights"')

    def test_sizes_that_are_no_sizes(self):
        self.refuse(self.path(location="weights", offset=-8), 'offset is "-8"')
        self.refuse(self.path(location="weights", length="x"), 'length is "x"')
        self.refuse(self.path(location="weights", length=20), "20 bytes for a tensor of 24")

    def test_unknown_and_missing_keys(self):
        self.refuse(self.path(location="weights", command="rm"), 'unknown key "command"')
        self.refuse(self.path(offset=0), "location")

    def test_model_without_a_folder(self):
        self.refuse(self.path(location="weights").read_bytes(), "without a path")


if __name__ == "__main__":
    unittest.main()
