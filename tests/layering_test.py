"""The rooms of the source tree: what each may include, that they have no cycle, and that contracts are plain data."""
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[1]
CONTRACTS = {"codegen/contract/program.h", "codegen/contract/tensor_map.h", "codegen/contract/cost_profile.h",
             "codegen/contract/panels.h", "exec/host_abi.h", "exec/failure.h", "graph/dtype.h", "graph/native.h"}
BELOW_CODEGEN = {"graph", "analysis", "fusion"}
SCALAR = {"codegen/plan", "codegen/plan/idioms", "codegen/ir", "codegen/scalar"}  # what emitters of kernels stand on
CPU_GEMM = SCALAR | {"codegen/contract", "codegen/cpu/tiling"}
CUDA_FRAME = SCALAR | {"codegen/contract", "codegen/cuda/device_ir", "codegen/cuda/schedule", "codegen/cuda/frame"}
BACKEND = {"codegen/contract", "codegen/plan", "codegen/lower", "codegen/host", "codegen/host/emit", "codegen/ir",
           "codegen/link", "fusion", "graph"}
# A room is a folder; its sources may include their own room's headers, contracts, and those of the rooms named here.
# codegen/CMakeLists.txt links the same rooms.
ROOMS = {
    "graph": set(),
    "analysis": {"graph"},
    "fusion": {"analysis", "graph"},
    "codegen/contract": set(),
    "codegen/jobs": {"graph"},
    "codegen/plan": {"codegen/contract"} | BELOW_CODEGEN,
    "codegen/plan/idioms": {"codegen/plan", "graph"},
    "codegen/host": {"codegen/plan", "analysis", "graph"},
    "codegen/lower": {"codegen/contract", "codegen/plan", "codegen/plan/idioms", "codegen/host", "codegen/jobs"} | BELOW_CODEGEN,
    "codegen/ir": {"fusion", "graph"},
    "codegen/math": {"codegen/ir"},
    "codegen/scalar": {"codegen/math", "graph"} | SCALAR,
    "codegen/link": {"codegen/ir", "fusion"},
    "codegen/cpu/loops": SCALAR,
    "codegen/cpu/tiling": {"codegen/contract", "codegen/plan", "fusion"},
    "codegen/cpu/gemm": CPU_GEMM | {"graph"},
    "codegen/cpu/prebuilt/list": {"codegen/cpu/gemm", "codegen/cpu/tiling", "codegen/link"},
    "codegen/cpu/prebuilt/build": {"codegen/cpu/prebuilt/list", "codegen/cpu/gemm", "codegen/ir", "codegen/link", "graph"},
    "codegen/cpu/prebuilt": {"codegen/cpu/gemm", "codegen/link"},
    "codegen/cpu/conv": CPU_GEMM | {"codegen/cpu/gemm", "graph"},
    "codegen/cpu/chain": CPU_GEMM | {"codegen/cpu/loops", "codegen/cpu/gemm", "graph"},
    "codegen/cpu/schedule": CPU_GEMM | {"codegen/cpu/loops", "codegen/cpu/gemm", "codegen/cpu/conv", "fusion"},
    "codegen/cpu": SCALAR | {"codegen/cpu/loops", "codegen/cpu/gemm", "codegen/cpu/conv", "codegen/cpu/chain",
                             "codegen/cpu/schedule", "fusion", "graph"},
    "codegen/cuda/device_ir": {"codegen/ir"},
    "codegen/cuda/ptx": {"codegen/contract", "codegen/ir", "codegen/cuda/device_ir", "fusion", "graph"},
    "codegen/cuda/schedule": {"codegen/contract", "codegen/plan", "codegen/plan/idioms", "fusion", "graph"},
    "codegen/cuda/frame": CUDA_FRAME,
    "codegen/cuda/loops": CUDA_FRAME,
    "codegen/cuda/gemm": CUDA_FRAME | {"graph"},
    "codegen/cuda/attention": CUDA_FRAME,
    "codegen/cuda": CUDA_FRAME | {"codegen/cuda/ptx", "codegen/cuda/loops", "codegen/cuda/gemm",
                                  "codegen/cuda/attention", "fusion", "graph"},
    "codegen/host/emit": {"codegen/contract", "codegen/plan", "codegen/host", "codegen/cpu/tiling", "codegen/link", "graph"},
    "codegen/backend": BACKEND,
    "codegen/cpu/backend": BACKEND | {"codegen/backend", "codegen/cpu", "codegen/cpu/prebuilt", "codegen/scalar"},
    "codegen/cuda/backend": BACKEND | {"codegen/backend", "codegen/cuda", "codegen/cuda/ptx", "codegen/cuda/schedule"},
    "codegen/driver": {"codegen/contract", "codegen/plan", "codegen/jobs", "codegen/lower", "codegen/host", "codegen/link",
                       "codegen/backend", "codegen/cpu/backend", "codegen/cuda/backend", "fusion", "graph"},
    "exec": {"codegen/contract"},
    "exec/cuda": {"codegen/contract", "exec"},
    "serialization": {"codegen/contract"},
}
# Above them: folders in this order, each with what lies in it; a folder includes none that comes after it. Bindings
# stand on the C headers: of the compiler they include the contracts alone.
ABOVE = ("api", "bindings", "tools", "bench", "tests")
FOREIGN = {  # folder -> libraries that none of its rooms may include
    "graph": ("llvm/",), "analysis": ("llvm/",), "fusion": ("llvm/",), "codegen/jobs": ("llvm/",), "codegen/plan": ("llvm/",),
    "codegen/lower": ("llvm/",), "codegen/cuda/schedule": ("llvm/",),
    "codegen/contract": ("llvm/", "absl/"), "exec": ("llvm/", "absl/"), "serialization": ("llvm/", "absl/"),
}
MOST_SOURCES = 40
INCLUDE = re.compile(r'^\s*#include\s+[<"]([^">]+)[">]', re.MULTILINE)
NAMESPACE = re.compile(r"^namespace ([\w:]+) \{$")
END_OF_NAMESPACE = re.compile(r"^\}  // namespace ([\w:]+)$")
TYPE = re.compile(r"^(?:struct|class|union|enum class|enum) (?:alignas\(\w+\) )?(\w+)[^;]*\{|^using (\w+) =")
TOPS = {*(room.split("/")[0] for room in ROOMS), *ABOVE}


