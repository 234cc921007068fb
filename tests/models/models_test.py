"""Whole models with symbolic dims: compiled once, run at 8 shapes, compared with onnxruntime."""
import contextlib
import functools
import os
import pathlib
import re
import sys
import tempfile
import time
import unittest

import numpy as np
import onnxruntime

import bert
import registry
import tailor
import tailor.onnx
from glue import glue

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import devices  # noqa: E402

MAX_SECONDS = 5  # what compiling bert_12 may take on an idle machine: printed, not asserted


@functools.lru_cache(maxsize=None)
def written(name):
    return registry.MODELS[name].write()


@functools.lru_cache(maxsize=None)
def compiled(name):
    graph = tailor.onnx.load(written(name))
    start, cpu = time.monotonic(), time.process_time()
    executable = devices.compiled(graph)
    print(f"{name}: compiled in {time.monotonic() - start:.2f} s, {time.process_time() - cpu:.2f} s of CPU time"
          f"{f' (at most {MAX_SECONDS} s are wanted)' if name == 'bert_12' else ''}", flush=True)
    return executable


@contextlib.contextmanager
def dumped():
    """What is compiled within is dumped to the folder that this gives."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TAILOR_DUMP"] = folder
        try:
            yield pathlib.Path(folder)
        finally:
            del os.environ["TAILOR_DUMP"]


def reference(proto):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options, ["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return lambda inputs: dict(zip(names, session.run(names, inputs)))


class ModelsTest(unittest.TestCase):
    def check(self, name):
        model, proto, executable = registry.MODELS[name], written(name), compiled(name)
        emitted, run = tailor.modules_emitted(), reference(proto)
        self.assertEqual(len(set(model.shapes)), 8)
        for seed, binding in enumerate(model.bindings()):
            with self.subTest(**binding):
                inputs = registry.inputs(proto, model, binding, seed)
                outputs = dict(zip([spec.name for spec in executable.outputs], executable.run(**inputs)))
                self.compare(outputs, run(inputs))
        self.assertEqual(tailor.modules_emitted(), emitted)

    def compare(self, outputs, wanted):
        self.assertEqual(outputs.keys(), wanted.keys())
        for name, array in wanted.items():
            self.assertTrue(np.isfinite(array).all(), name)
            largest = float(np.abs(array).max(initial=0))
            np.testing.assert_allclose(outputs[name], array, rtol=1e-4, atol=1e-5 * largest, err_msg=name)

    def test_a_sequence_longer_than_the_position_table(self):
        binding = {"batch_size": 2, "sequence_length": bert.POSITIONS + 1}
        inputs = registry.inputs(written("bert_2"), registry.MODELS["bert_2"], binding, 0)
        with self.assertRaisesRegex(tailor.Error, f"sequence_length.* is {bert.POSITIONS + 1}.* is {bert.POSITIONS}"):
            compiled("bert_2").run(**inputs)

    def test_no_shape_glue_is_left(self):
        for name in registry.MODELS:
            with self.subTest(name):
                proto = written(name)
                results = glue(proto.graph)
                text = tailor.onnx.load(proto).text
                left = [result for result in results if f'"{result}"' in text]
                print(f"{name}: {len(results)} of {len(proto.graph.node)} nodes are shape glue, {len(left)} are left")
                self.assertEqual(left, [])
                values = {output for node in proto.graph.node for output in node.output}
                self.assertTrue(any(f'"{value}"' in text for value in values), "values lost their names")

    def test_no_scores_of_attention_are_in_memory(self):
        for name, versions in (("bert_2", 1), ("gpt2", 2)):  # of gpt2, mask and scores are joined
            with self.subTest(name), dumped() as folder:
                tailor.onnx.load(written(name)).compile("host")
                (plan,), hosts = folder.glob("*.chain-matmuls.txt"), list(folder.glob("host.*.lowered.txt"))
                self.assertEqual(len(re.findall(r"^chain ", plan.read_text(), re.MULTILINE)), 2)
                self.assertEqual(len(hosts), versions)
                for host in hosts:
                    sizes = re.findall(r"^alloc \w+ = (.+) live", host.read_text(), re.MULTILINE)
                    self.assertTrue(sizes)
                    for size in sizes:
                        self.assertNotRegex(size, r"sequence_length\S*\*\S*sequence_length")

    def test_equal_layers_share_their_kernels(self):
        kernels = {}
        for name in ("bert_2", "bert_12"):
            with dumped() as folder:
                tailor.onnx.load(written(name)).compile("host")
                modules = "".join(path.read_text() for path in folder.glob("*.kernels.ll.txt"))
            kernels[name] = set(re.findall(r"^define .*@(k\d+_\w+)\(", modules, re.MULTILINE))
        print(f"bert_12: {len(kernels['bert_12'])} kernels; bert_2: {len(kernels['bert_2'])}")
        self.assertTrue(kernels["bert_2"])
        self.assertEqual(kernels["bert_12"], kernels["bert_2"])


for model_name in registry.MODELS:
    setattr(ModelsTest, f"test_{model_name}", functools.partialmethod(ModelsTest.check, model_name))


if __name__ == "__main__":
    unittest.main()
