"""Targets, the figure that stands for a row, and rows that cannot be measured."""
import contextlib
import io
import pathlib
import tempfile
import unittest

from side_by_side import __main__ as command
from side_by_side import figures
from side_by_side.figures import AtLeast, AtMost, Figure, NotMeasured, Row
from side_by_side.rows import ROWS


def outcome(measure):
    return figures.measure(Row("cpu-0", "a row", measure), None)


class FiguresTest(unittest.TestCase):
    def test_a_target_is_met_at_its_value(self):
        for bar, value, met in ((AtLeast(2), 2, True), (AtLeast(2), 1.99, False), (AtMost(2), 2, True),
                                (AtMost(2), 2.01, False), (AtMost(2), 0, True)):
            self.assertEqual(Figure("f", value, bar=bar).met, met, (bar, value))
        self.assertIsNone(Figure("f", 1).met)
        self.assertIsNone(Figure("f", bar=AtLeast(2), reason="not measured: no such thing").met)

    def test_the_row_shows_what_misses_its_target_by_most(self):
        done = outcome(lambda bench: [Figure("a", 9, "ns", AtMost(10)), Figure("b", 1, "x", AtLeast(2)),
                                      Figure("c", 100, "ns", AtMost(110)), Figure("d", 1e-9, "s")])
        self.assertEqual((done.head.name, done.head.value, done.head.unit), ("cpu-0", 1, "x"))
        self.assertIs(done.met, False)

    def test_a_row_is_met_when_all_its_targets_are(self):
        met, missing = Figure("a", 3, bar=AtLeast(2)), Figure("b", bar=AtLeast(2), reason="not measured: why")
        self.assertIs(outcome(lambda bench: [met, Figure("without a target", 1)]).met, True)
        self.assertIsNone(outcome(lambda bench: [met, missing]).met)
        self.assertIs(outcome(lambda bench: [missing, Figure("c", 1, bar=AtLeast(2))]).met, False)

    def test_a_row_that_cannot_be_measured_says_why(self):
        def measure(bench):
            raise NotMeasured("there is no such thing here")
        done = outcome(measure)
        self.assertEqual((done.head.reason, done.met, done.failed),
                         ("not measured: there is no such thing here", None, False))

    def test_a_row_that_fails_is_reported_as_such(self):
        def measure(bench):
            raise ValueError("the engines disagree")
        done = outcome(measure)
        self.assertEqual((done.head.reason, done.met, done.failed),
                         ("failed: ValueError: the engines disagree", None, True))


class RowsTest(unittest.TestCase):
    def test_every_row_has_a_name_of_its_own(self):
        names = [row.name for row in ROWS]
        self.assertEqual(len(set(names)), len(names))
        self.assertEqual([name for name in names if name.startswith("cpu-")], [f"cpu-{i}" for i in range(1, 16)])

    def test_without_a_build_every_row_is_still_reported(self):
        with tempfile.TemporaryDirectory() as folder:
            out = io.StringIO()
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
                status = command.main(["--build-dir", folder, "--only", "cpu-8", "--only", "cpu-11",
                                       "--json", str(pathlib.Path(folder) / "out.json")])
            self.assertTrue((pathlib.Path(folder) / "out.json").exists())
        self.assertEqual(status, 1)
        self.assertRegex(out.getvalue(), r"cpu-8 .*failed: FileNotFoundError")
        self.assertRegex(out.getvalue(), r"cpu-11 .*failed: FileNotFoundError")


if __name__ == "__main__":
    unittest.main()
