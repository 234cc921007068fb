"""The C++ code of docs/hosts.md and the heads of the C++ headers is that of the examples, which are compiled and run.
Argument 1: the source tree."""
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(sys.argv.pop(1))
EXAMPLES = ROOT / "bindings/cpp/examples"


def code_blocks(text):
    """The indented blocks of a Markdown section, as lists of lines without indentation."""
    blocks, last = [], None
    for number, line in enumerate(text.splitlines()):
        if line.startswith("    "):
            if last is None or number != last + 1:
                blocks.append([])
            blocks[-1].append(line.strip())
            last = number
        elif not line and last == number - 1:
            last = number
    return blocks


class DocsTest(unittest.TestCase):
    def test_code_is_in_the_examples(self):
        section = re.search(r"^## C\+\+$(.*?)^## ", (ROOT / "docs/hosts.md").read_text(), re.MULTILINE | re.DOTALL).group(1)
        sources = {path.name: [line.strip() for line in path.read_text().splitlines()] for path in EXAMPLES.glob("*.cc")}
        code = [block for block in code_blocks(section) if not block[0].startswith("c++ ")]
        self.assertGreaterEqual(len(code), 3)
        for block in code:
            with self.subTest(block[0]):
                self.assertTrue(any(self.contains(lines, block) for lines in sources.values()), "\n".join(block))

    @staticmethod
    def contains(lines, block):
        """Whether the block's lines follow each other in a file, blank lines aside."""
        lines = [line for line in lines if line]
        return any(lines[i:i + len(block)] == block for i in range(len(lines)))


if __name__ == "__main__":
    unittest.main()
