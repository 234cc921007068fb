"""The command line tool: graph text to artifact to results."""
import json
import re
import unittest

import numpy as np
import onnx

from tool_case import FAKE_CUDA, FILE, STATUS, USAGE, ToolCase


class ToolTest(ToolCase):
    def test_compile_takes_bounds_and_donations(self):
        self.succeed("compile", "graph.txt", "-o", "a.tlr", "--target", "host", "--max-versions", "1",
                                       "--donate", "x")
        _, out, _ = self.run_tool("inspect", "a.tlr", "--json")
        described = json.loads(out)
        self.assertEqual(["donated" in spec for spec in described["inputs"]], [True, False])
        self.assertEqual({len(launch["versions"]) for launch in described["variants"][0]["launches"]}, {1})
        self.refuse(STATUS, '"w" is no input', "compile", "graph.txt", "-o", "a.tlr", "--donate", "w")

    def write_onnx(self):
        x = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["batch", "width"])
        axes = onnx.helper.make_tensor_value_info("axes", onnx.TensorProto.INT64, [1])
        y = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)
        node = onnx.helper.make_node("ReduceSum", ["x", "axes"], ["y"], "total", keepdims=0)
        graph = onnx.helper.make_graph([node], "sum", [x, axes], [y])
        onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)]), self.path / "m.onnx")
        np.save(self.path / "axes.npy", np.array([1]))

    def test_onnx_models(self):
        self.write_onnx()
        options = ("--dim", "batch=1..4", "--dim", "width=2*batch + 1", "--fixed", "axes=@axes.npy")
        self.succeed("compile", "m.onnx", "--target", "host", *options)
        np.save(self.path / "x.npy", np.ones((2, 5), np.float32))
        code, out, _ = self.run_tool("run", "--values", 64, "m.tlr", "--input", "x=@x.npy")
        self.assertEqual(code, 0)
        self.assertIn("2xf32=5,5", out)
        code, out, _ = self.run_tool("import", "m.onnx", "--text", *options)
        self.assertIn("graph @sum(%x: f32[batch, 2*batch + 1]) where batch in [1, 4]", out)
        code, out, _ = self.run_tool("facts", "m.onnx", *options)
        self.assertIn("batch in [1, 4]", out)

    def test_onnx_errors_name_what_is_at_fault(self):
        self.write_onnx()
        for exit_code, arguments, reason in (
                (STATUS, ("m.onnx",), 'ReduceSum node "total": the list of axes depends on data'),
                (STATUS, ("m.onnx", "--dim", "bach=4"), 'no dim "bach"'),
                (USAGE, ("m.onnx", "--dim", "batch"), '--dim "batch" is neither'),
                (FILE, ("none.onnx",), "No such file")):
            with self.subTest(reason):
                self.refuse(exit_code, reason, "import", *arguments)

    def test_convolutions_may_be_direct(self):
        (self.path / "conv.txt").write_text("""graph @conv(%x: f32[N, 16, H, W]) {
  %c = constant [""" + ", ".join(["1"] * 16 * 144) + """] : f32[2304]
  %w = reshape %c {shape = [16, 144]}
  %v = window %x {axes = [2, 3], sizes = [3, 3]}
  %t = transpose %v {permutation = [0, 1, 4, 5, 2, 3]}
  %r = reshape %t {shape = [N, 1, 144, max(0, H - 2)*max(0, W - 2)]}
  %y = dot %r, %w {transpose_lhs = 1, transpose_rhs = 1}
  return "y" = %y
}
""")
        for arguments, layout in (((), "winograd_panels16"), (("--direct-convolutions",), "panels16")):
            self.succeed("compile", "conv.txt", "-o", "c.tlr", "--target", "host", *arguments)
            described = json.loads(self.run_tool("inspect", "c.tlr", "--json")[1])
            self.assertEqual([constant["layout"] for constant in described["constants"]], [layout])
            np.save(self.path / "x.npy", np.ones((1, 16, 3, 4), np.float32))
            self.assertEqual(self.run_tool("run", "--values", 64, "c.tlr", "--input", "x=@x.npy"),
                             (0, "y=1x1x2x16xf32=" + ",".join(["144"] * 32) + "\n", ""))

    def test_code_may_stay_unoptimized(self):
        (self.path / "exp.txt").write_text("graph @e(%x: f32[N]) {\n  %y = exp %x\n  return \"y\" = %y\n}\n")
        for arguments, said in (((), ""), (("--optimize", 1), ""), (("--optimize", 0), " optimize=0")):
            self.succeed("compile", "exp.txt", "-o", "e.tlr", "--target", "x86-64-v2", *arguments)
            described = json.loads(self.run_tool("inspect", "e.tlr", "--json")[1])
            self.assertEqual(described["provenance"]["options"], "targets=x86-64-v2" + said)

    def test_passes_may_be_left_out(self):
        (self.path / "softmax.txt").write_text("""graph @s(%x: f32[N, C]) {
  %m = reduce_max %x {axes = [1], keep_dims = 1}
  %d = sub %x, %m
  %e = exp %d
  %s = reduce_sum %e {axes = [1], keep_dims = 1}
  %y = div %e, %s
  return "y" = %y
}
""")
        launches = []
        for arguments in ((), ("--without", "stitch", "--without", "fuse-elementwise")):
            self.succeed("compile", "softmax.txt", "-o", "s.tlr", "--target", "host", *arguments)
            described = json.loads(self.run_tool("inspect", "s.tlr", "--json")[1])
            launches.append(len(described["variants"][0]["launches"]))
        self.assertLess(*launches)
        self.assertIn("no optional pass", self.run_tool("compile", "softmax.txt", "--without", "glue")[2])

    def test_matmuls_are_compiled_for_a_cost_profile(self):
        (self.path / "dot.txt").write_text(
            "graph @g(%x: f32[M, K], %w: f32[K, N]) {\n  %d = dot %x, %w\n  return \"d\" = %d\n}\n")
        (self.path / "machine.profile").write_text("tile 2x1 1 2 3\n")
        (self.path / "wrong.profile").write_text("line 4\ntile 2x1\n")
        profile, wrong = ("--cost-profile", "machine.profile"), ("--cost-profile", "wrong.profile")
        compiling = ("compile", "dot.txt", "-o", "d.tlr")
        self.succeed(*compiling, "--target", "x86-64-v2", *profile)
        described = json.loads(self.run_tool("inspect", "d.tlr", "--json")[1])
        self.assertEqual(described["provenance"]["options"], "targets=x86-64-v2 cost_profile")
        self.refuse(STATUS, "needs exactly one CPU target; given: all levels", *compiling, *profile)
        self.refuse(STATUS, "options.cost_profile: line 2", *compiling, "--target", "host", *wrong)
        self.refuse(FILE, "none.profile", *compiling, "--cost-profile", "none.profile")
        for model in "d.tlr", "dot.txt":
            with self.subTest(model):
                out = self.succeed("run", model, "x=1x2xf32=1,2", "w=2x2xf32=3,4,5,6", "--values", 64, *profile)
                self.assertEqual(out, "d=1x2xf32=13,16\n")
                self.refuse(STATUS, "line 2", "run", model, *wrong)
                self.succeed("bench", model, "--duration", "0.01", *profile)

    def test_a_provider_computes_offered_products(self):
        (self.path / "dot.txt").write_text(
            "graph @g(%x: f32[M, K], %w: f32[K, N]) {\n  %d = dot %x, %w\n  return \"d\" = %d\n}\n")
        self.succeed("compile", "dot.txt", "-o", "d.tlr", "--target", "host", "--offer-products")
        inputs = ("--input", "x=1x2xf32=1,2", "--input", "w=2x2xf32=3,4,5,6")
        self.assertEqual(self.run_tool("run", "--values", 64, "d.tlr", *inputs), (0, "d=1x2xf32=13,16\n", ""))
        code, out, err = self.run_tool("run", "--values", 64, "d.tlr", *inputs, "--provider", "onednn")
        if "libtailor_onednn.so: cannot open" in err:
            self.skipTest("libtailor_onednn.so is not built")
        self.assertEqual((code, out, err), (0, "d=1x2xf32=13,16\n", ""))
        (self.path / "choice.txt").write_text("own or not\n")
        code, _, err = self.run_tool("run", "--values", 64, "d.tlr", *inputs, "--provider", "onednn", "--provider-choice", "choice.txt")
        self.assertEqual(code, STATUS)
        self.assertIn("product choice: line 1", err)
        code, _, err = self.run_tool("run", "--values", 64, "d.tlr", *inputs, "--provider", "nobody")
        self.assertEqual(code, USAGE)
        self.assertIn("no matmul provider nobody", err)

    def test_cublaslt_computes_products_on_a_gpu(self):
        (self.path / "dot.txt").write_text(
            "graph @g(%x: f32[M, K], %w: f32[K, N]) {\n  %d = dot %x, %w\n  return \"d\" = %d\n}\n")
        self.succeed("compile", "dot.txt", "-o", "d.tlr", "--target", "simt", "--offer-products",
                                       "--allow-tf32")
        run = ("run", "--values", 64, "d.tlr", "--device", "cuda", "--provider", "cublaslt", "--input", "x=1x2xf32=1,2", "--input",
               "w=2x2xf32=3,4,5,6")
        self.assertEqual(self.run_tool(*run, TAILOR_CUDA_DRIVER=FAKE_CUDA, TAILOR_CUBLASLT=FAKE_CUDA),
                         (0, "d=1x2xf32=13,16\n", ""))
        code, _, err = self.run_tool(*run, TAILOR_CUDA_DRIVER=FAKE_CUDA, TAILOR_CUBLASLT="/nowhere/libcublasLt.so")
        self.assertEqual(code, STATUS)
        self.assertIn("cuBLASLt cannot be loaded: /nowhere/libcublasLt.so", err)

    def test_runs_literals_and_files(self):
        self.compile()
        code, out, err = self.run_tool("run", "--values", 64, "a.tlr", "--input", "x=2x3xf32=1,2,3,-4,0.5,-6", "--input", "k=i32=7")
        self.assertEqual((code, out, err), (0, "y=2x3xf32=2,4,6,-8,1,-12\nz=2xf32=13,8\n", ""))
        x = np.arange(6, dtype=np.float32).reshape(2, 3)
        np.save(self.path / "x.npy", x)
        code, out, err = self.run_tool("run", "--values", 64, "a.tlr", "--input", "x=@x.npy", "--input", "k=i32", "--output", "y=@y.npy",
                                       "--threads", 2)
        self.assertEqual((code, out, err), (0, "z=2xf32=4,10\n", ""))
        np.testing.assert_array_equal(np.load(self.path / "y.npy"), x * 2)

    def test_lists_devices(self):
        code, out, err = self.run_tool("devices", TAILOR_CUDA_DRIVER="libtailor_no_such_cuda.so")
        self.assertEqual((code, err), (0, ""))
        self.assertRegex(out, r"^cpu  x86-64.*, [0-9.]+ GiB\nno CUDA device: the CUDA driver cannot be loaded: "
                              r"libtailor_no_such_cuda.so: .*\n$")
        code, out, err = self.run_tool("devices", TAILOR_CUDA_DRIVER=FAKE_CUDA)
        self.assertEqual((code, err), (0, ""))
        self.assertIn("\ncuda:0  Tailor emulator, sm_90, 4 multiprocessors, driver for CUDA 12.4, 0.2 GiB\n", out)
        _, out, _ = self.run_tool("devices", TAILOR_CUDA_DRIVER=FAKE_CUDA, TAILOR_FAKE_CUDA="devices=0")
        self.assertIn("no CUDA device: cuInit for the CUDA driver", out)
        self.assertIn("CUDA_ERROR_NO_DEVICE (100)", out)

    def test_runs_on_a_device(self):
        self.succeed("compile", "graph.txt", "-o", "a.tlr", "--target", "simt", "--target", "host")
        run = ("run", "--values", 64, "a.tlr", "--input", "x=2x3xf32=1,2,3,-4,0.5,-6", "--input", "k=i32=7")
        for device in ("cpu", "cuda", "cuda:0"):
            self.assertEqual(self.run_tool(*run, "--device", device, TAILOR_CUDA_DRIVER=FAKE_CUDA),
                             (0, "y=2x3xf32=2,4,6,-8,1,-12\nz=2xf32=13,8\n", ""))
        code, _, err = self.run_tool(*run, "--device", "cuda", TAILOR_CUDA_DRIVER="libtailor_no_such_cuda.so")
        self.assertEqual(code, STATUS)
        self.assertIn("CUDA device 0 was asked for, but the CUDA driver cannot be loaded", err)
        for device in ("gpu", "cuda:", "cuda:1x"):
            self.assertIn("is no device: expected cpu, cuda or cuda:1", self.run_tool(*run, "--device", device)[2])

    def test_inspects(self):
        self.compile()
        code, out, _ = self.run_tool("inspect", "a.tlr")
        self.assertEqual(code, 0)
        for line in ("graph    affine", "symbol   B in [1, 9]", "input    x: f32[B, 3]", "input    k: i32[]",
                     "output   z: f32[B]", "variant  x86-64", "  launch ", ", code 0 of "):
            self.assertIn(line, out)
        code, out, _ = self.run_tool("inspect", "a.tlr", "--json")
        self.assertEqual(code, 0)
        self.assertIn('"graph_name": "affine"', out)

    def test_constants_come_from_a_file_or_a_seed(self):
        weights = {"w": np.arange(12, dtype=np.float32).reshape(3, 4), "b/0": np.array([[1], [2]], np.int64),
                   "half": np.array([[1.5, -2]], np.float32).view(np.uint16)[:, 1::2].copy().view("V2")}
        (self.path / "w.txt").write_text("""graph @g(%x: f32[B, 3]) {
  %w = constant @w : f32[3, 4]
  %k = constant @"b/0" : i64[2, 1]
  %h = constant @half : bf16[1, 2]
  %two = constant 2 : f32[]
  %d = dot %x, %w
  %y = mul %d, %two
  return "y" = %y, "k" = %k, "h" = %h
}
""")
        compiling = ("compile", "w.txt", "-o", "w.tlr", "--target", "host")
        run = ("run", "--values", 64, "w.tlr", "--input", "x=1x3xf32=1,1,1")
        code, out, err = self.run_tool(*compiling)
        self.assertEqual((code, out), (USAGE, ""))
        self.assertEqual(err, "tailor: INVALID_ARGUMENT: w.txt does not hold the bytes of constants: w, b/0, half; give them by "
                              "--constants FILE.npz, or draw them by --random-constants SEED\n")
        self.assertFalse((self.path / "w.tlr").exists())
        hashes = []
        for save in (np.savez, np.savez_compressed):
            save(self.path / "w.npz", unused=np.zeros(3), **weights)
            self.succeed(*compiling, "--constants", "w.npz")
            self.assertEqual(self.run_tool(*run),
                             (0, "y=1x4xf32=24,30,36,42\nk=2x1xi64=1,2\nh=1x2xbf16=1.5,-2\n", ""))
            hashes.append(self.weights_hash("w.tlr"))
        self.assertEqual(hashes[0], hashes[1])
        weights["w"][2, 3] += 1
        np.savez(self.path / "w.npz", **weights)
        self.succeed(*compiling, "--constants", "w.npz")
        self.assertNotEqual(self.weights_hash("w.tlr"), hashes[0])
        drawn = []
        for seed in (7, 7, 8):
            self.succeed(*compiling, "--random-constants", seed)
            drawn.append((self.weights_hash("w.tlr"), self.run_tool(*run)[1]))
        self.assertEqual(drawn[0], drawn[1])
        self.assertNotEqual(drawn[0][0], drawn[2][0])
        self.assertNotIn("y=1x4xf32=0,0,0,0", drawn[0][1])

    def test_compiling_may_be_isolated_and_limited(self):
        (self.path / "g.txt").write_text('graph @g(%x: f32[N]) {\n  %y = neg %x\n  return "y" = %y\n}\n')
        compiling = ("compile", "g.txt", "--target", "host", "-o")
        self.succeed(*compiling, "here.tlr")
        self.succeed(*compiling, "apart.tlr", "--isolated", "--memory-limit", "1g")
        self.assertEqual((self.path / "here.tlr").read_bytes(), (self.path / "apart.tlr").read_bytes())
        code, _, err = self.run_tool(*compiling, "none.tlr", "--isolated", "--memory-limit", "1m")
        self.assertEqual((code, err), (STATUS, "tailor: RESOURCE_EXHAUSTED: isolated compilation: out of memory, within memory_limit of 1.0 MiB\n"))
        self.assertFalse((self.path / "none.tlr").exists())

    def weights_hash(self, artifact):
        line = [line for line in self.run_tool("inspect", artifact)[1].splitlines() if line.startswith("weights ")]
        self.assertRegex(line[0], "^weights  [0-9a-f]{64}$")
        described = json.loads(self.run_tool("inspect", artifact, "--json")[1])
        self.assertEqual(described["constants_hash"], line[0].split()[1])
        return line[0]

    def test_constants_that_do_not_fit_are_named(self):
        text = ('graph @g() {\n  %w = constant @w : f32[2, 2] HASH\n  %v = constant @v : i8[1, 1]\n'
                '  return "w" = %w\n}\n')
        (self.path / "w.txt").write_text(text.replace("HASH", ""))
        (self.path / "hashed.txt").write_text(text.replace("HASH", "hash 0000000000000001"))
        v, w = np.zeros((1, 1), np.int8), np.ones((2, 2), np.float32)
        compiling = ("compile", "w.txt", "-o", "w.tlr", "--target", "host", "--constants", "w.npz")
        for exit_code, arrays, words in (
                (USAGE, {"w": w}, "w.npz has no array for constants: v"),
                (USAGE, {"w": w.astype(np.float64), "v": v}, "constant w is f32[2, 2] in w.txt, but f64[2, 2] in w.npz"),
                (USAGE, {"w": w, "v": v.reshape(1)}, "constant v is i8[1, 1] in w.txt, but i8[1] in w.npz"),
                (FILE, {"w": w.astype(np.complex64), "v": v}, "w.npz: w.npy: element type <c8 is not supported"),
                (FILE, {"w": np.asfortranarray(np.zeros((2, 3), np.float32)), "v": v}, "w.npz: w.npy is in Fortran order")):
            with self.subTest(words):
                np.savez(self.path / "w.npz", **arrays)
                code, out, err = self.run_tool(*compiling)
                self.assertEqual((code, out), (exit_code, ""))
                self.assertRegex(err, f"^tailor: [A-Z_]+: {re.escape(words)}\n$")
        np.savez(self.path / "w.npz", w=w, v=v)
        hashed = ("compile", "hashed.txt", "-o", "w.tlr", "--target", "host")
        self.assertIn('the bytes of "w" do not have the hash', self.run_tool(*hashed, "--constants", "w.npz")[2])
        self.succeed(*hashed, "--random-constants", 1)
        code, _, err = self.run_tool(*hashed, "--random-constants", 1, "--constants", "w.npz")
        self.assertNotEqual(code, 0)
        self.assertIn("excludes", err)

    def test_a_damaged_npz_file_is_refused(self):
        (self.path / "w.txt").write_text('graph @g() {\n  %w = constant @w : f32[8, 8]\n  return "w" = %w\n}\n')
        compiling = ("compile", "w.txt", "-o", "w.tlr", "--target", "host", "--constants", "b.npz")
        for save in (np.savez, np.savez_compressed):
            save(self.path / "w.npz", w=np.arange(64, dtype=np.float32).reshape(8, 8))
            whole = (self.path / "w.npz").read_bytes()
            middle = len(whole) // 2
            directory = whole.rindex(b"PK\x01\x02")
            damaged = [whole[:at] for at in (0, 3, middle, directory, len(whole) - 1)]
            damaged.append(whole[:middle] + bytes([whole[middle] ^ 0x10]) + whole[middle + 1:])
            for at in (16, 20, 24, 42):  # checksum, sizes and offset of the array
                for number in (b"\xff\xff\xff\x7f", b"\xff\xff\xff\xff", b"\x01\x00\x00\x00"):
                    damaged.append(whole[:directory + at] + number + whole[directory + at + 4:])
            for content in damaged:
                with self.subTest((save.__name__, content[-60:])):
                    (self.path / "b.npz").write_bytes(content)
                    code, _, err = self.run_tool(*compiling)
                    self.assertIn(code, (FILE, USAGE))
                    self.assertRegex(err, "^tailor: [A-Z_]+: b.npz.*(damaged|is no .npz|no .npy|wrong size|no array)")
        self.refuse(FILE, "cannot read none.npz: No such file", *compiling[:-1], "none.npz")

    def test_inspects_what_does_not_run_here(self):
        self.succeed("compile", "graph.txt", "-o", "g.tlr", "--target", "simt")
        code, out, err = self.run_tool("inspect", "g.tlr", TAILOR_CUDA_DRIVER="libtailor_no_such_cuda.so")
        self.assertEqual((code, err), (0, ""))
        for line in ("input    x: f32[B, 3]", "variant  simt", "  image  ir simt, ", "  launch "):
            self.assertIn(line, out)

    def test_mistakes_are_named(self):
        self.compile()
        np.save(self.path / "f.npy", np.asfortranarray(np.zeros((2, 3), np.float32)))
        for exit_code, arguments, words in (
                (FILE, ["inspect", "none.tlr"], "none.tlr"),
                (STATUS, ["inspect", "graph.txt"], "graph.txt"),
                (USAGE, ["inspect", "m.onnx"], "m.onnx is an ONNX model, not an artifact: tailor facts"),
                (USAGE, ["run", "a.tlr", "--input", "q=i32"], 'no input "q"'),
                (USAGE, ["run", "a.tlr", "--input", "x=1x3xf32=1,2"], "has 2 elements, needs 3"),
                (USAGE, ["run", "a.tlr", "--input", "x=1x3xf99"], '"f99" is no element type'),
                (USAGE, ["run", "a.tlr", "--input", "x=1x3xf32=1,b,3"], '"b" is no f32'),
                (USAGE, ["run", "a.tlr", "--input", "x=10x3xf32"], "B is 10"),
                (FILE, ["run", "a.tlr", "--input", "x=@f.npy"], "Fortran"),
                (FILE, ["run", "a.tlr", "--input", "x=@graph.txt"], "no .npy file"),
                (USAGE, ["run", "a.tlr", "--output", "w=@w.npy"], 'no output "w"'),
                (FILE, ["compile", "none.txt", "-o", "b.tlr"], "none.txt"),
                (STATUS, ["compile", "a.tlr", "-o", "b.tlr"], "UTF-8"),
                (STATUS, ["compile", "graph.txt", "-o", "b.tlr", "--target", "z80"], "z80"),
                (FILE, ["compile", "graph.txt", "-o", "none/b.tlr"], "cannot write none/b.tlr")):
            with self.subTest(arguments):
                self.refuse(exit_code, words, *arguments)


if __name__ == "__main__":
    unittest.main()
