"""The headers are compatible with the last release's (tools/abi/baseline), and incompatible changes would be seen."""
import pathlib
import shutil
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "abi"))
import abi


class Headers:
    """A copy of the headers, in which one text is replaced."""

    def __init__(self, folder, header, old, new):
        for source in abi.INCLUDES:
            shutil.copytree(source, folder, dirs_exist_ok=True)
        path = folder / "tailor" / header
        text = path.read_text()
        if text.count(old) != 1:
            raise ValueError(f"{header} has {text.count(old)} of: {old}")
        path.write_text(text.replace(old, new))


class AbiTest(unittest.TestCase):
    def differences(self, header, old, new):
        with tempfile.TemporaryDirectory() as folder:
            Headers(pathlib.Path(folder), header, old, new)
            return abi.differences([pathlib.Path(folder)], [pathlib.Path(header).stem])

    def test_compatible_with_the_last_release(self):
        found = abi.differences()
        self.assertEqual(found, "", "undo the change, or raise TAILOR_ABI and run ./dev abi --renew: docs/abi.md\n" + found)

    def test_structs_that_grow_are_those_with_a_size(self):
        growing = abi.growing_structs()
        self.assertIn("tailor_compile_options", growing)
        self.assertNotIn("tailor_custom_result", growing)

    def test_a_removed_function_is_seen(self):
        self.assertIn("tailor_graph_output_count", self.differences(
            "compiler.h", "TAILOR_API size_t tailor_graph_output_count(const tailor_graph* graph);", ""))

    def test_a_changed_parameter_is_seen(self):
        self.assertIn("tailor_runtime_device_count", self.differences(
            "runtime.h", "tailor_runtime_device_count(const tailor_runtime* runtime)",
            "tailor_runtime_device_count(int64_t runtime)"))

    def test_a_field_within_a_struct_is_seen(self):
        self.assertIn("tailor_symbol_info", self.differences(
            "runtime.h", "  int64_t min, max, multiple_of;\n} tailor_symbol_info;",
            "  int64_t likely;\n  int64_t min, max, multiple_of;\n} tailor_symbol_info;"))

    def test_a_frozen_struct_that_grows_is_seen(self):
        self.assertIn("tailor_onnx_symbol", self.differences(
            "onnx.h", "  size_t likely_count;\n} tailor_onnx_symbol;",
            "  size_t likely_count;\n  int64_t step;\n} tailor_onnx_symbol;"))

    def test_growth_hides_no_other_change(self):
        old = "  int64_t min, max, multiple_of;\n} tailor_symbol_info;"
        for new in ("int32_t min; int64_t max, multiple_of, more;", "int64_t min, multiple_of, max, more;",
                    "void* min; int64_t max, multiple_of, more;", "int64_t more, min, max, multiple_of;"):
            self.assertIn("tailor_symbol_info", self.differences("runtime.h", old, f"  {new}\n}} tailor_symbol_info;"), new)

    def test_a_changed_constant_is_seen(self):
        self.assertEqual(self.differences("runtime.h", "#define TAILOR_F64 13", "#define TAILOR_F64 14"),
                         "TAILOR_F64 was 13, and is 14\n")

    def test_growth_is_compatible(self):
        self.assertEqual(self.differences(
            "runtime.h", "  int64_t min, max, multiple_of;\n} tailor_symbol_info;",
            "  int64_t min, max, multiple_of;\n  int64_t likely;\n} tailor_symbol_info;\n#define TAILOR_NEW 1\n"
            "TAILOR_API int32_t tailor_new_function(const tailor_symbol_info* info);\n"), "")


if __name__ == "__main__":
    unittest.main()
