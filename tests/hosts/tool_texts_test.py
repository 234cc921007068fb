"""Help, exit codes, completion, man pages, progress and Ctrl-C of the command line tool."""
import errno
import os
import pathlib
import pty
import re
import shutil
import signal
import subprocess
import time
import unittest

from tool_case import FAKE_CUDA, FILE, INTERRUPTED, TOOL, USAGE, ToolCase

COMMANDS = {"compile", "run", "bench", "inspect", "import", "facts", "keygen", "sign", "verify", "devices", "tune",
            "completion"}
# So many matmuls that compiling takes a second.
SLOW = ("graph @slow(" + ", ".join(f"%x{i}: f32[A, {i + 40}], %w{i}: f32[{i + 40}, B]" for i in range(24)) + ") {\n" +
        "".join(f"  %y{i} = dot %x{i}, %w{i}\n  %z{i} = tanh %y{i}\n" for i in range(24)) + "  return " +
        ", ".join(f'"z{i}" = %z{i}' for i in range(24)) + "\n}\n")

ENDLESS = """graph @endless(%x: i64[]) {
  %t = while(%x) {
    region(%left: i64[]) {
      %none = constant 0 : i64[]
      %more = ge %left, %none
      return %more
    }
    region(%left: i64[]) {
      %unit = constant 1 : i64[]
      %next = add %left, %unit
      return %next
    }
  }
  return "t" = %t
}
"""


def catches(process, number):
    """Whether a process has a handler for the signal."""
    status = pathlib.Path(f"/proc/{process}/status").read_text()
    return int(re.search(r"SigCgt:\s*(\w+)", status).group(1), 16) >> (number - 1) & 1


def read_terminal(terminal):
    """All that was written to a pseudo-terminal whose other end is closed: one read may return a part of it."""
    parts = []
    try:
        while part := os.read(terminal, 1 << 16):
            parts.append(part)
    except OSError as error:
        if error.errno != errno.EIO:  # Linux reports the closed end this way
            raise
    return b"".join(parts)


