"""Row "models" with fake times, its list, and the dims of a file; the CPU that --cpu chooses; tables."""
import os
import pathlib
import types
import unittest
from unittest import mock

import numpy
from onnx import TensorProto, helper

from side_by_side import corpus, cpu, engines
from side_by_side.figures import FAILED, AtLeast, NotMeasured, Row, measure
from side_by_side.rows import mikpoly, models
from side_by_side.rows.models import Measured, Side
from side_by_side.tables import Table

ROOT = engines.BENCH.parent


def model(name, group="images"):
    return corpus.Model(name, "dynamo", group, True, {"batch": 1, "width": 224})


def side(name, *times):
    return Side(name, 0.5, 2 << 20, 0.25, list(times), 4 << 20)


def result(name, group, *sides, fixed=1.0):
    """Compiled in 3 seconds, 1 and `fixed`; the same on one thread and on two."""
    builds = {"default": (3.0, 3 << 20), "host": (1.0, 1 << 20), "fixed": (fixed, 1 << 20)}
    return Measured(model(name, group), builds, {1: list(sides), 2: list(sides)})


FAST = result("fast", "images", side("Tailor", 1, 1, 4), side("onnxruntime 1", 2, 2, 2), side("OpenVINO 2", 8, 8, 8))
SLOW = result("slow", "images", side("Tailor", 2), side("OpenVINO 2", 1), fixed=0.5)
ALONE = result("alone", "speech", side("Tailor", 1))


class FiguresTest(unittest.TestCase):
    def figures(self, *results):
        return {figure.name: figure for figure in models.figures(results, [1], models.GEOMEANS)}

    def test_a_ratio_is_to_the_better_peer(self):
        self.assertEqual((FAST.ratio(1), SLOW.ratio(2), ALONE.ratio(1)), (2, 0.5, None))

    def test_a_group_has_a_mean_and_a_worst_model(self):
        figures = self.figures(FAST, SLOW)
        mean = figures["images, 2 models, threads=1, geometric mean"]
        self.assertAlmostEqual(mean.value, 1)
        self.assertEqual((mean.bar, mean.met), (AtLeast(1.2), False))
        worst = figures["images, threads=1, worst: slow"]
        self.assertEqual((worst.value, worst.bar), (0.5, AtLeast(0.95)))
        self.assertFalse(any(name.startswith("speech") for name in figures))

    def test_a_group_without_a_peer_says_so(self):
        self.assertRegex(self.figures(ALONE)["speech, 0 models, threads=1"].reason, "no model runs in a peer")

    def test_compiling_is_judged_by_the_worst_model(self):
        worst = self.figures(FAST, SLOW)["compile with dynamic over fixed sizes, worst: slow"]
        self.assertEqual((worst.value, worst.met), (2, False))


class TablesTest(unittest.TestCase):
    def test_a_peer_that_does_not_run_a_model_has_no_figures(self):
        rows = models.run_table([FAST, SLOW], 1).rows
        self.assertEqual(rows[0], ["fast", "images", "1 x 224", 2, 8, 2, 1000, 4000, 2000, 2000, 8000, 8000])
        self.assertEqual(rows[1], ["slow", "images", "1 x 224", None, 0.5, 0.5, 2000, 2000, None, None, 1000, 1000])

    def test_compilation_and_processes(self):
        self.assertEqual(models.compile_table([SLOW], 2).rows,
                         [["slow", 3, 1, 0.5, 2, None, 0.5, 3, 1, None, 2]])
        self.assertEqual(models.process_table([SLOW], 2).rows, [["slow", 250, None, 250, 4, None, 4]])

    def test_every_row_has_a_cell_for_each_heading(self):
        for table in (models.run_table([FAST], 1), models.compile_table([FAST], 1), models.process_table([FAST], 1)):
            self.assertEqual({len(row) for row in table.rows}, {len(table.headings)}, table.title)

    def test_text_and_markdown(self):
        table = Table("Times", ("name", "ms"), [["a", 1.0], ["long", None]])
        self.assertEqual(table.text(), "Times\nname     ms\na     1.000\nlong      -")
        self.assertEqual(table.markdown(), "Times:\n\n| name | ms |\n| --- | --- |\n| a | 1.000 |\n| long | - |")


class AgreementTest(unittest.TestCase):
    def agreeing(self, *results):
        notes = []
        engines_of = [types.SimpleNamespace(name=name, results=lambda value=value: [numpy.array([value])])
                      for name, value in zip(("Tailor", "A 1", "B 2"), results)]
        kept = models.agreeing(types.SimpleNamespace(note=notes.append), model("m"), engines_of, False)
        return [engine.name for engine in kept], notes

    def test_a_peer_that_differs_from_the_others_is_left_out(self):
        kept, (note,) = self.agreeing(1.0, 1.0, 1.5)
        self.assertEqual(kept, ["Tailor", "A 1"])
        self.assertRegex(note, "^models: Tailor and B 2 differ by .*: m$")
        self.assertEqual(self.agreeing(1.0)[0], ["Tailor"])

    def test_results_that_no_peer_confirms_are_no_benchmark(self):
        with self.assertRaisesRegex(ValueError, "Tailor and A 1 differ"):
            self.agreeing(1.0, 1.5, 1.5)


