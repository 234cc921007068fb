"""What Python users expect of a package: closing, pickling, element types, inputs by name, representations."""
import array
import asyncio
import copy
import gc
import inspect
import multiprocessing
import pickle
import re
import tempfile
import threading
import time
import unittest
import weakref

import numpy as np

import tailor
from python_programs import BIAS, X, scale


class CloseTest(unittest.TestCase):
    def closed(self, call, noun):
        with self.assertRaises(tailor.Error) as caught:
            call()
        self.assertEqual((caught.exception.code, caught.exception.message),
                         ("FAILED_PRECONDITION", f"the {noun} is closed"))

    def test_calls_after_close_are_errors(self):
        graph = scale()
        executable = graph.compile("host")
        session, runtime = executable.session(), tailor.Runtime()
        value = graph.input("z", "f32", [2])
        for thing in (graph, executable, session, runtime):
            self.assertFalse(thing.closed)
            thing.close()
            thing.close()
            self.assertTrue(thing.closed)
            self.assertIn("closed", repr(thing))
        self.assertEqual([spec.name for spec in executable.inputs], ["x", "bias"])
        for call in (lambda: graph.input("w", "f32", [1]), lambda: graph.compile(), lambda: graph.text, lambda: value + 1.0,
                     lambda: value.shape, lambda: graph.constant(X), lambda: graph.scalar(1.0, "f32")):
            self.closed(call, "graph")
        for call in (lambda: executable.run(X, BIAS), executable.session, executable.describe, lambda: executable.symbols,
                     lambda: executable.plan((3, 4), (4,)), executable.to_bytes, lambda: executable.launches,
                     lambda: pickle.dumps(executable), lambda: asyncio.run(executable.run_async(X, BIAS))):
            self.closed(call, "executable")
        for call in (lambda: session.run(X, BIAS), lambda: session.bind([X, BIAS], [X]), session.run_bound, session.wait,
                     session.poll, lambda: session.reserve((3, 4), (4,)), lambda: session.set_seed(3),
                     lambda: session.stream):
            self.closed(call, "session")
        self.closed(lambda: runtime.register("a", lambda call: None), "runtime")
        self.closed(lambda: scale().compile("host", runtime=runtime), "runtime")

    def test_with_closes(self):
        with scale() as graph, tailor.Runtime() as runtime, graph.compile("host", runtime=runtime) as executable:
            with executable.session() as session:
                y, = session.run(X, BIAS)
        np.testing.assert_array_equal(y, X + 1)
        for thing in (graph, runtime, executable, session):
            self.assertTrue(thing.closed)

    def test_what_is_in_use_stays(self):
        executable = scale().compile("host")
        session = executable.session()
        borrowed, = session.run(X, BIAS, borrow=True)
        executable.close()
        np.testing.assert_array_equal(session.run(X, BIAS)[0], X + 1)
        borrowed, = session.run(X, BIAS, borrow=True)
        session.close()
        gc.collect()
        np.testing.assert_array_equal(borrowed, X + 1)

    def test_closing_frees_at_once(self):
        graph = tailor.Graph()
        weights = np.ones((4, 4), np.float32)
        graph.constant(weights, "w")
        gone = weakref.ref(weights)
        del weights
        self.assertIsNotNone(gone())
        graph.close()
        gc.collect()
        self.assertIsNone(gone())

    def test_idle_sessions_keep_no_executable(self):
        executable = scale().compile("host")
        gc.collect()
        gc.disable()
        try:
            executable.run(X, BIAS)
            asyncio.run(executable.run_async(X, BIAS))
            gone = weakref.ref(executable)
            del executable
            self.assertIsNone(gone())
        finally:
            gc.enable()

    def test_closing_during_a_call(self):
        """From its own callback and from another thread: the call ends as usual."""
        executable = scale().compile("host")
        session = executable.session(trace=lambda event: (session.close(), executable.close()))
        np.testing.assert_array_equal(session.run(X, BIAS)[0], X + 1)
        graph = scale()
        executable = graph.compile("host", progress=lambda phase, done: graph.close())
        np.testing.assert_array_equal(executable.run(X, BIAS)[0], X + 1)

        x = np.ones((20000, 4), np.float32)
        for _ in range(30):
            session, told = executable.session(), []

            def work(session=session, told=told):
                try:
                    while True:
                        told.append(session.run(x, BIAS)[0].sum() == 2 * x.size)
                except tailor.Error as error:
                    told.append(error.message)

            thread = threading.Thread(target=work)
            thread.start()
            while not told:
                time.sleep(0)
            session.close()
            thread.join()
            self.assertEqual({*told}, {True, "the session is closed"})


