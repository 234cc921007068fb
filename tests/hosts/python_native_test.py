"""What Python users expect of a package: closing, indexing, pickling, awaiting, element types, representations."""
import array
import asyncio
import copy
import gc
import inspect
import multiprocessing
import os
import pathlib
import pickle
import re
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest
import weakref

import numpy as np

import tailor


def scale(dtype="f32"):
    graph = tailor.Graph("scale")
    x = graph.input("x", dtype, ["N", 4])
    graph.output("y", x + graph.input("bias", dtype, [4]))
    return graph


X, BIAS = np.arange(12, dtype=np.float32).reshape(3, 4), np.ones(4, np.float32)


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

    def test_closing_during_a_call(self):
        """From its own callback and from another thread: the call ends as usual."""
        executable = scale().compile("host")
        session = executable.session(trace=lambda launch, phase: (session.close(), executable.close()))
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


class IndexTest(unittest.TestCase):
    SHAPES = ((5, 4, 6), (1, 4, 6), (9, 4, 6), (2, 4, 6))

    def check(self, indices, shapes=SHAPES, dims=("N", 4, "M")):
        """numpy's result for each index, at each shape."""
        graph = tailor.Graph("parts")
        x = graph.input("x", "f32", dims)
        for i, index in enumerate(indices):
            graph.output(f"y{i}", x[index])
        executable = graph.compile("host")
        for shape in shapes:
            array = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
            for index, got in zip(indices, executable.run(array)):
                np.testing.assert_array_equal(got, array[index], err_msg=f"{index} of {shape}")

    def test_basic_indices_are_numpys(self):
        s = slice
        self.check([0, -1, (0, 1), (..., 2), (s(None), s(None, None, 2)), (..., None), None, (s(None), None, 1), ...,
                    (s(1, None),), (s(None, -1),), (s(-3, None),), (s(2, 100),), (s(100, None),), (s(None, -100),),
                    (s(None), s(1, 3)), (s(None, None, -1),), (s(None, None, -2), s(None), s(4, 1, -1)), (s(3, 0, -1),),
                    (s(-2, None, -1), 3, s(None, 2)), (0, ..., -1), (s(None), -4), (0, 0, 0), (), s(1, 1), s(3, 1),
                    (s(None, None, 3), None, ..., s(1, None, 2)), np.int64(0), (np.array(0), s(-1, None))])

    def test_lists_of_positions_are_gathered(self):
        graph = tailor.Graph("rows")
        x, at = graph.input("x", "f32", ["N", 4]), graph.input("at", "i64", ["K"])
        graph.output("rows", x[at])
        graph.output("columns", x[1:, [3, 0, -1]])
        graph.output("grid", x[:, np.array([[0, 1], [2, 3]], np.int32)])
        rows, columns, grid = graph.compile("host").run(X, np.array([2, 0, -1, 2]))
        np.testing.assert_array_equal(rows, X[[2, 0, -1, 2]])
        np.testing.assert_array_equal(columns, X[1:, [3, 0, -1]])
        np.testing.assert_array_equal(grid, X[:, [[0, 1], [2, 3]]])

    def test_bounds_may_be_dims(self):
        graph, n = tailor.Graph("window"), tailor.symbol("n")
        x, by = graph.input("x", "f32", ["N", 4]), graph.input("by", "f32", [n])
        graph.output("y", x[1:n + 1])
        graph.output("last", x[x.shape[0] - 1])
        graph.output("tail", x[n:])
        self.assertEqual(repr(x[1:n + 1]), "<tailor.Value f32[n, 4]>")
        executable = graph.compile("host")
        for size in (0, 1, 2):
            y, last, tail = executable.run(X, np.zeros(size, np.float32))
            np.testing.assert_array_equal(y, X[1:size + 1])
            np.testing.assert_array_equal(last, X[-1])
            np.testing.assert_array_equal(tail, X[size:])
        with self.assertRaises(tailor.Error):
            executable.run(X, np.zeros(3, np.float32))

    def test_positions_out_of_range(self):
        graph = tailor.Graph()
        x = graph.input("x", "f32", ["N", 4])
        for index in ((0, 4), (0, -5)):
            with self.assertRaisesRegex(IndexError, f"index {index[1]} is out of range for a dim size of 4"):
                x[index]
        graph.output("y", x[2])
        graph.output("z", x[-2])
        executable = graph.compile("host")
        executable.run(X)
        for rows in (0, 1, 2):
            with self.assertRaises(tailor.Error):
                executable.run(X[:rows])

    def test_shapes_stay_plain_where_bounds_are_proven(self):
        graph = tailor.Graph()
        x = graph.input("x", "f32", [tailor.symbol("N", min=4), 8])
        for part, shape in ((x[1:], "N - 1, 8"), (x[:4, :100], "4, 8"), (x[-3:], "3, 8"), (x[:, ::3], "N, 3"),
                            (x[0], "8"), (x[..., None], "N, 8, 1")):
            self.assertEqual(repr(part), f"<tailor.Value f32[{shape}]>")

    def test_what_is_no_index(self):
        graph = tailor.Graph()
        x, mask = graph.input("x", "f32", ["N", 4]), graph.input("m", "bool", ["N"])
        for index in (mask, np.array([True, False]), [True, False], True, (0, np.bool_(True)), x.gt(0.0)):
            with self.assertRaisesRegex(TypeError, "boolean masks are no indices.*graph.compact.*graph.select"):
                x[index]
        for index, error, words in (((0, 0, 0), IndexError, "an index for 3 axes of a value with 2"),
                                    ((..., ...), IndexError, "more than one ..."),
                                    ((slice(None, None, 0),), ValueError, "step of a slice is 0"),
                                    (([0], [1]), IndexError, "index twice"), ((0, [1]), IndexError, "index twice"),
                                    (1.0, TypeError, "an index has 1.0"), ("x", TypeError, "an index has 'x'"),
                                    (np.array([1.0]), TypeError, "positions in an index are float64"),
                                    (slice(0.5, None), TypeError, "float")):
            with self.assertRaisesRegex(error, words):
                x[index]
        with self.assertRaises(TypeError):
            x[0] = 1.0


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
                     lambda: x * np.sqrt(np.float64(4)), lambda: x.layer_norm(np.ones(4)) if False else x.max(np.ones(4)),
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