class TextsTest(ToolCase):
    def test_help_names_commands_and_their_options(self):
        out = self.succeed("--help")
        listed = re.search(r"Commands:\n((?:  .*\n)+)", out)[1]
        self.assertEqual(set(re.findall(r"^  (\S+)", listed, re.MULTILINE)), COMMANDS)
        for command in COMMANDS - {"tune"}:
            with self.subTest(command):
                out = self.succeed(command, "--help")
                self.assertIn(f"Usage: tailor {command} [OPTIONS]", out)
                self.assertRegex(out, rf"Examples:\n(  .*\n)*  .*tailor {command}")
                self.assertEqual([line for line in out.splitlines() if len(line) > 100], [])
        self.assertRegex(self.succeed("--version"), r"^tailor \d+\.\d+\.\d+ \(x86-64-v\d.*\)\n$")

    def test_a_wrong_command_line_is_usage(self):
        self.refuse(USAGE, 'there is no command "frob": tailor --help lists them', "frob")
        self.refuse(USAGE, "tailor run --help explains the options", "run", "a.tlr", "--frob")
        self.refuse(USAGE, "subcommand is required")
        self.refuse(USAGE, "dash", "completion", "dash")
        self.refuse(FILE, "cannot write none/a.tlr", "compile", "graph.txt", "-o", "none/a.tlr")

    def test_every_command_prints_json(self):
        self.compile("--json")
        for command in (("compile", "graph.txt"), ("inspect", "a.tlr"), ("run", "a.tlr"), ("import", "graph.txt"),
                        ("facts", "graph.txt"), ("devices",), ("keygen",), ("sign", "a.tlr", "--key", "tailor.key"),
                        ("verify", "a.tlr"), ("bench", "a.tlr", "--duration", "0")):
            with self.subTest(command):
                self.assertIsInstance(self.succeed_json(*command), dict)
        compiled = self.succeed_json("compile", "graph.txt", "-o", "b.tlr", "--target", "host")
        self.assertEqual((compiled["artifact"], compiled["bytes"], compiled["signed"]),
                         ("b.tlr", (self.path / "b.tlr").stat().st_size, False))
        self.assertEqual([variant["launches"] for variant in compiled["variants"]], [1])
        devices = self.succeed_json("devices", TAILOR_CUDA_DRIVER=FAKE_CUDA)
        self.assertEqual([device["device"] for device in devices["devices"]], ["cpu", "cuda:0"])
        self.assertEqual(devices["devices"][1]["compute_capability"], "9.0")

    def test_completion_scripts_are_valid(self):
        for shell in ("bash", "zsh", "fish"):
            script = self.succeed("completion", shell)
            (self.path / shell).write_text(script)
            for command in COMMANDS:
                self.assertIn(command, script)
            self.assertIn("public-key", script)
            if shutil.which(shell):
                subprocess.run([shell, "-n", self.path / shell], check=True)

    def complete(self, *words):
        """What bash offers for the last word."""
        line = " ".join(f"'{word}'" for word in words)
        return subprocess.run(["bash", "-c", f"source ./bash; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _tailor; "
                                             "echo \"${COMPREPLY[@]}\""], cwd=self.path, text=True, check=True,
                              capture_output=True).stdout.split()

    def test_bash_completes(self):
        (self.path / "bash").write_text(self.succeed("completion", "bash"))
        self.assertEqual(self.complete("tailor", "be"), ["bench"])
        self.assertEqual(self.complete("tailor", "run", "--dev"), ["--device"])
        self.assertEqual(self.complete("tailor", "run", "a.tlr", "--device", "c"), ["cpu", "cuda"])
        self.assertEqual(self.complete("tailor", "completion", ""), ["bash", "zsh", "fish"])
        self.assertEqual(self.complete("tailor", "run", ""), [])  # then bash completes file names

    def test_man_pages_are_clean(self):
        self.assertIn("man pages", self.succeed("man-pages", "man"))
        pages = sorted((self.path / "man").iterdir())
        self.assertEqual({page.name for page in pages}, {"tailor.1"} | {f"tailor-{command}.1" for command in COMMANDS})
        self.assertIn("tailor\\-bench \\- Measures", (self.path / "man" / "tailor-bench.1").read_text())
        checkers = [checker for checker in (["mandoc", "-Tlint", "-Wwarning"], ["groff", "-man", "-ww", "-z", "-Tutf8"])
                    if shutil.which(checker[0])]
        if not checkers:
            self.skipTest("neither mandoc nor groff is installed")
        for checker in checkers:
            done = subprocess.run([*checker, *pages], capture_output=True, text=True)
            # Pages have no date: the same sources give the same bytes.
            said = [line for line in (done.stdout + done.stderr).splitlines() if "missing date" not in line]
            self.assertEqual(said, [], checker)

    def test_ctrl_c_leaves_no_file(self):
        (self.path / "slow.txt").write_text(SLOW)
        for options in ((), ("--isolated",)):
            with self.subTest(options), subprocess.Popen(
                    [TOOL, "compile", "slow.txt", "--progress", *options], cwd=self.path, text=True,
                    stderr=subprocess.PIPE) as tool:
                self.assertIn("%", tool.stderr.readline())
                tool.send_signal(signal.SIGINT)
                err = tool.stderr.read()
                self.assertEqual(tool.wait(), INTERRUPTED, err)
                self.assertIn("tailor: CANCELLED: interrupted\n", err)
                self.assertEqual(sorted(path.name for path in self.path.iterdir()), ["graph.txt", "slow.txt"])

    def interrupt_benchmark(self, *arguments):
        with subprocess.Popen([TOOL, "bench", *arguments, "--callers", "2", "--json"], cwd=self.path, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as tool:
            self.addCleanup(tool.kill)
            while not catches(tool.pid, signal.SIGINT):
                self.assertIsNone(tool.poll())
                time.sleep(0.01)
            time.sleep(0.1)  # probably inside of a run by then
            tool.send_signal(signal.SIGINT)
            try:
                out, err = tool.communicate(timeout=120)
            finally:
                tool.kill()
            self.assertEqual((tool.returncode, out, err), (INTERRUPTED, "", "tailor: CANCELLED: interrupted\n"))

    def test_ctrl_c_ends_a_benchmark(self):
        self.compile()
        self.interrupt_benchmark("a.tlr", "--duration", "60")

    def test_ctrl_c_ends_a_run_of_a_benchmark(self):
        (self.path / "endless.txt").write_text(ENDLESS)
        self.succeed("compile", "endless.txt", "-o", "endless.tlr", "--target", "host")
        self.interrupt_benchmark("endless.tlr", "--range", "x=0:1")

    def test_a_terminal_shows_progress_and_clears_it(self):
        terminal, end = pty.openpty()
        done = subprocess.run([TOOL, "compile", "graph.txt", "--target", "host"], cwd=self.path, stdout=subprocess.PIPE,
                              stderr=end, text=True)
        os.close(end)
        shown = read_terminal(terminal).decode()
        os.close(terminal)
        self.assertEqual(done.returncode, 0)
        self.assertRegex(shown, r"\[#* *\] +\d+% ")
        self.assertTrue(shown.endswith("\r\033[K"))
        self.assertRegex(done.stdout, r"^graph.tlr  [0-9.]+ KiB, constants 0 B, x86-64-v\d [0-9.]+ KiB  \([0-9.]+ m?s\)\n$")

    def test_a_failed_write_leaves_no_temporary_file(self):
        self.compile()
        before = sorted(path.name for path in self.path.iterdir())
        (self.path / "folder").mkdir()
        self.refuse(FILE, "Is a directory", "compile", "graph.txt", "-o", "folder")
        self.assertEqual(sorted(path.name for path in self.path.iterdir()), sorted([*before, "folder"]))
        # A link is followed, and stays one.
        (self.path / "link.tlr").symlink_to("a.tlr")
        self.succeed("compile", "graph.txt", "-o", "link.tlr", "--target", "host", "--max-versions", "1")
        self.assertEqual(os.readlink(self.path / "link.tlr"), "a.tlr")


class ReferenceTest(ToolCase):
    def test_a_page_is_checked_and_written(self):
        page = pathlib.Path(self.path / "cli.md")
        mark = "<!-- generated from --help: tailor reference docs/cli.md -->\n"
        page.write_text("before\n" + mark + "old\n<!-- end -->\nafter\n")
        code, _, err = self.run_tool("reference", "cli.md", "--check")
        self.assertEqual(code, 1)
        self.assertIn("cli.md is not what --help says", err)
        self.succeed("reference", "cli.md")
        self.succeed("reference", "cli.md", "--check")
        self.assertRegex(page.read_text(), "^before\n(.*\n)*### tailor bench\n(.*\n)*<!-- end -->\nafter\n$")
        page.write_text("")
        self.refuse(USAGE, "no place for the reference", "reference", "cli.md")


if __name__ == "__main__":
    unittest.main()
