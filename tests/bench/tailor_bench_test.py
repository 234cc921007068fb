"""Reading reports of Google Benchmark, with a fake tailor-bench."""
import pathlib
import stat
import tempfile
import textwrap
import types
import unittest

from side_by_side.figures import NotMeasured
from side_by_side.rows import choice, dots
from side_by_side.tailor_bench import TailorBench, plain, read

PROGRAM = """\
    #!/usr/bin/env python3
    import json, sys
    if "--benchmark_list_tests=true" in sys.argv:
        print("empty_run\\ndot/8x4x4/iterations:40/manual_time\\ndot/8x4x40/iterations:40/manual_time\\na-b+c")
    else:
        print(json.dumps({"benchmarks": [{"run_name": sys.argv[1], "aggregate_name": "median", "cpu_time": 1,
                                          "time_unit": "us"}]}))
"""


def row(name, **fields):
    return {"run_name": name, "aggregate_name": "median", "cpu_time": 2.0, "real_time": 3.0, "time_unit": "us",
            **fields}


class TailorBenchTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        program = pathlib.Path(folder.name) / "program"
        program.write_text(textwrap.dedent(PROGRAM))
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        self.bench = TailorBench(program, repetitions=3)

    def test_names_are_plain(self):
        self.assertEqual(plain("dot/8x4x4/iterations:40/manual_time"), "dot/8x4x4")
        self.assertEqual(self.bench.names(), ["empty_run", "dot/8x4x4", "dot/8x4x40", "a-b+c"])

    def test_one_benchmark_is_not_another_that_begins_alike(self):
        results = self.bench.run("^dot/8x4x4$")
        self.assertEqual(list(results), ["--benchmark_filter=^dot/8x4x4(/|$)"])

    def test_filters_are_posix_expressions(self):
        results = self.bench.run(r"^a")
        self.assertEqual(list(results), [r"--benchmark_filter=^a-b\+c(/|$)"])

    def test_a_benchmark_that_is_missing_is_named(self):
        with self.assertRaisesRegex(NotMeasured, "no benchmark named dot/1x1x1"):
            self.bench.one("dot/1x1x1")

    def test_rows_of_missing_benchmarks_say_so(self):
        bench = types.SimpleNamespace(tailor=self.bench)
        with self.assertRaisesRegex(NotMeasured, "no benchmark named choice/never_seen"):
            choice.choice(bench)
        with self.assertRaisesRegex(NotMeasured, r"no benchmark named dot_from_memory/1x2x3 \(nor 2 others\)"):
            dots.measured(bench, [(1, 2, 3), (8, 4, 4), (4, 5, 6)])


class ReadTest(unittest.TestCase):
    def test_medians_alone_are_read(self):
        results = read({"benchmarks": [row("a", aggregate_name="mean", cpu_time=9), row("a", gflops=7.0)]})
        self.assertEqual(results["a"].nanoseconds("cpu_time"), 2000)
        self.assertEqual(results["a"].nanoseconds("real_time"), 3000)
        self.assertEqual(results["a"].counter("share", "gflops"), 7)

    def test_a_single_repetition_has_no_median(self):
        single = row("a/iterations:5")
        del single["aggregate_name"]
        self.assertEqual(read({"benchmarks": [single]})["a"].nanoseconds("cpu_time"), 2000)

    def test_a_missing_counter_is_named(self):
        with self.assertRaisesRegex(NotMeasured, "benchmark a has no counter share"):
            read({"benchmarks": [row("a")]})["a"].counter("share", "gflops")

    def test_a_benchmark_that_could_not_run_says_why(self):
        with self.assertRaisesRegex(NotMeasured, "fork_join: one CPU"):
            read({"benchmarks": [{"run_name": "fork_join/iterations:5", "error_occurred": True,
                                  "error_message": "one CPU"}]})


if __name__ == "__main__":
    unittest.main()