class AsyncTest(unittest.IsolatedAsyncioTestCase):
    def setUp(self):
        self.executable = scale().compile("host")

    async def test_runs_are_awaited(self):
        session = self.executable.session()
        np.testing.assert_array_equal((await session.run_async(X, bias=BIAS))[0], X + 1)
        outputs = await asyncio.gather(*(self.executable.run_async(X + i, BIAS) for i in range(20)))
        for i, (y,) in enumerate(outputs):
            np.testing.assert_array_equal(y, X + i + 1)
        out = np.empty((3, 4), np.float32)
        self.assertIs((await self.executable.run_async({"x": X, "bias": BIAS}, out=[out]))[0], out)
        with self.assertRaisesRegex(tailor.Error, "dtype is f64"):
            await self.executable.run_async(X.astype(np.float64), BIAS)

    async def test_a_cancelled_task_leaves_the_session_free(self):
        begun = threading.Event()
        session = self.executable.session(trace=lambda launch, phase: (begun.set(), time.sleep(0.05)))
        task = asyncio.create_task(session.run_async(X, BIAS))
        await asyncio.get_running_loop().run_in_executor(None, begun.wait)
        task.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await task
        np.testing.assert_array_equal((await session.run_async(X, BIAS))[0], X + 1)

    async def test_a_run_that_waits_for_a_thread_is_withdrawn(self):
        loop, held = asyncio.get_running_loop(), threading.Event()
        from concurrent.futures import ThreadPoolExecutor
        loop.set_default_executor(ThreadPoolExecutor(1))
        blocker = loop.run_in_executor(None, held.wait)
        runs = []
        session = self.executable.session(trace=lambda launch, phase: runs.append(launch))
        task = asyncio.create_task(session.run_async(X, BIAS))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.sleep(0)
        held.set()
        with self.assertRaises(asyncio.CancelledError):
            await task
        await blocker
        self.assertEqual(runs, [])


