"""Custom operators in Python: functions that compiled programs call, against numpy."""
import copy
import ctypes
import json
import os
import threading
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper

import tailor
import tailor.onnx

DRIVER = ctypes.CDLL(os.environ["TAILOR_CUDA_DRIVER"])


def scale(call):
    """results[0] = operands[0] * attribute k, by way of the workspace."""
    x, = call.operands
    copy = call.workspace[:x.nbytes].view(x.dtype).reshape(x.shape)
    copy[...] = x
    np.multiply(copy, json.loads(call.attributes)["k"], out=call.results[0])


def bytes_of_scale(call):
    return call.operands[0].size * 4


def keep_positive(call):
    x, = call.operands
    y, count = call.results
    kept = x[x > 0]
    y[:len(kept)] = kept
    count[...] = len(kept)


def graph_of(name, **options):
    graph = tailor.Graph("g")
    x = graph.input("x", "f32", ["N", 2])
    y, = graph.custom(name, [x], [("f32", ["N", 2])], **options)
    graph.output("y", y)
    return graph


def compiled(name, function, **options):
    runtime = tailor.Runtime()
    runtime.register(name, function, **options)
    return graph_of(name).compile(["host"], runtime=runtime)


class CustomOperators(unittest.TestCase):
    def failure(self, function, **options):
        with self.assertRaises(tailor.Error) as caught:
            compiled("op", function, **options).run(np.ones((3, 2), np.float32))
        return caught.exception

    def test_scales_and_counts(self):
        runtime = tailor.Runtime()
        runtime.register("scale", scale, workspace=bytes_of_scale)
        runtime.register("keep", keep_positive)
        graph = tailor.Graph("g")
        x = graph.input("x", "f32", ["N"])
        y, = graph.custom("scale", [x + x], [("f32", ["N"])], attributes={"k": 3})
        z, = graph.custom("keep", [y], [("f32", ["N"], 0)])
        graph.output("z", -z)
        executable = graph.compile(["host"], runtime=runtime)
        for values in ([1, -2, 3], [], [-1, -1], list(range(-50, 50))):
            values = np.array(values, np.float32)
            got, = executable.run(values)
            np.testing.assert_array_equal(got, -6 * values[values > 0])
        self.assertIn("scale", json.dumps(executable.describe()["variants"]))

    def test_exceptions_name_the_operator(self):
        def fails(call):
            raise ValueError("no rows")

        self.assertEqual(str(self.failure(fails)), 'INTERNAL: custom operator "op" failed: ValueError: no rows')
        long = self.failure(lambda call: 1 / 0 if len(call.operands) == 1 else None)
        self.assertIn("ZeroDivisionError", str(long))
        self.assertIn("writes to call.results and returns None", str(self.failure(lambda call: call.operands[0])))
        self.assertIn("could not broadcast", str(self.failure(lambda call: call.results[0].__setitem__(..., np.ones((9, 9))))))
        self.assertIn("read-only", str(self.failure(lambda call: call.operands[0].__setitem__(..., 0))))
        self.assertIn('"op" failed: OverflowError: the workspace is -1',
                      str(self.failure(lambda call: None, workspace=lambda call: -1)))
        self.assertIn("SystemExit", str(self.failure(lambda call: exit(3))))

    def test_messages_are_cut_between_characters(self):
        def raises(text):
            def fails(call):
                raise ValueError(text)
            return str(self.failure(fails))

        for spaces in range(4):  # one of the four cuts is at the end of a character
            self.assertNotIn("\ufffd", raises(" " * spaces + "\U0001f40d" * 10000))
        self.assertIn(r"no file \udce9", raises("no file \udce9"))  # as os.fsdecode gives it

    def test_an_exception_without_a_text_is_named(self):
        class Mute(Exception):
            def __str__(self):
                raise KeyError

        def fails(call):
            raise Mute

        self.assertIn('"op" failed: Mute', str(self.failure(fails)))

    def test_copies_of_a_runtime_share_operators(self):
        runtime = tailor.Runtime()
        copy.copy(runtime).register("op", lambda call: call.results[0].fill(3))
        self.assertIn("op", repr(runtime))
        executable = graph_of("op").compile(["host"], runtime=runtime)
        np.testing.assert_array_equal(executable.run(np.ones((3, 2), np.float32))[0], np.full((3, 2), 3))

    def test_arrays_of_a_call_end_with_it(self):
        kept = []
        for keeps in (lambda call: kept.append(call.operands[0]), lambda call: kept.append(call.results[0][1:]),
                      lambda call: kept.append(call.operands[0].view(np.uint8).reshape(-1)[::2])):
            self.assertIn('"op" failed: RuntimeError: the function keeps an array of the call', str(self.failure(keeps)))
        calls = []
        executable = compiled("op", lambda call: calls.append(call) or call.results[0].fill(1))
        executable.run(np.ones((3, 2), np.float32))
        self.assertEqual(calls[0].operands, [])

        def copies(call):
            kept.append(call.operands[0].copy())
            cycle = [call.operands[0]]
            cycle.append(cycle)
            call.results[0].fill(2)

        np.testing.assert_array_equal(compiled("op", copies).run(np.ones((3, 2), np.float32))[0], np.full((3, 2), 2))

    def test_registrations_are_checked(self):
        runtime = tailor.Runtime()
        with self.assertRaisesRegex(TypeError, "function is 3"):
            runtime.register("op", 3)
        with self.assertRaisesRegex(TypeError, "workspace is 3"):
            runtime.register("op", scale, workspace=3)
        with self.assertRaisesRegex(tailor.Error, "name is empty"):
            runtime.register("", scale)
        runtime.register("op", scale)
        with self.assertRaisesRegex(tailor.Error, "registered already"):
            runtime.register("op", scale)
        with self.assertRaisesRegex(tailor.Error, 'not registered for the CPU: "other"'):
            graph_of("other").compile(["host"], runtime=runtime)
        with self.assertRaisesRegex(tailor.Error, "counted dim of result 0 is 2"):
            graph = tailor.Graph("g")
            graph.custom("op", [graph.input("x", "f32", ["N"])], [("f32", ["N"], 2)])

    def test_threads_call_it_at_once(self):
        barrier = threading.Barrier(16, timeout=60)

        def meets(call):
            barrier.wait()
            np.multiply(call.operands[0], 2, out=call.results[0])

        executable, results = compiled("meets", meets), {}

        def run(i):
            results[i], = executable.session().run(np.full((1, 2), i, np.float32))

        threads = [threading.Thread(target=run, args=(i,)) for i in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for i in range(16):
            np.testing.assert_array_equal(results[i], np.full((1, 2), 2 * i, np.float32))

    def test_a_call_into_its_own_session_is_refused(self):
        sessions = []

        def reenters(call):
            sessions[0].run(np.ones((1, 2), np.float32))

        sessions.append(compiled("op", reenters).session())
        with self.assertRaisesRegex(tailor.Error, '"op" failed: Error: .*the session is in use by another call'):
            sessions[0].run(np.ones((1, 2), np.float32))

    def test_the_executable_keeps_the_function(self):
        executable = compiled("op", lambda call: np.copyto(call.results[0], call.operands[0]))
        x = np.ones((2, 2), np.float32)
        np.testing.assert_array_equal(executable.run(x)[0], x)

    def test_the_functions_work_on_a_gpu(self):
        def doubles(call):
            x, y = call.operands[0].__cuda_array_interface__, call.results[0].__cuda_array_interface__
            host = np.empty(x["shape"], np.float32)
            stream = ctypes.c_void_p(call.stream)
            DRIVER.cuMemcpyDtoHAsync_v2(ctypes.c_void_p(host.ctypes.data), ctypes.c_uint64(x["data"][0]),
                                        ctypes.c_size_t(host.nbytes), stream)
            DRIVER.cuStreamSynchronize(stream)
            host *= 2
            DRIVER.cuMemcpyHtoDAsync_v2(ctypes.c_uint64(y["data"][0]), ctypes.c_void_p(host.ctypes.data),
                                        ctypes.c_size_t(host.nbytes), stream)

        runtime = tailor.Runtime()
        runtime.register("doubles", doubles, device="cuda")
        executable = graph_of("doubles").compile(["simt"], runtime=runtime, device="cuda")
        x = np.arange(6, dtype=np.float32).reshape(3, 2)
        np.testing.assert_array_equal(executable.run(x)[0], 2 * x)


class OnnxDomains(unittest.TestCase):
    @staticmethod
    def model(stated=("N", 2), attributes=None, outer=""):
        """y = -ai.acme::Scale(x), whose type value_info states."""
        node = helper.make_node("Scale", ["x", outer] if outer else ["x"], ["s"], "scaled", domain="ai.acme",
                                **({"k": 3.5, "mode": 'a"b', "axes": [1, 2], "big": float("inf")}
                                   if attributes is None else attributes))
        stated = [] if stated is None else [helper.make_tensor_value_info("s", TensorProto.FLOAT, stated)]
        graph = helper.make_graph([node, helper.make_node("Neg", ["s"], ["y"])], "g",
                                  [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 2])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], value_info=stated)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("ai.acme", 1)])

    def test_nodes_are_custom_operators(self):
        seen = []

        def run(call):
            seen.append(json.loads(call.attributes))
            scale(call)

        runtime = tailor.Runtime()
        runtime.register("ai.acme::Scale", run, workspace=bytes_of_scale)
        graph = tailor.onnx.load(self.model(), custom_domains=["ai.acme"])
        executable = graph.compile(["host"], runtime=runtime)
        for rows in (1, 5):
            x = np.random.default_rng(0).standard_normal((rows, 2)).astype(np.float32)
            np.testing.assert_array_equal(executable.run(x)[0], -(x * 3.5))
        self.assertEqual(seen[0], {"k": 3.5, "mode": 'a"b', "axes": [1, 2], "big": "inf"})

    def test_dims_may_be_expressions(self):
        runtime = tailor.Runtime()
        runtime.register("ai.acme::Scale", lambda call: call.results[0].fill(1))
        graph = tailor.onnx.load(self.model(["2*N + 1"], {}), custom_domains=["ai.acme"])
        executable = graph.compile(["host"], runtime=runtime)
        self.assertEqual(executable.run(np.ones((3, 2), np.float32))[0].shape, (7,))

    def test_the_operator_may_count_a_dim(self):
        node = helper.make_node("Keep", ["x"], ["values", "places"], "keeper", domain="ai.acme")
        product = helper.make_node("Mul", ["values", "scale"], ["y"])
        scale_of = helper.make_node("Cast", ["places"], ["scale"], to=TensorProto.FLOAT)
        stated = [helper.make_tensor_value_info("values", TensorProto.FLOAT, ["kept"]),
                  helper.make_tensor_value_info("places", TensorProto.INT64, ["kept"])]
        graph = helper.make_graph([node, scale_of, product], "g",
                                  [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N"])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], value_info=stated)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("ai.acme", 1)])

        def keep(call):
            x, = call.operands
            values, places, *counts = call.results
            kept = np.flatnonzero(x > 0)
            values[:len(kept)], places[:len(kept)] = x[kept], kept
            for count in counts:
                count[...] = len(kept)

        runtime = tailor.Runtime()
        runtime.register("ai.acme::Keep", keep)
        imported = tailor.onnx.load(model, dims={"kept": tailor.symbol("N")}, custom_domains=["ai.acme"])
        executable = imported.compile(["host"], runtime=runtime)
        for x in ([-1, 2, 3, -4, 5], [-1], []):
            x = np.array(x, np.float32)
            np.testing.assert_array_equal(executable.run(x)[0], x[x > 0] * np.flatnonzero(x > 0))
        self.assertIn('is of "kept", which is no dim of an input; if the operator counts it, dims gives its bound',
                      self.refusal(model))

    def refusal(self, model, **options):
        with self.assertRaises(tailor.onnx.ModelError) as caught:
            tailor.onnx.load(model, **{"custom_domains": ["ai.acme"], **options})
        return str(caught.exception)

    def test_what_is_missing_is_named(self):
        self.assertIn("ai.acme::Scale (1 node)", self.refusal(self.model(), custom_domains=[]))
        self.assertIn('Scale node "scaled": its result "s" has no type in the model\'s value_info',
                      self.refusal(self.model(None)))
        self.assertIn('dim 0: is of "M", which is no dim of an input', self.refusal(self.model(["M"])))
        self.assertIn("dim 1: has no size in the model's value_info", self.refusal(self.model(["N", None])))
        self.assertIn('its attribute "t" is no number, string or list of these',
                      self.refusal(self.model(attributes={"t": helper.make_tensor("t", TensorProto.FLOAT, [1], [1])})))
        self.assertIn("the default domain", self.refusal(self.model(), custom_domains=[""]))


if __name__ == "__main__":
    unittest.main()
