"""Files that cannot read the version from api/include/tailor/version.h state the same one."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADER = (ROOT / "api/include/tailor/version.h").read_text()
VERSION = ".".join(re.search(rf"#define TAILOR_VERSION_{part} (\d+)", HEADER).group(1)
                   for part in ("MAJOR", "MINOR", "PATCH"))
STATED = re.compile(r'^version = "(.*)"$', re.M)


class VersionTest(unittest.TestCase):
    def test_crates_and_python_packages(self):
        files = [path for name in ("Cargo.toml", "pyproject.toml") for path in sorted((ROOT / "bindings").rglob(name))]
        self.assertTrue(files)
        for path in files:
            stated = STATED.search(path.read_text())
            if stated is not None:
                self.assertEqual(stated.group(1), VERSION, path)

    def test_exports_have_the_abi_of_the_header(self):
        abi = re.search(r"#define TAILOR_ABI (\d+)", HEADER).group(1)
        maps = sorted([*(ROOT / "api").glob("*.map"), *(ROOT / "bindings").glob("*/exports.map")])
        self.assertGreaterEqual(len(maps), 4)
        for path in maps:
            self.assertTrue(path.read_text().startswith(f"TAILOR_{abi} {{"), path)


if __name__ == "__main__":
    unittest.main()
