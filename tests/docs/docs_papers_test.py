"""docs/papers.md: its rows are the papers' mechanisms, and the tests and folders that they name exist."""
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
COUNTS = {"D": 11, "B": 12, "T": 7, "M": 6, "A": 7}
TEST = re.compile(r"^TEST(?:_F|_P)?\((\w+), (\w+)\)", re.MULTILINE)
METHOD = re.compile(r"^class (\w+)\(unittest|^    def (test_\w+)", re.MULTILINE)


def methods(path):
    """Tests of a Python file: "Class.test_method"."""
    suite = None
    for found in METHOD.finditer(path.read_text()):
        suite = found[1] or suite
        if found[2]:
            yield f"{suite}.{found[2]}"


def rows():
    """[(row, mechanism, state, where, tests)] of the first table."""
    lines = (ROOT / "docs" / "papers.md").read_text().splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if re.match(r"\| [DBTMA]\d+ \|", line)]


class PapersTest(unittest.TestCase):
    def test_every_mechanism_has_a_row(self):
        self.assertEqual([row[0] for row in rows()],
                         [f"{paper}{i + 1}" for paper, count in COUNTS.items() for i in range(count)])

    def test_states_are_whole_part_or_not_built(self):
        for row in rows():
            self.assertRegex(row[2], r"^(whole($|[ :;(])|part: |not built: )", row[0])

    def test_tests_and_folders_exist(self):
        known = {f"{suite}.{name}" for path in (ROOT / "tests").rglob("*.cc") for suite, name in TEST.findall(path.read_text())}
        for path in (ROOT / "tests").rglob("*_test.py"):
            known.update(methods(path))
        for name, _, state, where, tests in rows():
            with self.subTest(name):
                named = re.findall(r"`([^`]+)`", tests)
                self.assertTrue(named or not state.startswith("whole"), "a whole mechanism has a test")
                self.assertEqual(set(named) - known, set())
                for place in filter(None, where.split(", ")):
                    self.assertTrue(place.startswith("`") or (ROOT / place).exists(), place)


if __name__ == "__main__":
    sys.exit(unittest.main())
