"""Graphs that cpp_same_bytes.cc (argument 1) builds in C++, built in Python: equal texts and artifacts."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import tailor

PROGRAM = sys.argv.pop(1)


def layer():
    graph = tailor.Graph("layer")
    batch, length = tailor.symbol("batch", min=1, max=512), tailor.symbol("length")
    x = graph.input("x", "f32", [batch, length, 8])
    w = graph.constant(np.arange(64, dtype=np.float32).reshape(8, 8) / 64, "w")
    one = graph.constant(np.ones(8, np.float32), "one")
    q = x.dot(w).named("q")
    mixed = graph.layer_norm(graph.attention(q, x, x, scale=0.25), one, None, 1e-5)
    graph.output("y", graph.gelu(mixed) * 2.0 + 1.0)
    graph.output("most", mixed.reduce_max([-1], keep_dims=1).reshape([batch * length]))
    return graph


def loop():
    regions = []
    for name in ("condition", "body"):
        region = tailor.Graph(name)
        regions.append((region, region.input("i", "i64", []), region.input("x", "f32", ["N"])))
    (condition, i, _), (body, j, x) = regions
    condition.output("more", i.lt(3))
    body.output("i", j + 1)
    body.output("x", x * x)
    graph = tailor.Graph("loop")
    x = graph.input("x", "f32", ["N"])
    zero = graph.scalar(0, "i64")
    graph.output("y", graph.while_([zero, x], condition, body)[1])
    return graph


class SameBytesTest(unittest.TestCase):
    def test_texts_and_artifacts(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([PROGRAM, folder], check=True)
            for graph in (layer(), loop()):
                name = graph.text.split("@")[1].split("(")[0]
                path = pathlib.Path(folder) / name
                with self.subTest(name):
                    self.assertEqual(path.with_suffix(".txt").read_text(), graph.text)
                    artifact = graph.compile_artifact(["x86-64-v2"])
                    self.assertEqual(path.with_suffix(".tlr").read_bytes(), artifact)
                    self.assertEqual(path.with_suffix(".saved").read_bytes(), artifact)


if __name__ == "__main__":
    unittest.main()