class CallbackTest(unittest.TestCase):
    def test_launches_have_names(self):
        executable, told = scale().compile("host"), []
        executable.session(trace=lambda launch, phase: told.append((launch, launch.kernel, phase))).run(X, BIAS)
        name = executable.launches[0].kernel
        self.assertEqual(told, [(0, name, 0), (0, name, 1)])

    def test_what_a_trace_raises_is_raised_by_the_run(self):
        session = scale().compile("host").session(trace=lambda launch, phase: 1 / 0)
        with self.assertRaises(ZeroDivisionError):
            session.run(X, BIAS)
        with self.assertRaises(ZeroDivisionError):
            session.run(X, BIAS)

    def interrupted(self, script):
        """Runs a script that is interrupted as by Ctrl-C once it has printed "begun"."""
        child = subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True)
        self.assertEqual(child.stdout.readline(), "begun\n")
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=120)
        self.assertEqual((child.returncode, out), (0, "interrupted\nend\n"), err[-2000:])

    def test_an_interrupt_cancels_a_compilation(self):
        self.interrupted("""
            import numpy as np, tailor
            graph = tailor.Graph()
            x = graph.input("x", "f32", ["N", 64])
            for i in range(200):
                x = ((x @ graph.constant(np.full((64, 64), i, np.float32), f"w{i}")).tanh() + x).softmax()
            graph.output("y", x)
            begun = []
            def progress(phase, done):
                if not begun:
                    begun.append(print("begun", flush=True))
            try:
                graph.compile(["x86-64-v2", "x86-64-v3", "x86-64-v4"], progress=progress)
            except KeyboardInterrupt:
                print("interrupted")
            print("end" if "softmax" in graph.text or graph.text else "")
        """)


def endless():
    """An executable whose runs end only when they are cancelled."""
    more, turn, graph = tailor.Graph("more"), tailor.Graph("turn"), tailor.Graph("endless")
    more.output("more", more.input("t", "i64", []) < 2**62)
    turn.output("t", turn.input("t", "i64", []) + 1)
    graph.output("t", graph.while_([graph.input("t", "i64", [])], more, turn)[0])
    return graph.compile("host")


