"""Compares models named on stdin with onnxruntime, one line of JSON each on stdout: {case, status, reason, fixed}."""
import json
import os
import pathlib
import random
import resource
import sys

import numpy
import onnx
import onnxruntime
from onnx.reference import ReferenceEvaluator

import cases
import devices
import tailor
import tailor.onnx

TOLERANCE = 1e-4
# Limits on what a mutation may ask for: elements of an input, bytes of the process.
_MOST_ELEMENTS, _MEMORY = 1 << 20, 6 << 30


class Skip(Exception):
    """Why a model is not compared: a class, and the reason."""

    def __init__(self, status, reason=""):
        super().__init__(reason)
        self.status, self.reason = status, str(reason)


class Inputs:
    """Arrays for a model's inputs: those of the case that the model was, where they fit, else random ones."""

    def __init__(self, model, path):
        self._random, self._symbols = random.Random(pathlib.Path(path).name), {}
        self._generator = numpy.random.default_rng(self._random.getrandbits(32))
        self._case = self._data(model)
        constant = {tensor.name for tensor in model.graph.initializer}
        self.arrays = {value.name: self._array(value) for value in model.graph.input if value.name not in constant}

    @staticmethod
    def _data(model):
        found = CASES.get(model.graph.name)
        if found is None:
            return {}
        with open(os.path.join(found[0], "model.onnx"), "rb") as file:
            return cases.data(found[0], onnx.ModelProto.FromString(file.read()))[0]

    def _array(self, value):
        tensor = value.type.tensor_type
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        sizes = [dim.dim_value if dim.dim_value > 0 else None for dim in tensor.shape.dim]
        known = self._case.get(value.name)
        if known is not None and known.dtype == dtype and known.ndim == len(sizes) and all(
                size in (None, dim) for size, dim in zip(sizes, known.shape)):
            for dim, size in zip(tensor.shape.dim, known.shape):
                if dim.dim_param and self._symbols.setdefault(dim.dim_param, size) != size:
                    break
            else:
                return known
        shape = [size or self._size(dim) for size, dim in zip(sizes, tensor.shape.dim)]
        if numpy.prod(shape, dtype=float) > _MOST_ELEMENTS:
            raise Skip("too large", f"{value.name} {shape}")
        return self._random_array(dtype, shape)

    def _size(self, dim):
        size = self._random.randint(1, 4)
        return self._symbols.setdefault(dim.dim_param, size) if dim.dim_param not in ("", "?") else size

    def _random_array(self, dtype, shape):
        if dtype.kind == "b":
            return self._generator.integers(0, 2, shape).astype(dtype)
        if dtype.kind in "iu":
            return self._generator.integers(0, 4, shape).astype(dtype)
        if dtype.kind != "f" and dtype.name != "bfloat16":
            raise Skip("type", dtype.name)
        return self._generator.standard_normal(shape).astype(dtype)


def loaded(path):
    try:
        with open(path, "rb") as file:
            return onnx.ModelProto.FromString(file.read())
    except Exception as error:  # protobuf's, of several classes
        raise Skip("onnx does not parse it", error) from error


def onnxruntime_outputs(model, inputs):
    """{name: array} of onnxruntime."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise Skip("onnxruntime does not load it", error) from error
    try:
        return dict(zip([value.name for value in session.get_outputs()], session.run(None, inputs)))
    except Exception as error:
        raise Skip("onnxruntime does not run it", error) from error


def tailor_outputs(path, inputs):
    """{name: array} of Tailor."""
    graph = tailor.onnx.load(path)
    try:
        executable = devices.compiled(graph)
    except tailor.Error as error:
        if error.code not in ("UNIMPLEMENTED", "INVALID_ARGUMENT"):
            raise
        raise Skip("unsupported" if error.code == "UNIMPLEMENTED" else "refused", error.message) from error
    arrays = [numpy.asarray(cases.travelling(inputs[spec.name]), order="C") for spec in executable.inputs]
    try:
        return dict(zip([spec.name for spec in executable.outputs], executable.run(*arrays)))
    except tailor.Error as error:
        if error.code == "INTERNAL":
            raise
        raise Skip("not run", error.message) from error


def difference(got, wanted):
    """Why outputs differ, or None."""
    for name, array in wanted.items():
        half = array.dtype.itemsize <= 2
        most = numpy.abs(array[numpy.isfinite(array)]).max(initial=1) if array.dtype.kind == "f" else 1
        tolerance = 1e-2 if half else TOLERANCE
        reason = cases.difference(name, got[name], array, tolerance, tolerance * float(most))
        if reason:
            return reason
    return None


def confirmed(model, inputs, got):
    """Whether onnx's own evaluator gives the outputs `got`, or, if that is None, fails as Tailor does."""
    try:
        evaluator = ReferenceEvaluator(model)
    except Exception:  # whatever it raises for an operator that it does not have
        return False
    try:
        outputs = dict(zip([value.name for value in model.graph.output], evaluator.run(None, inputs)))
    except NotImplementedError:
        return False
    except Exception:  # inputs that it does not take
        return got is None
    return got is not None and difference(got, outputs) is None


def complaint(model):
    """Why onnx's checker refuses the model, or None."""
    try:
        onnx.checker.check_model(model, full_check=True)
    except Exception as error:  # of several classes
        return str(error).strip().partition("\n")[0] or type(error).__name__
    return None


def draws(graph):
    """Whether a node of the graph draws random numbers, which no two generators share. A Dropout does in training."""
    for node in graph.node:
        if node.op_type.startswith("Random") or node.op_type in ("Bernoulli", "Multinomial"):
            return True
        if node.op_type == "Dropout" and len(node.input) > 2 and node.input[2]:
            return True
        if any(draws(attribute.g) for attribute in node.attribute if attribute.HasField("g")):
            return True
    return False


def compare(path):
    """(status, reason) of one model."""
    model = loaded(path)
    inputs = Inputs(model, path).arrays
    try:
        got, status, reason = tailor_outputs(path, inputs), "differs", None
    except Skip as skip:
        got, status, reason = None, skip.status, skip.reason
    wanted = onnxruntime_outputs(model, inputs)
    reason = reason or difference(got, wanted)
    if reason is None:
        return "equal", ""
    if status == "differs" and draws(model.graph):
        return "differs at random", reason
    invalid = complaint(model)
    if invalid:
        return f"{status}, invalid", f"{reason} | {invalid}"
    return f"{status}, as onnx evaluates" if confirmed(model, inputs, got) else status, reason


def run(path):
    tailor_outputs(path, Inputs(loaded(path), path).arrays)
    return "Tailor ends", ""


CASES = cases.find()


def main():
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    results = os.fdopen(os.dup(1), "w")  # what libraries print must not end up between the lines
    os.dup2(2, 1)
    for line in sys.stdin:
        mode, path = line.split(maxsplit=1)
        path = path.strip()
        try:
            status, reason = (compare if mode == "compare" else run)(path)
        except Skip as skip:
            status, reason = skip.status, skip.reason
        except Exception as error:  # a model never ends the others
            status, reason = "failed", f"{type(error).__name__}: {error}"
        print(json.dumps({"case": path, "status": status, "reason": reason, "fixed": []}), file=results, flush=True)


if __name__ == "__main__":
    main()
