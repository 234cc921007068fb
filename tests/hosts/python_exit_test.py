"""The end of the interpreter while daemon threads are inside calls of the libraries."""
import subprocess
import sys
import textwrap
import unittest

PREAMBLE = """
import os, sys, threading, time
import numpy as np
import tailor

def make(name, size=512):
    graph = tailor.Graph(name)
    y = graph.input("x", "f32", ["N", size])
    for i in range(4):
        y = (y @ graph.constant(np.full((size, size), 1e-3, np.float32), f"w{i}")).tanh()
    graph.output("y", y)
    return graph

def repeat(call):
    begun = threading.Event()
    def loop():
        while True:
            begun.set()
            call()
    threading.Thread(target=loop, daemon=True).start()
    assert begun.wait(60)
"""


class ExitTest(unittest.TestCase):
    def ends(self, script, times=2):
        for _ in range(times):
            ended = subprocess.run([sys.executable, "-c", PREAMBLE + textwrap.dedent(script)], capture_output=True,
                                   text=True, timeout=120)
            self.assertEqual((ended.returncode, ended.stdout), (0, "end\n"), ended.stderr[-2000:])

    def test_runs_under_way_keep_their_handles(self):
        self.ends("""
            executable = make("g").compile("host")
            x = np.ones((2000, 512), np.float32)
            for _ in range(2):
                repeat(lambda: executable.run(x))
                session = executable.session(threads=2)
                repeat(lambda session=session: session.run(x))
                bound = executable.session()
                bound.bind([x], [np.empty_like(x)])
                repeat(bound.run_bound)
            time.sleep(0.05)
            print("end")
        """)

    def test_runs_that_come_back_are_waited_for(self):
        self.ends("""
            executable = make("g").compile("host")
            x = np.ones((2000, 512), np.float32)
            traced = executable.session(trace=lambda event: None)
            repeat(lambda: traced.run(x))
            spread = executable.session(threads=4, parallel_for=lambda task, count: [task(i) for i in range(count)])
            repeat(lambda: spread.run(x))
            time.sleep(0.05)
            print("end")
        """)

    def test_compilations_are_cancelled(self):
        self.ends("""
            graphs = [make(f"g{i}") for i in range(2)]
            repeat(lambda: graphs[0].compile("host"))
            repeat(lambda: graphs[1].compile("host", progress=lambda phase, done: True))
            time.sleep(0.05)
            print("end")
        """)

    def test_graphs_that_threads_build_and_drop(self):
        self.ends("""
            repeat(lambda: make("g", 16))
            repeat(lambda: make("h", 16))
            time.sleep(0.05)
            print("end")
        """)

    def test_calls_after_the_end_are_refused(self):
        self.ends("""
            from tailor import _handles
            executable = make("g", 16).compile("host")
            session = executable.session(trace=lambda event: None)
            x = np.ones((2, 16), np.float32)
            _handles._end()
            session.run(x)  # the main thread ends last
            raised = []
            def call():
                try:
                    session.run(x)
                except RuntimeError as error:
                    raised.append(str(error))
            thread = threading.Thread(target=call)
            thread.start()
            thread.join()
            assert len(raised) == 1 and raised[0].endswith("is called while the interpreter ends"), raised
            print("end")
        """, times=1)

    def test_calls_into_operators_of_a_runtimes_copies_are_refused(self):
        self.ends("""
            import copy
            from tailor import _handles
            runtime = tailor.Runtime()
            copy.copy(runtime).register("op", lambda call: call.results[0].fill(1))
            graph = tailor.Graph("g")
            y, = graph.custom("op", [graph.input("x", "f32", ["N"])], [("f32", ["N"])])
            graph.output("y", y)
            executable = graph.compile("host", runtime=runtime)
            x = np.ones(2, np.float32)
            executable.run(x)
            _handles._end()
            raised = []
            def call():
                try:
                    executable.run(x)
                except RuntimeError as error:
                    raised.append(str(error))
            thread = threading.Thread(target=call)
            thread.start()
            thread.join()
            assert len(raised) == 1 and raised[0].endswith("is called while the interpreter ends"), raised
            print("end")
        """, times=1)

    def test_a_forked_child_ends(self):
        self.ends("""
            executable = make("g").compile("host")
            traced = executable.session(trace=lambda event: None)
            x = np.ones((2000, 512), np.float32)
            repeat(lambda: traced.run(x))
            time.sleep(0.05)
            child = os.fork()
            if child == 0:
                sys.exit(0)
            assert os.waitpid(child, 0)[1] == 0
            print("end")
        """, times=1)


if __name__ == "__main__":
    unittest.main()
