"""200 random programs full of mistakes: each mistake is a Python exception, and what was right before works after it.

The programs run in processes of their own, 20 in each, so that a signal would be seen:
    python_misuse_test.py --run FIRST COUNT [-v]"""
import asyncio
import copy
import ctypes
import faulthandler
import functools
import gc
import os
import pickle
import random
import subprocess
import sys
import threading
import unittest

import numpy as np

import tailor

PROGRAMS, IN_ONE_PROCESS = 200, 20
MISTAKES_IN_A_PROGRAM = 12
RAISED = (tailor.Error, TypeError, ValueError, OverflowError, IndexError, AttributeError, KeyError, BufferError,
          ZeroDivisionError, RuntimeError, ImportError, OSError, pickle.PicklingError)
ODD = (None, -1, 0, 2**31, 2**63, 2**64 + 3, -2**63 - 1, 1.5, float("nan"), "x", b"x", "", [], {}, object(), True, np.float64(2),
       np.int8(-1), ..., slice(None))


class Program:
    """What a program has: graphs, executables, sessions, arrays, all of them right."""

    _compiled = []  # of all programs of a process: compiling takes most of the time

    def __init__(self, seed):
        self.random = random.Random(seed)
        if len(self._compiled) < 3 or self.random.random() < 0.1:
            self._compiled.append(self.compile())
        self.executable = self.random.choice(self._compiled)
        self.graph = self.build()
        self.session = self.executable.session(threads=self.random.choice((1, 2)),
                                               copy_strided=self.random.random() < 0.3)
        self.x = np.ones((self.random.randint(0, 9), 4), np.float32)
        self.w = np.arange(4, dtype=np.float32)

    def build(self):
        graph = tailor.Graph("misuse")
        x, w = graph.input("x", "f32", [tailor.symbol("N", max=64), 4]), graph.input("w", "f32", [4])
        graph.output("y", (x * w).softmax())
        graph.output("kept", graph.compact(x, x[:, 0] > 0.5))
        return graph

    def compile(self):
        return self.build().compile("host")

    def inputs(self):
        return [self.x, self.w]

    def choice(self, options):
        """One of the options; its number is told if the mistake is accepted."""
        self.chosen = self.random.randrange(len(options))
        return options[self.chosen]

    def check(self):
        """The session and the executable still compute."""
        for runs in (self.session, self.executable):
            y, kept = runs.run(*self.inputs())
            assert y.shape == self.x.shape and kept.shape == self.x.shape, (y.shape, kept.shape)
            assert not len(y) or abs(float(y[0].sum()) - 1) < 1e-5


# Mistakes: functions of a program. Those in MUST raise; those in MAY depend on threads or on what was drawn.

def wrong_dtype(p):
    dtype = p.choice("float64 int32 int64 float16 complex64 bool >f4 S4 U2 object datetime64[s]".split())
    arrays = p.inputs()
    i = p.random.randrange(2)
    arrays[i] = np.zeros(arrays[i].shape, dtype)
    p.choice((p.session.run, p.executable.run, p.executable.plan, p.session.reserve))(*arrays)


def wrong_shape(p):
    x = p.choice((np.ones((65, 4), np.float32), np.ones((3, 5), np.float32), np.ones(4, np.float32),
                         np.ones((), np.float32), np.ones((1,) * 8, np.float32), np.ones((1,) * 9, np.float32),
                         np.ones((2, 3, 4), np.float32), np.ones((3, 0), np.float32)))
    p.choice((p.session.run, p.executable.run, p.executable.plan))(x, p.w)


def huge_shape(p):
    shape = p.choice(((2**40, 4), (-1, 4), (2**63, 4), (2**64, 4), (3, 2**62), (1.5, 4), ("a", 4), (None, 4), ((), 4)))
    p.choice((p.executable.plan, p.session.reserve))(shape, (4,))


def strided(p):
    x = p.choice((np.ones((6, 8), np.float32)[:, ::2], np.ones((4, 6), np.float32).T, np.ones((6, 4), np.float32)[::-1],
                         np.broadcast_to(np.float32(1), (3, 4)), np.lib.stride_tricks.as_strided(p.w, (3, 4), (0, 4))))
    p.executable.run(x, p.w)


def unaligned(p):
    x = np.zeros(3 * 16 + 1, np.uint8)[1:].view(np.float32).reshape(3, 4)
    p.executable.run(x, p.w)


