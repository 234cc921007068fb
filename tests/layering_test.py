"""The folders' layering: each may include only what lies below it; the contracts hold plain data."""
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[1]
CONTRACTS = {"codegen/program.h", "codegen/tensor_map.h", "codegen/gemm/cost_profile.h", "exec/host_abi.h",
             "exec/failure.h", "graph/dtype.h"}
ALLOWED = {
    "graph": {"graph"},
    "analysis": {"analysis", "graph"},
    "fusion": {"fusion", "analysis", "graph"},
    "codegen": {"codegen", "fusion", "analysis", "graph"},
    "exec": {"exec"},
    "serialization": {"serialization"},
}
FOREIGN = {  # folder or file -> system includes that it may not have
    "graph": ("llvm/",), "analysis": ("llvm/",), "fusion": ("llvm/",),
    "exec": ("llvm/", "absl/"), "serialization": ("llvm/", "absl/"),
}
INCLUDE = re.compile(r'^\s*#include\s+[<"]([^">]+)[">]', re.MULTILINE)


def includes(path):
    return INCLUDE.findall(path.read_text())


def sources(folder):
    found = [p for p in (ROOT / folder).rglob("*") if p.suffix in (".h", ".cc")]
    assert found, f"{folder} has no sources"
    return found


class Layering(unittest.TestCase):
    def test_folders_include_downwards(self):
        for folder, allowed in ALLOWED.items():
            for path in sources(folder):
                for name in includes(path):
                    top = name.split("/")[0]
                    if top not in {*ALLOWED, "api", "bindings", "tests", "tools", "bench"} or name in CONTRACTS:
                        continue
                    generated = name.endswith("_generated.h")
                    self.assertTrue(top in allowed or generated, f"{path.relative_to(ROOT)} includes {name}")

    def test_folders_use_no_foreign_libraries(self):
        for folder, banned in FOREIGN.items():
            for path in sources(folder):
                for name in includes(path):
                    self.assertFalse(name.startswith(banned), f"{path.relative_to(ROOT)} includes {name}")

    def test_contracts_are_plain_data(self):
        for contract in CONTRACTS:
            for name in includes(ROOT / contract):
                self.assertTrue(name in CONTRACTS or "/" not in name, f"{contract} includes {name}")

    def test_no_op_kind_reaches_the_runtime(self):
        for folder in ("exec", "serialization"):
            for path in sources(folder):
                self.assertNotIn("OpKind", path.read_text(), path)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