class RowTest(unittest.TestCase):
    def bench(self, **changed):
        return types.SimpleNamespace(**{"full": False, "asked": ["models"], "named": ["resnet", "bert"], "tables": [],
                                        "threads": [1], "cpu": cpu.chosen("host", avx512=True), **changed})

    def test_a_model_that_fails_leaves_the_others(self):
        def measured(bench, model):
            if model.name == "bert":
                raise ValueError("engines differ")
            return FAST
        with mock.patch.object(models, "measured", measured):
            outcome = measure(Row("models", "models", models.whole_models), self.bench())
        self.assertTrue(outcome.failed)
        self.assertEqual(outcome.parts[-1].reason, f"{FAILED}ValueError: engines differ")
        self.assertEqual(outcome.parts[0].value, 2)

    def test_a_plain_run_leaves_it_out(self):
        with self.assertRaisesRegex(NotMeasured, "--only models"):
            models.whole_models(self.bench(asked=[]))


class CorpusTest(unittest.TestCase):
    def test_every_group_has_models_in_a_quick_run(self):
        listed = corpus.listed()
        self.assertEqual(len({each.name for each in listed}), len(listed))
        self.assertEqual({each.group for each in listed if each.quick}, set(corpus.GROUPS))
        self.assertLessEqual({(each.original or each).source for each in listed}, {"dynamo", "legacy", "wheel"})
        self.assertEqual(len(corpus.selected(listed, [], full=False)), 13)
        self.assertEqual(corpus.selected(listed, ["unet"], full=False)[0].shape, "1 x 224 x 224")
        with self.assertRaisesRegex(NotMeasured, "has no vgg"):
            corpus.selected(listed, ["vgg"], full=True)

    def test_exports_are_in_the_catalog_with_these_symbols(self):
        catalog = "".join((ROOT / "tools" / "export_models" / f"{name}.py").read_text() for name in (
            "classifiers", "clip", "decoders", "dense", "detection", "recurrent", "speech", "text"))
        for each in corpus.listed():
            if each.source != "wheel":
                self.assertRegex(catalog, rf'(model|classifier|cached)\("{(each.original or each).export}"', each.name)

    def test_rewritten_exports_are_those_of_their_script(self):
        script = (ROOT / "tools" / "export_models" / "rewritten.py").read_text()
        for each in corpus.listed():
            if each.original:
                self.assertIn(f'"{each.export}": ("{each.original.file.removesuffix(".onnx")}",', script)
                self.assertEqual(each.file, f"{each.export}.onnx")

    def test_sizes_and_constants(self):
        self.assertEqual(corpus.sizes_of("samples=4 fmin=46.875"), {"samples": 4, "fmin": 46.875})

    def test_dims_of_a_file_by_their_names(self):
        value = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3, "?", None])
        self.assertEqual(corpus.file_dims([value], {"inputs": [{"name": "x", "dims": ["batch", 3, "height", 224]}]}),
                         {"N": "batch", "x_dim2": "height", "x_dim3": 224})

    def test_without_exporters_a_model_says_how_to_get_them(self):
        with mock.patch.object(corpus, "EXPORTERS_PYTHON", pathlib.Path("/nowhere/python")):
            with self.assertRaisesRegex(NotMeasured, "PyTorch is not installed"):
                corpus.Corpus(pathlib.Path("/nowhere")).file(model("resnet"))


class CpuTest(unittest.TestCase):
    def test_only_a_machine_with_more_is_held(self):
        self.assertEqual([cpu.chosen(*each) for each in (("host", True), ("avx2", True), ("avx2", False))],
                         [cpu.Cpu(wide=True, held=False), cpu.Cpu(wide=False, held=True), cpu.Cpu(wide=False, held=False)])

    def test_the_environment_of_processes(self):
        inherited = {"PATH": "/bin", "OPENBLAS_CORETYPE": "Prescott", cpu.TARGET_VARIABLE: "x86-64-v2"}
        self.assertEqual(cpu.Cpu(wide=True, held=False).environment(inherited), {"PATH": "/bin"})
        held = cpu.Cpu(wide=False, held=True).environment(inherited)
        self.assertEqual((held["PATH"], held["OPENBLAS_CORETYPE"], held[cpu.TARGET_VARIABLE]),
                         ("/bin", "Haswell", "x86-64-v3"))

    def test_peers_that_cannot_be_held_are_not_measured(self):
        with mock.patch.dict(os.environ, {cpu.TARGET_VARIABLE: cpu.AVX2_TARGET}):
            with self.assertRaisesRegex(NotMeasured, "openvino cannot be held"):
                engines.python_engine("openvino", 1)


class MikpolyTest(unittest.TestCase):
    def test_the_best_peer_counts_at_each_shape(self):
        mean, worst, *beside = mikpoly.figures(["A 1", "B 2"], {(1, 2, 3): [1.0, 2.0, 4.0], (4, 5, 6): [2.0, 4.0, 1.0]})
        self.assertAlmostEqual(mean.value, 1)
        self.assertEqual((worst.name, worst.value), ("worst: 4 x 5 x 6", 0.5))
        self.assertEqual([round(each.value, 3) for each in beside], [2, 1.414])


if __name__ == "__main__":
    unittest.main()
