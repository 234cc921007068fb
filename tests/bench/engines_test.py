"""Engines: the protocol, the operands that all of them get, and engines that disagree."""
import pathlib
import tempfile
import types
import unittest
from unittest import mock

import numpy

from side_by_side import engines
from side_by_side.figures import NotMeasured
from side_by_side.processes import serve
from side_by_side.processes.operands import numbers
from side_by_side.small_graphs import SMALL_GRAPHS


def stub(name, *result):
    return types.SimpleNamespace(name=name, results=lambda: [numpy.array(result, numpy.float32)])


class EnginesTest(unittest.TestCase):
    def engine(self):
        engine = engines.python_engine("tailor", 1)
        self.addCleanup(engine.close)
        return engine

    def test_a_case_is_run_timed_and_saved(self):
        engine = self.engine()
        self.assertGreater(engine.prepare(op="dot", m=3, k=5, n=4), 0)
        self.assertGreaterEqual(len(engine.times(0.05)), serve.LEAST_RUNS)
        expected = numbers((3, 5), 1) @ numbers((5, 4), 2)
        numpy.testing.assert_allclose(engine.results()[0], expected.ravel(), rtol=1e-5, atol=1e-6)

    def test_row_kernels_and_convolutions(self):
        engine = self.engine()
        engine.prepare(op="softmax", rows=2, columns=6)
        weights = numpy.exp(numbers((2, 6), 1))
        numpy.testing.assert_allclose(engine.results()[0], (weights / weights.sum(1, keepdims=True)).ravel(), rtol=1e-5)
        engine.prepare(op="gelu_tanh", rows=2, columns=6)
        x = numbers((2, 6), 1).astype(numpy.float64)
        below = 0.5 + 0.5 * numpy.tanh(numpy.sqrt(2 / numpy.pi) * (x + 0.044715 * x ** 3))
        numpy.testing.assert_allclose(engine.results()[0], (x * below).ravel(), rtol=1e-6)
        engine.prepare(op="conv", x=[1, 1, 2, 2], weights=[1, 1, 3, 3], strides=[1, 1], pads=[1, 1])
        x, w = numbers((2, 2), 1), numbers((3, 3), 2)
        self.assertAlmostEqual(float(engine.results()[0][0]), float((x * w[1:, 1:]).sum()), places=5)

    def test_what_cannot_be_done_is_said_and_the_engine_lives_on(self):
        engine = self.engine()
        with self.assertRaisesRegex(RuntimeError, "Tailor: KeyError: 'n'"):
            engine.prepare(op="dot", m=1, k=1)
        self.assertGreaterEqual(engine.prepare(op="exp", rows=1, columns=1), 0)

    def test_a_model_that_cannot_be_opened_is_reported(self):
        with self.assertRaisesRegex(RuntimeError, "opening: .*nowhere.tlr"):
            engines.python_engine("tailor", 1, "/nowhere.tlr")

    def test_engines_that_take_too_long_are_given_up(self):
        with mock.patch.object(engines, "OPENING", 0.01), self.assertRaisesRegex(RuntimeError, "opening: given up after 0.01 s"):
            engines.python_engine("tailor", 1)

    def test_compilers_that_are_not_installed_are_no_peers(self):
        with mock.patch.object(engines, "COMPILERS_PYTHON", pathlib.Path("/nowhere")):
            with self.assertRaisesRegex(NotMeasured, "./dev bench --compilers installs them"):
                engines.compiler_engine("xla", 1, "model.onnx")

    @unittest.skipUnless(engines.COMPILERS_PYTHON.exists(), "./dev bench --compilers installs them")
    def test_compilers_agree(self):
        graph = SMALL_GRAPHS["attention of short sentences"]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "small.onnx"
            graph.save(path)
            with engines.all_open(*(lambda kind=kind: engines.compiler_engine(kind, 1, path)
                                    for kind in ("xla", "iree", "tvm"))) as opened:
                for sizes in (graph.sizes, graph.new):
                    for engine in opened:
                        engine.prepare(inputs=graph.entry()["inputs"], sizes=sizes)
                    engines.require_agreement(opened, 1e-5, "attention")

    def test_a_program_that_is_not_built_is_no_peer(self):
        with self.assertRaisesRegex(NotMeasured, "peer-onednn is not built"):
            engines.program_engine("onednn", pathlib.Path("/nowhere"), 1)


class AgreementTest(unittest.TestCase):
    def test_small_differences_are_allowed(self):
        engines.require_agreement([stub("A", 1, -100), stub("B", 1.001, -100)], 1e-4, "case")

    def test_results_that_differ_are_no_benchmark(self):
        for wrong in ((1.1, -100), (1, float("nan"))):
            with self.assertRaisesRegex(ValueError, "A and B differ by .*: case"):
                engines.require_agreement([stub("A", 1, -100), stub("B", *wrong)], 1e-4, "case")
        with self.assertRaisesRegex(ValueError, "2 and 1 elements: case"):
            engines.require_agreement([stub("A", 1, -100), stub("B", 1)], 1e-4, "case")

    def test_every_result_counts(self):
        def of(name, *results):
            return types.SimpleNamespace(name=name, results=lambda: [numpy.array(each, numpy.float32) for each in results])
        with self.assertRaisesRegex(ValueError, "differ by"):
            engines.require_agreement([of("A", [1e6], [1, 2]), of("B", [1e6], [1, 3])], 1e-4, "case")
        with self.assertRaisesRegex(ValueError, "1 and 2 results: case"):
            engines.require_agreement([of("A", [1]), of("B", [1], [2])], 1e-4, "case")

    def test_rows_in_any_order(self):
        shuffled = [stub("A", 1, 2, 3), stub("B", 3, 1, 2)]
        engines.require_agreement(shuffled, 1e-4, "case", unordered=True)
        with self.assertRaisesRegex(ValueError, "differ by"):
            engines.require_agreement(shuffled, 1e-4, "case")


class OperandsTest(unittest.TestCase):
    def test_numbers_depend_on_index_and_seed(self):
        self.assertEqual(numbers((2,), 0).tolist()[0], -1)
        mixed = ((1 + 7919) * 2654435761 % 2**32) >> 8
        self.assertEqual(float(numbers((2, 2), 1)[0, 1]), mixed * 2.0**-23 - 1)
        self.assertEqual(numbers((1 << 16,), 3).min() >= -1, numbers((1 << 16,), 3).max() < 1)


if __name__ == "__main__":
    unittest.main()
