"""Graphs on a GPU in Python, against numpy. The GPU is the one that tests/emulator/fake_driver.h plays."""
import copy
import ctypes
import os
import subprocess
import sys
import unittest
import weakref

import numpy as np

import tailor

DRIVER = ctypes.CDLL(os.environ["TAILOR_CUDA_DRIVER"])
DRIVER.tailor_fake_cuda_complaints.restype = ctypes.c_char_p


class OnGpu:
    """An array on the GPU, as other libraries show theirs."""

    def __init__(self, array):
        address = ctypes.c_uint64()
        DRIVER.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(array.nbytes))
        self.shape, self.dtype, self.address = array.shape, array.dtype, address.value
        DRIVER.tailor_fake_cuda_poke(ctypes.c_void_p(self.address), ctypes.c_void_p(array.ctypes.data),
                                     ctypes.c_uint64(array.nbytes))
        self.__cuda_array_interface__ = {"shape": array.shape, "typestr": array.dtype.str, "version": 3,
                                         "data": (self.address, False), "strides": None}


class Tagged:
    """An array of another library's with DLPack: it says which stream it was to be ready for."""

    def __init__(self, given):
        self._given, self.stream = given, None

    def __dlpack_device__(self):
        return self._given.__dlpack_device__()

    def __dlpack__(self, *, stream=None, **options):
        self.stream = stream
        return self._given.__dlpack__(stream=stream, **options)


def read(array):
    shown = array.__cuda_array_interface__
    out = np.empty(shown["shape"], shown["typestr"])
    assert DRIVER.tailor_fake_cuda_peek(ctypes.c_void_p(out.ctypes.data), ctypes.c_void_p(shown["data"][0]),
                                        ctypes.c_uint64(out.nbytes))
    return out


class DeviceTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.graph = tailor.Graph("scaled")
        x = cls.graph.input("x", "f32", ["N", 5])
        cls.graph.output("y", x * 2.0 + cls.graph.constant(np.arange(5, dtype=np.float32), "steps"))
        cls.executable = cls.graph.compile("simt", device="cuda")

    def tearDown(self):
        self.assertEqual(DRIVER.tailor_fake_cuda_complaints(), b"")

    @staticmethod
    def example(rows):
        x = np.random.default_rng(rows).standard_normal((rows, 5)).astype(np.float32)
        return x, x * 2 + np.arange(5, dtype=np.float32)

    def current(self):
        """Makes the GPU's context this thread's, as a library beside Tailor has it."""
        context = ctypes.c_void_p()
        DRIVER.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
        DRIVER.cuCtxSetCurrent(context)
        self.addCleanup(DRIVER.cuCtxSetCurrent, None)

    def test_devices_are_listed(self):
        cpu, gpu = tailor.devices()
        self.assertEqual((cpu.device, cpu.capability), ("cpu", None))
        self.assertEqual(gpu[:5], ("cuda:0", "Tailor emulator", "9.0", 4, "12.4"))
        self.assertEqual(tailor.cuda_absence(), "")

    def test_host_arrays_are_copied(self):
        session = self.executable.session()
        for rows in (3, 0, 40):
            x, want = self.example(rows)
            np.testing.assert_array_equal(session.run(x)[0], want)
            np.testing.assert_array_equal(session.run(x, borrow=True)[0], want)
            np.testing.assert_array_equal(self.executable.run(x)[0], want)

    def test_arrays_on_the_gpu_are_used_in_place(self):
        self.current()
        x, want = self.example(7)
        on_gpu, out = OnGpu(x), OnGpu(np.zeros_like(x))
        self.executable.session().run(on_gpu, out=[out])
        np.testing.assert_array_equal(read(out), want)
        borrowed, = self.executable.session(host_outputs=False).run(on_gpu, borrow=True)
        self.assertEqual(borrowed.shape, (7, 5))

    def test_asynchronous_runs_are_waited_for(self):
        x, want = self.example(9)
        out = np.zeros_like(x)
        session = self.executable.session(asynchronous=True)
        session.run(x, out=[out])
        session.wait()
        np.testing.assert_array_equal(out, want)
        self.assertTrue(session.stream)

    def test_runs_may_be_graphs(self):
        session = self.executable.session(cuda_graph=True)
        for rows in (3, 0, 40, 7):
            x, want = self.example(rows)
            np.testing.assert_array_equal(session.run(x)[0], want)
        self.assertFalse(self.executable.plan((3, 5)).reads_back)
        graph = tailor.Graph("nonzero")
        graph.output("y", graph.nonzero(graph.input("x", "f32", ["N"])))
        reads_back = graph.compile("simt", device="cuda")
        self.assertTrue(reads_back.plan((3,)).reads_back)
        with self.assertRaisesRegex(tailor.Error, "options.cuda_graph: the program reads results back"):
            reads_back.session(cuda_graph=True)

    def test_loops_that_the_host_counts_may_be_graphs(self):
        graph = tailor.Graph("steps")
        x = graph.input("x", "f32", ["T", "B", 2])
        identity = graph.constant(np.eye(2, dtype=np.float32))
        for name, reverse in (("forward", False), ("backward", True)):
            graph.output(name, graph.rnn(x, identity, identity, reverse=reverse)[0])
        executable = graph.compile("simt", device="cuda")
        self.assertFalse(executable.plan((3, 1, 2)).reads_back)
        session = executable.session(cuda_graph=True)
        for steps in (3, 0, 700, 5, 5000):  # more launches than one graph holds, than all graphs hold
            values = np.linspace(-1, 1, steps * 6, dtype=np.float32).reshape(steps, 3, 2)
            for got, order in zip(session.run(values), (1, -1)):
                state, want = np.zeros((3, 2), np.float32), []
                for row in values[::order]:
                    state = np.tanh(row + state)
                    want.append(state)
                np.testing.assert_allclose(got, np.array(want[::order]).reshape(values.shape), rtol=1e-5, atol=1e-6)

    def test_runs_in_flight_are_polled_and_ordered_by_events(self):
        self.current()
        event, other = ctypes.c_void_p(), ctypes.c_void_p()
        DRIVER.cuEventCreate(ctypes.byref(event), 0)
        self.addCleanup(DRIVER.cuEventDestroy_v2, event)
        session = self.executable.session(asynchronous=True)
        x, want = self.example(9)
        out = np.zeros_like(x)
        session.follow(event)
        session.run(x, out=[out])
        session.record(event)
        self.assertFalse(session.poll())
        DRIVER.cuEventSynchronize(event)
        self.assertTrue(session.poll())
        np.testing.assert_array_equal(out, want)
        with self.assertRaisesRegex(tailor.Error, "event is null"):
            session.follow(None)

    def test_arrays_live_until_asynchronous_runs_are_done(self):
        self.current()
        for borrow in (False, True):
            session = self.executable.session(asynchronous=True, host_outputs=False)
            x, want = self.example(9)
            given = OnGpu(x)
            gone = weakref.ref(given)
            result, = session.run(given, borrow=borrow)
            del given
            self.assertFalse(session.poll())
            self.assertIsNotNone(gone())
            session.wait()
            self.assertIsNone(gone())
            np.testing.assert_array_equal(read(result) if borrow else result, want)
        out = OnGpu(x)
        for _ in range(200):  # of a host that never waits
            given = OnGpu(x)
            session.run(given, out=[out])
            DRIVER.cuStreamSynchronize(ctypes.c_void_p(session.stream))
        self.assertLess(len(session._kept.under_way), 100)
        first = OnGpu(x)
        gone = weakref.ref(first)
        session.bind([first], [out])
        session.run_bound()
        del first
        session.bind([given], [out])
        self.assertIsNotNone(gone())
        session.wait()
        self.assertIsNone(gone())

    def test_the_interpreter_may_end_while_runs_are_under_way(self):
        script = """if True:
            import numpy as np, tailor
            graph = tailor.Graph("scaled")
            graph.output("y", graph.input("x", "f32", ["N", 5]) * 2.0)
            session = graph.compile("simt", device="cuda").session(asynchronous=True)
            for _ in range(3):
                session.run(np.ones((20000, 5), np.float32))
            print("end")"""
        for _ in range(2):
            ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
            self.assertEqual((ended.returncode, ended.stdout), (0, "end\n"), ended.stderr[-2000:])

    def test_outputs_leave_by_dlpack(self):
        self.current()
        session = self.executable.session(host_outputs=False, asynchronous=True)
        x, want = self.example(6)
        first, = session.run(x, borrow=True)
        self.assertEqual(first.__dlpack_device__(), (2, 0))
        with self.assertRaisesRegex(BufferError, "as it is, where it is"):
            first.__dlpack__(copy=True)
        with self.assertRaisesRegex(BufferError, "as it is, where it is"):
            first.__dlpack__(dl_device=(1, 0))
        given = Tagged(first)
        other, twice = self.executable.session(host_outputs=False), want * 2 + np.arange(5, dtype=np.float32)
        second, = other.run(given, borrow=True)  # whose stream waits
        self.assertEqual(given.stream, other.stream)
        np.testing.assert_array_equal(read(second), twice)
        with self.assertRaisesRegex(BufferError, "and once"):
            first.__dlpack__()
        stream = ctypes.c_void_p()
        DRIVER.cuStreamCreate(ctypes.byref(stream), 0)
        self.addCleanup(DRIVER.cuStreamDestroy_v2, stream)
        for versions in (None, (1, 1)):  # of capsules that nobody takes a tensor from
            third, = session.run(x, borrow=True)
            capsule = third.__dlpack__(stream=stream.value, max_version=versions)
            self.assertIn("dltensor_versioned" if versions else '"dltensor"', repr(capsule))
            del capsule
        stale, = session.run(x, borrow=True)
        copy.copy(session).run(x, borrow=True)
        with self.assertRaisesRegex(BufferError, "until the session's next run"):
            stale.__dlpack__()
        session.wait()

    def test_products_in_f32_may_be_tf32(self):
        graph = tailor.Graph("product")
        graph.output("y", graph.dot(graph.input("x", "f32", ["M", 32]), graph.input("w", "f32", [32, 16])))
        x, w = np.full((20, 32), 1 + 2.0**-11, np.float32), np.ones((32, 16), np.float32)
        for allowed, factor in ((False, 1 + 2.0**-11), (True, 1 + 2.0**-10)):
            executable = graph.compile("simt", device="cuda", allow_tf32=allowed)
            np.testing.assert_array_equal(executable.run(x, w)[0], np.full((20, 16), 32 * factor, np.float32))

    def test_cublaslt_computes_offered_products(self):
        graph = tailor.Graph("product")
        graph.output("y", graph.dot(graph.input("x", "f32", ["M", 32]), graph.input("w", "f32", [32, 16])))
        x, w = np.ones((20, 32), np.float32), np.ones((32, 16), np.float32)
        self.addCleanup(os.environ.pop, "TAILOR_CUBLASLT", None)
        os.environ["TAILOR_CUBLASLT"] = "/nowhere/libcublasLt.so"
        with self.assertRaisesRegex(tailor.Error, "cuBLASLt cannot be loaded: /nowhere/libcublasLt.so"):
            tailor.Runtime(product_provider="cublaslt")
        os.environ["TAILOR_CUBLASLT"] = os.environ["TAILOR_CUDA_DRIVER"]
        runtime = tailor.Runtime(product_provider="cublaslt")
        executable = graph.compile("simt", device="cuda", offer_products=True, runtime=runtime)
        np.testing.assert_array_equal(executable.run(x, w)[0], x @ w)
        with self.assertRaisesRegex(tailor.Error, "options.cuda_graph: cuBLASLt computes products of the program"):
            executable.session(cuda_graph=True)

    def test_one_artifact_holds_weights_of_windows_for_both(self):
        """As they are, once: no convolution is by Winograd's algorithm there."""
        rng, graph = np.random.default_rng(1), tailor.Graph("conv")
        x, weights = (rng.integers(-3, 4, dims).astype(np.float32) for dims in ((2, 16, 6, 8), (20, 16, 3, 3)))
        graph.output("y", graph.conv(graph.input("x", "f32", ["N", 16, "H", "W"]), graph.constant(weights, "w")))
        want = np.einsum("nchwij,mcij->nmhw", np.lib.stride_tricks.sliding_window_view(x, (3, 3), (2, 3)), weights)
        for direct in (False, True):
            artifact = graph.compile_artifact(["host", "simt"], direct_convolutions=direct)
            for device in ("cpu", "cuda"):
                executable = tailor.Executable.from_bytes(artifact, device=device)
                self.assertEqual([constant["layout"] for constant in executable.describe()["constants"]], ["panels16"])
                np.testing.assert_array_equal(executable.run(x)[0], want)

    def test_one_artifact_serves_both(self):
        """Products, an embedding and checks: constants and messages are there once for CPUs and GPUs."""
        graph, rng = tailor.Graph("both"), np.random.default_rng(1)
        table, weights = rng.standard_normal((9, 20), np.float32), rng.standard_normal((20, 33), np.float32)
        ids, mask = graph.input("ids", "i64", ["B"]), graph.input("mask", "f32", ["B", 1])
        rows = graph.gather(graph.constant(table, "table"), ids)
        graph.output("y", graph.softmax(graph.dot(rows, graph.constant(weights, "weights")) + mask, -1))
        artifact = graph.compile_artifact(["host", "simt"])
        alone, host, gpu = (tailor.Executable.from_bytes(data, device=device) for data, device in
                            ((graph.compile_artifact("host"), "cpu"), (artifact, "cpu"), (artifact, "cuda")))
        self.assertEqual(host.describe()["constants"], alone.describe()["constants"])
        said = []
        for executable in (host, gpu):
            for batch in (1, 6, 70):
                n, m = rng.integers(-9, 9, batch), rng.standard_normal((batch, 1), np.float32)
                scores = np.exp(table[n].astype(np.float64) @ weights + m)
                want = scores / scores.sum(-1, keepdims=True)
                np.testing.assert_allclose(executable.run(n, m)[0], want, rtol=2e-5, atol=1e-6)
            for wrong in ((np.zeros(3, np.int64), np.zeros((4, 1), np.float32)),
                          (np.array([2, 9]), np.zeros((2, 1), np.float32))):
                with self.assertRaises(tailor.Error) as raised:
                    executable.run(*wrong)
                said.append(str(raised.exception))
        self.assertEqual(said[:2], said[2:])
        self.assertIn("mask", said[0])
        self.assertRegex(said[1], r"\b9\b")

    def test_mistakes_are_named(self):
        with self.assertRaisesRegex(tailor.Error, "CUDA device 1 was asked for, but the devices are 0 to 0"):
            self.graph.compile("simt", device="cuda:1")
        with self.assertRaisesRegex(ValueError, "'gpu' is no device"):
            self.graph.compile("simt", device="gpu")
        with self.assertRaisesRegex(tailor.Error, "needs a CUDA device"):
            self.graph.compile("simt")
        self.current()
        x = OnGpu(self.example(4)[0])
        with self.assertRaisesRegex(tailor.Error, 'input "x": device is 1, but the executable runs on the CPU'):
            self.graph.compile("host").run(x)


if __name__ == "__main__":
    unittest.main()
