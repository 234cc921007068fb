"""Runs in Python: awaiting, callbacks, cancelling, interrupts, executors, counters."""
import asyncio
import gc
import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import threading
import time
import unittest
import weakref

import numpy as np

import tailor
from python_programs import BIAS, X, endless, scale
from tailor import _interrupts


TWO = np.zeros((10000, 64), np.float32), np.zeros((20000, 64), np.float32)


def two_kernels():
    """A graph with two kernels, which are large enough to divide for the inputs TWO."""
    graph = tailor.Graph("two")
    for name, symbol in (("x", "B"), ("y", "C")):
        graph.output(f"exp of {name}", graph.input(name, "f32", [symbol, 64]).exp())
    return graph


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
        session = self.executable.session(trace=lambda event: (begun.set(), time.sleep(0.05)))
        task = asyncio.create_task(session.run_async(X, BIAS))
        await asyncio.get_running_loop().run_in_executor(None, begun.wait)
        task.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await task
        np.testing.assert_array_equal((await session.run_async(X, BIAS))[0], X + 1)

    async def test_two_tasks_on_one_session_are_an_error(self):
        loop, held = asyncio.get_running_loop(), threading.Event()
        from concurrent.futures import ThreadPoolExecutor
        loop.set_default_executor(ThreadPoolExecutor(1))
        blocker = loop.run_in_executor(None, held.wait)
        session = self.executable.session()
        first = asyncio.create_task(session.run_async(X, BIAS))
        await asyncio.sleep(0)
        with self.assertRaisesRegex(tailor.Error, "another task awaits a run of the session") as caught:
            await session.run_async(X, BIAS)
        self.assertEqual(caught.exception.code, "FAILED_PRECONDITION")
        held.set()
        await blocker
        np.testing.assert_array_equal((await first)[0], X + 1)
        np.testing.assert_array_equal((await session.run_async(X, BIAS))[0], X + 1)

    async def test_a_run_that_waits_for_a_thread_is_withdrawn(self):
        loop, held = asyncio.get_running_loop(), threading.Event()
        from concurrent.futures import ThreadPoolExecutor
        loop.set_default_executor(ThreadPoolExecutor(1))
        blocker = loop.run_in_executor(None, held.wait)
        runs = []
        session = self.executable.session(trace=runs.append)
        task = asyncio.create_task(session.run_async(X, BIAS))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.sleep(0)
        held.set()
        with self.assertRaises(asyncio.CancelledError):
            await task
        await blocker
        self.assertEqual(runs, [])


class OutputMemoryTest(unittest.TestCase):
    """Outputs of a megabyte or more use the memory of earlier ones that are gone."""

    def setUp(self):
        graph = tailor.Graph("cache")
        past, new = graph.input("past", "f32", ["P", 1024]), graph.input("new", "f32", [1, 1024])
        graph.output("present", graph.concat([past, new], axis=0))
        graph.output("small", new * 2)
        self.session = graph.compile("host").session()
        self.rows = np.arange(400 * 1024, dtype=np.float32).reshape(400, 1024)

    def run_one(self, past):
        return self.session.run(past, self.rows[past.shape[0]:past.shape[0] + 1])[0]

    def test_a_growing_cache_takes_turns_between_two_blocks(self):
        present, addresses = self.rows[:300], set()
        for length in range(300, 330):
            present = self.run_one(present)
            addresses.add(present.ctypes.data)
            self.assertEqual(present.ctypes.data % 64, 0)
            np.testing.assert_array_equal(present, self.rows[:length + 1])
        self.assertEqual(len(addresses), 2)

    def test_memory_that_is_in_use_is_not_taken(self):
        first = self.run_one(self.rows[:300])
        kept, view, bytes_of = first.copy(), first[1:3, ::2], memoryview(first)
        address = first.ctypes.data
        del first
        self.assertNotEqual(self.run_one(self.rows[1:302]).ctypes.data, address)
        np.testing.assert_array_equal(view, kept[1:3, ::2])
        del view
        self.assertNotEqual(self.run_one(self.rows[1:302]).ctypes.data, address)
        self.assertEqual(bytes_of.tobytes(), kept.tobytes())
        bytes_of.release()
        del bytes_of
        self.assertIn(address, {(array := self.run_one(self.rows[:300])).ctypes.data, self.run_one(self.rows[:300]).ctypes.data})
        np.testing.assert_array_equal(array, kept)
        every = [self.run_one(self.rows[:300 + i]) for i in range(5)]
        self.assertEqual(len({array.ctypes.data for array in every}), 5)
        for i, array in enumerate(every):
            np.testing.assert_array_equal(array, self.rows[:301 + i])

    def test_memory_of_a_large_run_or_a_trimmed_session_is_freed(self):
        rows = np.zeros((2000, 1024), np.float32)
        for length, free in ((1999, lambda: self.run_one(self.rows[:300])), (300, self.session.trim)):
            present = self.session.run(rows[:length], rows[:1])[0]
            block = weakref.ref(present.base)
            del present
            self.assertIsNotNone(block(), "the session keeps it")
            free()
            self.assertIsNone(block())

    def test_small_outputs_are_arrays_of_their_own(self):
        small = self.session.run(self.rows[:300], self.rows[300:301])[1]
        self.assertIsNone(small.base)


