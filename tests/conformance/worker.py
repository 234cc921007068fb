"""Runs cases named on stdin, one line of JSON each on stdout: {case, status, reason, fixed}."""
import json
import os
import sys

import numpy
import onnx

import cases
import devices
import symbolic
import tailor
import tailor.onnx


def load(model, inputs, dims=None):
    """(graph, names of the inputs fixed to the case's values because compilation has to know them)."""
    fixed = {}
    while True:
        try:
            return tailor.onnx.load(model, dims=dims, fixed=fixed), sorted(fixed)
        except tailor.onnx.DependsOnData as error:
            more = [name for name in error.inputs - set(fixed) if inputs[name].ndim < 2 and inputs[name].size <= 64
                    and inputs[name].dtype.kind in "iubfV"]
            if not more:
                raise
            fixed.update({name: inputs[name] for name in more})


def outputs(executable, inputs):
    """{name: array} of one run."""
    arrays = [numpy.asarray(cases.travelling(inputs[spec.name]), order="C") for spec in executable.inputs]
    return dict(zip([spec.name for spec in executable.outputs], executable.run(*arrays)))


def run(name, directory, rtol, atol):
    """(status, reason, fixed inputs) of one case."""
    with open(os.path.join(directory, "model.onnx"), "rb") as file:
        model = onnx.ModelProto.FromString(file.read())
    family = cases.family(model)
    if family:
        return "skipped", family, []
    inputs, wanted = cases.data(directory, model)
    try:
        graph, fixed = load(model, inputs)
        executable = devices.compiled(graph)
    except tailor.onnx.Unsupported as error:
        return "skipped", error.reason, []
    except tailor.Error as error:
        status = "skipped" if error.code == "UNIMPLEMENTED" else "failed"
        return status, f"compiling: {error.message}", []
    got = outputs(executable, inputs)
    for output, array in wanted.items():
        reason = cases.difference(output, got[output], array, rtol, atol, values=not cases.draws(name))
        if reason:
            return "failed", reason, fixed
    return "passed", "", fixed


def main():
    found, modes = cases.find(), {"suite": run, "symbolic": symbolic.run}
    results = os.fdopen(os.dup(1), "w")  # what libraries print must not end up between the lines
    os.dup2(2, 1)
    for line in sys.stdin:
        mode, name = line.split()
        try:
            status, reason, fixed = modes[mode](name, *found[name])
        except Exception as error:  # a case never ends the others
            status, reason, fixed = "failed", f"{type(error).__name__}: {error}", []
        print(json.dumps({"case": name, "status": status, "reason": reason, "fixed": fixed}), file=results, flush=True)


if __name__ == "__main__":
    main()