def files():
    """{path from the root: what it includes} of all C++ sources."""
    return {str(path.relative_to(ROOT)): INCLUDE.findall(path.read_text())
            for top in sorted(TOPS) for path in (ROOT / top).rglob("*") if path.suffix in (".h", ".cc")}


def folder_of(path):
    return str(pathlib.PurePosixPath(path).parent)


def ours(name):
    return name.split("/")[0] in TOPS and "/" in name and not name.endswith("_generated.h")


def wrong_includes(sources):
    """Includes that a room may not have, as text."""
    found = []
    for path, names in sources.items():
        room, top = folder_of(path), path.split("/")[0]
        if top not in ABOVE and room not in ROOMS:
            found.append(f"{path} is in no room")
            continue
        for name in filter(ours, names):
            of = folder_of(name)
            if name in CONTRACTS or of == room:
                continue
            if top in ABOVE:
                other = name.split("/")[0]
                if (other in ABOVE and ABOVE.index(other) > ABOVE.index(top)) or (top == "bindings" and other != top):
                    found.append(f"{path} includes {name}")
            elif of not in ROOMS[room]:
                found.append(f"{path} includes {name}")
    return found


def cycles(sources):
    """Rooms that include one another, as text; "" where there are none. api/ and what lies in it are one room."""
    edges = {}
    for path, names in sources.items():
        room = "api" if path.startswith("api/") else folder_of(path)
        for name in filter(ours, names):
            of = "api" if name.startswith("api/") else folder_of(name)
            if of != room and name not in CONTRACTS:
                edges.setdefault(room, set()).add(of)
    done, path = set(), []

    def visit(room):
        if room in path:
            return " -> ".join([*path[path.index(room):], room])
        if room in done:
            return ""
        path.append(room)
        for other in sorted(edges.get(room, ())):
            if text := visit(other):
                return text
        path.pop()
        done.add(room)
        return ""

    for room in sorted(edges):
        if text := visit(room):
            return text
    return ""


def hidden_types(headers):
    """Types of a namespace that hide one of a namespace around it, as text. What an unqualified name then means depends
    on which headers come first, so that two translation units may disagree about a struct's members.
    `headers`: {path: text}."""
    paths = {}  # by namespace and type
    for path, text in headers.items():
        spaces = []
        for line in text.splitlines():
            if opened := NAMESPACE.match(line):
                spaces += opened[1].split("::")
            elif closed := END_OF_NAMESPACE.match(line):
                del spaces[len(spaces) - len(closed[1].split("::")):]
            elif (defined := TYPE.match(line)) and spaces:
                paths[tuple(spaces), defined[1] or defined[2]] = path
    found = []
    for (space, name), path in sorted(paths.items()):
        for outer in range(1, len(space)):
            if other := paths.get((space[:outer], name)):
                found.append(f"{'::'.join(space)}::{name} ({path}) hides {'::'.join(space[:outer])}::{name} ({other})")
    return found


