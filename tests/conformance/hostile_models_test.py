"""Small models that ask for endless work or memory: each is imported or refused, in a process with limits."""
import pathlib
import resource
import subprocess
import sys
import tempfile
import unittest

from onnx import AttributeProto, TensorProto, helper

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
# Far above what importing takes, so that only what grows without end meets them.
MEMORY, SECONDS = 8 << 30, 120

_LOAD = """
import sys, tailor.onnx
try:
    tailor.onnx.load(sys.argv[1])
    print("imported")
except tailor.onnx.ModelError as error:
    print(error)
"""


def constant(name, kind, dims, data=()):
    """An initializer that may lie about its size."""
    tensor = TensorProto(name=name, data_type=kind, dims=dims)
    (tensor.float_data if kind == FLOAT else tensor.int64_data).extend(data)
    return tensor


def model(nodes, initializers=(), functions=(), inputs=(("x", FLOAT, ["n", 4]),)):
    infos = [helper.make_tensor_value_info(*each) for each in inputs]
    graph = helper.make_graph(nodes, "hostile", infos, [helper.make_tensor_value_info("y", FLOAT, None)], initializers)
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("own", 1)]
    return helper.make_model(graph, opset_imports=opsets, functions=functions)


def function(name, inputs, nodes, attributes=()):
    return helper.make_function("own", name, inputs, ["b"], nodes,
                                [helper.make_opsetid("", 20), helper.make_opsetid("own", 1)], attributes)


class HostileModelsTest(unittest.TestCase):
    def outcome(self, proto):
        """What importing prints; fails where the process dies or does not end."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "model.onnx")
            path.write_bytes(proto.SerializeToString())
            done = subprocess.run([sys.executable, "-c", _LOAD, path], capture_output=True, text=True, timeout=SECONDS,
                                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)))
        self.assertEqual(done.returncode, 0, done.stderr[-500:])
        return done.stdout.strip()

    def test_sizes_without_elements(self):
        add = [helper.make_node("Add", ["x", "w"], ["y"])]
        self.assertIn("8589934592 elements", self.outcome(model(add, [constant("w", FLOAT, [2**33])])))

    def test_empty_tensors_of_huge_dims(self):
        index = constant("i", INT64, [1], [0])
        for node, dims in ((helper.make_node("ReduceSum", ["w", "i"], ["y"], keepdims=0), [0, 2**33]),
                           (helper.make_node("Concat", ["w", "w"], ["y"], axis=1), [2**40, 0]),
                           (helper.make_node("Gather", ["w", "i"], ["y"], axis=1), [2**40, 3, 0])):
            with self.subTest(node.op_type):
                self.assertEqual(self.outcome(model([node], [constant("w", FLOAT, dims), index])), "imported")

    def test_constants_that_double(self):
        nodes = [helper.make_node("Concat", [f"w{i}"] * 2, [f"w{i + 1}"], axis=0) for i in range(40)]
        nodes.append(helper.make_node("Identity", ["w40"], ["y"]))
        self.assertEqual(self.outcome(model(nodes, [constant("w0", FLOAT, [1], [1.0])])), "imported")

    def test_functions_that_multiply(self):
        functions = [function(f"f{i}", ["a"], [helper.make_node(f"f{i + 1}", ["a"], [f"t{j}"], domain="own")
                                               for j in range(9)] + [helper.make_node("Identity", ["t0"], ["b"])])
                     for i in range(40)]
        functions.append(function("f40", ["a"], [helper.make_node("Relu", ["a"], ["b"])]))
        calls = [helper.make_node("f0", ["x"], ["y"], domain="own")]
        self.assertIn("more than 1000000 nodes", self.outcome(model(calls, functions=functions)))

    def test_subgraphs_that_multiply_by_reference(self):
        def branches(output):
            node = helper.make_node("If", ["c"], [output])
            for name in ("then_branch", "else_branch"):
                node.attribute.append(AttributeProto(name=name, ref_attr_name="g", type=AttributeProto.GRAPH))
            return node

        def twice(level):
            return helper.make_graph([branches(f"q{level}_{i}") for i in range(2)], "g", [],
                                     [helper.make_tensor_value_info(f"q{level}_0", FLOAT, None)])

        functions = [function(f"h{i}", ["a", "c"], [helper.make_node(f"h{i + 1}", ["a", "c"], ["b"], domain="own",
                                                                     g=twice(i))], ["g"]) for i in range(40)]
        functions.append(function("h40", ["a", "c"], [branches("b")], ["g"]))
        leaf = helper.make_graph([helper.make_node("Constant", [], ["z"], value_float=1.0)], "g", [],
                                 [helper.make_tensor_value_info("z", FLOAT, None)])
        calls = [helper.make_node("h0", ["x", "c"], ["y"], domain="own", g=leaf)]
        proto = model(calls, functions=functions, inputs=(("x", FLOAT, ["n", 4]), ("c", TensorProto.BOOL, [])))
        self.assertIn("more than 1000000 nodes", self.outcome(proto))

    def shape_list(self):
        """Nodes that make c10, the first dim 1024 times."""
        return [helper.make_node("Shape", ["x"], ["s"]), helper.make_node("Gather", ["s", "zero"], ["c0"]),
                *(helper.make_node("Concat", [f"c{i}"] * 2, [f"c{i + 1}"], axis=0) for i in range(10))]

    def test_products_of_dims(self):
        nodes = [*self.shape_list(), helper.make_node("ReduceProd", ["c10"], ["p"]),
                 helper.make_node("Add", ["p", "three"], ["q"]), helper.make_node("Mul", ["q", "c10"], ["r"]),
                 helper.make_node("ReduceProd", ["r"], ["y"])]
        constants = [constant("zero", INT64, [1], [0]), constant("three", INT64, [1], [3])]
        self.assertEqual(self.outcome(model(nodes, constants)), "imported")

    def test_lists_of_growing_dims(self):
        nodes, constants = self.shape_list(), [constant("zero", INT64, [1], [0]), constant("three", INT64, [1], [3])]
        nodes.append(helper.make_node("Identity", ["c10"], ["e0"]))
        for i in range(60):
            nodes += [helper.make_node("Sub", [f"e{i}", "three"], [f"a{i}"]),
                      helper.make_node("Mul", [f"e{i}", f"e{i}" if i < 7 else "three"], [f"b{i}"]),
                      helper.make_node("Max", [f"a{i}", f"b{i}"], [f"m{i}"]),
                      helper.make_node("Add", [f"m{i}", f"e{i}"], [f"e{i + 1}"])]
        nodes.append(helper.make_node("Add", ["e60", "three"], ["y"]))
        self.assertEqual(self.outcome(model(nodes, constants)), "imported")


if __name__ == "__main__":
    unittest.main()
