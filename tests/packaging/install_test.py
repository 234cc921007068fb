"""cmake --install: what each component has, and that an installation works after it was moved.

Usage: install_test.py CMAKE BUILD_FOLDER CC CXX
"""
import functools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

CMAKE, BUILD, CC, CXX = sys.argv[1], pathlib.Path(sys.argv[2]).resolve(), sys.argv[3], sys.argv[4]
del sys.argv[1:5]
CONSUMER = pathlib.Path(__file__).resolve().parent / "consumer"
ROOT = CONSUMER.parents[2]
COMPONENTS = ["runtime", "compiler", "onnx", "cli", "dev", "python"]
LIBRARIES = ["libtailor_runtime.so", "libtailor.so", "libtailor_onnx.so"]
IN_WHEELS = tuple(LIBRARIES)
ONEDNN = (BUILD / "lib/libtailor_onednn.so").exists()  # where oneDNN was found
if ONEDNN:
    COMPONENTS.append("onednn")
    LIBRARIES.append("libtailor_onednn.so")
LIB = re.search(r"^CMAKE_INSTALL_LIBDIR:PATH=(.*)$", (BUILD / "CMakeCache.txt").read_text(), re.M).group(1)
VERSION_H = (ROOT / "api/include/tailor/version.h").read_text()
MAJOR, MINOR, PATCH = (int(re.search(rf"#define TAILOR_VERSION_{part} (\d+)", VERSION_H).group(1))
                       for part in ("MAJOR", "MINOR", "PATCH"))
ABI = re.search(r"#define TAILOR_ABI (\d+)", VERSION_H).group(1)
VERSION = f"{MAJOR}.{MINOR}.{PATCH}"


