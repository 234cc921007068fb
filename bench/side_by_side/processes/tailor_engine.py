"""Tailor: an artifact of a model, or single ops compiled with symbolic dims."""
import numpy

import tailor.runtime

from ..cpu import compile_target
from . import growing
from .operands import numbers, of_model

DTYPES = {"f16": "float16", "f32": "float32", "f64": "float64", "i8": "int8", "i16": "int16", "i32": "int32",
          "i64": "int64", "u8": "uint8", "bool": "bool"}


def op_graph(case):
    """The graph of one op and its input. Rows, batch sizes and the columns of elementwise ops are symbols."""
    import tailor
    graph, op = tailor.Graph(case["op"]), case["op"]
    rows = tailor.symbol("M", min=1, max=1 << 20)
    if op == "dot":
        x = numbers((case["m"], case["k"]), 1)
        y = graph.dot(graph.input("x", "f32", [rows, case["k"]]), numbers((case["k"], case["n"]), 2))
    elif op == "conv":
        x = numbers(case["x"], 1)
        y = graph.conv(graph.input("x", "f32", [rows, *case["x"][1:]]),
                       graph.constant(numbers(case["weights"], 2), "w"), strides=case["strides"], pads=case["pads"])
    else:
        x = numbers((case["rows"], case["columns"]), 1)
        columns = case["columns"] if op == "layer_norm" else tailor.symbol("N", min=1, max=1 << 20)
        value = graph.input("x", "f32", [rows, columns])
        y = {"softmax": lambda: value.softmax(-1), "gelu": value.gelu, "gelu_tanh": value.gelu_tanh, "exp": value.exp,
             "layer_norm": lambda: value.layer_norm(graph.constant(numbers((columns,), 2), "scale"),
                                                    graph.constant(numbers((columns,), 3), "shift"), 1e-5)}[op]()
    graph.output("y", y)
    return graph, x


class Engine:
    def __init__(self, model, threads):
        self.name, self._threads = "Tailor", threads
        self._model = model and tailor.runtime.load(model)
        self._session = model and self._model.session(threads=threads)

    def prepare(self, case):
        if "node" in case:
            import tailor.onnx
            from . import nodes  # imports onnx, which a model's process does not need
            model, inputs = nodes.model(case["node"])
            return self._compiled(tailor.onnx.load(model), inputs)
        if self._model:
            self._case = case
            if "steps" in case:
                return growing.Loop(case, of_model(case), lambda inputs: self._session.run(**inputs, borrow=True))
            return self._bound(self._session, self._model, of_model(case))
        graph, x = op_graph(case)
        return self._compiled(graph, {"x": x})

    def _compiled(self, graph, inputs):
        executable = graph.compile(compile_target())
        return self._bound(executable.session(threads=self._threads), executable, inputs)

    def answer(self, request):
        if "launches" in request:
            return {"launches": self._launches()}
        if "reserve_case" in request:
            self._session.reserve(*of_model(request["reserve_case"]).values())
            return {}
        if "reserve" in request:
            self._session.reserve(request["reserve"], request["reserve"])
            return {}
        plans = (self._model.plan(shape, shape, threads=self._threads) for shape in request["workspace"])
        return {"bytes": [plan.workspace_bytes for plan in plans]}

    def _launches(self):
        """Kernels of a run: those of loops and branches count as often as they are launched."""
        count = [0]

        def launched(event):
            count[0] += event.launch is not None
        session = self._model.session(threads=1, trace=launched)
        session.run(**of_model(self._case))
        return count[0]

    @staticmethod
    def _bound(session, executable, inputs):
        shapes = executable.plan(**inputs).shapes
        if any(-1 in shape for shape in shapes):  # data-dependent: known after a run
            outs = session.run(**inputs)
        else:
            outs = [numpy.empty(shape, DTYPES[spec.dtype]) for shape, spec in zip(shapes, executable.outputs)]
        session.bind(inputs, outs)

        def run():
            session.run_bound()
            return outs
        return run


class Service:
    """One runtime, whose sessions share a team of `parallelism` threads. Runs borrow a session of their executable."""

    QUEUES = False

    def __init__(self, models, parallelism):
        self.name = "Tailor"
        runtime = tailor.runtime.Runtime(parallel_threads=parallelism)
        self._models = {name: tailor.runtime.load(file, runtime=runtime) for name, file in models.items()}

    def caller(self):
        return self._bound

    def _bound(self, model, inputs):
        executable, arrays = self._models[model], list(inputs.values())
        out = numpy.empty(executable.plan(*arrays).shapes[0], numpy.float32)

        def run():
            return executable.run(*arrays, out=[out])[0]
        return run