class ElementTypeTest(unittest.TestCase):
    """Arrays are never converted; lists and numbers, which have no type, are."""

    @classmethod
    def setUpClass(cls):
        cls.executable = scale().compile("host")

    def refuses(self, call, words=r"dtype is f64, expected f32; arrays are not converted: use .astype\(np.float32\)"):
        with self.assertRaisesRegex(tailor.Error, words) as caught:
            call()
        self.assertEqual(caught.exception.code, "INVALID_ARGUMENT")

    def test_f64_arrays_are_refused_everywhere_alike(self):
        wide, y = X.astype(np.float64), np.empty((3, 4), np.float32)
        session, graph = self.executable.session(), tailor.Graph()
        x = graph.input("x", "f32", ["N", 4])
        for call in (lambda: self.executable.run(wide, BIAS), lambda: session.run(x=X, bias=BIAS.astype(np.float64)),
                     lambda: session.bind([wide, BIAS], [y]), lambda: session.bind([X, BIAS], [np.empty((3, 4))]),
                     lambda: session.run(X, BIAS, out=[np.empty((3, 4))]), lambda: self.executable.plan(wide, BIAS),
                     lambda: session.reserve(wide, BIAS), lambda: self.executable.run(X, np.float64(3)),
                     lambda: graph.constant(wide, "w", dtype="f32"), lambda: x + wide, lambda: wide @ x,
                     lambda: x * np.sqrt(np.float64(4)), lambda: x.max(np.ones(4)),
                     lambda: graph.select(x.gt(0.0), x, wide)):
            self.refuses(call)
        self.refuses(lambda: self.executable.run(wide, BIAS), 'input "x": dtype is f64')
        self.refuses(lambda: self.executable.run(X, BIAS, out=[np.empty((3, 4))]), 'output "y": dtype is f64')
        self.refuses(lambda: graph.constant(wide, "w", dtype="f32"), 'constant "w": dtype is f64')
        self.refuses(lambda: self.executable.run(X.astype(np.int32), BIAS), "dtype is i32, expected f32")

    def test_lists_and_numbers_are_converted(self):
        y, = self.executable.run([[1, 2, 3, 4.5]], (1, 1, 1, 1))
        np.testing.assert_array_equal(y, np.array([[2, 3, 4, 5.5]], np.float32))
        graph = tailor.Graph()
        x = graph.input("x", "f32", ["N", 4])
        self.assertEqual((x * 2).dtype, "f32")
        self.assertEqual(graph.constant([1, 2.5], dtype="f32").dtype, "f32")
        self.assertEqual(graph.constant(3, dtype="i8").dtype, "i8")
        integers = scale("i32").compile("host")
        np.testing.assert_array_equal(integers.run([[1, 2, 3, 4]], [1, 0, 1, 0])[0], [[2, 2, 4, 4]])
        with self.assertRaisesRegex(TypeError, "input 'bias': .* elements of float64, which i32 does not hold"):
            integers.run([[1, 2, 3, 4]], [1.5, 0, 1, 0])
        with self.assertRaises((OverflowError, TypeError)):
            integers.run([[1, 2, 3, 2**40]], [1, 0, 1, 0])
        for wrong in (None, "text", [[1], [1, 2]], object(), [[1j] * 4]):
            with self.assertRaises((TypeError, ValueError)):
                self.executable.run(wrong, BIAS)

    def test_dense_arrays_are_not_copied(self):
        class Sub(np.ndarray):
            pass

        frozen = X.copy()
        frozen.flags.writeable = False
        with tempfile.NamedTemporaryFile() as file:
            file.write(X.tobytes())
            file.flush()
            mapped = np.memmap(file.name, np.float32, "r", shape=(3, 4))
            foreign = np.frombuffer(array.array("f", range(12)), np.float32).reshape(3, 4)
            for x in (X, frozen, X.view(Sub), mapped, foreign, np.zeros((0, 4), np.float32), np.asmatrix(X),
                      np.lib.stride_tricks.as_strided(X, (1, 4), (1000, 4))):
                arrays, tensors = self.executable._program.arguments((x, BIAS), {})
                self.assertIs(arrays[0], x)
                self.assertEqual(tensors[0].data or 0, x.__array_interface__["data"][0])
                np.testing.assert_array_equal(self.executable.run(x, BIAS)[0], np.asarray(x) + 1)
            del mapped
        graph = tailor.Graph()
        graph.output("y", graph.input("s", "f32", []) * 2.0)
        for scalar in (np.array(3, np.float32), np.float32(3), 3, 3.0):
            self.assertEqual(graph.compile("host").run(scalar)[0], 6)

    def test_arrays_that_runs_cannot_read(self):
        with self.assertRaisesRegex(TypeError, r"input 'x': .*byte order of another machine \(>f4\): use .astype\(np.float32\)"):
            self.executable.run(X.astype(">f4"), BIAS)
        with self.assertRaisesRegex(TypeError, "byte order of another machine"):
            tailor.Graph().constant(X.astype(">f4"))
        with self.assertRaisesRegex(TypeError, "'x' is a masked array"):
            self.executable.run(np.ma.masked_array(X, X > 3), BIAS)
        for dtype in ("complex64", "U3", "datetime64[s]", "object"):
            with self.assertRaisesRegex(TypeError, "input 'x': .*is no element type"):
                self.executable.run(np.zeros((3, 4), dtype), BIAS)

    def test_outputs_go_out_by_dlpack(self):
        for outputs in (self.executable.run(X, BIAS), self.executable.session().run(X, BIAS, borrow=True)):
            y = np.from_dlpack(outputs[0])
            self.assertEqual(y.__array_interface__["data"], outputs[0].__array_interface__["data"])
            np.testing.assert_array_equal(y, X + 1)


class InputTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.executable = scale().compile("host")

    def test_inputs_by_name_or_in_a_dict(self):
        session, y = self.executable.session(), np.empty((3, 4), np.float32)
        for call in (self.executable.run, session.run):
            for outputs in (call(x=X, bias=BIAS), call({"bias": BIAS, "x": X}), call({"x": X}, bias=BIAS), call(X, bias=BIAS)):
                np.testing.assert_array_equal(outputs[0], X + 1)
        session.bind({"x": X, "bias": BIAS}, [y])
        session.run_bound()
        np.testing.assert_array_equal(y, X + 1)
        self.assertEqual(self.executable.plan({"x": (3, 4), "bias": (4,)}).shapes, [(3, 4)])
        session.reserve({"x": (3, 4), "bias": (4,)})

    def test_mistakes_name_the_inputs(self):
        wanted = re.escape("the inputs are (x: f32[N, 4], bias: f32[4])")
        for call, words in ((lambda: self.executable.run(X), "'bias' is missing"), (self.executable.run, "'x', 'bias' are missing"),
                            (lambda: self.executable.run(X, BIAS, X), "3 inputs are given"),
                            (lambda: self.executable.run(X, BIAS, mask=X), "'mask' is no input"),
                            (lambda: self.executable.run(X, x=X), "'x' is given twice"),
                            (lambda: self.executable.run({"x": X}, x=X), "'x' is given twice")):
            with self.assertRaisesRegex(TypeError, f"{words}, {wanted}"):
                call()
        with self.assertRaisesRegex(TypeError, "out is a ndarray: a list of 1 arrays"):
            self.executable.run(X, BIAS, out=X)
        for option in ("trace", "parallel_for"):
            with self.assertRaisesRegex(TypeError, f"{option} is 3, which cannot be called"):
                self.executable.session(**{option: 3})
        with self.assertRaisesRegex(TypeError, "log is 3"):
            tailor.Runtime(log=3)
        with self.assertRaisesRegex(TypeError, "shape is 'N': a list of dims"):
            tailor.Graph().input("x", "f32", "N")
        with self.assertRaisesRegex(TypeError, "shape is 4: a list of dims"):
            tailor.Graph().input("x", "f32", 4)