def output(*command, **environment):
    done = subprocess.run([str(word) for word in command], env={**os.environ, **environment}, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        raise AssertionError(f"{command} returned {done.returncode}: {done.stdout}")
    return done.stdout


def install(prefix, *components):
    for component in components:
        output(CMAKE, "--install", BUILD, "--prefix", prefix, "--component", component)


def dynamic(file):
    """The entries of the dynamic section: {"NEEDED": [...], "SONAME": [...], "RUNPATH": [...]}."""
    found = {}
    for kind, value in re.findall(r"\((\w+)\).*\[(.*)\]", output("readelf", "-dW", file)):
        found.setdefault(kind, []).append(value)
    return found


class InstallTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="tailor_install_"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        install(cls.folder / "installed", *COMPONENTS)
        cls.prefix = cls.folder / "moved" / "elsewhere"
        cls.prefix.parent.mkdir()
        os.rename(cls.folder / "installed", cls.prefix)
        cls.lib = cls.prefix / LIB
        cls.examples = cls.prefix / "share/doc/tailor-dev/examples"

    @functools.lru_cache
    def consumer(self):
        """The folder of the programs that CMake built with find_package."""
        folder = self.folder / "consumer"
        output(CMAKE, "-S", CONSUMER, "-B", folder, f"-DCMAKE_PREFIX_PATH={self.prefix}", f"-DEXAMPLES={self.examples}",
               f"-DCMAKE_C_COMPILER={CC}", f"-DONEDNN={'ON' if ONEDNN else 'OFF'}")
        output(CMAKE, "--build", folder)
        return folder

    def artifact(self):
        file = self.folder / "softmax.tlr"
        if not file.exists():
            text = output(self.consumer() / "compile_and_run", file)
            self.assertIn("B = 2: last row 0.250 0.250 0.250 0.250", text)
        return file

    def assert_runs(self, program, **environment):
        text = output(program, self.artifact(), 3, **environment)
        self.assertIn("input x [B, 4]\noutput y [B, 4]\n", re.sub(" +", " ", text))

    def flags(self, *arguments):
        return output("pkg-config", *arguments, PKG_CONFIG_PATH=str(self.lib / "pkgconfig")).split()

    def test_find_package(self):
        self.assert_runs(self.consumer() / "run_artifact")
        self.assertEqual(output(self.consumer() / "installed").split(),
                         [VERSION] + 2 * [str(MAJOR * 10000 + MINOR * 100 + PATCH)])
        self.assertEqual(dynamic(self.consumer() / "run_artifact")["NEEDED"][0], f"libtailor_runtime.so.{ABI}")
        self.assertTrue((self.consumer() / "compile_onnx").exists())

    @unittest.skipUnless(ONEDNN, "libtailor_onednn.so is not built")
    def test_the_provider(self):
        self.assertEqual(output(self.consumer() / "provider"), "oneDNN is a provider\n")
        self.assertEqual(dynamic(self.consumer() / "provider")["NEEDED"][0], f"libtailor_onednn.so.{ABI}")
        needed = dynamic(self.lib / f"libtailor_onednn.so.{ABI}")["NEEDED"]
        self.assertFalse([name for name in needed if "tailor" in name])

    def test_find_package_names_what_is_missing(self):
        prefix = self.folder / "dev"
        install(prefix, "dev")
        project = self.folder / "missing"
        project.mkdir()
        (project / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.16)\nproject(missing LANGUAGES C)\nfind_package(Tailor COMPONENTS onnx)\n"
            "message(\"found: ${Tailor_FOUND}; ${Tailor_NOT_FOUND_MESSAGE}\")\n")
        text = output(CMAKE, "-S", project, "-B", project / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
        self.assertRegex(text, r"found: (0|FALSE); .* has no libtailor_onnx.so.1")

    def test_pkg_config(self):
        self.assertEqual(self.flags("--modversion", "tailor-onnx"), [VERSION])
        program = self.folder / "by_pkg_config"
        output(CC, self.examples / "run_artifact.c", "-o", program, *self.flags("--cflags", "--libs", "tailor-runtime"))
        self.assert_runs(program, LD_LIBRARY_PATH=str(self.lib))
        output(CC, self.examples / "compile_onnx.c", "-o", self.folder / "onnx_by_pkg_config",
               *self.flags("--cflags", "--libs", "tailor-onnx", "tailor"))

    def test_the_static_runtime(self):
        program = self.folder / "static"
        output(CC, self.examples / "run_artifact.c", "-o", program,
               *self.flags("--cflags", "--libs", "tailor-runtime-static"))
        for static in (program, self.consumer() / "run_artifact_static"):
            self.assert_runs(static)
            self.assertFalse([name for name in dynamic(static)["NEEDED"] if "tailor" in name])

    def test_the_static_runtime_shows_its_header_alone(self):
        symbols = output("nm", "-g", "--defined-only", self.lib / "libtailor_runtime.a")
        shown = set(re.findall(r"^[0-9a-f]+ \w (\S+)$", symbols, re.M))
        header = (self.prefix / "include/tailor/runtime.h").read_text()
        self.assertEqual(shown, set(re.findall(r"TAILOR_API[^;{(]*?\b(tailor_\w+)\(", header)))

    def test_libraries_find_each_other(self):
        for library in LIBRARIES:
            entries = dynamic(self.lib / f"{library}.{ABI}")
            self.assertEqual(entries["SONAME"], [f"{library}.{ABI}"])
            self.assertEqual(entries["RUNPATH"], ["$ORIGIN"])
            self.assertEqual(os.readlink(self.lib / library), f"{library}.{ABI}")
            self.assertEqual(os.readlink(self.lib / f"{library}.{ABI}"), f"{library}.{ABI}.{VERSION}")

    def test_symbols_have_the_version_of_the_abi(self):
        for library in LIBRARIES:
            symbols = output("readelf", "--dyn-syms", "-W", self.lib / f"{library}.{ABI}")
            names = re.findall(r"FUNC +GLOBAL +DEFAULT +\d+ (tailor_\S+)", symbols)
            self.assertTrue(names)
            self.assertEqual([name for name in names if not name.endswith(f"@@TAILOR_{ABI}")], [], library)

    @unittest.skipUnless('VERSION_ID="12"' in pathlib.Path("/etc/os-release").read_text(), "wheels are made on Debian 12")
    def test_libraries_ask_for_no_newer_system_than_the_wheel_says(self):
        for library in IN_WHEELS:
            versions = output("readelf", "-VW", self.lib / f"{library}.{ABI}")
            self.assertLessEqual(max(map(int, re.findall(r"GLIBC_2\.(\d+)", versions))), 34, library)
            self.assertLessEqual(max(map(int, re.findall(r"GLIBCXX_3\.4\.(\d+)", versions))), 29, library)

    def test_the_runtime_alone_needs_no_compiler_of_tensors(self):
        folder = self.folder / "runtime_alone"
        output(CMAKE, "-S", ROOT, "-B", folder, "-G", "Ninja", "-DTAILOR_COMPILER=OFF", "-DCMAKE_DISABLE_FIND_PACKAGE_LLVM=ON",
               "-DCMAKE_DISABLE_FIND_PACKAGE_absl=ON", f"-DCMAKE_CXX_COMPILER={CXX}")
        steps = output("ninja", "-C", folder, "-t", "commands", "tailor_installed")
        self.assertIn("libtailor_runtime.so", steps)
        self.assertNotIn("tailor_graph", steps)

    def test_programs_find_the_libraries(self):
        self.assertRegex(output(self.prefix / "bin/tailor", "inspect", self.artifact()), r"x.*\[B, 4\]")
        for program in ("bin/tailor", "libexec/tailor/tailor-compile-worker"):
            self.assertNotIn("not found", output("ldd", self.prefix / program))
            self.assertRegex(dynamic(self.prefix / program)["RUNPATH"][0], r"^\$ORIGIN/[./]*lib[^:]*$")

    def test_no_file_names_the_build_folder(self):
        files = [path for path in self.prefix.rglob("*") if path.is_file() and path.suffix in (".cmake", ".pc")]
        self.assertGreater(len(files), 8)
        for path in files:
            for folder in (str(BUILD), str(ROOT)):
                self.assertNotIn(folder, path.read_text(), path)

    def test_each_component_alone(self):
        def name(library):
            return [f"{LIB}/{library}.{ABI}", f"{LIB}/{library}.{ABI}.{VERSION}"]

        package = ROOT / "bindings/python/tailor"
        wanted = {
            "python": ("python3-tailor", [f"lib/python3/dist-packages/tailor/{path.name}"
                                          for path in (*package.glob("*.py"), package / "py.typed")]),
            "runtime": ("tailor-runtime", name("libtailor_runtime.so")),
            "compiler": ("tailor", [*name("libtailor.so"), "libexec/tailor/tailor-compile-worker"]),
            "onnx": ("tailor-onnx", name("libtailor_onnx.so")),
            "cli": ("tailor-cli", ["bin/tailor", "share/man/man1/tailor.1", "share/bash-completion/completions/tailor",
                                   "share/zsh/site-functions/_tailor", "share/fish/vendor_completions.d/tailor.fish"]),
        }
        if ONEDNN:  # with what a build needs, so that the component dev needs no oneDNN
            kind = re.search(r"^CMAKE_BUILD_TYPE:STRING=(.*)$", (BUILD / "CMakeCache.txt").read_text(), re.M).group(1).lower()
            targets = [f"{LIB}/cmake/Tailor/Tailor_onednn{end}.cmake" for end in ("", f"-{kind}")]
            wanted["onednn"] = ("tailor-onednn", [*name("libtailor_onednn.so"), f"{LIB}/libtailor_onednn.so",
                                                  "include/tailor/onednn.h", *targets])
        for component, (documents, files) in wanted.items():
            prefix = self.folder / f"only_{component}"
            install(prefix, component)
            found = {str(path.relative_to(prefix)) for path in prefix.rglob("*") if not path.is_dir()}
            licenses = f"share/doc/{documents}"
            others = (f"{licenses}/licenses/", "share/man/man1/tailor-")  # of packages of this machine; of each command
            self.assertEqual({file for file in found if not file.startswith(others)}, {*files, f"{licenses}/copyright"})
        self.assert_runs(self.consumer() / "run_artifact", LD_LIBRARY_PATH=str(self.folder / "only_runtime" / LIB))

    def test_headers(self):
        folders = [ROOT / "api/include", ROOT / "bindings/onnx/include"]
        for folder in [*folders, ROOT / "bindings/onednn"] if ONEDNN else folders:
            for source in folder.glob("tailor/*.h*"):
                self.assertEqual((self.prefix / "include" / source.relative_to(folder)).read_bytes(), source.read_bytes())

    def test_headers_are_cxx_too(self):
        file = self.folder / "headers.cc"
        include = self.prefix / "include"
        headers = sorted(path.relative_to(include) for path in (include / "tailor").glob("*.h*"))
        file.write_text("".join(f"#include <{header}>\n" for header in headers))
        output(CXX, "-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{include}", file)


if __name__ == "__main__":
    unittest.main()