def missing_or_extra(p):
    p.choice((lambda: p.session.run(), lambda: p.session.run(p.x), lambda: p.session.run(p.x, p.w, p.w),
                     lambda: p.session.run(p.x, v=p.w), lambda: p.session.run(p.x, x=p.x), lambda: p.session.run({"x": p.x}),
                     lambda: p.session.run({1: p.x, 2: p.w}), lambda: p.executable.plan((3, 4)),
                     lambda: p.session.bind([p.x], []), lambda: p.session.bind(p.inputs(), [])))()


def odd_inputs(p):
    i, arrays = p.random.randrange(2), p.inputs()
    arrays[i] = p.choice([odd for odd in ODD if not isinstance(odd, (bool, int)) or odd == 2**64 + 3])
    p.session.run(*arrays)


def wrong_outputs(p):
    n, x = 5, np.ones((5, 4), np.float32)
    y, kept = np.empty((n, 4), np.float32), np.empty((n, 4), np.float32)
    frozen = y.copy()
    frozen.flags.writeable = False
    out = p.choice(([y], [], [y, kept, y], [y, None], [None, None], [frozen, kept], [y.astype(np.float64), kept],
                           [np.empty((n + 1, 4), np.float32), kept], [y, np.empty((n + 3, 5), np.float32)], y, "out", 3,
                           [y[:, ::-1], kept], [y.tolist(), kept], {"y": y}, [y.T, kept]))
    p.choice((p.session.run, p.executable.run))(x, p.w, out=out)


def overlapping_outputs(p):
    x = np.ones((3, 4), np.float32)
    p.executable.run(x, p.w, out=[x, np.empty((3, 4), np.float32)])


def nothing_bound(p):
    p.executable.session().run_bound()


def wrong_options(p):
    option, value = p.choice((("threads", -1), ("threads", 2**64), ("threads", 1.5), ("threads", "2"), ("trace", 3),
                                     ("parallel_for", "pool"), ("stream", -1), ("stream", 2**65), ("cuda_graph", True),
                                     ("nothing", 1)))
    p.executable.session(**{option: value})


def gpu_calls(p):
    p.choice((lambda: p.session.follow(None), lambda: p.session.follow(-1), lambda: p.session.record(2**64),
                     lambda: p.session.record("event"), lambda: p.session.follow(0),
                     lambda: p.graph.compile("host", device="cuda:99"), lambda: p.graph.compile("host", device="tpu")))()


def closed_handle(p):
    kind = p.choice(("session", "executable", "graph", "runtime"))
    if kind == "session":
        session = p.executable.session()
        session.close()
        p.choice((lambda: session.run(*p.inputs()), session.run_bound, session.wait, session.poll,
                         lambda: session.bind(p.inputs(), []), lambda: session.reserve((1, 4), (4,)),
                         lambda: session.run(*p.inputs(), borrow=True)))()
    elif kind == "executable":
        executable = copy.copy(p.executable)
        executable.close()
        p.choice((lambda: executable.run(*p.inputs()), executable.session, executable.describe, executable.to_bytes,
                         lambda: executable.save("/tmp/never"), lambda: executable.launches, lambda: executable.symbols,
                         lambda: pickle.dumps(executable)))()
    elif kind == "graph":
        graph = tailor.Graph()
        value = graph.input("x", "f32", ["N"])
        graph.close()
        p.choice((lambda: value + value, lambda: value[0], lambda: value.shape, graph.compile, lambda: graph.text,
                         lambda: graph.output("y", value), lambda: graph.constant(p.x), lambda: value.named("n"),
                         lambda: graph.while_([value], graph, graph)))()
    else:
        runtime = tailor.Runtime()
        runtime.close()
        p.choice((lambda: runtime.register("a", print), lambda: p.graph.compile("host", runtime=runtime)))()


def unmade(p):
    kind = p.choice((tailor.Session, tailor.Executable, tailor.Graph, tailor.Runtime))
    thing = kind.__new__(kind)
    p.choice((lambda: thing.run(p.x), lambda: thing.compile(), lambda: thing.register("a", print), lambda: thing.text + 1,
                     lambda: thing._handle))()


def null_handle(p):
    library, null = tailor.runtime._library.runtime(), ctypes.c_void_p()
    check = tailor.runtime._library.check
    p.choice((lambda: check(library.tailor_session_run_bound(null)), lambda: check(library.tailor_session_wait(null)),
                     lambda: check(library.tailor_executable_save(null, b"", 0)),
                     lambda: check(library.tailor_session_run(null, None, 0, None, 0)),
                     lambda: check(library.tailor_session_run(p.executable._handle, None, 0, None, 0)),
                     lambda: check(library.tailor_executable_save(p.session._handle, b"", 0))))()