def headers():
    """Those of the compiler and the runtime: bindings include no other types than the contracts'."""
    return {path: (ROOT / path).read_text() for path in files() if path.endswith(".h") and not path.startswith("bindings/")}


class Layering(unittest.TestCase):
    def test_rooms_include_what_they_may(self):
        self.assertEqual(wrong_includes(files()), [])

    def test_no_rooms_include_each_other(self):
        self.assertEqual(cycles(files()), "")

    def test_what_is_planted_is_found(self):
        planted = files()
        planted["codegen/ir/emit_loop.h"].append("codegen/cpu/loops/stage_loops.h")
        self.assertEqual(wrong_includes(planted), ["codegen/ir/emit_loop.h includes codegen/cpu/loops/stage_loops.h"])
        self.assertIn("codegen/ir", cycles(planted))
        planted = files()
        planted["bindings/frontend/dims.h"].append("graph/dim_expr.h")
        self.assertEqual(wrong_includes(planted), ["bindings/frontend/dims.h includes graph/dim_expr.h"])
        planted = files()
        planted["tests/support/levels.h"].append("tests/codegen/link/ir_image.h")
        self.assertEqual(cycles(planted), "tests/support -> tests/codegen/link -> tests/support")

    def test_rooms_link_what_they_include(self):
        text = (ROOT / "codegen" / "CMakeLists.txt").read_text()
        links = {}
        for folder, rest in re.findall(r"^tailor_(?:compiler_)?room\(([\w/]+)([^)]*)\)", text, re.MULTILINE):
            links["codegen/" + folder] = {"_".join(name.split("_")[1:]) for name in re.findall(r"tailor_\w+", rest)}
        self.assertEqual(set(links), {room for room in ROOMS if room.startswith("codegen/")})
        by_name = {room.replace("/", "_"): room for room in links}

        def reach(room, seen):
            for name in links.get(room, ()):
                other = by_name.get(name, name)
                if other not in seen:
                    seen.add(other)
                    reach(other, seen)
                    if other == "fusion":
                        seen.update({"analysis", "graph"})
                    elif other == "analysis":
                        seen.add("graph")
            return seen

        # Of these some headers are used that need no library: plain structs of fusion/.
        for path, names in files().items():
            room = folder_of(path)
            for name in filter(ours, names) if room in links else ():
                of = folder_of(name)
                if of not in (room, "fusion") and name not in CONTRACTS:
                    self.assertIn(of, reach(room, set()), f"{path} includes {name}")

    def test_no_type_hides_another(self):
        self.assertEqual(hidden_types(headers()), [])
        planted = headers()
        planted["exec/cuda/types.h"] = "namespace tailor::cuda {\nstruct alignas(128) TensorMap {\n};\n}  // namespace tailor::cuda\n"
        self.assertEqual(hidden_types(planted), ["tailor::cuda::TensorMap (exec/cuda/types.h) hides tailor::TensorMap "
                                                 "(codegen/contract/tensor_map.h)"])

    def test_rooms_are_no_halls(self):
        for room in ROOMS:
            sources = list((ROOT / room).glob("*.cc"))
            self.assertLessEqual(len(sources), MOST_SOURCES, room)
            self.assertTrue(sources, room)

    def test_folders_use_no_foreign_libraries(self):
        for path, names in files().items():
            for folder, banned in FOREIGN.items():
                if path.startswith(folder + "/"):
                    for name in names:
                        self.assertFalse(name.startswith(banned), f"{path} includes {name}")

    def test_contracts_are_plain_data(self):
        for contract in CONTRACTS:
            for name in INCLUDE.findall((ROOT / contract).read_text()):
                self.assertTrue(name in CONTRACTS or "/" not in name, f"{contract} includes {name}")

    def test_no_op_kind_reaches_the_runtime(self):
        for path in files():
            if path.startswith(("exec/", "serialization/")):
                self.assertNotIn("OpKind", (ROOT / path).read_text(), path)

    @unittest.skipUnless((ROOT / ".git").exists(), "a source archive, without git")
    def test_links_lead_into_the_tree(self):
        for path in subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\n"):
            link = ROOT / path
            self.assertTrue(not link.is_symlink() or (link.exists() and link.resolve().is_relative_to(ROOT)), path)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