class CancelTest(unittest.TestCase):
    def refuses(self, call, code):
        with self.assertRaises(tailor.Error) as caught:
            call()
        self.assertEqual(caught.exception.code, code)

    def test_a_failed_run_does_not_keep_its_session(self):
        def failing(options, *inputs):
            with executable.session(**options) as session, self.assertRaises((tailor.Error, ZeroDivisionError)):
                session.run(*inputs)

        async def cancelled():
            with executable.session() as session:
                task = asyncio.create_task(session.run_async(np.array(0)))
                await asyncio.sleep(0.01)
                task.cancel()
                await asyncio.wait([task])

        executable = endless()
        gc.collect()
        gc.disable()
        try:
            failing({"timeout": 0.01}, np.array(0))
            failing({}, np.array([1.5]))
            failing({"trace_events": lambda event: 1 / 0}, np.array(2**62 - 1))
            asyncio.run(cancelled())
            self.assertEqual(executable.counters().sessions, 0)
        finally:
            gc.enable()

    def test_another_thread_cancels(self):
        session, t = endless().session(), np.array(0)
        timer = threading.Timer(0.05, session.cancel)
        timer.start()
        self.refuses(lambda: session.run(t), "CANCELLED")
        timer.join()
        session.cancel()
        self.refuses(lambda: session.run(t), "CANCELLED")
        session.cancel()
        session.uncancel()
        self.assertEqual(session.run(np.array(2**62))[0], 2**62)

    def test_closing_does_not_end_a_run_and_cancelling_a_closed_session_is_an_error(self):
        session = endless().session()
        session.close()
        for call in (session.cancel, session.uncancel, lambda: session.set_timeout(1)):
            self.refuses(call, "FAILED_PRECONDITION")

    def test_timeouts(self):
        executable, t = endless(), np.array(0)
        session = executable.session(timeout=0.01)
        self.refuses(lambda: session.run(t), "DEADLINE_EXCEEDED")
        session.bind([t], [np.array(0)])
        self.refuses(session.run_bound, "DEADLINE_EXCEEDED")
        session.set_timeout(None)
        self.assertEqual(session.run(np.array(2**62))[0], 2**62)
        session.set_timeout(1e-9)
        self.refuses(lambda: session.run(t), "DEADLINE_EXCEEDED")
        for wrong in (0, -1, float("nan")):
            with self.assertRaisesRegex(ValueError, "None is no limit"):
                executable.session(timeout=wrong)
        for wrong in ("1", [1]):
            with self.assertRaises(TypeError):
                session.set_timeout(wrong)

    def test_a_cancelled_task_cancels_its_run(self):
        async def cancel(runs):
            task = asyncio.create_task(runs.run_async(np.array(0)))
            await asyncio.sleep(0.05)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            with self.assertRaises(TimeoutError):
                await asyncio.wait_for(runs.run_async(np.array(0)), 0.05)
            return await runs.run_async(np.array(2**62))

        executable = endless()
        for runs in (executable, executable.session()):
            self.assertEqual(asyncio.run(cancel(runs))[0], 2**62)

    def interrupted(self, call):
        CallbackTest.interrupted(self, textwrap.dedent("""
            import os, sys, threading, time
            import numpy as np, tailor
            sys.path.insert(0, os.environ["TESTS"])
            from python_native_test import endless
            executable = endless()
            session, ends = executable.session(), np.array(2**62)
            traced = executable.session(trace=lambda launch, phase: None)
            def begun():
                time.sleep(0.1)
                print("begun", flush=True)
            threading.Thread(target=begun).start()
            try:
                CALL
            except KeyboardInterrupt:
                print("interrupted")
            assert session.run(ends)[0] == executable.run(ends)[0] == traced.run(ends)[0] == 2**62
            print("end")
        """).replace("CALL", call))

    def test_an_interrupt_cancels_runs(self):
        os.environ["TESTS"] = os.path.dirname(os.path.abspath(__file__))
        for call in ("session.run(np.array(0))", "executable.run(np.array(0))", "session.run(np.array(0), borrow=True)",
                     "traced.run(np.array(0))", "session.bind([np.array(0)], [np.array(0)]), session.run_bound()"):
            with self.subTest(call):
                self.interrupted(call)


