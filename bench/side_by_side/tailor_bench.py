"""Running tailor-bench and reading what it reports."""
import json
import os
import re
import subprocess

from .figures import NotMeasured

NANOSECONDS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}
SUFFIX = re.compile(r"/iterations:\d+|/(real|manual|process)_time|/repeats:\d+")


def plain(name):
    """A benchmark's name without what Google Benchmark adds: "dot/8x4x4/iterations:40/manual_time" is "dot/8x4x4"."""
    return SUFFIX.sub("", name)


def posix(name):
    """The POSIX regular expression of just this name; there a hyphen has no escape."""
    return re.escape(name).replace(r"\-", "-")


class Result:
    """One benchmark: the median of its repetitions."""

    def __init__(self, row):
        self.name, self._row = plain(row["run_name"]), row

    def nanoseconds(self, clock):
        """clock: "cpu_time", or "real_time" for what takes more than one thread or times itself."""
        return self._row[clock] * NANOSECONDS[self._row["time_unit"]]

    def counter(self, *names):
        """The counter of the first of these names that it has."""
        for name in names:
            if name in self._row:
                return self._row[name]
        raise NotMeasured(f"benchmark {self.name} has no counter {names[0]}")


def read(report):
    """{name: Result} of a report; raises NotMeasured if a benchmark could not run."""
    results = {}
    for row in report["benchmarks"]:
        if row.get("error_occurred"):
            raise NotMeasured(f"{plain(row['run_name'])}: {row['error_message']}")
        if row.get("aggregate_name", "median") == "median":
            result = Result(row)
            results[result.name] = result
    return results


class TailorBench:
    """`dots`: (M, K, N) of further benchmarks, given_dot/MxKxN."""

    def __init__(self, program, repetitions, dots=()):
        self._program, self._repetitions, self._names = program, repetitions, None
        self._dots = " ".join("x".join(map(str, shape)) for shape in dots)

    def with_dots(self, dots):
        return TailorBench(self._program, self._repetitions, dots)

    def names(self):
        """All benchmarks that the program has."""
        if self._names is None:
            listed = self._start("--benchmark_list_tests=true")
            self._names = [plain(line) for line in listed.splitlines()]
        return self._names

    def run(self, pattern, repetitions=None):
        """{name: Result} of the benchmarks whose names match."""
        wanted = [name for name in self.names() if re.search(pattern, name)]
        if not wanted:
            raise NotMeasured(f"no benchmark named {pattern}")
        exact = "|".join(f"^{posix(name)}(/|$)" for name in wanted)
        return read(json.loads(self._start(f"--benchmark_filter={exact}", "--benchmark_format=json",
                                           f"--benchmark_repetitions={repetitions or self._repetitions}")))

    def one(self, name, repetitions=None):
        if name not in self.names():
            raise NotMeasured(f"no benchmark named {name}")
        return self.run(f"^{re.escape(name)}$", repetitions)[name]

    def _start(self, *arguments):
        done = subprocess.run([str(self._program), *arguments], capture_output=True, text=True, check=False,
                              env=dict(os.environ, TAILOR_BENCH_DOTS=self._dots))
        if done.returncode != 0:
            raise RuntimeError(f"tailor-bench {' '.join(arguments)}: {done.stderr.strip()[-500:]}")
        return done.stdout
