"""Wheels serve the systems that their names and the documentation say."""
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/package"))
sys.dont_write_bytecode = True

from wheel_policies import differences, stated  # noqa: E402

ROWS = {("tailor", "manylinux_2_34"), ("tailor-runtime", "musllinux_1_2")}
COMPILER, RUNTIME = "tailor-0.1.0-py3-none-manylinux_2_34_x86_64.whl", "tailor_runtime-0.1.0-py3-none-musllinux_1_2_x86_64.whl"
GOOD = {COMPILER: "manylinux_2_34_x86_64", RUNTIME: "musllinux_1_2_x86_64"}


class WheelPoliciesTest(unittest.TestCase):
    def test_the_table_of_the_documentation(self):
        rows = stated((ROOT / "docs/hosts/python.md").read_text())
        self.assertEqual(sorted(name for name, _ in rows), ["tailor", "tailor-runtime", "tailor-runtime"])

    def test_wheels_as_documented(self):
        self.assertEqual(differences(ROWS, GOOD), [])

    def test_a_wheel_of_two_tags(self):
        self.assertEqual(differences(ROWS, {COMPILER.replace("2_34_x86_64", "2_34_x86_64.manylinux_2_35_x86_64"): GOOD[COMPILER],
                                            RUNTIME: GOOD[RUNTIME]}), [])

    def test_a_wheel_that_needs_a_newer_system(self):
        wrong = differences(ROWS, {**GOOD, COMPILER: "manylinux_2_36_x86_64"})
        self.assertEqual(wrong, [f"{COMPILER}: auditwheel says manylinux_2_36_x86_64",
                                 "tailor is manylinux_2_36, which is not documented",
                                 "tailor is documented as manylinux_2_34, which no wheel is"])

    def test_a_documented_wheel_that_is_missing(self):
        self.assertEqual(differences(ROWS, {COMPILER: GOOD[COMPILER]}),
                         ["tailor-runtime is documented as musllinux_1_2, which no wheel is"])


if __name__ == "__main__":
    unittest.main()