class RuntimeTest(unittest.TestCase):
    """What a Runtime sets for all sessions, and what an executable tells of them."""

    def test_the_executor_of_a_runtime_runs_all_sessions_without_their_own(self):
        counts = []

        def parallel_for(task, count):
            counts.append(count)
            for i in range(count):
                task(i)

        runtime = tailor.Runtime(parallel_for=parallel_for, parallel_threads=3)
        executable = scale().compile("host", runtime=runtime)
        x = np.ones((100000, 4), np.float32)
        for run in (executable.run, executable.session().run, lambda *inputs: self.elsewhere(executable.run, *inputs)):
            counts.clear()
            self.assertTrue((run(x, BIAS)[0] == 2).all())
            self.assertTrue(counts and max(counts) <= 3)
        counts.clear()
        executable.session(parallel_for=lambda task, count: [task(i) for i in range(count)], threads=2).run(x, BIAS)
        executable.session(threads=1).run(x, BIAS)
        self.assertEqual(counts, [])

    @staticmethod
    def elsewhere(run, *inputs):
        """run() on another thread than the main one."""
        out = []
        def work():
            try:
                out.append(run(*inputs))
            except BaseException as error:
                out.append(error)
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        if isinstance(out[0], BaseException):
            raise out[0]
        return out[0]

    def test_what_the_executor_raises_is_raised_by_the_run(self):
        def parallel_for(task, count):
            raise KeyError("no threads")

        executable = scale().compile("host", runtime=tailor.Runtime(parallel_for=parallel_for, parallel_threads=2))
        x = np.ones((100000, 4), np.float32)
        for run in (executable.run, executable.session().run, lambda *inputs: self.elsewhere(executable.run, *inputs)):
            with self.assertRaisesRegex(KeyError, "no threads"):
                run(x, BIAS)

    def test_limits(self):
        for name in ("parallel_threads", "pooled_sessions", "pooled_bytes"):
            with self.assertRaisesRegex(ValueError, f"{name} is 0"):
                tailor.Runtime(**{name: 0})
            with self.assertRaisesRegex(OverflowError, f"{name} is -1"):
                tailor.Runtime(**{name: -1})
        executable = scale().compile("host", runtime=tailor.Runtime(pooled_sessions=1, pooled_bytes=1))
        executable.run(X, BIAS)
        self.assertEqual(executable.counters().pooled_sessions, 1)
        with self.assertRaises(tailor.Error):
            tailor.Runtime(pooled_sessions=2**20)

    def test_perf_maps_name_the_generated_functions(self):
        path = pathlib.Path(f"/tmp/perf-{os.getpid()}.map")
        scale().compile("host", runtime=tailor.Runtime(perf_map=True))
        names = path.read_text()
        path.unlink()
        self.assertRegex(names, r"(?m)^[0-9a-f]+ [0-9a-f]+ \w+: host program$")

    def test_counters_and_trimming(self):
        executable = scale().compile("host")
        self.assertEqual((executable.counters().runs, executable.counters().sessions), (0, 0))
        for runs in (executable, executable.session()):
            runs.run(X, BIAS)
        del runs
        self.elsewhere(executable.run, X, BIAS)
        with self.assertRaises(tailor.Error):
            executable.run(X[:, :3].copy(), BIAS)
        counts = executable.counters()
        self.assertEqual((counts.runs, counts.runs_in_progress), (3 + counts.failed_runs, 0))
        self.assertGreaterEqual(counts.pooled_sessions, 2)
        executable.trim()
        self.assertEqual((executable.counters().pooled_sessions, executable.counters().sessions), (0, 0))
        endless_one = endless()
        with self.assertRaises(tailor.Error):
            endless_one.session(timeout=0.001).run(np.array(0))
        self.assertEqual(endless_one.counters().cancelled_runs, 1)

    def test_a_session_is_trimmed(self):
        graph = tailor.Graph()
        x = graph.input("x", "f32", ["N"])
        graph.output("kept", graph.compact(x, x > 0.0))
        executable = graph.compile("host")
        session = executable.session()
        session.run(np.ones(100000, np.float32))
        held = executable.counters().workspace_bytes
        session.trim()
        self.assertLess(executable.counters().workspace_bytes, held)
        self.assertEqual(session.run(np.ones(9, np.float32))[0].shape, (9,))

    def test_trace_events(self):
        executable, events = scale().compile("host"), []
        before = time.monotonic_ns()
        executable.session(trace_events=events.append).run(X, BIAS)
        after = time.monotonic_ns()
        launch, run = events
        self.assertEqual((launch.launch, launch.launch.kernel, run.launch), (0, executable.launches[0].kernel, None))
        self.assertTrue(before <= run.begin_ns <= launch.begin_ns <= launch.end_ns <= run.end_ns <= after)
        self.assertEqual(launch.version, executable.plan(X, BIAS).chosen[0])
        with self.assertRaises(ZeroDivisionError):
            executable.session(trace_events=lambda event: 1 / 0).run(X, BIAS)
        with self.assertRaisesRegex(TypeError, "trace_events is 3"):
            executable.session(trace_events=3)


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
