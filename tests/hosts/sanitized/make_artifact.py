"""Writes the artifact that the host programs of this folder run: make_artifact.py FILE.

y = softmax(negate(x) @ weight), negate being the custom operator "test.negate"; the rows of x whose first element is positive; and a
loop of a given number of turns.
"""
import pathlib
import sys

import numpy

import tailor

more, turn = tailor.Graph("more"), tailor.Graph("turn")
for region in (more, turn):
    t, end, row = region.input("t", "i64", []), region.input("end", "i64", []), region.input("row", "f32", [64])
    if region is more:
        region.output("more", region.lt(t, end))
    else:
        region.output("t", t + 1)
        region.output("end", end)
        region.output("row", row * 0.5 + 1.0)

graph = tailor.Graph("sanitized")
rows = tailor.symbol("N", min=1, max=4096)
x = graph.input("x", "f32", [rows, 64])
turns = graph.input("turns", "i64", [])
weight = graph.constant(numpy.random.default_rng(0).standard_normal((64, 64), numpy.float32), "weight")
negated, = graph.custom("test.negate", [x], [("f32", [rows, 64])])
graph.output("y", graph.dot(negated, weight).softmax(-1))
graph.output("kept", graph.compact(x, x[:, 0] > 0.0))
graph.output("t", graph.while_([graph.scalar(0, "i64"), turns, graph.broadcast(graph.scalar(0, "f32"), [64])], more, turn)[0])
pathlib.Path(sys.argv[1]).write_bytes(graph.compile_artifact())
