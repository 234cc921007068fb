"""What the tests of the command line tool share. Their arguments: the tool, and the CUDA driver that the emulator plays."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL, FAKE_CUDA = sys.argv.pop(1), sys.argv.pop(1)

GRAPH = """graph @affine(%x: f32[B, 3], %k: i32[]) where B in [1, 9] {
  %two = constant 2 : f32[]
  %y = mul %x, %two
  %top = reduce_max %y {axes = [1]}
  %f = cast %k {dtype = f32}
  %z = add %top, %f
  return "y" = %y, "z" = %z
}
"""
# Exit codes.
NO, USAGE, FILE, STATUS, INTERRUPTED = 1, 2, 3, 4, 130


class ToolCase(unittest.TestCase):
    """A test with a folder of its own, in which graph.txt is GRAPH."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)
        (self.path / "graph.txt").write_text(GRAPH)

    def run_tool(self, *arguments, **environment):
        done = subprocess.run([TOOL, *map(str, arguments)], text=True, capture_output=True, cwd=self.path,
                              env={**os.environ, **environment})
        return done.returncode, done.stdout, done.stderr

    def succeed(self, *arguments, **environment):
        """What the tool prints; it must succeed and print nothing to stderr."""
        code, out, err = self.run_tool(*arguments, **environment)
        self.assertEqual((code, err), (0, ""), out)
        return out

    def succeed_json(self, *arguments, **environment):
        return json.loads(self.succeed(*arguments, "--json", **environment))

    def refuse(self, exit_code, words, *arguments, **environment):
        """The tool must fail with the exit code and "tailor: <status>: ..." that has `words`; its output."""
        code, out, err = self.run_tool(*arguments, **environment)
        self.assertEqual(code, exit_code, err)
        self.assertRegex(err, "^tailor: [A-Z_]+: ")
        self.assertIn(words, err)
        return out

    def compile(self, *arguments):
        """graph.txt as a.tlr."""
        self.succeed("compile", "graph.txt", "-o", "a.tlr", "--target", "host", *arguments)
