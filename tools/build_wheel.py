"""Writes the wheels of Tailor from a folder of built libraries.

    tools/build_wheel.py --libraries build/lib --platform linux_x86_64 --out dist

tailor_runtime: the Python package and libtailor_runtime, to run artifacts. tailor: libtailor, libtailor_onnx and the
worker of isolated compilations, placed in the same package; it requires tailor_runtime of the same version. The same
files give the same bytes."""
from __future__ import annotations

import argparse
import base64
import ctypes
import hashlib
import pathlib
import subprocess
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "bindings" / "python" / "tailor"
PYTHON = ">=3.9"
TIME = (1980, 1, 1, 0, 0, 0)  # the first that a zip file can hold

RUNTIME_LIBRARIES, COMPILER_LIBRARIES = ["tailor_runtime"], ["tailor", "tailor_onnx"]

RUNTIME_TEXT = """\
Loads and runs artifacts of the tensor compiler Tailor: `tailor.load("model.tlr").run(x)`. One library without a compiler; numpy is
the only dependency. Building and compiling graphs needs the package `tailor`.
"""
COMPILER_TEXT = """\
Tailor compiles tensor graphs over symbolic shapes once, and runs them at every shape.

    import numpy as np
    import tailor

    batch = tailor.symbol("batch", max=512)
    graph = tailor.Graph("scale")
    x = graph.input("x", "f32", [batch, 4])
    graph.output("y", (x * 2.0).softmax(-1))
    executable = graph.compile()
    y, = executable.run(np.ones((3, 4), np.float32))
    executable.save("scale.tlr")

Models in ONNX files: `tailor.onnx.load("model.onnx").compile()`, or `tailor compile model.onnx -o model.tlr`.
"""


class Wheel:
    """The files of a wheel, by path."""

    def __init__(self, name: str, version: str, platform: str, summary: str, text: str, requires: list[str]) -> None:
        self.file_name = f"{name}-{version}-py3-none-{platform}.whl"
        self._info = f"{name}-{version}.dist-info"
        self._files: dict[str, tuple[bytes, bool]] = {}
        fields = [("Metadata-Version", "2.4"), ("Name", name.replace("_", "-")), ("Version", version), ("Summary", summary),
                  ("License-Expression", "Apache-2.0"), ("License-File", "LICENSE"), ("Requires-Python", PYTHON),
                  ("Classifier", "Operating System :: POSIX :: Linux"),
                  ("Classifier", "Programming Language :: Python :: 3"), ("Classifier", "Typing :: Typed"),
                  *(("Requires-Dist", requirement) for requirement in requires),
                  ("Description-Content-Type", "text/markdown")]
        self.add_info("METADATA", "".join(f"{field}: {value}\n" for field, value in fields) + "\n" + text)
        self.add_info("WHEEL", f"Wheel-Version: 1.0\nGenerator: tailor/tools/build_wheel.py\nRoot-Is-Purelib: false\n"
                               f"Tag: py3-none-{platform}\n")
        self.add_info("licenses/LICENSE", (ROOT / "LICENSE").read_text())

    def add(self, path: str, source: pathlib.Path, executable: bool = False) -> None:
        """Adds a file."""
        self._files[path] = source.read_bytes(), executable

    def add_info(self, name: str, text: str) -> None:
        """Adds a file of the dist-info folder."""
        self._files[f"{self._info}/{name}"] = text.encode(), False

    def write(self, folder: pathlib.Path) -> pathlib.Path:
        """Writes the wheel; RECORD, which lists the others, comes last."""
        record = []
        for path, (data, _) in sorted(self._files.items()):
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{path},sha256={digest},{len(data)}\n")
        record.append(f"{self._info}/RECORD,,\n")
        target = folder / self.file_name
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
            entries = sorted(self._files.items(), key=lambda item: (item[0].startswith(self._info), item[0]))
            for path, (data, executable) in [*entries, (f"{self._info}/RECORD", ("".join(record).encode(), False))]:
                entry = zipfile.ZipInfo(path, TIME)
                entry.compress_type = zipfile.ZIP_DEFLATED
                entry.external_attr = (0o100755 if executable else 0o100644) << 16
                archive.writestr(entry, data)
        return target