def add_in_another_process(executable, x):
    return executable.run(x, BIAS)[0]


class PickleTest(unittest.TestCase):
    def test_executables_are_pickled_as_their_bytes(self):
        executable = scale().compile("host")
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            twin = pickle.loads(pickle.dumps(executable, protocol))
            self.assertEqual(twin.to_bytes(), executable.to_bytes())
            np.testing.assert_array_equal(twin.run(X, BIAS)[0], X + 1)
        self.assertEqual(len(pickle.dumps(executable)) // 1000, (len(executable.to_bytes()) + 200) // 1000)

    def test_load_options_go_along(self):
        seed = bytes(range(32))
        public = bytes.fromhex("03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8")
        signed = tailor.Executable.from_bytes(scale().compile_artifact("x86-64-v2", secret_key=seed + public),
                                              public_key=public, target="x86-64-v2")
        twin = pickle.loads(pickle.dumps(signed))
        self.assertEqual((twin._options["public_key"], twin._options["target"]), (public, "x86-64-v2"))

    def test_copies_share_the_program(self):
        executable = scale().compile("host")
        for twin in (copy.copy(executable), copy.deepcopy(executable), copy.deepcopy([executable])[0]):
            self.assertIs(twin._handle, executable._handle)
            twin.close()
        np.testing.assert_array_equal(executable.run(X, BIAS)[0], X + 1)

    def test_processes_pass_executables(self):
        executable = scale().compile("host")
        with multiprocessing.get_context("spawn").Pool(2) as pool:
            outputs = pool.starmap(add_in_another_process, [(executable, X + i) for i in range(4)])
        for i, y in enumerate(outputs):
            np.testing.assert_array_equal(y, X + i + 1)

    def test_an_executable_of_a_runtime_is_refused_with_the_remedy(self):
        executable = scale().compile("host", runtime=tailor.Runtime())
        with self.assertRaisesRegex(TypeError, "to_bytes.*from_bytes"):
            pickle.dumps(executable)


class FormTest(unittest.TestCase):
    def test_representations(self):
        graph = scale()
        executable = graph.compile("host")
        self.assertEqual(repr(graph), "Graph(scale)")
        self.assertEqual(repr(executable), "Executable(inputs=[x: f32[N, 4], bias: f32[4]], outputs=[y: f32[N, 4]])")
        self.assertEqual(repr(executable.session(threads=2)),
                         "Session(inputs=[x: f32[N, 4], bias: f32[4]], outputs=[y: f32[N, 4]], threads=2)")
        self.assertEqual(repr(tailor.Runtime()), "Runtime(operators=[])")
        self.assertEqual(str(executable.inputs[0]), "x: f32[N, 4]")
        self.assertIn("'x'", repr(executable.inputs[0]))

    def test_version(self):
        self.assertEqual(tailor.__version__, tailor.version())
        with self.assertRaisesRegex(AttributeError, "no attribute 'nothing'"):
            tailor.nothing

    def test_everything_public_is_documented(self):
        import tailor.__main__
        import tailor.dims
        import tailor.onnx
        missing, seen = [], set()

        def look(name, thing):
            if id(thing) in seen or not (getattr(thing, "__module__", "") or "").startswith("tailor"):
                return
            seen.add(id(thing))
            if not inspect.getdoc(thing):
                missing.append(name)
            if inspect.isclass(thing):
                for member, value in inspect.getmembers(thing):
                    function = value.fget if isinstance(value, property) else value
                    if not member.startswith("_") and (callable(function) or isinstance(value, property)):
                        look(f"{name}.{member}", getattr(function, "__func__", function))

        for module in (tailor, tailor.dims, tailor.onnx, tailor.runtime, tailor.graph, tailor.errors):
            self.assertTrue(module.__doc__)
            for name, thing in vars(module).items():
                if not name.startswith("_") and callable(thing):
                    look(f"{module.__name__}.{name}", thing)
        self.assertGreater(len(seen), 200)
        self.assertEqual(missing, [])


if __name__ == "__main__":
    unittest.main()
