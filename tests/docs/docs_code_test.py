"""The code of README.md, docs/**/*.md and examples/service/README.md runs. Every block is fenced and has a language.

- A page's blocks run in its order, in an empty folder (run_page.py). tests/docs/given/<page>.py runs before, for files and
  variables that the page's reader has.
- ```LANGUAGE title="FILE" is written to that file. ```text title="Output" is what the block before prints.
- python: the blocks of a page share their variables. c, cpp, go: programs, i.e. blocks with `main`, are compiled and run; other
  blocks are lines that follow each other in a program of bindings/ or docs/. rust: a program, or the body of one. tailor: graph
  text. sh: run by bash -e; the tool, pkg-config and the libraries are those of the build.
- <!-- not run: REASON --> before a block, and generated pages: the block does not run. Of sh, options and files are checked.
- text, toml, cmake, ebnf, dockerfile and json are not code of a program.

Arguments: the build folder, its tool, C and C++ compilers, then unittest's. Environment: TAILOR_RUSTC, TAILOR_GO, TAILOR_CARGO."""
import concurrent.futures
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import pages

BUILD, TOOL, CC, CXX = (pathlib.Path(sys.argv.pop(1)) for _ in range(4))
ROOT = pages.ROOT
LIBRARIES = pathlib.Path(os.environ.get("TAILOR_LIBRARY_DIR", BUILD / "lib"))
DATA = {"text", "toml", "cmake", "ebnf", "dockerfile", "json", "ini"}
CODE = {"python", "c", "cpp", "rust", "go", "sh", "tailor"}
PROGRAMS = {"c": ("bindings/c/examples/*.c",), "cpp": ("bindings/cpp/examples/*.cc",),
            "rust": ("bindings/rust/tailor/examples/*.rs",), "go": ("bindings/go/examples/*/*.go",)}
MOST_NOT_RUN = 30

PC = """Name: {name}
Description: of the build tree
Version: 0.1.0
Cflags: -I{root}/api/include -I{root}/bindings/onnx/include
Libs: -L{libraries} {libs}
"""


def environment(folder):
    """What a reader has who has installed Tailor: the tool, the packages of pkg-config, the bindings."""
    tests = BUILD / "tests/hosts"
    links = f"-L{LIBRARIES} -ltailor_onnx -ltailor -ltailor_runtime"
    includes = f"-I{ROOT}/api/include -I{ROOT}/bindings/onnx/include"
    packages = folder / "pkgconfig"
    packages.mkdir()
    for name, libs in (("tailor-runtime", "-ltailor_runtime"), ("tailor", "-ltailor -ltailor_runtime"),
                       ("tailor-onnx", "-ltailor_onnx -ltailor -ltailor_runtime")):
        (packages / f"{name}.pc").write_text(PC.format(name=name, root=ROOT, libraries=LIBRARIES, libs=libs))
    go = os.environ.get("TAILOR_GO", "go")
    rustc = os.environ.get("TAILOR_RUSTC", "rustc")
    return {
        "PATH": f"{TOOL.parent}:{pathlib.Path(sys.executable).parent}:/usr/bin:/bin", "HOME": str(folder),
        "PYTHONPATH": f"{ROOT}/tests/docs:{ROOT}/bindings/python:{ROOT}/bindings/python/examples",
        "PYTHONDONTWRITEBYTECODE": "1", "TAILOR_LIBRARY_DIR": str(LIBRARIES), "LD_LIBRARY_PATH": str(LIBRARIES),
        "PKG_CONFIG_PATH": str(packages), "TAILOR": str(ROOT),
        "CARGO_TARGET_DIR": str(BUILD / "tests/docs/cargo"), "CARGO_NET_OFFLINE": "true",
        "TAILOR_DOCS_SERVICE": str(tests / "go_service"),
        "GOCACHE": str(tests / "go_cache"), "GOFLAGS": "-mod=mod", "GOPROXY": "off", "GOTOOLCHAIN": "local",
        "TAILOR_DOCS_C": f"{CC} -std=c99 -Wall -Werror {includes} SOURCE -o PROGRAM {links}",
        "TAILOR_DOCS_CPP": f"{CXX} -std=c++17 -Wall -Werror {includes} SOURCE -o PROGRAM {links}",
        "TAILOR_DOCS_GO": f"{go} build -o PROGRAM SOURCE",
        "TAILOR_DOCS_RUST": f"{rustc} --edition 2021 SOURCE -o PROGRAM -L {tests}/rust_onnx -L native={LIBRARIES} "
                            f"--extern tailor={tests}/rust_onnx/libtailor.rlib -C linker={CC}",
    }