def foreign_values(p):
    other = tailor.Graph("other")
    x = other.input("x", "f32", ["N"])
    mine = p.graph.input(f"in{p.random.random()}", "f32", ["N"])
    p.choice((lambda: p.graph.output("z", x), lambda: mine + x, lambda: p.graph.reshape(mine, [x.shape[0]]),
                     lambda: p.graph.concat([mine, x], 0), lambda: p.graph.assume_equal(x.shape[0], 3),
                     lambda: mine[:x.shape[0]], lambda: mine[x.cast("i64")]))()


def wrong_types(p):
    graph = p.graph
    x = graph.input(f"in{p.random.random()}", "f32", ["A", 4])
    i = graph.input(f"in{p.random.random()}", "i64", ["A"])
    p.choice((lambda: x + i, lambda: x @ np.ones((5, 4), np.float32), lambda: ~x, lambda: x << 1, lambda: i.exp(), lambda: x + np.ones(4),
                     lambda: x + np.ones(5, np.float32), lambda: x + "1", lambda: x + None, lambda: x + [1], lambda: 1j * x,
                     lambda: graph.select(x, x, x), lambda: x.gather(x), lambda: x.softmax(7), lambda: x.transpose([0, 0]),
                     lambda: x.reshape([4, 4, 4, 4, 4, 4, 4, 4, 4]), lambda: x.cast("f99"), lambda: x.cast(None),
                     lambda: graph.iota([4], 3, "i64"), lambda: graph.concat([], 0), lambda: graph.concat([x, i], 0),
                     lambda: x.scan(0, "nothing"), lambda: x.conv(2.0), lambda: x.max_pool([2, 2]), lambda: graph.lstm(x, x, x),
                     lambda: graph.attention(x, x, x, mask=i), lambda: graph.top_k(x, x), lambda: x.reduce_sum([5])))()


def wrong_index(p):
    x = p.graph.input(f"in{p.random.random()}", "f32", ["A", 4])
    index = p.choice(((0, 4), (0, 0, 0), True, "x", 1.5, x, x > 0.0, np.ones(2, bool), ([0], [1]), (slice(None, None, 0),),
                             (..., ...), slice("a", "b"), {}, np.ones(2), (0, -5), 2**64, object()))
    x[index]


def odd_arguments(p):
    graph = p.graph
    x = graph.input(f"in{p.random.random()}", "f32", ["A", 4])
    odd = p.choice([o for o in ODD if o is None or not isinstance(o, (bool, int, np.integer)) and o not in ([], {})])
    p.choice((lambda: graph.input("i", odd, [1]), lambda: graph.input("i", "f32", odd if odd != "x" else 5), lambda: graph.output(3, x),
                     lambda: x.softmax(odd), lambda: x.reduce_sum([odd]), lambda: x.slice([odd, 0], [1, 1]),
                     lambda: graph.scalar(odd if not isinstance(odd, float) else "1", "f32"), lambda: graph.constant(odd if odd is not None else "t", "c", dtype="i8"),
                     lambda: graph.compile(max_versions=odd if odd is not None else "n"), lambda: graph.compile(threads=odd),
                     lambda: graph.while_(odd, graph, graph), lambda: graph.if_(x, [x], odd, odd),
                     lambda: tailor.Graph.parse(odd), lambda: tailor.Executable.from_bytes(odd), lambda: tailor.load(odd),
                     lambda: graph.custom("op", [x], odd if odd is not None else 3), lambda: x.layer_norm(epsilon="e"),
                     lambda: graph.assume_equal(odd, odd if odd != "x" else None)))()


def bad_artifact(p):
    data = bytearray(p.executable.to_bytes())
    kind = p.random.randrange(4)
    if kind == 0:
        data = data[:p.random.randrange(len(data))]
    elif kind == 1:
        data[p.random.randrange(64, 4096)] ^= 1 << p.random.randrange(8)
    elif kind == 2:
        data = bytes(p.random.randrange(256) for _ in range(p.random.randrange(2000)))
    else:
        data[:8] = b"notatlr!"
    tailor.Executable.from_bytes(data)


def bad_files(p):
    p.choice((lambda: tailor.load("/nowhere/x.tlr"), lambda: tailor.load("/tmp"), lambda: p.executable.save("/nowhere/x"),
                     lambda: p.executable.save(3.5), lambda: p.executable.save(None), lambda: tailor.load("a\0b"),
                     lambda: p.executable.save("/proc/x.tlr"), lambda: tailor.load("/dev/null")))()


