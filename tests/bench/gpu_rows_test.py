"""The rows of ./dev gpu-check, with a fake tailor-gpu, and without a GPU."""
import contextlib
import io
import json
import math
import os
import pathlib
import stat
import sys
import tempfile
import unittest
import unittest.mock

from side_by_side import gpu_check, gpu_program
from side_by_side.gpu_rows import ROWS, encoder, products

# Answers as tailor-gpu does, twice as fast as its peer.
STUB = """#!{python}
import json, sys
verb, *names = sys.argv[1:]
if verb == "device" and {device} != "nothing":
    print(json.dumps({device}))
elif verb == "device":
    sys.exit("no library")
elif verb == "measure":
    for name in names:
        if "8192x8192" in name and {broken}:
            sys.exit("out of memory")
        if {wrong}:
            print(json.dumps({{"name": name, "reason": "row 0 has 2 for 1", "wrong": True}}))
            continue
        kind = name.split("/")[0]
        figures = {{"seconds": 1e-3, "share_of_copy": 0.95, "like_copy_seconds": 2e-3, "flops_per_second": 5e14,
                   "peer_seconds": 2e-3, "launches": 9, "above_driver": 4e-7, "driver_seconds": 2e-6, "other_shape_seconds": 3e-6,
                   "graph_seconds": 5e-4, "graph_other_shape_seconds": 1e-6, "y0": 1, "y1": 0, "y2": 0, "y3": 0}}
        print(json.dumps({{"name": name, "figures": figures, "peer": "cuBLASLt 13.0.0" if kind == "dot_bf16" else ""}}))
elif verb == "test":
    print("[==========] 4 tests ran.\\n[  PASSED  ] {passed} tests.\\n[  SKIPPED ] 1 test, listed below:")
else:
    print("failed test_add: element 0 is 1, not 2\\n7 passed, {failed} failed")
"""
GPU = {"name": "A GPU", "capability": "9.0", "target": "sm_90a", "processors": 132, "memory_bytes": 80 << 30,
       "driver": "12.4", "emulated": False}


