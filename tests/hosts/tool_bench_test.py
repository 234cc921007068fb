"""`tailor bench`: its tables, JSON and traces. No figure is judged."""
import json
import unittest

import numpy as np

from tool_case import FILE, STATUS, USAGE, ToolCase

QUICK = ("--duration", "0.01")
DISTRIBUTION = {"runs", "mean_seconds", "p50_seconds", "p90_seconds", "p99_seconds", "max_seconds"}


class BenchTest(ToolCase):
    def check_distribution(self, entry, runs=1):
        self.assertLessEqual(DISTRIBUTION, entry.keys())
        times = [entry[key] for key in ("p50_seconds", "p90_seconds", "p99_seconds", "max_seconds")]
        self.assertEqual(times, sorted(times))
        self.assertGreater(times[0], 0)
        self.assertGreaterEqual(entry["runs"], runs)

    def test_lists_are_combined(self):
        self.compile()
        out = self.succeed_json("bench", "a.tlr", "--dims", "B=1,4,9", *QUICK)
        self.assertEqual((out["callers"], out["threads"], out["shapes"], out["items"]), (1, 1, 3, "B"))
        [model] = out["models"]
        self.assertEqual([shape["dims"] for shape in model["shapes"]], [{"B": 1}, {"B": 4}, {"B": 9}])
        self.check_distribution(model, runs=3)
        self.assertEqual(model["first_runs"]["runs"], 3)
        for shape in model["shapes"]:
            self.check_distribution(shape)
        self.assertEqual(sum(shape["runs"] for shape in model["shapes"]), model["runs"])
        self.assertGreater(model["items_per_second"], model["runs_per_second"])

    def test_ranges_are_drawn_by_seed(self):
        self.compile()

        def dims(*options):
            out = self.succeed_json("bench", "a.tlr", "--dims", "B=2..8", "--random", 20, *QUICK, *options)
            return [shape["dims"]["B"] for shape in out["models"][0]["shapes"]]

        drawn = dims()
        self.assertEqual(len(drawn), 20)
        self.assertTrue(2 <= min(drawn) < max(drawn) <= 8)
        self.assertEqual(dims(), drawn)
        self.assertNotEqual(dims("--seed", 5), drawn)
        self.refuse(USAGE, "B is a range: add --random N", "bench", "a.tlr", "--dims", "B=2..8")

    def test_shapes_that_a_check_refuses_are_drawn_again(self):
        (self.path / "even.txt").write_text(
            'graph @g(%x: f32[N], %y: f32[M]) where N in [1, 64], M in [1, 64], N == 2*M {\n'
            '  %a = neg %x\n  return "a" = %a\n}\n')
        out = self.succeed_json("bench", "even.txt", "--dims", "N=1..8,M=1..4", "--random", 5, *QUICK)
        for shape in out["models"][0]["shapes"]:
            self.assertEqual(shape["dims"]["N"], 2 * shape["dims"]["M"])
        self.refuse(STATUS, "no shape of --dims runs: ", "bench", "even.txt", "--dims", "N=1,M=1..2", "--random", 3, *QUICK)
        self.refuse(STATUS, "M=1, N=1: ", "bench", "even.txt", "--dims", "N=1,M=1", *QUICK)

    def test_callers_and_threads(self):
        self.compile()
        out = self.succeed_json("bench", "a.tlr", "--callers", 3, "--threads", 2, "--dims", "B=1,9", *QUICK)
        self.assertEqual((out["callers"], out["threads"]), (3, 2))
        self.check_distribution(out["models"][0], runs=6)

    def test_two_models_are_compared(self):
        self.compile()
        for callers in (1, 2):
            out = self.succeed_json("bench", "a.tlr", "--compare", "graph.txt", "--dims", "B=1,9", "--callers", callers, *QUICK)
            self.assertEqual([(model["model"], model["compiled"]) for model in out["models"]],
                             [("a.tlr", False), ("graph.txt", True)])
            ratio = out["time_ratio"]
            self.assertEqual(len(ratio["by_shape"]), 2)
            self.assertTrue(min(ratio["by_shape"]) <= ratio["geometric_mean"] <= max(ratio["by_shape"]))
        self.refuse(FILE, "cannot read b.tlr", "bench", "a.tlr", "--compare", "b.tlr")

    def test_inputs_may_be_given(self):
        self.compile()
        np.save(self.path / "x.npy", np.zeros((7, 3), np.float32))
        out = self.succeed_json("bench", "a.tlr", "x=@x.npy", "--range", "k=3:4", *QUICK)
        self.assertEqual(out["models"][0]["shapes"][0]["dims"], {"B": 7})

    def test_donated_inputs_are_each_callers_own(self):
        self.compile("--donate", "x")
        self.succeed("bench", "a.tlr", "--callers", 2, *QUICK)

    def test_the_table_has_a_row_for_each_shape(self):
        self.compile()
        out = self.succeed("bench", "a.tlr", "--dims", "B=1,9", *QUICK)
        lines = out.splitlines()
        self.assertRegex(lines[0], r"^a.tlr  x86-64-v\d, 1 kernel launch, [0-9.]+ KiB, loaded in ")
        self.assertRegex(lines[1], r"^2 shapes of B=1,9, 1 caller of 1 thread, \d+ runs$")
        self.assertEqual([line.split()[0] for line in lines[3:7]], ["shape", "B=1", "B=9", "all"])
        self.assertIn("items/s (B)", lines[3])
        self.assertNotIn("\033", out)
        out = self.succeed("bench", "a.tlr", "--compare", "graph.txt", "--dims", "B=2", *QUICK)
        self.assertRegex(out, r"graph.txt .* [0-9.]+x\n")

    def test_a_trace_has_every_launch(self):
        (self.path / "chain.txt").write_text("""graph @chain(%x: f32[B, K], %w: f32[K, 24]) where B in [1, 64], K in [1, 64] {
  %a = dot %x, %w
  %t = reduce_sum %a {axes = [1]}
  %u = broadcast %t {shape = [24, B]}
  %d = dot %u, %a
  return "d" = %d
}
""")
        self.succeed("compile", "chain.txt", "-o", "c.tlr", "--target", "host")
        described = json.loads(self.succeed("inspect", "c.tlr", "--json"))
        launches = described["variants"][0]["launches"]
        self.assertGreater(len(launches), 1)
        out = self.succeed_json("bench", "c.tlr", "--compare", "chain.txt", "--dims", "B=1,16,K=3", *QUICK, "--trace",
                                "t.json")
        events = json.loads((self.path / "t.json").read_text())["traceEvents"]
        names = [event["args"]["name"] for event in events if event["name"] == "process_name"]
        self.assertEqual([name.split()[0] for name in names], ["c.tlr", "chain.txt"])
        for process in (1, 2):
            own = [event for event in events if event["pid"] == process and event["ph"] == "X"]
            runs = [event for event in own if event["cat"] == "run"]
            self.assertEqual([run["args"] for run in runs], [{"B": 1, "K": 3}, {"B": 16, "K": 3}])
            for run in runs:
                inside = [event for event in own if event["cat"] == "launch" and
                          run["ts"] <= event["ts"] and event["ts"] + event["dur"] <= run["ts"] + run["dur"] + 1e-3]
                self.assertEqual(sorted(event["args"]["launch"] for event in inside), list(range(len(launches))))
                for event in inside:
                    launch = launches[event["args"]["launch"]]
                    self.assertEqual(event["name"], launch["kernel"])
                    self.assertIn(event["args"]["version"], launch["versions"])
        for model in out["models"]:
            self.assertEqual(sum(kernel["launches"] for kernel in model["kernels"]), 2 * len(launches))
        self.assertIn("trace of 1 run: u.json", self.succeed("bench", "c.tlr", "--dims", "B=1,2,K=3", *QUICK, "--trace",
                                                             "u.json", "--trace-runs", 1))

    def test_mistakes_are_named(self):
        self.compile()
        for exit_code, words, arguments in (
                (USAGE, 'no symbol "Q"', ("--dims", "Q=1..3", "--random", 2)),
                (USAGE, "B is in 1..30, must be in [1, 9]", ("--dims", "B=1..30", "--random", 2)),
                (USAGE, '"5..1" is an empty range', ("--dims", "B=5..1", "--random", 2)),
                (USAGE, '--items: the inputs have no symbol "S"', ("--items", "S")),
                (USAGE, "--callers", ("--callers", 0)),
                (USAGE, "--random", ("--random", 0)),
                (FILE, "cannot write none/t.json", ("--trace", "none/t.json", *QUICK))):
            with self.subTest(arguments):
                self.refuse(exit_code, words, "bench", "a.tlr", *arguments)


if __name__ == "__main__":
    unittest.main()