class CallbackTest(unittest.TestCase):
    def test_what_a_trace_raises_is_raised_by_the_run(self):
        session = scale().compile("host").session(trace=lambda event: 1 / 0)
        with self.assertRaises(ZeroDivisionError):
            session.run(X, BIAS)
        with self.assertRaises(ZeroDivisionError):
            session.run(X, BIAS)


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
            failing({"trace": lambda event: 1 / 0}, np.array(2**62 - 1))
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

    def interrupted(self, script):
        """Runs a script that is interrupted as by Ctrl-C once it has printed "begun"."""
        # A background job of a shell ignores SIGINT, and its children inherit that.
        child = subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True,
                                 preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
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
            assert "tanh" in graph.text
            print("end")
        """)

    def run_interrupted(self, call):
        self.interrupted("""
            import sys, threading, time
            import numpy as np, tailor
            sys.path.insert(0, FOLDER)
            from python_programs import endless
            executable = endless()
            session, ends = executable.session(), np.array(2**62)
            traced = executable.session(trace=lambda event: None)
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
        """.replace("FOLDER", repr(os.path.dirname(os.path.abspath(__file__)))).replace("CALL", call))

    def test_an_interrupt_cancels_runs(self):
        for call in ("session.run(np.array(0))", "executable.run(np.array(0))", "session.run(np.array(0), borrow=True)",
                     "traced.run(np.array(0))", "session.bind([np.array(0)], [np.array(0)]), session.run_bound()"):
            with self.subTest(call):
                self.run_interrupted(call)

    def test_an_interrupt_at_the_end_of_a_run_does_not_cancel_the_next_one(self):
        earlier = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, earlier)
        cancelled = []
        with self.assertRaises(KeyboardInterrupt), _interrupts.cancelling(lambda: None, lambda: None):
            signal.raise_signal(signal.SIGINT)
        with _interrupts.cancelling(lambda: cancelled.append("next"), lambda: None):
            time.sleep(0.05)
        self.assertEqual(cancelled, [])


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

    def test_the_first_exception_of_a_run_is_raised(self):
        calls = []

        def parallel_for(task, count):
            calls.append(count)
            raise KeyError(f"call {len(calls)}")

        executable = two_kernels().compile("host", runtime=tailor.Runtime(parallel_for=parallel_for, parallel_threads=2))
        with self.assertRaisesRegex(KeyError, "call 1"):
            executable.run(*TWO)
        self.assertEqual(len(calls), 2)

    def test_an_exception_goes_before_the_runs_error(self):
        def parallel_for(task, count):
            session.cancel()
            raise KeyError("no threads")

        session = two_kernels().compile("host").session(threads=2, parallel_for=parallel_for)
        with self.assertRaisesRegex(KeyError, "no threads") as caught:
            session.run(*TWO)
        self.assertEqual(caught.exception.__context__.code, "CANCELLED")

    def test_a_run_within_an_executor_has_exceptions_of_its_own(self):
        raised, within = [], threading.local()

        def parallel_for(task, count):
            if getattr(within, "inner", False):
                raise KeyError("inner")
            within.inner = True
            try:
                inner.run(*TWO)
            except KeyError as error:
                raised.append(str(error))
            within.inner = False
            raise KeyError("outer")

        runtime = tailor.Runtime(parallel_for=parallel_for, parallel_threads=2)
        executable = two_kernels().compile("host", runtime=runtime)
        inner = executable.session()
        with self.assertRaisesRegex(KeyError, "outer"):
            executable.run(*TWO)
        self.assertEqual(raised, ["'inner'"] * 2)

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

    def test_traces_have_launches_with_times_and_the_run(self):
        executable, events = scale().compile("host"), []
        before = time.monotonic_ns()
        executable.session(trace=events.append).run(X, BIAS)
        after = time.monotonic_ns()
        launch, run = events
        self.assertEqual((launch.launch, launch.launch.kernel, run.launch), (0, executable.launches[0].kernel, None))
        self.assertTrue(before <= run.begin_ns <= launch.begin_ns <= launch.end_ns <= run.end_ns <= after)
        self.assertEqual(launch.version, executable.plan(X, BIAS).chosen[0])


if __name__ == "__main__":
    unittest.main()