class GpuRowsTest(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)

    def check(self, device, *arguments, broken=False, failed=0, wrong=False, passed=3):
        """(status, outcomes by name, what is printed) of gpu-check with a stub that is such a device."""
        program = self.folder / "tailor-gpu"
        program.write_text(STUB.format(python=sys.executable, device=repr(device), broken=broken, failed=failed,
                                       wrong=wrong, passed=passed))
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        out, file = io.StringIO(), self.folder / "out.json"
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
            status = gpu_check.main(["--program", str(program), "--cases", "cases", "--regressions", "graphs", "--json",
                                     str(file), "--torch-python", str(self.folder / "no-python"), *arguments])
        return status, json.loads(file.read_text()), out.getvalue()

    def test_names_are_those_of_the_list(self):
        self.assertEqual([row.name for row in ROWS], [f"gpu-{i}" for i in range(1, len(ROWS) + 1)])

    def test_without_a_gpu_every_row_says_why(self):
        status, out, printed = self.check({"absence": "no driver"}, "--results", str(self.folder / "page.md"))
        self.assertEqual(status, 0)
        self.assertEqual([metric["name"] for metric in out["metrics"]], [row.name for row in ROWS])
        for metric in out["metrics"]:
            self.assertIsNone(metric["value"])
            self.assertEqual(metric["reason"], "not measured: no driver")
        page = (self.folder / "page.md").read_text()
        self.assertIn("- No GPU: no driver\n", page)
        self.assertEqual(page.count("not measured: no driver"), len(ROWS))

    def test_figures_stand_beside_their_targets(self):
        only = [word for name in ("gpu-1", "gpu-2", "gpu-4", "gpu-5", "gpu-8", "gpu-10") for word in ("--only", name)]
        status, out, _ = self.check(GPU, "--results", str(self.folder / "page.md"), *only)
        self.assertEqual(status, 0)
        metrics = {metric["name"]: metric for metric in out["metrics"]}
        self.assertEqual((metrics["gpu-4"]["value"], metrics["gpu-4"]["met"], metrics["gpu-4"]["peer"]),
                         (2, True, "cuBLASLt 13.0.0"))
        matmul = metrics["matmul 4096x4096x4096/nn"]
        self.assertEqual((matmul["value"], matmul["peer_value"], matmul["ratio"]), (500, 250, 2))
        self.assertEqual((metrics["gpu-1"]["met"], metrics["passed"]["value"], metrics["skipped"]["value"]), (True, 9, 3))
        self.assertEqual((metrics["reduce_sum/64x30000, beside a copy of as many bytes"]["value"],
                          metrics["gpu-8"]["value"]), (2, 0.95))
        self.assertAlmostEqual(metrics["gpu-10"]["value"], 0.4)
        self.assertEqual(out["machine"]["gpu"], GPU)
        self.assertIn("A GPU (compute capability 9.0, 132 multiprocessors, 80 GiB), driver for CUDA 12.4; target sm_90a",
                      (self.folder / "page.md").read_text())

    def test_an_emulators_times_are_no_figures(self):
        status, out, printed = self.check({**GPU, "emulated": True}, "--only", "gpu-2", "--only", "gpu-10")
        self.assertEqual(status, 0)
        metrics = {metric["name"]: metric for metric in out["metrics"]}
        self.assertEqual(metrics["passed"]["value"], 7)
        for name in ("gpu-10", "a launch"):
            self.assertIsNone(metrics[name]["value"])
            self.assertIn("the emulator plays the GPU", metrics[name]["reason"])
        with self.assertRaisesRegex(SystemExit, "no results of a GPU"):
            self.check({**GPU, "emulated": True}, "--results", str(self.folder / "page.md"))

    def test_a_suite_that_fails_fails_the_check(self):
        log = self.folder / "log"
        status, out, _ = self.check(GPU, "--only", "gpu-2", "--log", str(log), failed=1)
        self.assertEqual((status, out["metrics"][0]["met"]), (1, False))
        self.assertIn("failed test_add", log.read_text())

    def test_a_suite_of_which_nothing_ran_fails_the_check(self):
        status, out, _ = self.check(GPU, "--only", "gpu-1", passed=0)
        self.assertEqual((status, out["metrics"][0]["met"]), (1, False))

    def test_wrong_results_fail_the_check(self):
        for row in ("gpu-4", "gpu-6", "gpu-8"):
            status, out, _ = self.check(GPU, "--only", row, wrong=True)
            self.assertEqual(status, 1)
            self.assertIn("row 0 has 2 for 1", out["metrics"][0]["reason"])

    def test_a_program_that_tells_no_device_is_no_machine_without_one(self):
        with self.assertRaisesRegex(RuntimeError, "tailor-gpu device ended with status"):
            self.check("nothing", "--only", "gpu-4")

    def test_embeddings_are_compared_by_their_direction(self):
        own = {"a": {f"y{i}": y for i, y in enumerate((0.03, -0.01, 0.02))}}
        encoder.require_agreement(own, {"a": {name: 1.01 * y + 0.001 for name, y in own["a"].items()}})
        for others in ((0, 0, 0), (0.02, 0.03, -0.01), (math.nan, -0.01, 0.02), (0.03, -0.01)):
            with self.assertRaisesRegex(ValueError, "results differ"):
                encoder.require_agreement(own, {"a": {f"y{i}": y for i, y in enumerate(others)}})

    def test_what_a_program_does_not_come_to_is_not_measured(self):
        status, out, _ = self.check(GPU, "--only", "gpu-4", broken=True)
        self.assertEqual(status, 0)
        metrics = {metric["name"]: metric for metric in out["metrics"]}
        self.assertEqual(metrics["large matmuls, the worst of 4 of 5"]["value"], 2)
        self.assertEqual(metrics["matmul 8192x8192x8192/nn"]["reason"],
                         "not measured: tailor-gpu ended with status 1: out of memory")
        self.assertIsNone(metrics["gpu-4"]["met"])

    def test_a_program_that_hangs_is_not_waited_for(self):
        program = self.folder / "hangs"
        program.write_text("#!/bin/sh\necho '{\"name\": \"a\", \"figures\": {}, \"peer\": \"\"}'\nexec sleep 60\n")
        program.chmod(0o755)
        answers = gpu_program.ask([str(program)], ["a", "b"], None, seconds=1)
        self.assertEqual((answers["a"]["peer"], answers["b"]["reason"]), ("", "hangs took longer than 1 seconds"))

    def test_without_pytorch_own_times_remain(self):
        _, out, _ = self.check(GPU, "--only", "gpu-9", "--torch-python", sys.executable)
        if "PyTorch is not installed" not in out["metrics"][0]["reason"]:
            self.skipTest("PyTorch is installed here")
        self.assertEqual([metric["value"] for metric in out["metrics"] if metric["unit"] == "ms"][0], 1)


