"""Compiling and running in Python, against numpy."""
import concurrent.futures
import os
import pathlib
import tempfile
import threading
import unittest

import numpy as np

import tailor

try:
    import torch
except ImportError:
    torch = None


ONEDNN = (pathlib.Path(os.environ["TAILOR_LIBRARY_DIR"]) / "libtailor_onednn.so").exists()


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


class RunTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.w = np.random.default_rng(0).standard_normal((8, 16)).astype(np.float32)
        batch = tailor.symbol("batch", max=64)
        cls.graph = tailor.Graph("run")
        x = cls.graph.input("x", "f32", [batch, "S", 8])
        bias = cls.graph.input("bias", "f32", [16])
        y = x @ cls.graph.constant(cls.w, "w") + bias
        cls.graph.output("y", y.softmax())
        cls.graph.output("top", y.reduce_max(-1))
        cls.executable = cls.graph.compile("host")

    def inputs(self, batch, steps):
        rng = np.random.default_rng(batch * 100 + steps)
        return rng.standard_normal((batch, steps, 8), np.float32), rng.standard_normal(16, np.float32)

    def check(self, outputs, x, bias):
        y = x @ self.w + bias
        self.assertEqual([output.shape for output in outputs], [y.shape, y.shape[:-1]])
        np.testing.assert_allclose(outputs[0], softmax(y) if y.size else y, atol=1e-6)
        np.testing.assert_allclose(outputs[1], y.max(-1), atol=1e-5)

    def test_trace_tells_of_every_launch_in_order(self):
        events = []
        session = self.executable.session(trace=events.append)
        self.check(session.run(*self.inputs(2, 3)), *self.inputs(2, 3))
        launches = self.executable.describe()["variants"][0]["launches"]
        self.assertEqual([event.launch for event in events], [*range(len(launches)), None])

    def test_tensors_of_other_libraries_are_used_in_place(self):
        class Foreign:
            """Knows DLPack alone; `older` libraries know no versions."""

            def __init__(self, array, older=False):
                self._array, self.older = array, older

            def __dlpack_device__(self):
                return self._array.__dlpack_device__()

            def __dlpack__(self, **options):
                if self.older and options:
                    raise TypeError("no such options")
                return self._array.__dlpack__(**options)

        x, bias = self.inputs(2, 3)
        session = self.executable.session()
        for older in (False, True):
            y, top = np.zeros((2, 3, 16), np.float32), np.zeros((2, 3), np.float32)
            given = [Foreign(y, older), Foreign(top, older)]
            outputs = session.run(Foreign(x, older), Foreign(bias, older), out=given)
            self.assertIs(outputs[0], given[0])
            self.check([y, top], x, bias)
            self.check(self.executable.run(Foreign(x, older), bias), x, bias)
        bias.flags.writeable = False
        self.check(session.run(x, Foreign(bias)), x, bias)
        top.flags.writeable = False
        with self.assertRaisesRegex(ValueError, "an output array is read-only"):
            session.run(x, bias, out=[y, Foreign(top)])
        graph = tailor.Graph("positions")
        graph.output("y", graph.nonzero(graph.input("x", "f32", ["N"])))
        found, = graph.compile("host").run(Foreign(np.array([0, 3, 0, 5], np.float32)))
        np.testing.assert_array_equal(np.ravel(found), [1, 3])
        with self.assertRaisesRegex(TypeError, "an output is a list, not an array"):
            session.run(x, bias, out=[[1, 2], top])
        with self.assertRaisesRegex(tailor.Error, 'input "x": dtype is f64, expected f32'):
            session.run(Foreign(x.astype(np.float64)), bias)
        with self.assertRaisesRegex(tailor.Error, 'input "x": it is strided'):
            session.run(Foreign(x.transpose(1, 0, 2)), bias)
        turned = self.executable.session(copy_strided=True).run(Foreign(x.transpose(1, 0, 2)), bias)
        self.check(turned, x.transpose(1, 0, 2), bias)
        with self.assertRaisesRegex(tailor.Error, "dtype.code is 5, with 128 bits, which is no type of Tailor's"):
            session.run(Foreign(np.zeros((1, 1, 8), np.complex128)), bias)

    @unittest.skipIf(torch is None, "PyTorch is not installed")
    def test_tensors_of_pytorch_are_used_in_place(self):
        graph = tailor.Graph("double")
        graph.output("y", graph.input("x", "bf16", ["N", 3]) * 2.0)
        x = torch.arange(12, dtype=torch.bfloat16).reshape(4, 3)
        out = torch.zeros_like(x)
        graph.compile("host").run(x, out=[out])
        self.assertTrue(torch.equal(out, x * 2))
        borrowed, = graph.compile("host").session().run(x, borrow=True)
        self.assertEqual(borrowed.shape, (4, 3))

    def test_borrowed_results_are_dlpacks(self):
        x, bias = self.inputs(2, 3)
        session = self.executable.session()
        y, top = (np.from_dlpack(array) for array in session.run(x, bias, borrow=True))
        del session
        self.check([y, top], x, bias)

    def test_borrowed_results_are_inputs_of_the_next_run(self):
        graph = tailor.Graph("cache")
        past, row = graph.input("past", "f32", ["P", 3]), graph.input("row", "f32", [1, 3])
        graph.output("new", graph.concat([past, row], 0))
        session = graph.compile("host").session()
        cache = np.zeros((0, 3), np.float32)
        for i in range(50):
            cache, = session.run(cache, np.full((1, 3), i, np.float32), borrow=True)
        np.testing.assert_array_equal(cache, np.repeat(np.arange(50.0), 3).reshape(50, 3))

    def test_many_shapes_without_compiling(self):
        emitted = tailor.modules_emitted()
        for batch, steps in ((1, 1), (3, 5), (64, 2), (2, 129), (0, 4), (5, 0)):
            x, bias = self.inputs(batch, steps)
            self.check(self.executable.run(x, bias), x, bias)
        self.assertEqual(tailor.modules_emitted(), emitted)

    def test_a_long_depth_is_summed_in_parts(self):
        depth = 3 * 4000
        w = np.random.default_rng(1).standard_normal((depth, 5)).astype(np.float32)
        graph = tailor.Graph("long")
        x = graph.input("x", "f32", ["rows", depth])
        graph.output("y", x @ graph.constant(w, "w"))
        executable = graph.compile("host")
        self.assertEqual(len(executable.describe()["variants"][0]["launches"]), 2)
        for rows in (0, 1, 4, 19):
            values = np.random.default_rng(rows).standard_normal((rows, depth)).astype(np.float32)
            y, = executable.run(values)
            np.testing.assert_allclose(y, values.astype(np.float64) @ w, rtol=0, atol=1e-3)

    @unittest.skipUnless(ONEDNN, "libtailor_onednn.so is not built")
    def test_products_by_onednn(self):
        w = np.random.default_rng(1).standard_normal((96, 40)).astype(np.float32)
        graph = tailor.Graph("layer")
        x = graph.input("x", "f32", ["rows", 96])
        graph.output("y", (x @ graph.constant(w, "w")).gelu())
        choice = "if m <= 4.5\n  own\nelse\n  provider\n"
        runtimes = [None, tailor.Runtime(product_provider="onednn"),
                    tailor.Runtime(product_provider="onednn", product_choice=choice)]
        executables = [graph.compile("host", offer_products=True, runtime=runtime) for runtime in runtimes]
        for rows in (1, 7, 64):
            values = np.random.default_rng(rows).standard_normal((rows, 96)).astype(np.float32)
            (own,), (all_theirs,), (chosen,) = [executable.run(values) for executable in executables]
            np.testing.assert_allclose(all_theirs, own, rtol=0, atol=1e-4)
            np.testing.assert_array_equal(chosen, own if rows <= 4 else all_theirs)
        with self.assertRaises(ImportError):
            tailor.Runtime(product_provider="nobody")

    def test_inputs_by_name(self):
        x, bias = self.inputs(2, 3)
        self.check(self.executable.run(bias=bias, x=x), x, bias)
        self.check(self.executable.run(x, bias=bias), x, bias)
        for arguments, named in (((x,), {}), ((x, bias, x), {}), ((x,), {"x": x}), ((x, bias), {"z": x})):
            with self.assertRaises(TypeError):
                self.executable.run(*arguments, **named)

    def test_outputs_are_written_in_place(self):
        x, bias = self.inputs(3, 4)
        out = [np.full((3, 4, 16), np.nan, np.float32), np.full((3, 4), np.nan, np.float32)]
        for run in (self.executable.run, self.executable.session().run):
            returned = run(x, bias, out=out)
            self.assertIs(returned[0], out[0])
            self.check(out, x, bias)

    def test_rows_keep_what_is_special_to_themselves(self):
        graph = tailor.Graph("rows")
        graph.output("y", graph.input("x", "f32", ["R", "C"]).softmax())
        executable = graph.compile("host")
        for length in (40, 130, 300, 1025):  # rows side by side, and one after another
            x = np.random.default_rng(length).standard_normal((13, length)).astype(np.float32)
            ordinary, = executable.session(threads=1).run(x)
            np.testing.assert_allclose(ordinary, softmax(x.astype(np.float64)), rtol=3e-6)
            x[1, length // 2] = np.nan
            x[4, length - 1] = np.inf
            x[6] = -np.inf
            x[9, ::2] = -np.inf
            special = [1, 4, 6, 9]
            for threads in (1, 2):
                y, = executable.session(threads=threads).run(x)
                np.testing.assert_array_equal(np.delete(y, special, 0), np.delete(ordinary, special, 0))
                self.assertTrue(np.isnan(y[[1, 4, 6]]).all())
                self.assertTrue((y[9, ::2] == 0).all())
                np.testing.assert_allclose(y[9, 1::2], softmax(x[9, 1::2].astype(np.float64)), rtol=3e-6)

    def test_sessions(self):
        session = self.executable.session(threads=2)
        session.reserve((64, 16, 8), (16,))
        growths = tailor.counters()["workspace_growths"]
        x, bias = self.inputs(64, 16)
        self.check(session.run(x, bias), x, bias)
        self.assertEqual(tailor.counters()["workspace_growths"], growths)
        borrowed = session.run(x, bias, borrow=True)
        self.check(borrowed, x, bias)
        out = [np.empty((64, 16, 16), np.float32), np.empty((64, 16), np.float32)]
        session.bind([x, bias], out)
        session.run_bound()
        self.check(out, x, bias)

    def test_kernels_run_on_the_callers_executor(self):
        x, bias = self.inputs(64, 16)
        expected = self.executable.run(x, bias)
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            for parallel_for in (lambda task, count: list(pool.map(task, range(count))),
                                 lambda task, count: [task(i) for i in reversed(range(count))]):
                counts = []
                def counted(task, count, parallel_for=parallel_for):
                    counts.append(count)
                    parallel_for(task, count)
                outputs = self.executable.session(threads=3, parallel_for=counted).run(x, bias)
                self.assertTrue(counts)
                self.assertLessEqual(max(counts), 3)
                for output, array in zip(outputs, expected):
                    np.testing.assert_array_equal(output, array)

    def test_what_an_executor_raises_is_raised_after_the_run(self):
        x, bias = self.inputs(64, 16)
        def fails(task, count):
            task(count - 1)
            raise KeyError("no more threads")
        session = self.executable.session(threads=3, parallel_for=fails)
        out = [np.empty((64, 16, 16), np.float32), np.empty((64, 16), np.float32)]
        with self.assertRaisesRegex(KeyError, "no more threads"):
            session.run(x, bias, out=out)
        self.check(out, x, bias)

    def test_borrowed_outputs_keep_the_session(self):
        x, bias = self.inputs(2, 2)
        outputs = self.executable.session().run(x, bias, borrow=True)
        self.check(outputs, x, bias)

    def test_bound_runs_read_the_arrays_anew(self):
        x, bias = self.inputs(2, 2)
        out = [np.empty((2, 2, 16), np.float32), np.empty((2, 2), np.float32)]
        session = self.executable.session()
        session.bind([x, bias], out)
        x += 1
        session.run_bound()
        self.check(out, x, bias)

    def test_threads_that_share_a_session_get_right_results_or_an_error(self):
        session = self.executable.session()
        start = threading.Barrier(2)

        def work(batch):
            x, bias = self.inputs(batch, 40)
            ran = refused = 0
            start.wait()
            for _ in range(200):
                try:
                    outputs = session.run(x, bias)
                except tailor.Error as error:
                    self.assertEqual(str(error), "FAILED_PRECONDITION: tailor_session_run: the session is in use by another "
                                                 "call; a session runs one call at a time")
                    refused += 1
                else:
                    self.check(outputs, x, bias)
                    ran += 1
            return ran, refused

        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            counts = list(pool.map(work, (9, 30)))
        self.assertEqual([sum(count) for count in counts], [200, 200])
        self.assertGreater(sum(ran for ran, _ in counts), 0)

    def test_results_are_copied_before_another_call_begins(self):
        graph = tailor.Graph("kept")
        x = graph.input("x", "f32", ["N"])
        graph.output("kept", graph.compact(x, graph.gt(x, graph.scalar(0.0, "f32"))))  # of an extent that data tells
        session = graph.compile("host").session()
        copy = session._copied
        others = []

        def copy_beside_another_run(index, result, handle):
            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                others.append(pool.submit(session.run, np.full(1000, 9, np.float32)).exception())
            return copy(index, result, handle)

        session._copied = copy_beside_another_run
        kept, = session.run(np.array([1, -2, 3], np.float32))
        np.testing.assert_array_equal(kept, [1, 3])
        self.assertEqual([str(other) for other in others],
                         ["FAILED_PRECONDITION: tailor_session_run: the session is in use by another call; a session runs one "
                          "call at a time"])

    def test_an_executor_that_runs_its_own_session_gets_an_error(self):
        def again(task, count):
            session.run(x, bias)

        session = self.executable.session(threads=2, parallel_for=again)
        x, bias = self.inputs(60, 100)
        with self.assertRaisesRegex(tailor.Error, "tailor_session_run: the session is in use by another call"):
            session.run(x, bias)

    def test_threads_share_an_executable(self):
        failures = []

        def work(seed):
            try:
                for steps in range(1, 20):
                    x, bias = self.inputs(seed, steps)
                    self.check(self.executable.run(x, bias), x, bias)
            except BaseException as failure:
                failures.append(failure)

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(1, 5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

    def test_a_run_of_the_shapes_of_the_last_one_plans_nothing(self):
        executable = self.graph.compile("host")
        session, planned, plans = executable.session(), executable._program.planned, []
        executable._program.planned = lambda *arguments: plans.append(arguments) or planned(*arguments)
        for batch, steps, count in ((2, 3, 1), (2, 3, 1), (3, 2, 2), (2, 3, 3), (2, 3, 3)):
            x, bias = self.inputs(batch, steps)
            self.check(session.run(x, bias), x, bias)
            self.assertEqual(len(plans), count)
        with self.assertRaises(tailor.Error):
            session.run(*self.inputs(65, 3))
        x, bias = self.inputs(2, 3)
        self.check(session.run(x, bias), x, bias)

    def test_plan(self):
        plan = self.executable.plan((64, 3, 8), (16,))
        self.assertEqual(plan.shapes, [(64, 3, 16), (64, 3)])
        self.assertGreaterEqual(plan.workspace_bytes, 0)
        with self.assertRaises(tailor.Error):
            self.executable.plan((65, 3, 8), (16,))

    def test_signature(self):
        self.assertEqual([tuple(spec) for spec in self.executable.inputs],
                         [("x", "f32", ("batch", "S", "8")), ("bias", "f32", ("16",))])
        self.assertEqual([spec.name for spec in self.executable.outputs], ["y", "top"])
        self.assertEqual({symbol.name: symbol.max for symbol in self.executable.symbols},
                         {"batch": 64, "S": 2**31 - 1})
        self.assertEqual([symbol["name"] for symbol in self.executable.describe()["symbols"]], ["batch", "S"])

    def test_bad_inputs_are_named(self):
        x, bias = self.inputs(2, 3)
        cases = (((x.astype(np.float64), bias), '"x"'), ((x[0], bias), '"x"'), ((x, bias[:8]), '"bias"'),
                 ((np.zeros((65, 1, 8), np.float32), bias), "batch"), ((x[:, ::2], bias), '"x"'))
        for arguments, words in cases:
            with self.assertRaises(tailor.Error) as caught:
                self.executable.run(*arguments)
            self.assertEqual(caught.exception.code, "INVALID_ARGUMENT")
            self.assertIn(words, caught.exception.message)

    def test_strided_inputs_where_asked_for(self):
        x, bias = self.inputs(4, 3)
        x = x.transpose(1, 0, 2)
        self.check(self.executable.session(copy_strided=True).run(x, bias), x, bias)

    def test_inputs_of_any_strides_are_copied_where_asked_for(self):
        rng = np.random.default_rng(7)
        dense = lambda *shape: rng.standard_normal(shape, np.float32)
        records = np.zeros((4, 3, 8), np.dtype([("flag", "u1"), ("x", "<f4")]))  # neither aligned nor whole elements apart
        records["x"] = dense(4, 3, 8)
        misaligned = np.zeros(4 * 3 * 8 * 4 + 1, np.uint8)[1:].view(np.float32).reshape(4, 3, 8)
        misaligned[:] = dense(4, 3, 8)
        cases = {
            "every second row": dense(8, 3, 8)[::2], "some columns": dense(4, 3, 20)[:, :, :8],
            "columns amid others": dense(4, 9, 20)[1:, 2:7:2, 5:13], "the last rows": dense(9, 3, 8)[5:, :, :],
            "backwards": dense(4, 3, 8)[::-1], "backwards everywhere": dense(4, 3, 8)[::-1, ::-1, ::-1],
            "backwards in steps": dense(9, 3, 20)[::-2, :, -2:1:-2][:4, :, :8], "repeated": np.broadcast_to(dense(8), (4, 3, 8)),
            "transposed": dense(8, 3, 4).T, "windows": np.lib.stride_tricks.sliding_window_view(dense(4, 10), 8, axis=1),
            "records": records["x"], "not aligned": misaligned, "one row": dense(2, 3, 8)[::-1][:1], "none": dense(4, 3, 8)[:0:-1][3:],
            "read-only": np.frombuffer(dense(8, 3, 8).tobytes(), np.float32).reshape(8, 3, 8)[::2],
        }
        session, bias = self.executable.session(copy_strided=True), dense(32)[::-2]
        plain = self.executable.session()
        for name, x in cases.items():
            with self.subTest(name):
                self.check(session.run(x, bias), x, bias)
                with self.assertRaises((tailor.Error, ValueError)):
                    plain.run(x, bias)

    def test_strided_inputs_are_read_anew_by_bound_runs(self):
        session = self.executable.session(copy_strided=True)
        whole = np.zeros((8, 3, 8), np.float32)
        x, bias = whole[::-2], np.arange(32, dtype=np.float32)[::2]
        outputs = [np.empty((4, 3, 16), np.float32), np.empty((4, 3), np.float32)]
        session.bind([x, bias], outputs)
        for seed in range(3):
            whole[:] = np.random.default_rng(seed).standard_normal(whole.shape)
            session.run_bound()
            self.check(outputs, x, bias)

    def test_strided_tensors_of_dlpack_are_copied_where_asked_for(self):
        class Foreign:
            def __init__(self, array):
                self._array = array

            def __dlpack__(self, **options):
                return self._array.__dlpack__()

            def __dlpack_device__(self):
                return self._array.__dlpack_device__()

        session = self.executable.session(copy_strided=True)
        whole, bias = np.random.default_rng(3).standard_normal((8, 6, 20), np.float32), np.ones(16, np.float32)
        for x in (whole[::2, :3, :8], whole[::-2, ::2, 7::-1], whole[:, 2:5, 4:12]):
            self.check(session.run(Foreign(x), bias), x, bias)
            with self.assertRaisesRegex(tailor.Error, "strided"):
                self.executable.run(Foreign(x), bias)

    def test_wrong_outputs_are_refused(self):
        x, bias = self.inputs(2, 3)
        for out in ([np.empty((2, 3, 16), np.float32)], [np.empty((2, 3, 15), np.float32), np.empty((2, 3), np.float32)]):
            with self.assertRaises(tailor.Error):
                self.executable.run(x, bias, out=out)
        outputs = self.executable.run(x, bias)
        outputs[0].flags.writeable = False
        with self.assertRaises(ValueError):
            self.executable.run(x, bias, out=outputs)

    def test_save_and_load(self):
        x, bias = self.inputs(3, 3)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "run.tlr"
            self.executable.save(path)
            data = path.read_bytes()
            self.assertEqual(self.executable.to_bytes(), data)
            loaded = tailor.load(path, verify_constants=True)
            for copy in (loaded, tailor.Executable.from_bytes(data)):
                for got, wanted in zip(copy.run(x, bias), self.executable.run(x, bias)):
                    self.assertEqual(got.tobytes(), wanted.tobytes())
            damaged = bytearray(data)
            damaged[200] ^= 1
            with self.assertRaises(tailor.Error) as caught:
                tailor.Executable.from_bytes(damaged)
            self.assertEqual(caught.exception.code, "DATA_LOSS")
            path.write_bytes(data[:len(data) // 2])
            with self.assertRaises(tailor.Error):
                tailor.load(path)

    def test_artifact_bytes_for_other_machines(self):
        data = self.graph.compile_artifact(["x86-64-v2"])
        self.assertEqual(data, self.graph.compile_artifact(["x86-64-v2"]))
        executable = tailor.Executable.from_bytes(data)
        x, bias = self.inputs(2, 2)
        self.check(executable.run(x, bias), x, bias)


class CompileTest(unittest.TestCase):
    def graph(self):
        graph = tailor.Graph()
        graph.output("y", -graph.input("x", "f32", ["B"]))
        return graph

    def test_progress_and_cancelling(self):
        seen = []
        self.graph().compile("host", progress=lambda phase, done: seen.append((phase, done)))
        self.assertTrue(seen and all(phase and 0 <= done <= 1 for phase, done in seen))
        with self.assertRaises(tailor.Error) as caught:
            self.graph().compile("host", progress=lambda phase, done: False)
        self.assertEqual(caught.exception.code, "CANCELLED")
        phases = [phase for phase, _ in seen]
        for phase in ("analyse facts", "rewrite merge-equal-nodes", "fuse stitch", "emit", "done"):
            self.assertIn(phase, phases)
        with self.assertRaisesRegex(tailor.Error, "cancelled during fuse stitch"):
            self.graph().compile("host", progress=lambda phase, done: 0 if phase == "fuse stitch" else None)
        with self.assertRaises(ZeroDivisionError):
            self.graph().compile("host", progress=lambda phase, done: 1 / 0)

    def test_bad_options(self):
        with self.assertRaisesRegex(tailor.Error, "z80"):
            self.graph().compile(["z80"])
        with self.assertRaises(ValueError):
            self.graph().compile(secret_key=b"short")

    def test_signatures(self):
        # The Ed25519 pair of the seed 0..31.
        seed = bytes(range(32))
        public = bytes.fromhex("03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8")
        signed = self.graph().compile_artifact("host", secret_key=seed + public)
        tailor.Executable.from_bytes(signed, public_key=public)
        for data, key in ((signed, bytes(32)), (self.graph().compile_artifact("host"), public)):
            with self.assertRaises(tailor.Error) as caught:
                tailor.Executable.from_bytes(data, public_key=key)
            self.assertEqual(caught.exception.code, "FAILED_PRECONDITION")

    def test_a_graph_without_outputs(self):
        with self.assertRaises(tailor.Error) as caught:
            tailor.Graph("empty").compile()
        self.assertEqual(caught.exception.code, "FAILED_PRECONDITION")

    def test_other_element_types(self):
        for name, dtype in (("bool", "bool"), ("i8", "int8"), ("u16", "uint16"), ("i32", "int32"), ("u64", "uint64"),
                            ("f16", "float16"), ("f64", "float64")):
            graph = tailor.Graph(name)
            x = graph.input("x", name, ["N"])
            graph.output("y", x.select(x, x) if name == "bool" else x + x)
            data = np.arange(20) % 2
            executable = graph.compile("host")
            y, = executable.run(data.astype(dtype))
            self.assertEqual(y.dtype, np.dtype(dtype))
            np.testing.assert_array_equal(y.astype(np.int64), data if name == "bool" else 2 * data)


class LogTest(unittest.TestCase):
    def test_runtime_with_a_log(self):
        messages = []
        runtime = tailor.Runtime(log=lambda level, message: messages.append((level, message)))
        graph = tailor.Graph()
        graph.output("y", -graph.input("x", "f32", [4]))
        executable = graph.compile("host", runtime=runtime)
        del runtime
        y, = executable.run(np.ones(4, np.float32))
        np.testing.assert_array_equal(y, -np.ones(4))
        self.assertTrue(all(isinstance(level, int) for level, _ in messages))

    def test_messages_name_the_file(self):
        messages = []
        runtime = tailor.Runtime(log=lambda level, message: messages.append(message))
        graph = tailor.Graph("named")
        graph.output("y", -graph.input("x", "f32", [4]))
        executable = graph.compile("host", runtime=runtime)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "model.tlr"
            executable.save(path)
            tailor.load(path, runtime=runtime)
        self.assertRegex(messages[0], '^graph "named": variant ')
        self.assertTrue(messages[1].startswith(f"{path}: variant "), messages)


if __name__ == "__main__":
    unittest.main()
