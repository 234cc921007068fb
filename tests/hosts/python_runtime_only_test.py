"""Processes that only run artifacts: they load only libtailor_runtime.so."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "bindings/python/tailor"
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


WHERE = """
import tailor
tailor.version()
print(next(line.split()[-1] for line in open("/proc/self/maps") if "libtailor_runtime" in line))
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

    def test_places(self):
        """The package's folder, then the system's loader, by SONAME before the plain name."""
        with tempfile.TemporaryDirectory() as folder:
            site, system = pathlib.Path(folder, "site"), pathlib.Path(folder, "system")
            shutil.copytree(PACKAGE, site / "tailor", ignore=shutil.ignore_patterns("__pycache__"))
            system.mkdir()
            environment = {**os.environ, "PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1", "LD_LIBRARY_PATH": str(system)}
            del environment["TAILOR_LIBRARY_DIR"]

            def loaded():
                done = subprocess.run([sys.executable, "-c", WHERE], text=True, capture_output=True, env=environment, cwd=folder)
                return done.stdout.strip() or done.stderr.strip().splitlines()[-1]

            places = ", ".join(str(site / part) for part in ("tailor/lib", "tailor", "tailor.libs"))
            self.assertEqual(loaded(), "ImportError: libtailor_runtime.so.1 and libtailor_runtime.so are in none of: " + places +
                             "; nor does the system's loader know libtailor_runtime.so.1. Set TAILOR_LIBRARY_DIR, or install the "
                             "libraries")
            library = LIBRARIES / "libtailor_runtime.so"
            for place in (system / "libtailor_runtime.so.1", site / "tailor.libs" / "libtailor_runtime.so",
                          site / "tailor" / "libtailor_runtime.so", site / "tailor" / "lib" / "libtailor_runtime.so",
                          site / "tailor" / "lib" / "libtailor_runtime.so.1"):
                place.parent.mkdir(exist_ok=True)
                shutil.copy(library, place)
                self.assertEqual(loaded(), str(place))
            (site / "tailor" / "lib" / "libtailor_runtime.so.1").write_text("no library")
            self.assertIn("cannot be loaded: ", loaded())

    def test_a_library_of_another_version_is_said_plainly(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(next(pathlib.Path("/lib").rglob("libz.so.1")), pathlib.Path(folder, "libtailor_runtime.so"))
            done = run("import tailor; tailor.version()", folder)
        self.assertRegex(done.stderr, "ImportError: .*libtailor_runtime.so has no tailor_\\w+: it is of another version than this")


if __name__ == "__main__":
    unittest.main()
