"""OpenVINO on the CPU for latency, computing in f32 as the others do, one model for all shapes."""
import openvino

from .operands import fixed_of, of_model


class Engine:
    def __init__(self, model, threads):
        self.name = f"OpenVINO {openvino.__version__.split('-')[0]}"
        core = openvino.Core()
        compiled = core.compile_model(model, "CPU", {
            "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": threads,
            "NUM_STREAMS": 1, "ENABLE_CPU_PINNING": False})
        self._request = compiled.create_infer_request()

    def prepare(self, case):
        self._arrays = of_model(case) | fixed_of(case)  # tensors do not keep the memory that they share
        for name, array in self._arrays.items():
            self._request.set_tensor(name, openvino.Tensor(array, shared_memory=True))
        outputs = range(len(self._request.model_outputs))

        def run():
            self._request.infer()
            return (self._request.get_output_tensor(i).data for i in outputs)
        return run


class Service:
    """One Core; each model is compiled for `parallelism` streams, and a caller has an infer request of each."""

    QUEUES = True  # requests wait for a stream

    def __init__(self, models, parallelism):
        self.name = f"OpenVINO {openvino.__version__.split('-')[0]}"
        core = openvino.Core()
        self._compiled = {name: core.compile_model(file, "CPU", {
            "PERFORMANCE_HINT": "THROUGHPUT", "INFERENCE_PRECISION_HINT": "f32", "NUM_STREAMS": parallelism,
            "ENABLE_CPU_PINNING": False}) for name, file in models.items()}

    def caller(self):
        requests = {name: compiled.create_infer_request() for name, compiled in self._compiled.items()}

        def bound(model, inputs):
            request = requests[model]
            tensors = [(name, openvino.Tensor(array, shared_memory=True)) for name, array in inputs.items()]

            def run():
                for name, tensor in tensors:
                    request.set_tensor(name, tensor)
                request.start_async()
                request.wait()
                return request.get_output_tensor(0).data
            run.inputs = inputs  # tensors do not keep the memory that they share
            return run
        return bound
