"""Engines: processes that run one case after another on request; processes/serve.py describes the protocol."""
import contextlib
import importlib.util
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import numpy

from . import cpu
from .figures import NotMeasured

BENCH = pathlib.Path(__file__).resolve().parents[1]
PYTHON = BENCH.parent / "bindings" / "python"
SAMPLES = BENCH.parent / "tools" / "export_models"  # inputs of models
TORCH_PYTHON = BENCH.parent / ".venv-torch" / "bin" / "python"
COMPILERS_PYTHON = BENCH.parent / ".venv-compilers" / "bin" / "python"
OPENING = 240  # seconds: some peers compile when they open a model, others at the first run of a shape
PAUSE = 0.02  # seconds before each turn, so that the other engines' threads fall asleep


class Engine:
    """A process. `name` is its own name, with its version. It is ended if it takes more than OPENING seconds to be ready, or
    to prepare a case."""

    def __init__(self, command, environment=None):
        self._process = subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         text=True, env=environment)
        self.name, self._given_up = "opening", False
        try:
            with self._limit():
                self.name = self._read()["ready"]
        except BaseException:
            self._process.kill()
            self.close()
            raise

    @contextlib.contextmanager
    def _limit(self):
        timer = threading.Timer(OPENING, self._give_up)
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _give_up(self):
        self._given_up = True
        self._process.kill()

    def _read(self):
        line = self._process.stdout.readline()
        if not line and self._given_up:
            raise RuntimeError(f"{self.name}: given up after {OPENING} s")
        if not line:
            raise RuntimeError(f"{' '.join(self._process.args[1:])} ended with status {self._process.wait()}")
        reply = json.loads(line)
        if "error" in reply:
            raise RuntimeError(f"{self.name}: {reply['error']}")
        return reply

    def ask(self, **request):
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return self._read()

    def prepare(self, **case):
        """Prepares the case and runs it once; returns the seconds of that run."""
        with self._limit():
            return self.ask(prepare=case)["first"]

    def times(self, seconds):
        """The seconds of each run, of runs for about `seconds`."""
        return self.ask(time=seconds)["times"]

    def results(self):
        """The results of the prepared case, each flat."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "result"
            elements = self.ask(save=str(path)).get("elements", [])
            return numpy.split(numpy.fromfile(path, numpy.float32), numpy.cumsum(elements[:-1], dtype=int))

    def close(self):
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()


def package_exists(kind):
    return importlib.util.find_spec(kind) is not None


def python_engine(kind, threads, model=None, python=sys.executable):
    """An engine of processes/, as serve.py lists them; `model` is a file."""
    if kind in cpu.FREE_PEERS and cpu.compile_target() != "host":
        raise NotMeasured(f"{kind} cannot be held to AVX2 on a machine with AVX-512")
    command = [python, "-m", "side_by_side.processes.serve", kind, "--threads", threads]
    return Engine(command + (["--model", model] if model else []),
                  dict(python_paths(), OMP_NUM_THREADS=str(threads)))


def serving_engine(kind, parallelism, models):
    """An engine of processes/serving.py; `models`: files by name."""
    return Engine([sys.executable, "-m", "side_by_side.processes.serving", kind, "--parallelism", parallelism,
                   *(f"{name}={file}" for name, file in models.items())], python_paths())


def python_paths():
    return dict(os.environ, PYTHONPATH=os.pathsep.join(map(str, (BENCH, PYTHON, SAMPLES))))


def torch_engine(threads, model):
    if not TORCH_PYTHON.exists():
        raise NotMeasured("PyTorch is not installed: ./dev bench --torch installs it (5 GB in .venv-torch)")
    return python_engine("torch", threads, model, TORCH_PYTHON)


def require_compilers():
    if not COMPILERS_PYTHON.exists():
        raise NotMeasured("XLA, IREE and TVM are not installed: ./dev bench --compilers installs them (1.5 GB in "
                          ".venv-compilers)")


def compiler_engine(kind, threads, model):
    """xla, iree or tvm."""
    require_compilers()
    return python_engine(kind, threads, model, COMPILERS_PYTHON)


def program_exists(kind, build_dir):
    return (build_dir / "bin" / f"peer-{kind}").exists()


def program_engine(kind, build_dir, threads):
    """An engine of bench/peers/: onednn, openblas or mkl."""
    program = build_dir / "bin" / f"peer-{kind}"
    if not program_exists(kind, build_dir):
        raise NotMeasured(f"{program.name} is not built: its library is not installed")
    return Engine([program, threads])


@contextlib.contextmanager
def all_open(*openers):
    """The engines that these functions open; closed afterwards."""
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(contextlib.closing(opener())) for opener in openers]


def times_of_turns(engines, rounds, seconds):
    """The times in seconds of all runs of each engine's prepared case."""
    times = [[] for _ in engines]
    for _ in range(rounds):
        for own, engine in zip(times, engines):
            time.sleep(PAUSE)
            own.extend(engine.times(seconds))
    return times


def take_turns(engines, rounds, seconds):
    """The median time in seconds of each engine's prepared case."""
    return [statistics.median(times) for times in times_of_turns(engines, rounds, seconds)]


def require_agreement(engines, tolerance, what, unordered=False):
    """Raises ValueError if results of prepared cases differ by more than `tolerance` times the largest magnitude.
    `unordered`: their rows may have any order; the elements are compared sorted."""
    first, *others = [engine.results() for engine in engines]
    for engine, other in zip(engines[1:], others):
        if len(first) != len(other):
            raise ValueError(f"{engines[0].name} and {engine.name} give {len(first)} and {len(other)} results: {what}")
        for a, b in zip(first, other):
            if a.shape != b.shape:
                raise ValueError(f"{engines[0].name} and {engine.name} give {a.size} and {b.size} elements: {what}")
            if unordered:
                a, b = numpy.sort(a), numpy.sort(b)
            apart = float(abs(b - a).max(initial=0)) / max(float(abs(a).max(initial=0)), 1e-30)
            if not apart <= tolerance:
                raise ValueError(f"{engines[0].name} and {engine.name} differ by {apart:.1e}: {what}")
