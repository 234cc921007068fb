"""Row "papers" with fake times, its list, and the tables."""
import pathlib
import sys
import tempfile
import types
import unittest

import onnx

from side_by_side import corpus
from side_by_side.figures import NotMeasured
from side_by_side.lists import rows_of
from side_by_side.rows import papers
from side_by_side.rows.papers import VARIANTS, Measured, Side
from side_by_side.small_graphs import SMALL_GRAPHS


def measured(name, own, peers, gain=1.1, launches=(5, 20)):
    """`own`, `peers`: seconds of a run."""
    sides = {"Tailor": Side([own] * 3, 2.0, launches[0], 1.05)}
    sides |= {peer: Side([seconds] * 3, 1.0, launches[1] if peer == "eager" else None, 1.5) for peer, seconds in peers.items()}
    return Measured(name, "batch=1", sides, {variant: [gain, gain + 0.02] for variant in VARIANTS})


FAST = measured("fast", 1.0, {"eager": 4.0, "onnxruntime": 2.0})
SLOW = measured("slow", 1.0, {"eager": 1.0, "OpenVINO": 0.5}, gain=0.9, launches=(20, 20))


class FiguresTest(unittest.TestCase):
    def figures(self, results):
        return {figure.name: figure for figure in papers.figures(results)}

    def test_means_and_the_worst_of_each_peer(self):
        figures = self.figures([FAST, SLOW])
        self.assertAlmostEqual(figures["over eager, 2 workloads, geometric mean"].value, 2)
        self.assertTrue(figures["over eager, 2 workloads, geometric mean"].met)
        self.assertEqual(figures["over eager, worst: slow"].value, 1)
        self.assertFalse(figures["over OpenVINO, worst: slow"].met)
        self.assertEqual(figures["over onnxruntime, 1 workloads, geometric mean"].value, 2)

    def test_compilers_are_peers_of_which_xla_has_a_bar(self):
        figures = self.figures([measured("a", 1.0, {"XLA": 1.2, "IREE": 3.0, "TVM": 200.0})])
        self.assertFalse(figures["over XLA, 1 workloads, geometric mean"].met)
        self.assertIsNone(figures["over IREE, 1 workloads, geometric mean"].met)
        self.assertIsNone(figures["over TVM, 1 workloads, geometric mean"].met)
        self.assertTrue(figures["over XLA, worst: a"].met)

    def test_kernels_fixed_shapes_and_new_shapes(self):
        figures = self.figures([FAST, SLOW])
        self.assertAlmostEqual(figures["kernels over those of eager PyTorch, geometric mean"].value, 0.5)
        self.assertTrue(figures["first run at a new shape over later ones, worst: fast"].met)
        self.assertFalse(self.figures([SLOW])[
            "speed of one build for all shapes over that of one for the shape, geometric mean"].met)

    def test_tables_name_each_engine_and_variant(self):
        table = papers.run_table([FAST])
        self.assertEqual([row[2] for row in table.rows], ["Tailor", "eager", "onnxruntime"])
        self.assertEqual(table.rows[1][3:7], [4000, 4000, 4, 20])
        gains = papers.gain_table([FAST])
        self.assertEqual(gains.rows, [["fast", *["1.11 +- 0.01"] * len(VARIANTS)]])
        self.assertEqual(len(gains.headings), len(gains.rows[0]))


class ListTest(unittest.TestCase):
    def test_workloads_have_two_shapes_of_the_same_symbols(self):
        for row in rows_of("papers.csv"):
            with self.subTest(row["name"]):
                sizes, new = corpus.sizes_of(row["sizes"]), corpus.sizes_of(row["new"])
                self.assertEqual(list(sizes), list(new))
                self.assertNotEqual(sizes, new)
                self.assertIn(row["exporter"], ("dynamo", "legacy"))
                self.assertIn(row["quick"], ("yes", "no"))

    def test_small_graphs_are_models(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, graph in SMALL_GRAPHS.items():
                with self.subTest(name):
                    path = pathlib.Path(folder) / "small.onnx"
                    graph.save(path)
                    onnx.checker.check_model(onnx.load(path), full_check=True)
                    symbols = {dim for entry in graph.entry()["inputs"] for dim in entry["dims"] if isinstance(dim, str)}
                    self.assertEqual((symbols, symbols), (set(graph.sizes), set(graph.new)))
                    self.assertNotEqual(graph.sizes, graph.new)

    def names(self, full, *named):
        return [name for name, _ in papers.listed(types.SimpleNamespace(full=full, named=named))]

    def test_workloads_are_named_or_all_or_quick(self):
        self.assertEqual(self.names(True), [*(row["name"] for row in rows_of("papers.csv")), *SMALL_GRAPHS])
        self.assertLess(set(self.names(False)), set(self.names(True)))
        self.assertEqual(self.names(False, "layer norm"), ["layer norm"])
        with self.assertRaisesRegex(NotMeasured, "no workload is named haste; there are BERT, "):
            self.names(False, "haste")


if __name__ == "__main__":
    sys.exit(unittest.main())
