"""The list of contents beside a package: files, what is inside, what it depends on; the same bytes each time."""
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools/package/sbom.py"
CONTROL = """Package: tailor-runtime
Version: 0.1.0-1~deb12
Architecture: amd64
Maintainer: nobody <nobody@tailor.invalid>
Depends: libc6 (>= 2.34), libstdc++6 (>= 11)
Description: a package of the test
"""


class SbomTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        (folder / "root/DEBIAN").mkdir(parents=True)
        (folder / "root/DEBIAN/control").write_text(CONTROL)
        (folder / "root/usr/lib").mkdir(parents=True)
        for name in ("a_b", "a-b"):
            (folder / "root/usr/lib" / name).write_text(name)
        package = folder / "tailor-runtime_0.1.0.deb"
        subprocess.run(["dpkg-deb", "--build", "--root-owner-group", folder / "root", package], check=True,
                       stdout=subprocess.DEVNULL)
        cls.texts = []
        for _ in range(2):
            subprocess.run([sys.executable, "-B", SCRIPT, package], check=True, env={**os.environ, "SOURCE_DATE_EPOCH": "86400"})
            cls.texts.append((folder / "tailor-runtime_0.1.0.deb.spdx.json").read_text())
        cls.document = json.loads(cls.texts[0])
        cls.folder = folder

    def test_the_same_bytes(self):
        self.assertEqual(self.texts[0], self.texts[1])
        self.assertEqual(self.document["creationInfo"]["created"], "1970-01-02T00:00:00Z")

    def test_files_have_names_and_hashes_of_their_own(self):
        files = {file["fileName"]: file for file in self.document["files"]}
        self.assertEqual(sorted(files), ["./usr/lib/a-b", "./usr/lib/a_b"])
        self.assertEqual(len({file["SPDXID"] for file in files.values()}), 2)
        self.assertEqual(files["./usr/lib/a_b"]["checksums"][1]["checksumValue"], hashlib.sha256(b"a_b").hexdigest())

    def test_what_is_inside_and_what_is_needed(self):
        relations = {(relation["relationshipType"], relation["relatedSpdxElement"])
                     for relation in self.document["relationships"]}
        self.assertLessEqual({("STATIC_LINK", "SPDXRef-Package-libsodium-dev"), ("DEPENDS_ON", "SPDXRef-Package-libc6"),
                              ("DEPENDS_ON", "SPDXRef-Package-libstdc--6"), ("DESCRIBES", "SPDXRef-Package-tailor-runtime")},
                             relations)
        elements = {package["SPDXID"] for package in self.document["packages"]}
        self.assertLessEqual({element for kind, element in relations}, elements)

    def test_a_wheel(self):
        path = self.folder / "tailor_runtime-0.1.0-py3-none-manylinux_2_28_x86_64.whl"
        with zipfile.ZipFile(path, "w") as wheel:
            wheel.writestr("tailor/__init__.py", "a")
            wheel.writestr("tailor_runtime-0.1.0.dist-info/METADATA",
                           "Name: tailor-runtime\nVersion: 0.1.0\nRequires-Dist: numpy>=1.21\n")
        document, _ = self.described(path)
        relations = {(relation["relationshipType"], relation["relatedSpdxElement"]) for relation in document["relationships"]}
        self.assertLessEqual({("STATIC_LINK", "SPDXRef-Package-libsodium-dev"), ("STATIC_LINK", "SPDXRef-Package-libc--"),
                              ("DEPENDS_ON", "SPDXRef-Package-numpy"), ("DESCRIBES", "SPDXRef-Package-tailor-runtime")}, relations)
        self.assertEqual({package["name"]: package["versionInfo"] for package in document["packages"]}["numpy"], ">=1.21")
        self.assertEqual(document["files"][0]["checksums"][1]["checksumValue"], hashlib.sha256(b"a").hexdigest())

    def described(self, path):
        subprocess.run([sys.executable, "-B", SCRIPT, path], check=True, env={**os.environ, "SOURCE_DATE_EPOCH": "86400"})
        document = json.loads(pathlib.Path(f"{path}.spdx.json").read_text())
        return document, document["packages"][0]["externalRefs"][0]["referenceLocator"]

    def test_a_crate(self):
        manifest = self.folder / "tailor-0.1.0/Cargo.toml"
        manifest.parent.mkdir()
        manifest.write_text('[package]\nname = "tailor"\n[dependencies.tailor-sys]\nversion = "=0.1.0"\n')
        path = self.folder / "tailor-0.1.0.crate"
        with tarfile.open(path, "w:gz") as crate:
            crate.add(manifest, "tailor-0.1.0/Cargo.toml")
        document, locator = self.described(path)
        self.assertEqual(locator, "pkg:cargo/tailor@0.1.0")
        self.assertEqual([file["fileName"] for file in document["files"]], ["./tailor-0.1.0/Cargo.toml"])
        self.assertIn({"spdxElementId": "SPDXRef-Package-tailor", "relationshipType": "DEPENDS_ON",
                       "relatedSpdxElement": "SPDXRef-Package-tailor-sys"}, document["relationships"])

    def test_the_go_module(self):
        proxy = self.folder / "proxy"
        subprocess.run([sys.executable, "-B", SCRIPT.parent / "go_proxy.py", "--version", "0.1.0", proxy], check=True)
        path = self.folder / "tailor-go-0.1.0.tar.gz"
        with tarfile.open(path, "w:gz") as archive:
            archive.add(proxy, ".")
        document, locator = self.described(path)
        self.assertEqual(locator, "pkg:golang/tailor.internal/tailor@v0.1.0")
        self.assertIn("./tailor.internal/tailor@v0.1.0/go.mod", [file["fileName"] for file in document["files"]])


if __name__ == "__main__":
    unittest.main()