def soname(library: pathlib.Path) -> str:
    """The name by which other libraries need this one."""
    listed = subprocess.run(["readelf", "-d", str(library)], check=True, capture_output=True, text=True).stdout
    for line in listed.splitlines():
        if "(SONAME)" in line:
            return line.rpartition("[")[2].rstrip("]")
    return library.name


def find_library(folder: pathlib.Path, name: str) -> pathlib.Path:
    """libNAME.so, or where only programs are meant to run, libNAME.so.1."""
    for library in [folder / f"lib{name}.so", *sorted(folder.glob(f"lib{name}.so.*"))]:
        if library.exists():
            return library
    raise SystemExit(f"{folder / f'lib{name}.so'} does not exist: build the libraries first")


def add_libraries(wheel: Wheel, folder: pathlib.Path, names: list[str]) -> None:
    """Adds libraries to the package's lib folder, under their SONAMEs."""
    for name in names:
        library = find_library(folder, name)
        wheel.add(f"tailor/lib/{soname(library)}", library, True)


def runtime_wheel(options: argparse.Namespace) -> Wheel:
    """The package and what running needs."""
    wheel = Wheel("tailor_runtime", options.version, options.platform, "Runs artifacts of the tensor compiler Tailor",
                  RUNTIME_TEXT, ["numpy>=1.21"])
    for source in sorted([*PACKAGE.glob("*.py"), PACKAGE / "py.typed"]):
        wheel.add(f"tailor/{source.name}", source)
    add_libraries(wheel, options.libraries, RUNTIME_LIBRARIES)
    return wheel


def compiler_wheel(options: argparse.Namespace) -> Wheel:
    """The libraries that build and compile graphs."""
    wheel = Wheel("tailor", options.version, options.platform, "Tensor compiler for symbolic shapes", COMPILER_TEXT,
                  [f"tailor-runtime=={options.version}"])
    add_libraries(wheel, options.libraries, COMPILER_LIBRARIES)
    worker = options.worker or options.libraries.parent / "libexec" / "tailor" / "tailor-compile-worker"
    if not worker.exists():
        raise SystemExit(f"{worker} does not exist: --worker names it")
    wheel.add("tailor/libexec/tailor/tailor-compile-worker", worker, True)
    wheel.add_info("entry_points.txt", "[console_scripts]\ntailor = tailor.__main__:main\n")
    return wheel


def library_version(folder: pathlib.Path) -> str:
    """The version that the runtime library states."""
    library = ctypes.CDLL(str(find_library(folder, "tailor_runtime")))
    library.tailor_version.restype = ctypes.c_char_p
    version: bytes = library.tailor_version()
    return version.decode()


def main() -> None:
    """Writes the wheels and prints their paths."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--libraries", type=pathlib.Path, required=True, help="the folder with the libraries")
    arguments.add_argument("--kind", choices=["runtime", "compiler", "both"], default="both")
    arguments.add_argument("--platform", default="linux_x86_64", help="the platform tag, as auditwheel names it")
    arguments.add_argument("--version", help="default: that of the runtime library, which is then loaded")
    arguments.add_argument("--worker", type=pathlib.Path, help="default: ../libexec/tailor/tailor-compile-worker")
    arguments.add_argument("--out", type=pathlib.Path, default=pathlib.Path("dist"))
    options = arguments.parse_args()
    options.libraries = options.libraries.resolve()
    options.version = options.version or library_version(options.libraries)
    options.out.mkdir(parents=True, exist_ok=True)
    if options.kind in ("runtime", "both"):
        print(runtime_wheel(options).write(options.out))
    if options.kind in ("compiler", "both"):
        print(compiler_wheel(options).write(options.out))


if __name__ == "__main__":
    main()
