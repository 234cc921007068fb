"""The rows of matmuls, with fake benchmark results."""
import pathlib
import re
import types
import unittest

from side_by_side.figures import NotMeasured
from side_by_side.rows import dots
from side_by_side.tailor_bench import Result


class Benchmarks:
    """dot_from_memory/<extents> with a share of the peak; half a second each."""

    def __init__(self, shares, **counters):
        self._shares, self._counters = shares, counters

    def names(self):
        return list(self._shares)

    def one(self, name, repetitions):
        return Result({"run_name": name, "real_time": 0.5, "time_unit": "s", "peak_share": self._shares[name],
                       **self._counters})

    def run(self, pattern):
        return {name: Result({"run_name": name, "real_time": seconds, "time_unit": "s"})
                for name, seconds in self._shares.items()}


def bench_of(tailor):
    return types.SimpleNamespace(
        tailor=tailor, build_dir=pathlib.Path("/nowhere"), rounds=1, dots={}, note=lambda text: None,
        progress=lambda text: None, pick=lambda cases, count: cases)


class DotsTest(unittest.TestCase):
    def test_shares_are_those_of_the_benchmarks(self):
        bench = bench_of(Benchmarks({"dot_from_memory/2x3x4": 0.9, "dot_from_memory/8x4x4": 0.4}, roofline_share=0.5))
        measured = dots.measured(bench, [(2, 3, 4), (8, 4, 4)])
        self.assertEqual(measured[2, 3, 4], dots.Dot(0.9, 0.5, 0.5, {}))
        figure, = dots.shares(bench, list(measured), "both", lambda dot: dot.peak_share, "of peak", None)
        self.assertAlmostEqual(figure.value, 0.6)

    def test_a_shape_is_measured_once(self):
        bench = bench_of(Benchmarks({"dot_from_memory/2x3x4": 0.9}, roofline_share=0.5))
        first = dots.measured(bench, [(2, 3, 4)])[2, 3, 4]
        self.assertIs(dots.measured(bench, [(2, 3, 4)])[2, 3, 4], first)

    def test_bf16_is_that_of_the_best_level_that_runs(self):
        class Levels(Benchmarks):
            def run(self, pattern):
                if "new" in pattern:
                    raise NotMeasured("this machine does not run new")
                return {name: Result({"run_name": name, "times_f32": times}) for name, times in self._shares.items()
                        if re.search(pattern, name)}

        times = {"dot_bf16/new/512x512x512": 9.0, "dot_bf16/old/512x512x512": 2.0, "dot_bf16/old/512x256x512": 8.0,
                 "dot_bf16/old/1x512x512": 1.0, "dot/512x512x512": 1.0}
        figure, = dots.bf16(bench_of(Levels(times)))
        self.assertEqual((figure.name, figure.value, figure.met), ("bf16, 2 shapes, old, geometric mean", 4.0, True))
        with self.assertRaisesRegex(NotMeasured, "does not run new"):
            dots.bf16(bench_of(Levels({"dot_bf16/new/512x512x512": 9.0})))
        with self.assertRaisesRegex(NotMeasured, "no benchmarks"):
            dots.bf16(bench_of(Levels({"dot/512x512x512": 1.0})))


if __name__ == "__main__":
    unittest.main()
