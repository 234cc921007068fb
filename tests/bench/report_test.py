"""Outcomes as a table, as Markdown and as JSON."""
import json
import unittest

from side_by_side import figures, report
from side_by_side.figures import AtLeast, AtMost, Figure, NotMeasured, Row


def absent(bench):
    raise NotMeasured("no a|b here")


OUTCOMES = [figures.measure(Row(name, title, measure), None) for name, title, measure in (
    ("cpu-1", "products", lambda bench: [Figure("geomean", 0.953, "of peak", AtLeast(0.94), "oneDNN 3", 0.5, 1.906)]),
    ("cpu-2", "runs", lambda bench: [Figure("empty run", 161.25, "ns", AtMost(150)), Figure("added kernel", 6, "ns")]),
    ("cpu-3", "nothing", absent))]


class ReportTest(unittest.TestCase):
    maxDiff = None

    def test_table(self):
        self.assertEqual(report.table(OUTCOMES), """\
                          value            peer  ratio   target     met
cpu-1  products   0.953 of peak  oneDNN 3 0.500   1.91  >= 0.94     met
cpu-2  runs            161.2 ns                          <= 150  MISSED
    empty run          161.2 ns                          <= 150  MISSED
    added kernel       6.000 ns
cpu-3  nothing    not measured: no a|b here""")

    def test_markdown(self):
        self.assertEqual(report.markdown(OUTCOMES), """\
| row | value | peer | ratio | target | met |
|---|---|---|---|---|---|
| cpu-1  products | 0.953 of peak | oneDNN 3 0.500 | 1.91 | >= 0.94 | met |
| cpu-2  runs | 161.2 ns |  |  | <= 150 | MISSED |
| empty run | 161.2 ns |  |  | <= 150 | MISSED |
| added kernel | 6.000 ns |  |  |  |  |
| cpu-3  nothing | not measured: no a\\|b here |  |  |  |  |""")

    def test_json(self):
        out = json.loads(json.dumps(report.as_json(OUTCOMES, {"cpu": "one"}, ["a note"])))
        self.assertEqual((out["machine"], out["notes"]), ({"cpu": "one"}, ["a note"]))
        self.assertEqual([metric["name"] for metric in out["metrics"]],
                         ["cpu-1", "geomean", "cpu-2", "empty run", "added kernel", "cpu-3"])
        self.assertEqual(out["metrics"][0], {
            "name": "cpu-1", "title": "products", "value": 0.953, "unit": "of peak", "peer": "oneDNN 3",
            "peer_value": 0.5, "ratio": 1.906, "target": 0.94, "bound": ">=", "met": True, "reason": None})
        self.assertEqual(out["metrics"][2]["met"], False)
        self.assertEqual(out["metrics"][5], {
            "name": "cpu-3", "title": "nothing", "value": None, "unit": "", "peer": None, "peer_value": None,
            "ratio": None, "target": None, "bound": None, "met": None, "reason": "not measured: no a|b here"})

    def test_no_two_metrics_have_one_name(self):
        other = figures.measure(Row("cpu-4", "more", lambda bench: [Figure("empty run", 1, "ns")]), None)
        names = [metric["name"] for metric in report.as_json([OUTCOMES[1], other], {}, [])["metrics"]]
        self.assertEqual(names, ["cpu-2", "empty run", "added kernel", "cpu-4", "cpu-4: empty run"])


if __name__ == "__main__":
    unittest.main()
