"""The memory estimate (codegen/backend/memory_estimate.h), which memory_limit is compared with, suffices for every model
and is not far too high: a process whose memory the system bounds compiles within the estimate, and not within a sixth of
it."""
import os
import re
import unittest

import numpy as np

import registry
import tailor
import tailor.onnx

TEST_ALL = "TAILOR_TEST_ALL" in os.environ
MODELS = registry.MODELS if TEST_ALL else ("bert_2", "dien", "resnet")
CPUS = ("x86-64-v2", "x86-64-v3", "x86-64-v4")


def estimated(graph, targets):
    """Bytes on one thread, as the refusal says."""
    try:
        graph.compile_artifact(targets, threads=1, memory_limit=1)
    except tailor.Error as error:
        return int((float(re.search(r"an estimated ([\d.]+) MiB on one thread", error.message).group(1)) + 0.1) * 2**20)
    raise AssertionError("one byte is enough")


def compiles(graph, targets, limit, threads=1):
    try:
        graph.compile_artifact(targets, threads=threads, memory_limit=limit, isolated=True)
    except tailor.Error as error:
        if error.code != "RESOURCE_EXHAUSTED":
            raise
        return False
    return True


class CompileMemoryTest(unittest.TestCase):
    def test_the_estimate_is_enough_and_not_far_more(self):
        for name in MODELS:
            graph = tailor.onnx.load(registry.MODELS[name].write())
            for targets in (CPUS, "cuda") if TEST_ALL else (CPUS,):
                with self.subTest(model=name, targets=targets):
                    estimate = estimated(graph, targets)
                    self.assertTrue(compiles(graph, targets, estimate), f"{estimate / 2**20} MiB")
                    self.assertFalse(compiles(graph, targets, estimate // 6), f"{estimate / 6 / 2**20} MiB")

    def test_threads_are_fewer_where_that_keeps_within_the_limit(self):
        graph = tailor.onnx.load(registry.MODELS["bert_2"].write())
        limit = estimated(graph, CPUS)
        self.assertEqual(graph.compile_artifact(CPUS, threads=64, memory_limit=limit), graph.compile_artifact(CPUS))

    def test_constants_count(self):
        """As panels, and in the artifact."""
        def weights(columns):
            graph = tailor.Graph("weights")
            x = graph.input("x", "f32", ["N", 1024])
            graph.output("y", x @ graph.constant(np.ones((1024, columns), "float32"), "w"))
            return estimated(graph, CPUS)
        more = weights(4096 + 1024) - weights(1024)
        self.assertGreaterEqual(more, 2 * 4096 * 1024 * 4)
        self.assertLess(more, 5 * 4096 * 1024 * 4)


if __name__ == "__main__":
    unittest.main()
