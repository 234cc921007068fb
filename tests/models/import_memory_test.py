"""The peak memory of importing a model, file pages counted, is at most 1.1 times its weights: those that the graph reads as
they are stay in the file, and the pages of those that importing transposes go when they have been read.

With TAILOR_TEST_ALL the weights are 2.1 GB instead of 168 MB. Prints the peaks."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import numpy
import onnx
from onnx import TensorProto, helper

LAYERS, SIZE = 20, 5120 if "TAILOR_TEST_ALL" in os.environ else 1448
BYTES = LAYERS * SIZE * SIZE * 4
HUGE_PAGE = 2 << 20  # of the page cache: reading a weight's name maps one


def write(folder, external, transposed):
    """A chain of Gemm and MatMul, by turns; with `transposed` their weights are transposed first."""
    block = numpy.ones((SIZE, SIZE), numpy.float32).tobytes()
    nodes, weights = [], []
    for i in range(LAYERS):
        weight = TensorProto(name=f"w{i}", data_type=TensorProto.FLOAT, dims=[SIZE, SIZE])
        if external:
            weight.data_location = TensorProto.EXTERNAL
            for key, value in (("location", "weights"), ("offset", i * len(block)), ("length", len(block))):
                weight.external_data.add(key=key, value=str(value))
        else:
            weight.raw_data = block
        weights.append(weight)
        if transposed:
            nodes.append(helper.make_node("Transpose", [weight.name], [f"t{i}"], perm=[1, 0]))
        nodes.append(helper.make_node("MatMul" if i % 2 else "Gemm", [f"x{i}", f"t{i}" if transposed else weight.name], [f"x{i + 1}"]))
    if external:
        with open(folder / "weights", "wb") as file:
            for _ in range(LAYERS):
                file.write(block)
    graph = helper.make_graph(nodes, "chain", [helper.make_tensor_value_info("x0", TensorProto.FLOAT, ["n", SIZE])],
                              [helper.make_tensor_value_info(f"x{LAYERS}", TensorProto.FLOAT, None)], weights)
    onnx.save(helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 17)]), folder / "model.onnx")


def resident(field):
    """Bytes of this process: VmRSS, now, or VmHWM, at most so far."""
    status = pathlib.Path("/proc/self/status").read_text()
    return int(re.search(rf"{field}:\s+(\d+) kB", status)[1]) * 1024


def measure(path):
    """In a process of its own: prints by how much its peak grows."""
    import tailor.onnx
    tailor.onnx.operators()  # loads the libraries
    before = resident("VmRSS")
    graph = tailor.onnx.load(path)
    print(resident("VmHWM") - before)
    del graph


class ImportMemoryTest(unittest.TestCase):
    def peak(self, external, transposed):
        with tempfile.TemporaryDirectory() as folder:
            write(pathlib.Path(folder), external, transposed)
            done = subprocess.run([sys.executable, "-B", __file__, "--measure", f"{folder}/model.onnx"], check=True,
                                  capture_output=True, text=True)
        print(f"{'external' if external else 'in the file'}, {'transposed' if transposed else 'as it is'}: "
              f"{int(done.stdout) / BYTES:.3f} of {BYTES / 1e6:.0f} MB")
        return int(done.stdout) / BYTES

    def test_weights_stay_in_their_file(self):
        self.assertLess(self.peak(external=True, transposed=False), 0.1)

    def test_pages_of_transposed_weights_are_released(self):
        self.assertLess(self.peak(external=True, transposed=True), 1.1)

    def test_weights_within_the_model(self):
        for transposed in (False, True):  # as they are, weights are copied unless they are aligned by chance
            self.assertLess(self.peak(external=False, transposed=transposed), 1.1 + LAYERS * HUGE_PAGE / BYTES)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        measure(sys.argv[2])
    else:
        unittest.main()
