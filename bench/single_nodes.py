"""Single ONNX nodes at given shapes beside onnxruntime: the time of each engine, in turns in one process, one thread.

    single_nodes.py [--tool BEFORE/tools/tailor] [--rounds N] CASE...     (PYTHONPATH=bindings/python, TAILOR_LIBRARY_DIR)

CASE: matmul:MxKxN (M dynamic), conv:C,H,W,O,K,STRIDE,PAD[,GROUPS[,DILATION]] (batch, H and W dynamic; conv-relu,
conv-silu, conv-hardswish with that activation), maxpool:C,H,W,K,STRIDE,PAD, or OPERATOR:ROWS for an elementwise operator
of f32[ROWS, 512]. --tool: an earlier build's `tailor`, whose artifact takes turns, too.

Prints the median and the least time of each in us, and the ratio of onnxruntime's median to it.
"""
import argparse
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import tailor

ROOT = pathlib.Path(__file__).resolve().parent.parent
RANDOM = numpy.random.default_rng(0)
ACTIVATIONS = {
    "conv": [],
    "conv-relu": [("Relu", ["c"])],
    "conv-silu": [("Sigmoid", ["c"]), ("Mul", ["c", "Sigmoid"])],
    "conv-hardswish": [("HardSwish", ["c"])],
}


def floats(*shape):
    return RANDOM.standard_normal(shape, dtype=numpy.float32)


def model(nodes, dims, weights):
    """The model of `nodes` with input x and output y, and the initializers `weights`."""
    graph = helper.make_graph(nodes, "node", [helper.make_tensor_value_info("x", TensorProto.FLOAT, dims)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                              [numpy_helper.from_array(array, name) for name, array in weights.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def convolution(kind, sizes):
    channels, height, width, filters, kernel, stride, pad = sizes[:7]
    groups, dilation = (list(sizes[7:]) + [1, 1])[:2]
    steps = channels // groups * kernel * kernel
    weights = {"w": floats(filters, channels // groups, kernel, kernel) / numpy.float32(steps ** 0.5), "b": floats(filters)}
    nodes = [helper.make_node("Conv", ["x", "w", "b"], ["c"], kernel_shape=[kernel] * 2, strides=[stride] * 2,
                              pads=[pad] * 4, group=groups, dilations=[dilation] * 2)]
    nodes += [helper.make_node(name, inputs, [name]) for name, inputs in ACTIVATIONS[kind]]
    nodes[-1].output[0] = "y"
    return model(nodes, ["B", channels, "H", "W"], weights), floats(1, channels, height, width)


def case(text):
    """The model and the input of a case."""
    kind, _, sizes = text.partition(":")
    if kind == "matmul":
        m, k, n = map(int, sizes.split("x"))
        return model([helper.make_node("MatMul", ["x", "w"], ["y"])], ["M", k], {"w": floats(k, n)}), floats(m, k)
    numbers = [int(size) for size in sizes.split(",")]
    if kind in ACTIVATIONS:
        return convolution(kind, numbers)
    if kind == "maxpool":
        channels, height, width, kernel, stride, pad = numbers
        node = helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4)
        return model([node], ["B", channels, "H", "W"], {}), floats(1, channels, height, width)
    return model([helper.make_node(kind, ["x"], ["y"])], ["B", 512], {}), floats(numbers[0], 512)


def artifact(tool, source, to):
    subprocess.run([tool, "compile", source, "--target", "host", "-o", to], check=True, stdout=subprocess.DEVNULL)
    return tailor.Executable.load(to).session(threads=1)


def measured(functions, rounds):
    """Seconds of each function: lists of `rounds` times, in turns."""
    counts = {}
    for name, function in functions.items():
        function()
        start = time.perf_counter()
        function()
        counts[name] = max(1, int(1e-2 / (time.perf_counter() - start)))
    times = {name: [] for name in functions}
    for _ in range(rounds):
        for name, function in functions.items():
            start = time.perf_counter()
            for _ in range(counts[name]):
                function()
            times[name].append((time.perf_counter() - start) / counts[name])
    return times


def measure(text, folder, tools, rounds):
    proto, x = case(text)
    source = folder / "node.onnx"
    onnx.save(proto, source)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    peer = onnxruntime.InferenceSession(str(source), options, providers=["CPUExecutionProvider"])
    [expected] = peer.run(None, {"x": x})
    result = numpy.empty_like(expected)
    binding = peer.io_binding()
    binding.bind_cpu_input("x", x)
    binding.bind_output("y", "cpu", 0, numpy.float32, result.shape, result.ctypes.data)
    functions = {}
    for name, tool in tools.items():
        session, y = artifact(tool, source, folder / f"{name}.tlr"), numpy.empty_like(expected)
        session.bind([x], [y])
        session.run_bound()
        numpy.testing.assert_allclose(y, expected, atol=1e-4 * float(numpy.abs(expected).max()))
        functions[name] = session.run_bound
    functions["onnxruntime"] = lambda: peer.run_with_iobinding(binding)
    times = measured(functions, rounds)
    median = {name: statistics.median(each) for name, each in times.items()}
    print(f"{text:34s}", " | ".join(
        f"{name} {median[name] * 1e6:.0f} ({min(times[name]) * 1e6:.0f})"
        + (f" {median['onnxruntime'] / median[name]:.2f}" if name != "onnxruntime" else "") for name in times), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="+", metavar="CASE")
    parser.add_argument("--tool", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=30)
    options = parser.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    tools = {"before": options.tool} if options.tool else {}
    tools["tailor"] = ROOT / "build" / "tools" / "tailor"
    with tempfile.TemporaryDirectory() as folder:
        for text in options.cases:
            measure(text, pathlib.Path(folder), tools, options.rounds)


if __name__ == "__main__":
    main()
