"""A case with every input dim a symbol where the operator allows it: one compilation, three shapes."""
import itertools
import os

import numpy
import onnx
import onnxruntime
from onnx.reference import ReferenceEvaluator

import cases
import devices
import tailor
import tailor.onnx

# How an extent becomes another.
_CHANGES = [lambda v: v + 1, lambda v: 2 * v, lambda v: max(v - 1, 2), lambda v: 3 * v, lambda v: v + 3]
_SHAPES, _TRIES = 2, 400
# Operators whose extents have to stay even.
_EVEN = ("test_rotary_embedding",)


def run(name, directory, rtol, atol):
    """(status, reason, fixed inputs) of one case."""
    import worker
    with open(os.path.join(directory, "model.onnx"), "rb") as file:
        model = onnx.ModelProto.FromString(file.read())
    family = cases.family(model)
    if family:
        return "skipped", family, []
    if cases.draws(name):
        return "skipped", "random numbers", []
    inputs, wanted = cases.data(directory, model)
    try:
        _, fixed = worker.load(model, inputs)
        free = _free_dims(model, {name: inputs[name] for name in fixed})
        if not free:
            return "skipped", "no dim may vary", []
        graph = _load(model, free, {name: inputs[name] for name in fixed})
        executable = devices.compiled(graph)
    except tailor.onnx.Unsupported as error:
        return "skipped", error.reason, []
    except tailor.Error as error:
        return "skipped" if error.code == "UNIMPLEMENTED" else "failed", f"compiling: {error.message}", []
    reason = _compare(worker.outputs(executable, inputs), wanted, rtol, atol)
    if reason:
        return "failed", reason, fixed
    return _others(name, model, executable, inputs, free, fixed)


def _others(name, model, executable, inputs, free, fixed):
    """Runs at other shapes, against another implementation."""
    import worker
    reference, tried, compared = _Reference(model), set(), 0
    extents = {(key, i): inputs[key].shape[i] for key, i in sorted(free) if key in inputs}
    for change in itertools.islice(_changes(extents), _TRIES):
        if name.startswith(_EVEN):
            change = {place: extent + extent % 2 for place, extent in change.items()}
        other = {key: _changed(array, key, change) for key, array in inputs.items()}
        shape = tuple(array.shape for array in other.values())
        if shape in tried or all(other[key].shape == inputs[key].shape for key in inputs):
            continue
        tried.add(shape)
        wanted = reference.run(other)
        if wanted is None:
            continue
        shapes = ", ".join(f"{key} {list(array.shape)}" for key, array in other.items())
        try:
            got = worker.outputs(executable, other)
        except tailor.Error as error:
            if _is_torn(inputs, change) or reference.refused(other):
                continue
            return "failed", f"at {shapes}: {error.message}", fixed
        half = any(array.dtype.itemsize <= 2 for array in other.values())
        reason = _compare(got, wanted, 1e-3, _noise(wanted, half))
        if reason and not reference.disputed(other, got, half):
            if reference.refused(other):
                continue
            return "failed", f"at {shapes}: {reason}", fixed
        compared += 1
        if compared == _SHAPES:
            return "passed", "", fixed
    return ("passed", "", fixed) if compared else ("skipped", "valid at no other shape that was tried", [])


def _changes(extents):
    """New extents by (input, dim). Places with the same extent get the same one, as long as that finds valid shapes."""
    groups = {}
    for place, extent in extents.items():
        groups.setdefault(extent, []).append(place)
    ones = groups.pop(1, [])  # they broadcast, and so are left alone at first
    for count in range(len(groups), 0, -1):
        for chosen in itertools.combinations(sorted(groups), count):
            for change in _CHANGES:
                yield {place: change(extent) for extent in chosen for place in groups[extent]}
    for first, second in itertools.combinations(sorted(groups), 2):  # as many elements as before
        yield {place: second if extents[place] == first else first for place in groups[first] + groups[second]}
    axes = [[place for place in group if place[1] == axis] for group in (*groups.values(), ones) for axis in range(8)]
    for places in [list(extents), *axes, *([place] for place in extents)]:
        for change in _CHANGES:
            yield {place: change(extents[place]) for place in places}


