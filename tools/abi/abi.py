"""The C ABI of the headers, and how it differs from the last release's.

    python3 tools/abi/abi.py renew     writes tools/abi/baseline; ./dev abi --renew
    python3 tools/abi/abi.py compare   prints the differences; ./dev abi

The ABI is read from the headers alone: a C file that defines every declared function is compiled with debug information
and read by abidw. So it depends neither on the machine nor on how the libraries are built; that they export exactly
these functions is tested elsewhere (tests/api). Integer macros, which debug information lacks, are compared as text.

docs/abi.md says which differences are compatible: new functions, macros, opaque structs, and fields at the end of structs
that begin with struct_size.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from xml.etree import ElementTree

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BASELINE = HERE / "baseline"
CC = os.environ.get("CC", "cc")
LIBRARIES = {"runtime": ["tailor/runtime.h"], "compiler": ["tailor/compiler.h", "tailor/ops.h"], "onnx": ["tailor/onnx.h"]}
INCLUDES = [ROOT / "api" / "include", ROOT / "bindings" / "onnx" / "include"]
FUNCTION = re.compile(r"TAILOR_API\s+([^;{()]*?)\s*\b(tailor_\w+)\((.*?)\);", re.S)
SHAPE = ["--no-architecture", "--no-corpus-path", "--no-comp-dir-path", "--no-show-locs", "--no-elf-needed",
         "--no-parameter-names", "--no-write-default-sizes", "--type-id-style", "hash"]


def run(*command, accept=(0,), cwd=None):
    done = subprocess.run([str(word) for word in command], cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True)
    if done.returncode not in accept:
        raise RuntimeError(f"{command[0]} returned {done.returncode}: {done.stdout}")
    return done


def without_comments(text):
    return re.sub(r"/\*.*?\*/", " ", text, flags=re.S)


def find(header, includes):
    return next(folder / header for folder in includes if (folder / header).exists())


def definitions(headers, includes):
    """A C file that defines every function that the headers declare."""
    lines = [f'#include "{header}"' for header in headers]
    for header in headers:
        for result, name, parameters in FUNCTION.findall(without_comments(find(header, includes).read_text())):
            body = "" if result == "void" else f"static {result} zero; return zero;"
            lines.append(f"{result} {name}({' '.join(parameters.split())}) {{ {body} }}")
    return "\n".join(lines) + "\n"


def library(name, folder, includes=INCLUDES):
    """A shared library with the functions of one library's headers."""
    (folder / f"{name}.c").write_text(definitions(LIBRARIES[name], includes))
    run(CC, "-std=c99", "-g", "-O0", "-w", "-shared", "-fPIC", *[f"-I{path}" for path in includes], f"{name}.c",
        "-o", f"lib{name}.so", cwd=folder)  # the baseline has the name of the source, without a folder
    return folder / f"lib{name}.so"


def describe(name, out, folder, includes=INCLUDES):
    run("abidw", *SHAPE, "--out-file", out, library(name, folder, includes))


def constants(includes=INCLUDES):
    """The integer macros of all headers: {"TAILOR_F32": "12", ...}."""
    names = {}
    for header in sorted({header for headers in LIBRARIES.values() for header in headers}):
        text = without_comments(find(header, includes).read_text())
        names.update(re.findall(r"^#define (TAILOR_\w+) +(.*\S)\s*$", text, re.M))
    return {name: value for name, value in names.items() if name != "TAILOR_API"}


def constants_text(values):
    return "".join(f"{name} {value}\n" for name, value in sorted(values.items()))


def growing_structs(includes=INCLUDES):
    """The structs that begin with struct_size: they may grow at the end."""
    return sorted({name for headers in LIBRARIES.values() for header in headers for name in re.findall(
        r"typedef struct (tailor_\w+) \{\s*uint64_t struct_size;", without_comments(find(header, includes).read_text()))})


def structs(root):
    """The structs of an abidw description: {name: element}."""
    return {struct.get("name"): struct for struct in root.iter("class-decl") if struct.get("size-in-bits")}


def without_growth(description, includes):
    """A description without the fields that its structs have beyond those of the baseline, where they may grow."""
    baseline = {name: struct for file in BASELINE.glob("*.abi") for name, struct in structs(ElementTree.parse(file)).items()}
    growing = set(growing_structs(includes))
    tree = ElementTree.parse(description)
    for name, struct in structs(tree).items():
        before = baseline.get(name)
        if before is None or name not in growing:
            continue
        size = int(before.get("size-in-bits"))
        added = [field for field in struct.findall("data-member") if int(field.get("layout-offset-in-bits")) >= size]
        for field in added:
            struct.remove(field)
        if added:
            struct.set("size-in-bits", str(size))
    tree.write(description)


def renew():
    BASELINE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for name in LIBRARIES:
            describe(name, BASELINE / f"{name}.abi", pathlib.Path(folder))
    (BASELINE / "constants").write_text(constants_text(constants()))


def differences(includes=INCLUDES, libraries=tuple(LIBRARIES)):
    """The incompatible differences of these headers from the baseline, as text; "" if there are none."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for name in libraries:
            description = pathlib.Path(folder) / f"{name}.abi"
            describe(name, description, pathlib.Path(folder), includes)
            without_growth(description, includes)
            done = run("abidiff", "--leaf-changes-only", "--no-added-syms", BASELINE / f"{name}.abi", description,
                       accept=(0, 4, 8, 12))
            if done.returncode != 0:
                found.append(f"{name}:\n{done.stdout}")
    now = constants(includes)
    for line in (BASELINE / "constants").read_text().splitlines():
        name, value = line.split(" ", 1)
        if now.get(name) != value:
            found.append(f"{name} was {value}, and is {now.get(name, 'gone')}\n")
    return "\n".join(found)


def main():
    if sys.argv[1:] == ["renew"]:
        return renew()
    if sys.argv[1:] != ["compare"]:
        sys.exit(__doc__)
    found = differences()
    print(found or "compatible with tools/abi/baseline")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