def run_page(page):
    """The failure, or "", and seconds."""
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder) / "work"
        work.mkdir()
        done = subprocess.run([sys.executable, ROOT / "tests/docs/run_page.py", pages.name_of(page)], cwd=work, text=True,
                              env=environment(pathlib.Path(folder)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              check=False)
    return done.stdout if done.returncode else "", time.monotonic() - begin


def commands(code):
    """The commands of a shell script, as lists of words; without comments, variables at the front and redirections."""
    found = []
    code = re.sub(r"<<(\w+)\n.*?^\1$", "", code, flags=re.MULTILINE | re.DOTALL)  # texts for files
    for line in code.replace("\\\n", " ").splitlines():
        line = re.sub(r"<\(.*?\)|\[--?[^\]]*\]|\[[A-Z]+\]", "", line)
        try:
            words = shlex.split(line, comments=True)
        except ValueError:  # a quoted text of several lines
            continue
        for part in " ".join(word if word in ("&&", "|", ";") else shlex.quote(word) for word in words).split(" && "):
            words = shlex.split(part)
            while words and re.match(r"[A-Z_]+=|sudo$", words[0]):
                words.pop(0)
            if words:
                found.append(words)
    return found


class DocsCodeTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.blocks = [block for page in pages.pages() for block in pages.blocks(page)]

    def test_blocks_run(self):
        names = os.environ.get("TAILOR_DOCS_PAGES", "").split()
        todo = {block.page: True for block in self.blocks if block.language in CODE and not block.not_run and not block.generated}
        todo = [page for page in pages.pages() if pages.name_of(page) in (names or todo)]
        compiled = {block.page for block in self.blocks if block.language in ("cpp", "rust")}
        todo.sort(key=lambda page: pages.name_of(page) not in compiled)  # the longest first
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for page, (failure, seconds) in zip(todo, pool.map(run_page, todo)):
                print(f"{seconds:5.1f} s  {pages.name_of(page)}")
                with self.subTest(pages.name_of(page)):
                    self.assertEqual(failure, "", failure)

    def test_languages(self):
        for block in self.blocks:
            with self.subTest(f"{block.page}:{block.line}"):
                self.assertIn(block.language, CODE | DATA)

    def test_what_does_not_run(self):
        left_out = [block for block in self.blocks if block.not_run]
        for block in left_out:
            print(f"not run: {block.page}:{block.line}: {block.language}: {block.not_run}")
        self.assertLessEqual(len(left_out), MOST_NOT_RUN)

    def test_parts_are_of_programs(self):
        sources = {language: [path.read_text() for pattern in patterns for path in ROOT.glob(pattern)]
                   for language, patterns in PROGRAMS.items()}
        whole = re.compile(r"^int main\(|^func main\(|^fn main\(", re.MULTILINE)
        for block in self.blocks:
            if block.language in sources and whole.search(block.code):
                sources[block.language].append(block.code)
        for block in self.blocks:
            if block.language not in ("c", "cpp", "go") or block.not_run or block.title or whole.search(block.code):
                continue
            part = [line.strip() for line in block.code.splitlines() if line.strip()]
            with self.subTest(f"{block.page}:{block.line}"):
                self.assertTrue(any(self.contains(source, part) for source in sources[block.language]),
                                f"these lines are in no program of bindings/ or docs/:\n{block.code}")

    @staticmethod
    def contains(source, part):
        lines = [line.strip() for line in source.splitlines() if line.strip()]
        return any(lines[i:i + len(part)] == part for i in range(len(lines)))

    def test_shell_options_exist(self):
        helps = {}
        verbs = set(re.findall(r"^\./dev ([\w-]+)", (ROOT / "dev").read_text(), re.MULTILINE))
        for block in self.blocks:
            if block.language != "sh":
                continue
            for words in commands(block.code):
                with self.subTest(f"{block.page}:{block.line}", words=words):
                    if words[0] == "./dev" and len(words) > 1:
                        self.assertIn(words[1], verbs)
                    elif words[0].rsplit("/", 1)[-1] == "tailor" and len(words) > 1 and words[1] not in ("COMMAND", "tune"):
                        self.check_options(words[1:], helps)
                    elif re.match(r"(tools|tests|bindings|bench)/", words[0]):
                        self.assertTrue((ROOT / words[0]).exists())

    def check_options(self, words, helps):
        if words[0] not in helps:
            helps[words[0]] = subprocess.run([TOOL, *([] if words[0].startswith("-") else words[:1]), "--help"], text=True,
                                             check=True, capture_output=True, env={"LD_LIBRARY_PATH": str(LIBRARIES)}).stdout
        for word in words:
            if re.match(r"--?[a-z]", word):
                self.assertRegex(helps[words[0]], rf"(?m)(^|[\s,]){re.escape(word.split('=')[0])}([\s,=]|$)")


if __name__ == "__main__":
    if shutil.which("bash") is None:
        sys.exit("bash is not installed")
    unittest.main(argv=sys.argv)
