"""`tailor tune`: output, files and error messages. No figure is judged."""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

TOOL = sys.argv.pop(1)
MEASURE = sys.argv.pop(1)


class TuneTest(unittest.TestCase):
    def run_tool(self, *arguments):
        done = subprocess.run([TOOL, "tune", *map(str, arguments)], text=True, capture_output=True)
        return done.returncode, done.stdout, done.stderr

    def test_search_prints_both_searches_and_the_best(self):
        code, out, err = self.run_tool("search", "--n", 32, "--k", 48, "--rows", "1,3", "--trials", 3)
        self.assertEqual((code, err), (0, ""))
        self.assertIn("| trials | trust regions | random |", out)
        self.assertEqual(len(re.findall(r"^\| [123] \| \d\.\d{3} \| \d\.\d{3} \|$", out, re.MULTILINE)), 3)
        for words in ("schedules measured. The compiler's: ", "The best found: ", "| 1x48x32 | ", "| 3x48x32 | "):
            self.assertIn(words, out)

    def measure(self, *arguments):
        done = subprocess.run([MEASURE, *map(str, arguments)], text=True, capture_output=True)
        return done.returncode, done.stdout, done.stderr

    def expect_profile(self, out, path, kept):
        rows = re.findall(r"^\| (\d+x\d+) \|", out, re.MULTILINE)
        tiles = re.findall(r"^tile (\S+) [\d.]+ [\d.]+ [\d.]+$", path.read_text(), re.MULTILINE)
        self.assertEqual(set(tiles), set(rows[:kept]))
        self.assertIn("1x1", rows)
        self.assertIn("margin ", path.read_text())
        line = re.search(r"^Panels from memory: (\S+) ns per 64 bytes", out, re.MULTILINE)[1]
        self.assertIn(float(line), [float(was) for was in re.findall(r"^line (\S+)$", path.read_text(), re.MULTILINE)])

    def test_profile_is_written(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "machine.profile"
            code, out, err = self.run_tool("profile", "-o", path, "--passes", 1, "--keep", 3)
            self.assertEqual((code, err), (0, ""))
            self.expect_profile(out, path, 3)

    def test_profile_is_measured_without_a_compiler(self):
        with tempfile.TemporaryDirectory() as folder:
            pack, path = pathlib.Path(folder) / "kernels.pack", pathlib.Path(folder) / "machine.profile"
            self.assertEqual(self.run_tool("pack", "-o", pack, "--target", "x86-64-v2"), (0, "", ""))
            code, out, err = self.measure(pack, "-o", path, "--passes", 1)
            self.assertEqual((code, err), (0, ""))
            self.expect_profile(out, path, None)
            pack.write_bytes(pack.read_bytes()[:-1])
            self.assertIn("is cut off", self.measure(pack)[2])
        self.assertIn("cannot read none.pack", self.measure("none.pack")[2])
        needed = re.findall(r"NEEDED.*\[(.*)\]", subprocess.check_output(["readelf", "-d", MEASURE], text=True))
        self.assertEqual([library for library in needed if "LLVM" in library or "tailor" in library], [])

    GRAPH = """graph @layer(%x: f32[B, 64]) where B in [1, 512] {
      %w = constant @w : f32[64, 48]
      %y = dot %x, %w
      return "y" = %y
    }"""

    def test_a_model_is_tuned_within_a_time(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            model, artifact, path = folder / "layer.txt", folder / "layer.tlr", folder / "layer.profile"
            model.write_text(self.GRAPH)
            subprocess.run([TOOL, "compile", model, "--random-constants", "1", "--target", "x86-64-v2", "-o", artifact],
                           check=True, capture_output=True)
            code, out, err = self.run_tool("model", artifact, "--dims", "B=1,7,96", "--seconds", 1, "-o", path)
            self.assertEqual((code, err), (0, ""))
            self.assertRegex(out, r"^\d+ profiles measured")
            self.assertEqual(len(re.findall(r"^\| B=\d+ \| .* \| \d\.\d{3} \|$", out, re.MULTILINE)), 3)
            self.assertIn("margin ", path.read_text())
            self.assertGreater(len(re.findall(r"^tile ", path.read_text(), re.MULTILINE)), 3)
            again = self.run_tool("model", artifact, "--dims", "B=8", "--seconds", 0.2, "--profile", path)
            self.assertEqual((again[0], again[2]), (0, ""))
            for arguments, words in ((["--profile", model], "layer.txt: line 1"), (["--dims", "C=1"], 'no symbol "C"'),
                                     (["--seconds", 0], "--seconds"), (["--dims", "B=1..8"], "--dims B: a range"),
                                     (["-o", "/none/a.profile"], "/none/a.profile"), (["--target", "x86-64-v4"], "x86-64-v4")):
                with self.subTest(arguments):
                    code, _, err = self.run_tool("model", artifact, *arguments)
                    self.assertEqual(code, 1)
                    self.assertIn(words, err)

    # An rhs of more than 500 columns is fastest in tiles of 6x4, others in 2x8.
    def test_classify_learns_from_times(self):
        lines = ["m,n,k,rule,6x4,2x8"]
        for n in range(100, 1100, 100):
            lines += [f"{m},{n},64,{120},{100 if n > 500 else 200},{200 if n > 500 else 100}" for m in (4, 8)]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "times.csv"
            path.write_text("\n".join(lines) + "\n")
            code, out, err = self.run_tool("classify", path, "--tree")
            self.assertEqual((code, err), (0, ""))
            self.assertIn("16 matmuls to learn from, 4 held out. Tilings to choose from: 6x4 2x8\n", out)
            self.assertIn("The tree has 2 leaves and is right for 100.0 %", out)
            self.assertIn("| the compiler's rule | 0.0 % | 0.833 | 0.833 |", out)
            self.assertIn("| decision tree | 100.0 % | 1.000 | 1.000 |", out)
            self.assertIn("if n <= 500\n  2x8\nelse\n  6x4\n", out)
            _, _, err = self.run_tool("classify", path, "--profile", "/none/a.profile")
            self.assertIn("cannot read /none/a.profile", err)
            path.write_text("\n".join(lines[:5]) + "\n")
            self.assertIn("fewer than five rhs operands", self.run_tool("classify", path)[2])
            path.write_text("m,n,k,6x4\n1,1,1,1\n")
            self.assertIn("the first tiling is not the rule's", self.run_tool("classify", path)[2])
            path.write_text(lines[0] + "\n1,2,3,4\n")
            self.assertIn("line 2: three dim sizes", self.run_tool("classify", path)[2])

    def test_a_provider_is_chosen_by_measurement(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "choice.txt"
            code, out, err = self.run_tool("provider", "onednn", "-o", path, "--operands", 5)
            if "libtailor_onednn.so: cannot open" in err:
                self.skipTest("libtailor_onednn.so is not built")
            self.assertEqual((code, err), (0, ""))
            self.assertIn("32 matmuls to learn from, 8 held out", out)
            self.assertEqual(len(re.findall(r"^\| .* \| \d\.\d{3} \| \d\.\d{3} \|$", out, re.MULTILINE)), 3)
            self.assertRegex(path.read_text(), r"\A(own|provider|if (m|n|k|n \* k) <= \S+)\n")

    def test_mistakes_are_named(self):
        for arguments, words in ((["search", "--n", 0], "--n and --k"), (["search", "--rows", "4,-1"], "--rows"),
                                 (["search", "--trials", 0], "--trials"), (["search", "--k", "deep"], "deep"),
                                 (["profile", "--passes", 0], "--passes"),
                                 (["cuts", "-o", "/none/a.csv"], "cannot write /none/a.csv"),
                                 (["pack", "-o", "/none/a.pack"], "cannot write /none/a.pack"),
                                 (["pack", "-o", "/none/a.pack", "--target", "z80"], "z80"),
                                 (["cuts"], "--output"), (["classify", "/none/a.csv"], "cannot read /none/a.csv"),
                                 ([], "subcommand"), (["guess"], "subcommand"),
                                 (["profile", "-o", "/none/a.profile"], "cannot write /none/a.profile")):
            with self.subTest(arguments):
                code, out, err = self.run_tool(*arguments)
                self.assertNotEqual(code, 0)
                self.assertIn(words, out + err)


if __name__ == "__main__":
    unittest.main()