def bad_compile_options(p):
    graph = p.build()
    p.choice((lambda: graph.compile("z80"), lambda: graph.compile([None]), lambda: graph.compile(secret_key=b"short"),
                     lambda: graph.compile("host", donated=["nothing"]), lambda: graph.compile("host", max_code_bytes=10),
                     lambda: graph.compile("host", memory_limit=-1), lambda: graph.compile("host", runtime=3),
                     lambda: graph.compile("host", progress=lambda phase, done: 1 / 0),
                     lambda: graph.compile("host", progress=lambda phase: None),
                     lambda: graph.compile("host", progress=lambda phase, done: False),
                     lambda: graph.compile("host", device=5), lambda: tailor.Graph("empty").compile("host"),
                     lambda: graph.compile("host", progress=lambda phase, done: graph.input("late", "f32", [1]))))()


def raising_callback(p):
    def fails(*arguments):
        raise p.choice((ValueError, KeyError, RuntimeError))("no")

    p.choice((lambda: p.executable.session(trace=fails).run(*p.inputs()), lambda: raising_operator(p, fails),
                     lambda: p.build().compile("host", progress=fails)))()


def raising_operator(p, fails):
    runtime = tailor.Runtime()
    runtime.register("fails", fails if p.random.random() < 0.5 else lambda call: 3,
                     workspace=p.choice((None, fails, lambda call: -1, lambda call: "many")))
    graph = tailor.Graph("operator")
    y, = graph.custom("fails", [graph.input("x", "f32", ["N"])], [("f32", ["N"])])
    graph.output("y", y)
    graph.compile("host", runtime=runtime).run(p.w)


def operator_that_keeps_arrays(p):
    kept, runtime = [], tailor.Runtime()
    runtime.register("keeps", lambda call: kept.append(p.choice((call.operands[0], call.results[0][:1], call.operands[0].T))))
    graph = tailor.Graph("operator")
    y, = graph.custom("keeps", [graph.input("x", "f32", ["N"])], [("f32", ["N"])])
    graph.output("y", y)
    graph.compile("host", runtime=runtime).run(p.w)


def reentrant_callback(p):
    session = None
    call = p.choice((lambda: session.run(*p.inputs()), lambda: session.wait(), lambda: session.run_bound(),
                            lambda: session.reserve((1, 4), (4,))))
    session = p.executable.session(trace=lambda event: call())
    session.run(np.ones((3, 4), np.float32), p.w)


def no_operator(p):
    graph = tailor.Graph("operator")
    y, = graph.custom("nobody", [graph.input("x", "f32", ["N"])], [("f32", ["N"])])
    graph.output("y", y)
    graph.compile("host")


def pickled_handle(p):
    thing = p.choice((p.session, p.graph, tailor.Runtime(), p.graph.input(f"in{p.random.random()}", "f32", [1])))
    p.choice((pickle.dumps, copy.deepcopy))(thing)


def awaited_mistake(p):
    asyncio.run(p.choice((lambda: p.session.run_async(p.x), lambda: p.executable.run_async(p.x, p.w.astype(np.float64)),
                                 lambda: p.executable.run_async()))())


MUST = [wrong_dtype, wrong_shape, huge_shape, strided, unaligned, missing_or_extra, odd_inputs, wrong_outputs, overlapping_outputs,
        nothing_bound, wrong_options, gpu_calls, closed_handle, unmade, null_handle, foreign_values, wrong_types, wrong_index,
        odd_arguments, bad_artifact, bad_files, bad_compile_options, raising_callback, operator_that_keeps_arrays,
        reentrant_callback, no_operator, pickled_handle, awaited_mistake]


def threads_share_a_session(p):
    """Runs, rebinds and closes from three threads."""
    session, raised = p.executable.session(threads=p.choice((1, 2))), []
    x, y, kept = (np.ones((64, 4), np.float32) for _ in range(3))

    def work(calls):
        for call in calls:
            try:
                call()
            except tailor.Error as error:
                raised.append(error.code)

    calls = [lambda: session.run(x, p.w), lambda: session.bind([x, p.w], [y, kept]), session.run_bound,
             lambda: session.run(x, p.w, borrow=True), lambda: session.reserve((9, 4), (4,)), session.wait, session.poll]
    threads = [threading.Thread(target=work, args=([p.choice(calls) for _ in range(30)],)) for _ in range(3)]
    for thread in threads:
        thread.start()
    if p.random.random() < 0.5:
        session.close()
    for thread in threads:
        thread.join()
    assert {*raised} <= {"FAILED_PRECONDITION", "INVALID_ARGUMENT"}, raised


