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
from ._device import DeviceArray
from .dims import Dim, maximum, minimum, symbol
from .errors import Error
from .graph import Graph, modules_emitted
from .runtime import (DeviceSpec, Executable, ExecutableCounts, Launch, LaunchSpec, Plan, Runtime, Session, SymbolSpec,
                      TensorSpec, TraceEvent, counters, cpu_features, cuda_absence, devices, load, usable_cpus,
                      version)
from .value import Value

__all__ = [
    "CustomCall", "DeviceArray", "DeviceSpec", "Dim", "Error", "Executable", "ExecutableCounts", "Graph", "Launch",
    "LaunchSpec", "Plan", "Runtime", "Session", "SymbolSpec", "TensorSpec", "TraceEvent", "Value", "counters",
    "cpu_features", "cuda_absence", "devices", "load", "maximum", "minimum", "modules_emitted", "symbol", "usable_cpus",
    "version",
]

__version__: str  # of the runtime library, which its first use loads


def __getattr__(name: str) -> str:
    if name == "__version__":
        return version()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
