"""The Go module as users get it: fetched from a proxy of files, vendored, and with the runtime linked in.

    go_module_test.py VERSION ARTIFACT LIBRARIES [STATIC RUNTIME]"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
VERSION, ARTIFACT, LIBRARIES = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
STATIC = pathlib.Path(sys.argv[4]) if len(sys.argv) > 4 else None
MODULE = "tailor.internal/tailor"

PROGRAM = f"""package main

import (
	"fmt"
	"os"

	"{MODULE}"
)

func main() {{
	executable, err := tailor.Load(os.Args[1])
	if err != nil {{
		panic(err)
	}}
	defer executable.Close()
	x, _ := tailor.FromSlice([]float32{{1, 1, 1, 1}}, 1, 4)
	y := make([]float32, 4)
	output, _ := tailor.FromSlice(y)
	total, _ := tailor.FromSlice([]float32{{0}})
	if err := executable.RunInto([]*tailor.Tensor{{output, total}}, []*tailor.Tensor{{x}}); err != nil {{
		panic(err)
	}}
	fmt.Println(tailor.Version(), y)
}}
"""


def pkg_config_file(name, cflags, libs):
    return f"Name: {name}\nDescription: {name}\nVersion: {VERSION}\nCflags: {cflags}\nLibs: {libs}\n"


class GoModule(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)
        cls.proxy, cls.configs, cls.app = cls.folder / "proxy", cls.folder / "pkgconfig", cls.folder / "app"
        for folder in (cls.configs, cls.app):
            folder.mkdir()
        cls.lay_out_proxy()
        include = f"-I{ROOT / 'api' / 'include'}"
        (cls.configs / "tailor-runtime.pc").write_text(
            pkg_config_file("tailor-runtime", include, f"-L{LIBRARIES} -ltailor_runtime"))
        (cls.configs / "tailor-runtime-static.pc").write_text(
            pkg_config_file("tailor-runtime-static", include, f"{STATIC or ''} -lstdc++ -lm -pthread -ldl"))
        (cls.app / "main.go").write_text(PROGRAM)
        cls.go("mod", "init", "example.com/app")
        cls.go("get", f"{MODULE}@v{VERSION}")

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    @classmethod
    def lay_out_proxy(cls):
        subprocess.run([sys.executable, ROOT / "tools" / "package" / "go_proxy.py", "--version", VERSION, cls.proxy], check=True)

    @classmethod
    def go(cls, *arguments, **variables):
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("GO", "CGO_"))}
        if "GOCACHE" in os.environ:
            kept["GOCACHE"] = os.environ["GOCACHE"]
        environment = kept | {
            "GO111MODULE": "on", "GOPROXY": cls.proxy.as_uri(), "GONOSUMDB": "tailor.internal", "GOFLAGS": "-modcacherw -mod=mod",
            "GOMODCACHE": str(cls.folder / "modules"), "GOTOOLCHAIN": "local", "CGO_ENABLED": "1",
            "PKG_CONFIG_PATH": str(cls.configs)} | variables
        done = subprocess.run(["go", *arguments], cwd=cls.app, env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise AssertionError(f"go {' '.join(arguments)}: {done.stderr}")
        return done.stdout

    def run_program(self, program, libraries):
        environment = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
        if libraries:
            environment["LD_LIBRARY_PATH"] = str(LIBRARIES)
        done = subprocess.run([program, ARTIFACT], env=environment, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, f"{VERSION} [1.5 2.5 3.5 4.5]\n", ""))

    def test_the_module_is_fetched(self):
        self.assertEqual(self.go("list", "-m", "-versions", MODULE), f"{MODULE} v{VERSION}\n")
        self.go("mod", "verify")
        program = self.folder / "fetched"
        self.go("build", "-o", str(program))
        self.run_program(program, libraries=True)

    def test_the_module_is_vendored(self):
        self.go("mod", "vendor")
        program = self.folder / "vendored"
        self.go("build", "-mod=vendor", "-o", str(program), GOPROXY="off", GOMODCACHE=str(self.folder / "empty"))
        self.run_program(program, libraries=True)

    @unittest.skipUnless(STATIC, "there is no static runtime")
    def test_the_runtime_may_be_linked_in(self):
        program = self.folder / "static"
        self.go("build", "-tags", "tailor_static", "-o", str(program))
        self.run_program(program, libraries=False)

    def test_the_compiler_needs_the_shared_runtime(self):
        package = self.app / "compiler"
        package.mkdir(exist_ok=True)
        (package / "main.go").write_text(f'package main\nimport _ "{MODULE}/graph"\nfunc main() {{}}\n')
        with self.assertRaisesRegex(AssertionError, "only package tailor can be used"):
            self.go("build", "-tags", "tailor_static", "-o", str(self.folder / "none"), "./compiler")

    def test_the_same_source_gives_the_same_bytes(self):
        archive = self.proxy / MODULE / "@v" / f"v{VERSION}.zip"
        before = archive.read_bytes()
        self.lay_out_proxy()
        self.assertEqual(archive.read_bytes(), before)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
