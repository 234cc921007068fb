"""Files that cannot read the version from api/include/tailor/version.h state the same one."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADER = (ROOT / "api/include/tailor/version.h").read_text()
VERSION = ".".join(re.search(rf"#define TAILOR_VERSION_{part} (\d+)", HEADER).group(1)
                   for part in ("MAJOR", "MINOR", "PATCH"))
STATED = (  # file, how it states the version
    ("bindings/rust/tailor-sys/Cargo.toml", r'^version = "(.*)"$'),
    ("bindings/rust/tailor/Cargo.toml", r'^version = "(.*)"$'),
    ("bindings/rust/tailor/Cargo.toml", r'^tailor-sys = .* version = "=(.*)"'),
    ("examples/hosts/go/go.mod", r"tailor\.internal/tailor v(\S+)"),
    ("examples/service/go.mod", r"tailor\.internal/tailor v(\S+)"),
    ("docs/hosts/README.md", r"is the library's version, `(.*?)`"),
    ("docs/hosts/go.md", r"go get tailor\.internal/tailor@v(\S+)"),
    ("docs/hosts/go.md", r"go_proxy\.py --version (\S+)"),
    ("docs/hosts/go.md", r"tailor-go-(\S+)\.tar\.gz"),
    ("docs/deployment.md", r"tailor-go-(\S+)\.tar\.gz"),
    ("docs/hosts/rust.md", r"`tailor-sys-(\S+)\.crate`"),
    ("docs/hosts/rust.md", r"`tailor-([0-9.]+)\.crate`"),
    ("docs/quick-start/go.md", r"tailor\.internal/tailor v(\S+)"),
)


class VersionTest(unittest.TestCase):
    def test_files_state_the_version(self):
        for path, pattern in STATED:
            with self.subTest(path, pattern=pattern):
                self.assertEqual(re.findall(pattern, (ROOT / path).read_text(), re.M), [VERSION])

    def test_exports_have_the_abi_of_the_header(self):
        abi = re.search(r"#define TAILOR_ABI (\d+)", HEADER).group(1)
        maps = sorted([*(ROOT / "api").glob("*.map"), *(ROOT / "bindings").glob("*/exports.map")])
        self.assertGreaterEqual(len(maps), 4)
        for path in maps:
            self.assertTrue(path.read_text().startswith(f"TAILOR_{abi} {{"), path)


if __name__ == "__main__":
    unittest.main()
