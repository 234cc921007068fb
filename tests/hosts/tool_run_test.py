"""`tailor run`: random inputs, sizes of dims, comparisons, files, JSON and messages."""
import json
import subprocess
import unittest

import numpy as np
import onnx

from tool_case import FILE, NO, STATUS, TOOL, USAGE, ToolCase

GATHER = """graph @rows(%table: f32[V, 2], %ids: i64[B, S]) where V in [1, 100000], B in [1, 8], S in [1, 64] {
  %y = gather %table, %ids {axis = 0}
  return "y" = %y
}
"""


class RunTest(ToolCase):
    def test_inputs_are_random_by_seed_and_range(self):
        self.compile()
        run = ("run", "a.tlr", "--dims", "B=4", "--range", "x=10:20", "--range", "k=5:5")
        first = self.succeed_json(*run)
        y, z = first["outputs"]
        self.assertEqual((first["dims"], y["dims"], z["dims"]), ({"B": 4}, [4, 3], [4]))
        self.assertTrue(20 <= y["min"] < y["mean"] < y["max"] < 40, y)
        self.assertEqual(self.succeed_json(*run)["outputs"], first["outputs"])
        self.assertNotEqual(self.succeed_json(*run, "--seed", 1)["outputs"][0]["hash"], y["hash"])
        # The drawn elements of an input do not depend on other inputs.
        self.assertEqual(self.succeed_json(*run[:-2])["outputs"][0]["hash"], y["hash"])

    def test_prints_a_line_for_each_output_and_the_time(self):
        self.compile()
        lines = self.succeed("run", "a.tlr", "x=2x3xf32=1,2,3,-4,0.5,-6", "k=i32=7").splitlines()
        self.assertEqual(lines[:2], ["y  f32[2, 3]  min -12.0  mean -1.17  max 6.00  = 2,4,6,-8,1,-12",
                                     "z  f32[2]  min 8.00  mean 10.5  max 13.0  = 13,8"])
        self.assertRegex(lines[2], r"^first run [0-9.]+ [num]?s, loaded in [0-9.]+ [num]?s, dims B=2$")
        self.assertEqual(len(lines), 3)
        self.assertIn("NaNs 3", self.succeed("run", "a.tlr", "x=2x3xf32=1,2,3,nan,nan,nan", "k=i32"))

    def test_indices_have_the_range_of_their_table(self):
        (self.path / "rows.txt").write_text(GATHER)
        self.succeed("compile", "rows.txt", "--target", "host")
        run = ("run", "rows.tlr", "--dims", "V=30000,B=2,S=16")
        self.succeed(*run, "--range", "ids=0:29999")
        self.refuse(STATUS, "30000", *run, "--range", "ids=30000:30000")
        # A table of one row has no row 1: the message says where the indices came from.
        self.refuse(STATUS, "(random integers in 0..1: ids; --range NAME=LOW:HIGH", "run", "rows.tlr", "--dims", "V=1,S=64")

    def test_sizes_that_nothing_says_have_defaults(self):
        (self.path / "rows.txt").write_text(GATHER.replace("V in [1, 100000]", "V in [1, 100000] likely [50, 60]"))
        self.assertEqual(self.succeed_json("run", "rows.txt")["dims"], {"V": 50, "B": 1, "S": 1})

    def test_sizes_of_given_inputs_hold_for_the_others(self):
        (self.path / "two.txt").write_text("graph @two(%a: f32[N, M], %b: f32[M, 2*N]) {\n  %c = dot %a, %b\n  return \"c\" = %c\n}\n")
        self.succeed("compile", "two.txt", "--target", "host")
        self.assertEqual(self.succeed_json("run", "two.tlr", "a=3x5xf32")["outputs"][0]["dims"], [3, 6])
        self.refuse(USAGE, 'input "a" has N=3, but --dims says otherwise', "run", "two.tlr", "a=3x5xf32", "--dims", "N=4")

    def test_compiles_models_in_memory(self):
        self.assertTrue(self.succeed_json("run", "graph.txt", "--dims", "B=3")["compiled"])
        x = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["batch", 3])
        y = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)
        node = onnx.helper.make_node("Relu", ["x"], ["y"])
        onnx.save(onnx.helper.make_model(onnx.helper.make_graph([node], "g", [x], [y])), self.path / "m.onnx")
        out = self.succeed("run", "m.onnx", "x=1x3xf32=-1,2,-3", "--values", 9)
        self.assertEqual(out, "y=1x3xf32=0,2,0\n")
        self.refuse(STATUS, 'unknown CPU target "z80"', "run", "m.onnx", "--target", "z80")
        self.refuse(USAGE, "batch is 3, must be in [1, 2]", "run", "m.onnx", "--dim", "batch=1..2", "--dims", "batch=3")
        self.refuse(USAGE, "only artifacts are signed", "run", "m.onnx", "--public-key", "k.pub")
        self.assertEqual(sorted(p.name for p in self.path.iterdir()), ["graph.txt", "m.onnx"])

    def test_compares_with_expected_outputs(self):
        self.compile()
        x = np.arange(6, dtype=np.float32).reshape(2, 3)
        np.save(self.path / "x.npy", x)
        np.savez(self.path / "want.npz", y=x * 2, z=x.max(1) * 2 + 7)
        run = ("run", "a.tlr", "x=@x.npy", "k=i32=7", "--expect")
        out = self.succeed(*run, "@want.npz")
        self.assertIn("y  as expected, max difference 0\n", out)
        np.save(self.path / "y.npy", x * 2 + np.float32([0, 0, .001]))
        self.succeed(*run, "y=@y.npy", "--atol", "0.01")
        for options in ((), ("--json",)):
            code, out, err = self.run_tool(*run, "y=@y.npy", "--rtol", 0, *options)
            self.assertEqual(code, NO)
            self.assertEqual(err, 'tailor: mismatch: output "y": 2 of 6 elements differ, most at [1, 2]: 10, expected 10.001\n')
        comparison = json.loads(out)["comparisons"][0]
        self.assertEqual((comparison["output"], comparison["matches"], comparison["differing"]), ("y", False, 2))
        self.assertAlmostEqual(comparison["max_difference"], .001, 5)
        code, _, err = self.run_tool(*run, "z=3xf32")
        self.assertEqual((code, err), (NO, 'tailor: mismatch: output "z": is f32[2], expected f32[3]\n'))
        code, _, err = self.run_tool("run", "a.tlr", "x=1x3xf32=nan,inf,1", "k=i32", "--expect", "y=1x3xf32=nan,inf,2")
        self.assertEqual((code, err), (0, ""))
        code, _, err = self.run_tool("run", "a.tlr", "x=1x3xf32=nan,inf,1", "k=i32", "--expect", "y=1x3xf32=1,-inf,2")
        self.assertEqual(code, NO)
        self.assertIn("2 of 3 elements differ", err)

    def test_reads_archives_and_raw_bytes(self):
        self.compile()
        x = np.arange(6, dtype=np.float32).reshape(2, 3)
        np.savez(self.path / "in.npz", x=x, k=np.int32(7), other=x + 1)
        (self.path / "x.bin").write_bytes(x.tobytes())
        expected = "y=2x3xf32=0,2,4,6,8,10\nz=2xf32=11,17\n"
        for inputs in (("x=@in.npz", "k=@in.npz"), ("x=2x3xf32=@x.bin", "k=i32=7"), ("x=@in.npz:x", "--input", "k=i32=7")):
            self.assertEqual(self.succeed("run", "a.tlr", *inputs, "--values", 64), expected)
        np.savez(self.path / "all.npz", x=x, k=np.int32(7))
        self.assertEqual(self.succeed("run", "a.tlr", "@all.npz", "--values", 64), expected)
        self.refuse(USAGE, 'there is no input "other"; inputs: x, k', "run", "a.tlr", "@in.npz")
        self.refuse(FILE, "in.npz has no array y", "run", "a.tlr", "x=@in.npz:y")
        self.refuse(FILE, "x.bin has 24 bytes, f32[1, 3] 12", "run", "a.tlr", "x=1x3xf32=@x.bin")

    def test_writes_outputs_and_a_trace(self):
        self.compile()
        out = self.succeed("run", "a.tlr", "x=2x3xf32", "k=i32=7", "--out", "z=@z.npy", "--trace", "t.json")
        self.assertIn("z  f32[2]", out)
        np.testing.assert_array_equal(np.load(self.path / "z.npy"), np.float32([7, 7]))
        events = json.loads((self.path / "t.json").read_text())["traceEvents"]
        self.assertEqual([event["name"] for event in events if event.get("cat") == "run"], ["run B=2"])
        self.refuse(FILE, "cannot write none/z.npy", "run", "a.tlr", "-o", "z=@none/z.npy")
        self.refuse(USAGE, 'there is no output "q"; outputs: y, z', "run", "a.tlr", "-o", "q=@q.npy")

    def test_a_pipe_is_an_output_too(self):
        self.compile()
        done = subprocess.run([TOOL, "run", "a.tlr", "x=1x3xf32", "k=i32=7", "-o", "z=@/dev/stderr"], cwd=self.path,
                              capture_output=True)
        self.assertEqual(done.returncode, 0)
        self.assertTrue(done.stderr.startswith(b"\x93NUMPY"), done.stderr)

    def test_mistakes_are_named(self):
        self.compile()
        for exit_code, words, arguments in (
                (USAGE, '--dims: the inputs have no symbol "Q"; symbols: B', ("--dims", "Q=3")),
                (USAGE, "--dims: B is 30, must be in [1, 9]", ("--dims", "B=30")),
                (USAGE, "--dims B=x: \"x\" is no dim size", ("--dims", "B=x")),
                (USAGE, "--dims B=-1: \"-1\" is no dim size", ("--dims", "B=-1")),
                (USAGE, "B is given twice", ("--dims", "B=1,B=2")),
                (USAGE, "B has several sizes", ("--dims", "B=1..3")),
                (USAGE, "--dims 3: expected SYMBOL=SIZE", ("--dims", "3")),
                (USAGE, 'input "x": B is 10, must be in [1, 9]', ("x=10x3xf32",)),
                (USAGE, "x is f64[2, 3], must be f32[B, 3]", ("x=2x3xf64",)),
                (STATUS, 'input "x" dim 1 is 4, but must be 3', ("x=2x4xf32",)),
                (USAGE, 'there is no input "q"; inputs: x, k', ("--range", "q=0:1")),
                (USAGE, "--range 3: expected LOW:HIGH", ("--range", "3")),
                (USAGE, "--range k=2:1: 2:1 is empty", ("--range", "k=2:1")),
                (USAGE, '--range k=0:1.5: input "k" is i32, which cannot hold 1.5', ("--range", "k=0:1.5")),
                (USAGE, "which cannot hold 3e+09", ("--range", "k=0:3e9")),
                (USAGE, "--threads", ("--threads", 0)),
                (USAGE, "--rtol", ("--rtol", -1)),
                (USAGE, 'there is no output "q"; outputs: y, z', ("--expect", "q=f32")),
                (FILE, "cannot read none.npy: No such file", ("--expect", "y=@none.npy")),
                (USAGE, "--no-such-option", ("--no-such-option",))):
            with self.subTest(arguments):
                self.refuse(exit_code, words, "run", "a.tlr", *arguments)
        self.refuse(FILE, "NOT_FOUND: cannot read none.tlr", "run", "none.tlr")
        self.refuse(USAGE, "model is required", "run")


if __name__ == "__main__":
    unittest.main()
