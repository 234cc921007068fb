"""Plots: the points that are measured, and the files that are drawn from them."""
import json
import pathlib
import subprocess
import tempfile
import unittest

from side_by_side import curves, engines
from side_by_side.labels import apart
from side_by_side.rows.encoders import Turn

ROOT = engines.BENCH.parent
PLOTS = ROOT / "docs" / "plots"
DRAWS = ROOT / ".venv-plots" / "bin" / "python"  # has matplotlib


class PointsTest(unittest.TestCase):
    def test_every_curve_has_a_shape_for_each_place(self):
        for curve in curves.CURVES:
            self.assertEqual(len(curve.shapes), len(curve.xs), curve.name)
            self.assertEqual(sorted(set(curve.xs)), list(curve.xs), curve.name)

    def test_latency_is_the_time_of_a_run(self):
        latency = curves.CURVES[0]._replace(shapes=[(1, 1), (1, 2)], xs=(1, 2))
        points = curves.points(latency, ["Tailor", "B 1"], [Turn((1, 1), [0.001, 0.002], []), Turn((1, 2), [1, 3], [])])
        self.assertEqual(points["series"], {"Tailor": [1, 1000], "B 1": [2, 3000]})
        self.assertEqual((points["unit"], points["x"]), ("ms", [1, 2]))

    def test_throughput_counts_a_batch(self):
        throughput = curves.CURVES[1]._replace(shapes=[(4, 64)], xs=(4,))
        points = curves.points(throughput, ["Tailor"], [Turn((4, 64), [0.02], [])])
        self.assertEqual((points["series"], points["unit"]), ({"Tailor": [200]}, "sentences/s"))


class LabelsTest(unittest.TestCase):
    def test_labels_that_do_not_touch_stay(self):
        self.assertEqual(apart([0.9, 0.1], 0.1), [0.9, 0.1])

    def test_labels_that_touch_make_room_for_each_other(self):
        for found, expected in ((apart([0.5, 0.5, 0.1], 0.1), [0.45, 0.55, 0.1]),
                                (apart([0.5, 0.45, 0.4], 0.1), [0.55, 0.45, 0.35])):
            for place, wanted in zip(found, expected):
                self.assertAlmostEqual(place, wanted)


class CommittedPlotsTest(unittest.TestCase):
    def setUp(self):
        self.document = json.loads((PLOTS / "points.json").read_text())

    def test_there_is_a_plot_of_every_curve(self):
        self.assertEqual([points["name"] for points in self.document["curves"]],
                         [curve.name for curve in curves.CURVES])
        for points in self.document["curves"]:
            for values in points["series"].values():
                self.assertEqual(len(values), len(points["x"]))
            text = (PLOTS / f"{points['name']}.svg").read_text()
            for expected in (points["title"], points["workload"], *points["series"], self.document["machine"]["cpu"]):
                self.assertIn(expected, text)
            self.assertNotIn("<dc:date>", text)

    @unittest.skipUnless(DRAWS.exists(), "matplotlib is not installed: ./dev bench --plots installs it")
    def test_the_plots_are_drawn_from_the_points(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "points.json").write_text(json.dumps(self.document))
            subprocess.run([DRAWS, "-m", "side_by_side.draw", folder], env=engines.python_paths(), check=True)
            for points in self.document["curves"]:
                name = f"{points['name']}.svg"
                self.assertEqual(pathlib.Path(folder, name).read_bytes(), (PLOTS / name).read_bytes(), name)


if __name__ == "__main__":
    unittest.main()
