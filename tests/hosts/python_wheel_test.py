"""The wheels of tools/build_wheel.py, installed into a fresh environment."""
import base64
import csv
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

import numpy

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBRARIES = pathlib.Path(os.environ["TAILOR_LIBRARY_DIR"])
WORKER = os.environ.get("TAILOR_TEST_WORKER")

COMPILE = """
import numpy as np, tailor, tailor.onnx
assert "site-packages" in tailor.__file__, tailor.__file__
graph = tailor.Graph("scale")
graph.output("y", graph.input("x", "f32", ["N", 4]) * 2.0)
executable = graph.compile("host", isolated=True)
assert (executable.run(np.ones((3, 4), np.float32))[0] == 2).all()
assert "Gemm" in tailor.onnx.operators()
executable.save("scale.tlr")
print(tailor.__version__)
"""

RUN = """
import numpy as np, tailor
assert (tailor.load("scale.tlr").run(np.ones((3, 4), np.float32))[0] == 2).all()
try:
    tailor.Graph()
except ImportError as error:
    print(error)
"""


class Environment:
    """A fresh virtual environment that sees numpy, and nothing else of this process's."""

    def __init__(self, folder):
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
        self.python = str(folder / "bin" / "python")
        self.packages, = folder.glob("lib/python*/site-packages")
        numpy_folder = pathlib.Path(numpy.__file__).parent
        for part in (numpy_folder, *numpy_folder.parent.glob("numpy.libs")):
            (self.packages / part.name).symlink_to(part)

    def install(self, *wheels):
        subprocess.run([sys.executable, "-m", "pip", "--python", self.python, "install", "-q", "--no-deps", "--no-index",
                        "--disable-pip-version-check", *map(str, wheels)], check=True)

    def run(self, *arguments, folder):
        clean = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/")}
        return subprocess.run([self.python, *arguments], capture_output=True, text=True, cwd=folder, env=clean)


def build(out, *options):
    worker = ["--worker", WORKER] if WORKER else []
    done = subprocess.run([sys.executable, ROOT / "tools/build_wheel.py", "--libraries", LIBRARIES, "--out", out, *worker,
                           *options], check=True, capture_output=True, text=True)
    return [pathlib.Path(line) for line in done.stdout.splitlines()]


class WheelTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.path = pathlib.Path(cls.folder.name)
        cls.runtime, cls.compiler = build(cls.path / "dist")

    def test_names_and_records(self):
        self.assertRegex(self.runtime.name, r"^tailor_runtime-[0-9.]+-py3-none-linux_x86_64.whl$")
        for path in (self.runtime, self.compiler):
            with zipfile.ZipFile(path) as wheel:
                record, = [name for name in wheel.namelist() if name.endswith("/RECORD")]
                listed = {row[0]: row[1] for row in csv.reader(wheel.read(record).decode().splitlines())}
                self.assertEqual({*listed}, {*wheel.namelist()})
                for name, digest in listed.items():
                    if name != record:
                        wanted = base64.urlsafe_b64encode(hashlib.sha256(wheel.read(name)).digest()).rstrip(b"=").decode()
                        self.assertEqual(digest, f"sha256={wanted}")
                self.assertTrue(any(name.endswith("licenses/LICENSE") for name in listed))
        with zipfile.ZipFile(self.runtime) as runtime, zipfile.ZipFile(self.compiler) as compiler:
            self.assertEqual({*runtime.namelist()} & {*compiler.namelist()}, set())
            self.assertIn("tailor/py.typed", runtime.namelist())
        self.assertLess(self.runtime.stat().st_size, 2 << 20)

    def test_the_same_files_give_the_same_bytes(self):
        again, = build(self.path / "again", "--kind", "runtime")
        self.assertEqual(again.read_bytes(), self.runtime.read_bytes())
        tagged, = build(self.path / "again", "--kind", "runtime", "--platform", "musllinux_1_2_x86_64", "--version", "9.9")
        self.assertEqual(tagged.name, "tailor_runtime-9.9-py3-none-musllinux_1_2_x86_64.whl")

    def test_installed_packages_work(self):
        environment = Environment(self.path / "venv")
        environment.install(self.runtime)
        wanted = "building and compiling graphs needs the compiler library, of the package tailor"
        done = environment.run("-c", "import tailor; tailor.Graph()", folder=self.path)
        self.assertIn(wanted, done.stderr)
        environment.install(self.compiler)
        done = environment.run("-c", COMPILE, folder=self.path)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout.strip(), self.runtime.name.split("-")[1])
        self.assertIn("compile", environment.run(pathlib.Path(environment.python).with_name("tailor"), "--help",
                                                 folder=self.path).stdout)
        shutil.copytree(ROOT / "bindings/python/examples/minilm", self.path / "minilm")
        example = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL).group(1)
        done = environment.run("-c", example, folder=self.path)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        subprocess.run([sys.executable, "-m", "pip", "--python", environment.python, "uninstall", "-q", "-y", "tailor"], check=True)
        done = environment.run("-c", RUN, folder=self.path)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn(wanted, done.stdout)
        self.assertIn(str(environment.packages), done.stdout)


if __name__ == "__main__":
    unittest.main()
