"""XLA by jax.jit on the CPU, compiled at the first run of each shape.

Weights are constants of the program, so that XLA may change their layout: convolutions take half the time of weights as
arguments, matmuls the same.
"""
import jax
import numpy
import onnx

from .onnx_in_jax import Graph
from .operands import fixed_of, of_model


class Engine:
    def __init__(self, model, threads):
        del threads  # XLA has as many as CPUs that the process may use
        self.name = f"XLA of jax {jax.__version__}"
        jax.config.update("jax_enable_x64", True)
        jax.config.update("jax_cpu_enable_async_dispatch", False)
        self._graph = Graph(onnx.load(model))

    def prepare(self, case):
        fixed, inputs = fixed_of(case), jax.device_put(of_model(case))
        compiled = jax.jit(lambda inputs: self._graph(inputs | fixed))

        def run():
            return [numpy.asarray(result) for result in compiled(inputs)]
        return run