class LibrariesTest(unittest.TestCase):
    def test_wheels_of_the_other_python_count(self):
        with tempfile.TemporaryDirectory() as folder:
            library = pathlib.Path(folder, "nvidia", "cu13", "lib", "libcublasLt.so.13")
            library.parent.mkdir(parents=True)
            library.touch()
            python = pathlib.Path(folder, "python")
            python.write_text(f"#!/bin/sh\necho '[\"{folder}\"]'\n")
            python.chmod(0o755)
            with unittest.mock.patch.dict(os.environ):
                os.environ.pop("TAILOR_CUBLASLT", None)
                self.assertEqual(gpu_program.environment(python)["TAILOR_CUBLASLT"], str(library))
                os.environ["TAILOR_CUBLASLT"] = "/mine"
                self.assertEqual(gpu_program.environment(python)["TAILOR_CUBLASLT"], "/mine")
        self.assertEqual(gpu_program.search_path("/no/python"), [])


class TorchTest(unittest.TestCase):
    """PyTorch's part of gpu-9 is the encoder that tailor-gpu measures."""

    def test_its_encoder_is_the_same(self):
        python, program = (os.environ.get(name, "") for name in ("TAILOR_TORCH_PYTHON", "TAILOR_GPU_PROGRAM"))
        if not pathlib.Path(python).is_file():
            self.skipTest("no environment with PyTorch: ./dev bench makes one")
        name = "bert_tiny/2x5"
        bench = pathlib.Path(gpu_program.__file__).resolve().parents[1]
        theirs = gpu_program.ask([python, "-m", "side_by_side.processes.torch_gpu"], [name, "softmax/3x5"],
                                 {**os.environ, "TAILOR_TORCH_DEVICE": "cpu", "PYTHONPATH": str(bench)})
        own = gpu_program.ask([program, "measure"], [name], dict(os.environ))
        self.assertGreater(theirs["softmax/3x5"]["figures"]["seconds"], 0)
        encoder.require_agreement({name: own[name]["figures"]}, {name: theirs[name]["figures"]})


class ListsTest(unittest.TestCase):
    def test_deepbench_is_row_major(self):
        shapes = products.deepbench_shapes()
        self.assertEqual(shapes[0], "16x1760x1760/nn")
        self.assertEqual(len(shapes), len(set(shapes)))
        self.assertIn("7133x1760x1760/tn", shapes)  # m = 1760, n = 7133, b_trans = 1

    def test_counts_of_tests(self):
        output = "[  PASSED  ] 12 tests.\n[  SKIPPED ] 1 test, listed below:\n[  FAILED  ] 2 tests, listed below:\n"
        self.assertEqual(gpu_program.count_tests(output), (12, 2, 1))
        self.assertEqual(gpu_program.count_tests("Segmentation fault"), (0, 0, 0))


if __name__ == "__main__":
    unittest.main()
