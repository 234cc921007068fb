"""Threads of a Python program on one executable: runs in sessions and without, asynchronous and cancelled ones, objects that are
closed while others use them, runtimes and operators that come and go, outputs that outlive their session.

    threads.py ARTIFACT [ROUNDS [SEED]]

Needs only the runtime library. ./dev test-hosts-sanitized runs it with sanitized ones.
"""
import asyncio
import random
import sys
import threading

import numpy

import tailor

THREADS, COLUMNS, ROWS = 8, 64, 600
MANY_TURNS = 2**40
EXPECTED = {"FAILED_PRECONDITION", "CANCELLED", "DEADLINE_EXCEEDED"}  # of what other threads close, cancel or use


def negate(call):
    call.results[0][...] = -call.operands[0]


def new_runtime(**options):
    runtime = tailor.Runtime(**options)
    runtime.register("test.negate", negate)
    return runtime


class Shared:
    """What the threads share: `sessions` are closed and replaced by any of them."""

    def __init__(self, artifact):
        self.artifact = artifact
        self.log = []
        self.runtime = new_runtime(log=lambda level, message: self.log.append(message), parallel_threads=3, pooled_sessions=4,
                                   pooled_bytes=1 << 20)
        self.executable = tailor.load(artifact, runtime=self.runtime)
        self.sessions = [self.new_session() for _ in range(THREADS)]
        self.x = (numpy.arange(ROWS * COLUMNS, dtype=numpy.float32) % 7 - 3).reshape(ROWS, COLUMNS)
        self.x[:, 0] = numpy.where(numpy.arange(ROWS) % 2, 1, -1)

    def new_session(self):
        return self.executable.session(threads=2, timeout=0.02)


class Thread(threading.Thread):
    def __init__(self, shared, index, rounds, seed):
        super().__init__()
        self.shared, self.rounds, self.random = shared, rounds, random.Random(seed * 1000 + index)
        self.failure = None

    def run(self):
        steps = [self.alone, self.pooled, self.shared_run, self.cancel, self.replace, self.asynchronous, self.ask,
                 self.come_and_go]
        try:
            for _ in range(self.rounds):
                self.random.choice(steps)()
        except BaseException as failure:
            self.failure = failure

    def arguments(self, turns=2):
        return self.shared.x[:2 * self.random.randint(1, ROWS // 2)], numpy.int64(turns)

    @staticmethod
    def check(x, turns, outputs):
        y, kept, t = outputs
        if abs(y.sum(1) - 1).max() > 1e-3 or len(kept) != len(x) // 2 or t != turns:
            raise AssertionError("wrong results")

    def tolerate(self, call):
        """Errors that come of other threads' calls."""
        try:
            return call()
        except tailor.Error as error:
            if error.code not in EXPECTED:
                raise
        return None

    def alone(self):
        arguments, events = self.arguments(), []
        with self.shared.executable.session(threads=self.random.randint(1, 4), trace=events.append) as session:
            outputs = session.run(*arguments)
            self.check(*arguments, outputs)
            borrowed = numpy.from_dlpack(outputs[0])
            session.trim()
            self.check(*arguments, session.run(*arguments))
        if not events or abs(borrowed.sum(1) - 1).max() > 1e-3:
            raise AssertionError("no events, or an output did not outlive its session")

    def pooled(self):
        arguments = self.arguments()
        self.check(*arguments, self.shared.executable.run(*arguments))
        try:
            self.shared.executable.run(arguments[0][:, 1:].copy(), 1)
        except tailor.Error as error:
            assert error.code == "INVALID_ARGUMENT", error
        self.shared.executable.trim()

    def any_session(self):
        return self.random.choice(self.shared.sessions)

    def shared_run(self):
        arguments = self.arguments(self.random.choice([1, 3, MANY_TURNS]))
        session = self.any_session()
        outputs = self.tolerate(lambda: session.run(*arguments))
        if outputs is not None:
            self.check(*arguments, outputs)

    def cancel(self):
        session = self.any_session()
        self.tolerate(self.random.choice([session.cancel, session.uncancel, session.trim]))

    def replace(self):
        index = self.random.randrange(THREADS)
        session, self.shared.sessions[index] = self.shared.sessions[index], self.shared.new_session()
        session.close()

    def asynchronous(self):
        async def runs():
            with self.shared.executable.session() as session:
                task = asyncio.create_task(session.run_async(self.shared.x, numpy.int64(MANY_TURNS)))
                await asyncio.sleep(0.002)
                task.cancel()
                await asyncio.wait([task])
                assert task.cancelled(), task
                arguments = self.arguments()
                self.check(*arguments, await session.run_async(*arguments))
            both = [self.shared.executable.run_async(*self.arguments()) for _ in range(2)]
            await asyncio.gather(*both)

        asyncio.run(runs())

    def ask(self):
        executable = self.shared.executable
        counts = executable.counters()
        assert counts.sessions >= 1, counts
        executable.plan((2, COLUMNS), ())
        executable.describe()

    def come_and_go(self):
        runtime = new_runtime(parallel_threads=2)
        executable = tailor.load(self.shared.artifact, runtime=runtime)
        session = executable.session()
        runtime.close()
        executable.close()
        arguments = self.arguments()
        self.check(*arguments, session.run(*arguments))
        if self.random.random() < 0.5:
            session.close()


def main(artifact, rounds=30, seed=1):
    shared = Shared(artifact)
    threads = [Thread(shared, i, int(rounds), int(seed)) for i in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    failures = [thread.failure for thread in threads if thread.failure is not None]
    for session in shared.sessions:
        session.close()
    shared.executable.close()
    shared.runtime.close()
    for failure in failures:
        print(f"failed: {failure!r}", file=sys.stderr)
    print(f"seed {seed}: {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
