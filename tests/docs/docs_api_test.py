"""tools/docs/api_reference.py finds what the sources declare: each C function, and the main types of each binding."""
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/docs"))
import api_reference

TYPES = {
    "cpp": ("Error", "Result", "Tensor", "Runtime", "Executable", "Session", "Outputs", "Dim", "Value", "Graph"),
    "python": ("Graph", "Value", "Runtime", "Executable", "Session", "Session.run", "Graph.compile", "symbol", "Error"),
    "rust": ("Error", "Tensor", "Runtime", "Executable", "Session", "Outputs", "Graph", "Dim", "Value", "compile_with"),
}


class ApiReferenceTest(unittest.TestCase):
    def test_every_function_of_c(self):
        page = api_reference.c()
        for header in api_reference.C_HEADERS:
            text = re.sub(r"/\*.*?\*/", "", (ROOT / header).read_text(), flags=re.DOTALL)
            for name in re.findall(r"^TAILOR_API [\w* ]*?(tailor_\w+)\(", text, re.MULTILINE):
                self.assertTrue(re.search(rf"(?m)^[^#\n]*\b{name}\(", page), f"{header}: {name}")

    def test_types_of_bindings(self):
        for language, names in TYPES.items():
            page = api_reference.LANGUAGES[language]()
            for name in names:
                with self.subTest(language, name=name):
                    self.assertTrue(re.search(rf"(?m)^###+ `{re.escape(name)}`$", page))

    def test_comments_are_text(self):
        self.assertEqual(api_reference.as_text("a *b* [c] `d_e` f_g <h>"), r"a \*b\* \[c\] `d_e` f\_g &lt;h>")


if __name__ == "__main__":
    unittest.main()
