"""onnxruntime with all its graph optimisations, on buffers bound beforehand."""
import numpy
import onnxruntime

from .operands import of_model


def bound(session, inputs, out):
    """A function that runs on these inputs, writes `out`, and returns it."""
    binding = session.io_binding()
    for name, array in inputs.items():
        binding.bind_cpu_input(name, array)
    binding.bind_output(session.get_outputs()[0].name, "cpu", 0, out.dtype, out.shape, out.ctypes.data)

    def run():
        session.run_with_iobinding(binding)
        return out
    return run


class Engine:
    def __init__(self, model, threads):
        self.name = f"onnxruntime {onnxruntime.__version__}"
        self._options = onnxruntime.SessionOptions()
        self._options.intra_op_num_threads = threads
        self._options.inter_op_num_threads = 1
        self._options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        self._model = model and self._session(model)

    def prepare(self, case):
        if "node" in case:
            from . import nodes  # imports onnx, which a model's process does not need
            model, inputs = nodes.model(case["node"])
            session = self._session(model.SerializeToString())
            out = numpy.empty_like(session.run([session.get_outputs()[0].name], inputs)[0])
            return bound(session, inputs, out)
        inputs = of_model(case)
        batch = len(next(iter(inputs.values())))
        out = numpy.empty((batch, self._model.get_outputs()[0].shape[1]), numpy.float32)
        return bound(self._model, inputs, out)

    def _session(self, model):
        return onnxruntime.InferenceSession(model, self._options, providers=["CPUExecutionProvider"])


class Service:
    """All callers share a session for each model; all sessions share the global pool of `parallelism` threads."""

    QUEUES = False

    def __init__(self, models, parallelism):
        self.name = f"onnxruntime {onnxruntime.__version__}"
        onnxruntime.set_global_thread_pool_sizes(parallelism, 1)
        options = onnxruntime.SessionOptions()
        options.use_per_session_threads = False
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        self._sessions = {name: onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
                          for name, file in models.items()}

    def caller(self):
        return self._bound

    def _bound(self, model, inputs):
        session = self._sessions[model]
        return bound(session, inputs, numpy.empty_like(session.run([session.get_outputs()[0].name], inputs)[0]))