def threads_share_a_graph(p):
    graph = p.build()

    def work(seed):
        for i in range(10):
            try:
                graph.input(f"in{seed}_{i}", "f32", ["N"]).exp()
                if p.random.random() < 0.2:
                    graph.close()
            except tailor.Error:
                pass

    threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def arrays_that_go(p):
    """Arrays that nobody else holds, and outputs that outlive their session."""
    session = p.executable.session()
    n = p.random.randint(1, 9)
    session.bind([np.ones((n, 4), np.float32), p.w.copy()], [np.empty((n, 4), np.float32), np.empty((n, 4), np.float32)])
    gc.collect()
    session.run_bound()
    borrowed = session.run(np.ones((n, 4), np.float32), p.w.copy(), borrow=True)
    session.close()
    del session
    gc.collect()
    assert all(np.isfinite(array).all() for array in borrowed)
    data = bytearray(np.ones(n * 4, np.float32).tobytes())
    p.executable.run(np.frombuffer(data, np.float32).reshape(n, 4), p.w)
    graph = tailor.Graph()
    y = graph.constant(np.ones((n, 4), np.float32)) + 1.0
    graph.output("y", y)
    executable = graph.compile("host")
    graph.close()
    gc.collect()
    assert (executable.run()[0] == 2).all()


def changed_while_in_use(p):
    """An array that is written by another thread during runs, and a session that is closed by its own callback."""
    x = np.ones((64, 4), np.float32)
    done = threading.Event()

    def write():
        while not done.is_set():
            x[...] = 2

    thread = threading.Thread(target=write)
    thread.start()
    for _ in range(5):
        p.executable.run(x, p.w)
    done.set()
    thread.join()
    session = p.executable.session(trace=lambda event: session.close())
    session.run(x, p.w)


@functools.lru_cache(maxsize=None)
def many_rows():
    """An executable that takes enough rows for an executor."""
    graph = tailor.Graph("many rows")
    graph.output("y", (graph.input("x", "f32", ["N", 4]) * 2.0).softmax())
    return graph.compile("host")


def executor_that_misbehaves(p):
    """Parts left out, repeated, out of range, kept for later, or run after an exception."""
    kept = []

    def parallel_for(task, count):
        kept.append(task)
        kind = p.random.randrange(6)
        if kind == 0:
            return
        if kind == 1:
            for i in [*range(count)] * 2:
                task(i)
        elif kind == 2:
            thread = threading.Thread(target=lambda: [task(i) for i in range(count)])
            thread.start()
            if p.random.random() < 0.5:
                thread.join()
        elif kind == 3:
            task(0)
            raise KeyError("in the middle")
        elif kind == 4:
            task(count + p.random.randrange(10))
        else:
            kept[0](0)

    session = many_rows().session(threads=4, parallel_for=parallel_for)
    x = np.ones((20000, 4), np.float32)
    for _ in range(4):
        try:
            y, = session.run(x)
            assert (y == 0.25).all()
        except KeyError:
            pass
    assert kept
    for task in kept:
        task(0)  # after the run: no effect


MAY = [threads_share_a_session, threads_share_a_graph, arrays_that_go, changed_while_in_use, executor_that_misbehaves]


def run(seed, verbose):
    program, counted = Program(seed), 0
    for _ in range(MISTAKES_IN_A_PROGRAM):
        mistake = program.random.choice(MUST if program.random.random() < 0.8 else MAY)
        if verbose:
            print(f"{seed}: {mistake.__name__}", flush=True)
        try:
            mistake(program)
        except RAISED as error:
            counted += 1
            assert str(error) or isinstance(error, AssertionError), (seed, mistake.__name__, repr(error))
            if verbose:
                print(f"    {type(error).__name__}: {error}"[:300], flush=True)
        else:
            assert mistake in MAY, f"{seed}: {mistake.__name__} was accepted (option {program.chosen})"
        program.check()
    return counted


class MisuseTest(unittest.TestCase):
    def test_mistakes_are_exceptions(self):
        raised = 0
        for first in range(0, PROGRAMS, IN_ONE_PROCESS):
            done = subprocess.run([sys.executable, __file__, "--run", str(first), str(IN_ONE_PROCESS)], capture_output=True,
                                  text=True, timeout=600)
            self.assertEqual(done.returncode, 0, f"programs from {first}: {done.stderr[-3000:]}")
            raised += int(done.stdout)
        self.assertGreater(raised, PROGRAMS * MISTAKES_IN_A_PROGRAM / 2)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        faulthandler.enable()
        first, count = map(int, sys.argv[2:4])
        print(sum(run(seed, "-v" in sys.argv) for seed in range(first, first + count)))
        sys.stdout.flush()
    else:
        unittest.main()
