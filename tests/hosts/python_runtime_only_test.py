"""Processes that only run artifacts: they load only libtailor_runtime.so."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

LIBRARIES = pathlib.Path(os.environ["TAILOR_LIBRARY_DIR"])

RUN = """
import sys
import numpy as np
import tailor

executable = tailor.load(sys.argv[1])
x = np.arange(12, dtype=np.float32).reshape(3, 4)
y, total = executable.run(x)
wanted = x * np.array([1, 2, 3, 4], np.float32) + np.float32(0.5)
assert (y == wanted).all() and (total == wanted.sum(-1)).all()
maps = open("/proc/self/maps").read()
assert "libtailor_runtime.so" in maps
assert "libtailor.so" not in maps and "libLLVM" not in maps and "libabsl" not in maps
try:
    tailor.Graph()
except ImportError as error:
    print(error)
"""


def run(script, libraries):
    return subprocess.run([sys.executable, "-c", script, os.environ["TAILOR_TEST_ARTIFACT"]], text=True,
                          capture_output=True, env={**os.environ, "TAILOR_LIBRARY_DIR": str(libraries)})


class RuntimeOnlyTest(unittest.TestCase):
    def test_the_compiler_is_not_loaded(self):
        done = run(RUN, LIBRARIES)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_missing_compiler_is_said_plainly(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(LIBRARIES / "libtailor_runtime.so", folder)
            done = run(RUN, folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("building and compiling graphs needs the compiler library", done.stdout)
        self.assertIn("libtailor.so", done.stdout)

    def test_missing_libraries_are_said_plainly(self):
        with tempfile.TemporaryDirectory() as folder:
            done = run(RUN, folder)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(f"libtailor_runtime.so.1 and libtailor_runtime.so are not in TAILOR_LIBRARY_DIR: {folder}", done.stderr)


if __name__ == "__main__":
    unittest.main()
