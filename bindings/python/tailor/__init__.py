"""Tailor: tensor graphs over symbolic shapes, compiled once, run at every shape.

    import numpy as np, tailor

    batch = tailor.symbol("batch", max=512)
    graph = tailor.Graph("scale")
    x = graph.input("x", "f32", [batch, 4])
    graph.output("y", (x * 2.0).softmax(-1))
    executable = graph.compile()
    y, = executable.run(np.ones((3, 4), np.float32))
    executable.save("scale.tlr")

A process that only runs saved artifacts needs no compiler: `tailor.load("scale.tlr")`, like all of
tailor.runtime, loads libtailor_runtime.so alone. The compiler library is loaded with the first Graph.
"""
from ._custom import CustomCall
from .errors import Error
from .runtime import Executable, Runtime, Session, counters, cpu_features, cuda_absence, devices, load, version
from .dims import Dim, maximum, minimum, symbol
from .graph import Graph, Value, modules_emitted

__all__ = [
    "CustomCall", "Dim", "Error", "Executable", "Graph", "Runtime", "Session", "Value", "counters", "cpu_features", "cuda_absence", "devices", "load",
    "maximum", "minimum", "modules_emitted", "symbol", "version",
]