def _is_torn(inputs, change):
    """Whether a change leaves an extent as it is in one place and not in another: evaluators do not check all that."""
    changed = {inputs[key].shape[i] for key, i in change}
    return any(extent in changed and (key, i) not in change
               for key, array in inputs.items() for i, extent in enumerate(array.shape))


def _noise(wanted, half):
    """What rounding may add to sums, as a share of the greatest number."""
    greatest = [float(numpy.abs(array[numpy.isfinite(array)]).max(initial=1)) for array in wanted.values()
                if array.dtype.kind == "f"]
    return (1e-2 if half else 1e-5) * max(greatest, default=1)


def _compare(got, wanted, rtol, atol):
    reasons = (cases.difference(name, got[name], array, rtol, atol) for name, array in wanted.items())
    return next(filter(None, reasons), None)


def _changed(array, key, change):
    """The array's own elements at other extents."""
    shape = tuple(change.get((key, i), dim) for i, dim in enumerate(array.shape))
    return array if shape == array.shape else numpy.resize(array, shape)


def _load(model, free, fixed):
    """The graph with the dims in `free` as symbols."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for value in copy.graph.input:
        for i, dim in enumerate(value.type.tensor_type.shape.dim):
            if (value.name, i) in free:
                dim.Clear()
    return tailor.onnx.load(copy, fixed=fixed)


def _free_dims(model, fixed):
    """The (input, dim) that may be symbols together: all, else those that may be alone, less what conflicts."""
    every = [(value.name, i) for value in model.graph.input if value.name not in fixed
             for i in range(len(value.type.tensor_type.shape.dim))]

    def works(dims):
        try:
            _load(model, set(dims), fixed)
            return True
        except (tailor.onnx.ModelError, tailor.Error):
            return False

    if works(every):
        return set(every)
    free = []
    for dim in every:
        if works([*free, dim]):
            free.append(dim)
    return set(free)


class _Reference:
    """Another implementation: onnxruntime where it has the operator, else onnx's own evaluator."""

    def __init__(self, model):
        open_model = onnx.ModelProto()
        open_model.CopyFrom(model)
        for value in [*open_model.graph.input, *open_model.graph.output]:
            for dim in value.type.tensor_type.shape.dim:
                dim.Clear()
        self._model, self._runs = open_model, []
        for start in (self._onnxruntime, self._evaluator):
            try:
                self._runs.append(start())
            except Exception:  # whatever an implementation raises for an operator that it does not have
                continue

    def run(self, inputs):
        """{name: array}, or None where no implementation takes these inputs."""
        for implementation in self._runs:
            outputs = self._try(implementation, inputs)
            if outputs is not None:
                return outputs
        return None

    def refused(self, inputs):
        """Whether some implementation does not take these inputs."""
        return any(self._try(implementation, inputs) is None for implementation in self._runs)

    def disputed(self, inputs, got, half):
        """Whether some implementation gives what Tailor gave."""
        outputs = (self._try(implementation, inputs) for implementation in self._runs)
        return any(wanted is not None and _compare(got, wanted, 1e-3, _noise(wanted, half)) is None
                   for wanted in outputs)

    def _try(self, implementation, inputs):
        try:
            return dict(zip([value.name for value in self._model.graph.output], implementation(inputs)))
        except Exception:  # inputs that are not valid at these shapes
            return None

    def _onnxruntime(self):
        options = onnxruntime.SessionOptions()
        options.log_severity_level, options.intra_op_num_threads = 4, 1
        session = onnxruntime.InferenceSession(self._model.SerializeToString(), options,
                                               providers=["CPUExecutionProvider"])
        return lambda inputs: session.run(None, inputs)

    def _evaluator(self):
        evaluator = ReferenceEvaluator(self._model)
        return lambda inputs: evaluator.run(None, inputs)
