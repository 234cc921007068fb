"""`tailor tune`: what it prints and writes, and what it says of mistakes. No figure is judged."""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

TOOL = sys.argv.pop(1)


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

    def test_profile_is_written(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "machine.profile"
            code, out, err = self.run_tool("profile", "-o", path, "--passes", 1, "--keep", 3)
            self.assertEqual((code, err), (0, ""))
            rows = re.findall(r"^\| (\d+x\d+) \|", out, re.MULTILINE)
            kept = re.findall(r"^tile (\S+) [\d.]+ [\d.]+ [\d.]+$", path.read_text(), re.MULTILINE)
            self.assertEqual(set(kept), set(rows[:3]))
            self.assertIn("1x1", rows)

    def test_mistakes_are_named(self):
        for arguments, words in ((["search", "--n", 0], "--n and --k"), (["search", "--rows", "4,-1"], "--rows"),
                                 (["search", "--trials", 0], "--trials"), (["search", "--k", "deep"], "deep"),
                                 (["profile", "--passes", 0], "--passes"), ([], "subcommand"), (["guess"], "subcommand"),
                                 (["profile", "-o", "/none/a.profile"], "cannot write /none/a.profile")):
            with self.subTest(arguments):
                code, out, err = self.run_tool(*arguments)
                self.assertNotEqual(code, 0)
                self.assertIn(words, out + err)


if __name__ == "__main__":
    unittest.main()
