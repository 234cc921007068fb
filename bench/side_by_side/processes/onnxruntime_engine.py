"""onnxruntime with all its graph optimisations, on buffers bound beforehand."""
import numpy
import onnxruntime

from . import growing
from .operands import fixed_of, of_model


def bound(session, inputs, outs):
    """A function that runs on these inputs, writes all outputs, and returns them."""
    binding = session.io_binding()
    for name, array in inputs.items():
        binding.bind_cpu_input(name, array)
    for output, out in zip(session.get_outputs(), outs):
        binding.bind_output(output.name, "cpu", 0, out.dtype, out.shape, out.ctypes.data)

    def run():
        session.run_with_iobinding(binding)
        return outs
    return run


def growing_caches(session, case):
    """A function that runs one more token (growing.Loop). It returns the outputs as arrays, which are made when they are read."""
    def step(inputs):
        binding = session.io_binding()
        for name, value in inputs.items():
            if isinstance(value, numpy.ndarray):
                binding.bind_cpu_input(name, value)
            else:
                binding.bind_ortvalue_input(name, value)
        for output in session.get_outputs():
            binding.bind_output(output.name, "cpu")
        session.run_with_iobinding(binding)
        return binding.get_outputs()

    loop = growing.Loop(case, of_model(case) | fixed_of(case), step)
    return lambda: (value.numpy() for value in loop())


class BoundLater:
    """The first run learns the shapes of the outputs, which later runs write again."""

    def __init__(self, session, inputs):
        self._session, self._inputs, self._run = session, inputs, None

    def __call__(self):
        if self._run is not None:
            return self._run()
        outs = [numpy.asarray(out) for out in self._session.run(None, self._inputs)]
        self._run = bound(self._session, self._inputs, outs)
        return outs


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
            return BoundLater(self._session(model.SerializeToString()), inputs)
        if "steps" in case:
            return growing_caches(self._model, case)
        return BoundLater(self._model, of_model(case) | fixed_of(case))

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
        return BoundLater(session, inputs)
