"""mypy --strict over the package, its examples, and the Python code of the docs."""
import importlib.util
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/docs"))
import pages

PACKAGE, EXAMPLES = ROOT / "bindings/python/tailor", ROOT / "bindings/python/examples"
HOSTS = ROOT / "examples/hosts"

# What a doc's code uses and another program would have.
GIVEN = {"onnx.md": "import numpy as np\nids = mask = np.zeros((1, 4), np.int64)\n"}

USER = """
from typing import Any
import numpy as np
from numpy.typing import NDArray
from typing_extensions import assert_type
import tailor

async def use(graph: tailor.Graph, x: NDArray[np.float32]) -> None:
    n = tailor.symbol("n")
    value = graph.input("x", "f32", [n, n * 2 + 1, 4, "M"])
    for part in (value[0], value[1:n], value[..., None], value @ value, 2 - value, abs(value) > 1, value[:, ::2]):
        assert_type(part, tailor.Value)
    graph.output("y", value.softmax(-1))
    with graph.compile(progress=lambda phase, done: None) as executable, executable.session(threads=2) as session:
        assert_type(executable.run(x, bias=[1.0, 2.0]), list[NDArray[Any]])
        assert_type(session.run({"x": x}, out=[x]), list[NDArray[np.float32]])
        assert_type(await session.run_async(x), list[Any])
        assert_type(executable.plan((3, 4)).shapes, list[tuple[int, ...]])
        assert_type(executable.inputs[0].dims, tuple[str, ...])
        assert_type(tailor.__version__, str)
"""

MISTAKES = """
import numpy as np
import tailor

graph = tailor.Graph("g")
x = graph.input("x", "f32", ["N"])
graph.compile("host").rum(x)  # E
graph.output(x, "y")  # E
x.softmax(axis="last")  # E
for row in x:  # E
    pass
if graph.compile(threads="two"):  # E
    pass
"""


class TypesTest(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        if importlib.util.find_spec("mypy") is None:
            raise AssertionError("mypy is not installed: ./dev build installs tools/requirements-types.txt")

    def check(self, *files, folder=ROOT):
        return subprocess.run([sys.executable, "-m", "mypy", "--strict", "--no-incremental", "--no-error-summary",
                               "--cache-dir", "/dev/null", *map(str, files)], capture_output=True, text=True, cwd=folder,
                              env={"MYPYPATH": f"{PACKAGE.parent}:{EXAMPLES}:{HOSTS}", "PATH": "/usr/bin:/bin"})

    def test_package_examples_and_docs(self):
        with tempfile.TemporaryDirectory() as folder:
            files = []
            for page in pages.pages():
                code = [block.code for block in pages.blocks(page) if block.language == "python"]  # they share variables
                if code:
                    files.append(pathlib.Path(folder) / (re.sub("[^a-z]", "_", pages.name_of(page).lower()) + ".py"))
                    files[-1].write_text(GIVEN.get(page.name, "") + "".join(code))
            self.assertGreaterEqual(len(files), 5)
            files.append(pathlib.Path(folder) / "user.py")
            files[-1].write_text(USER)
            done = self.check("-p", "tailor", "-p", "minilm", *(part for file in files for part in ("-m", file.stem)),
                              "-m", "sentence_encoder", "-m", "encoder", "-m", "hosts", folder=folder)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_mistakes_are_found(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "mistakes.py"
            path.write_text(MISTAKES)
            done = self.check(path, folder=folder)
        found = sorted({int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error:" in line})
        self.assertEqual(found, [i for i, line in enumerate(MISTAKES.splitlines(), 1) if line.endswith("# E")], done.stdout)


if __name__ == "__main__":
    unittest.main()
