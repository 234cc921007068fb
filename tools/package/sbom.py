"""Writes what a package contains as SPDX 2.3 JSON, beside it: sbom.py PACKAGE.deb|WHEEL.whl|ARCHIVE.tar.gz ...

Of a Debian package or a wheel: its files with hashes, the packages it depends on, and what is compiled or copied into it, with the
versions of the build machine's packages. The same package on the same machine gives the same bytes: the time is SOURCE_DATE_EPOCH.
"""
import datetime
import hashlib
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]

# What is compiled into a package of ours, by the Debian package that it comes from: (name, license, how).
INSIDE = {
    "tailor-runtime": [("libsodium-dev", "ISC", "STATIC_LINK"), ("libflatbuffers-dev", "Apache-2.0", "CONTAINS")],
    "tailor": [("llvm-19-dev", "Apache-2.0 WITH LLVM-exception", "STATIC_LINK"), ("libsodium-dev", "ISC", "STATIC_LINK"),
               ("libflatbuffers-dev", "Apache-2.0", "CONTAINS"), ("libabsl-dev", "Apache-2.0", "CONTAINS")],
    "tailor-onnx": [("libprotozero-dev", "BSD-2-Clause", "CONTAINS")],
    "tailor-onednn": [],
    "tailor-cli": [("libcli11-dev", "BSD-3-Clause", "CONTAINS"), ("libabsl-dev", "Apache-2.0", "CONTAINS"),
                   ("nlohmann-json3-dev", "MIT", "CONTAINS")],
    "tailor-dev": [("libsodium-dev", "ISC", "STATIC_LINK"), ("libflatbuffers-dev", "Apache-2.0", "CONTAINS")],
    "python3-tailor": [],
}
# Of wheels: the Debian packages of ours whose libraries they have.
IN_WHEELS = {"tailor-runtime": ["tailor-runtime"], "tailor": ["tailor", "tailor-onnx"]}
# Of libraries that auditwheel copied into a wheel, by the beginning of the Debian package's name.
GRAFTED_LICENSES = {"libabsl": "Apache-2.0", "libzstd": "BSD-3-Clause"}


def output(*command, binary=False):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=not binary).stdout


def version_of(package):
    return output("dpkg-query", "-W", "-f=${Version}", package)


def element(kind, name):
    return f"SPDXRef-{kind}-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)


def package(name, version, license, **more):
    return {"SPDXID": element("Package", name), "name": name, "versionInfo": version, "downloadLocation": "NOASSERTION",
            "licenseConcluded": license, "licenseDeclared": license, "copyrightText": "NOASSERTION",
            "filesAnalyzed": False, **more}


def digest(data):
    return [{"algorithm": name, "checksumValue": hashlib.new(name.lower(), data).hexdigest()} for name in ("SHA1", "SHA256")]


def files_of(contents):
    """SPDX elements of files: [(name, bytes)]."""
    return [{"SPDXID": element("File", str(number)), "fileName": "./" + name.removeprefix("./"),
             "licenseConcluded": "NOASSERTION", "copyrightText": "NOASSERTION", "checksums": digest(data)}
            for number, (name, data) in enumerate(sorted(contents))]


def unpacked_tar(archive):
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        return [(member.name, tar.extractfile(member).read()) for member in tar if member.isfile()]


def verification_code(files):
    """SPDX's: the SHA1 of the sorted SHA1s of all files."""
    sums = sorted(file["checksums"][0]["checksumValue"] for file in files)
    return {"packageVerificationCodeValue": hashlib.sha1("".join(sums).encode()).hexdigest()}


def dependencies(text):
    """The packages of a Depends field, each with its version as the field has it."""
    return [(match[1], match[2] or "") for match in re.finditer(r"([a-z0-9][a-z0-9.+-]*)(?: \(([^)]*)\))?(?:, |$)", text)]


def describe_deb(path):
    fields = dict(re.findall(r"^(\S+): (.*)$", output("dpkg-deb", "-f", path), re.M))
    files = files_of(unpacked_tar(output("dpkg-deb", "--fsys-tarfile", path, binary=True)))
    name, version = fields["Package"], fields["Version"]
    ours = package(name, version, "Apache-2.0", filesAnalyzed=True, packageVerificationCode=verification_code(files),
                   packageFileName=os.path.basename(path), checksums=digest(pathlib.Path(path).read_bytes()),
                   hasFiles=[file["SPDXID"] for file in files], supplier="Organization: Tailor",
                   externalRefs=[{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                                  "referenceLocator": f"pkg:deb/debian/{name}@{version}?arch={fields['Architecture']}"}])
    others, relations = [], []
    for other, license, how in INSIDE[name]:
        others.append(package(other, version_of(other), license))
        relations.append((ours["SPDXID"], how, element("Package", other)))
    for other, version in dependencies(fields.get("Depends", "")):
        others.append(package(other, version, "NOASSERTION"))
        relations.append((ours["SPDXID"], "DEPENDS_ON", element("Package", other)))
    return ours, others, files, relations


def grafted(names):
    """The Debian packages of the libraries that auditwheel copied into a wheel: libzstd-1a2b3c4d.so.1.5.4."""
    packages = set()
    for name in names:
        match = re.search(r"\.libs/(.+)-[0-9a-f]{8}(\.so.*)$", name)
        if match:
            packages.add(output("dpkg-query", "-S", f"*/{match[1]}{match[2]}").partition(":")[0])
    return sorted(packages)


def zig():
    """What tools/package/build_runtime.sh links in."""
    version = re.search(r"^ziglang==(\S+)", (ROOT / "tools/requirements-wheels.txt").read_text(), re.M)[1]
    return package("libc++", f"of ziglang {version}", "Apache-2.0 WITH LLVM-exception")


def describe_wheel(path):
    with zipfile.ZipFile(path) as archive:
        contents = [(name, archive.read(name)) for name in archive.namelist()]
    fields = next(data.decode() for name, data in contents if name.endswith(".dist-info/METADATA"))
    name, version = (re.search(rf"^{field}: (.*)$", fields, re.M)[1] for field in ("Name", "Version"))
    files = files_of(contents)
    ours = package(name, version, "Apache-2.0", filesAnalyzed=True, packageVerificationCode=verification_code(files),
                   packageFileName=os.path.basename(path), checksums=digest(pathlib.Path(path).read_bytes()),
                   hasFiles=[file["SPDXID"] for file in files], supplier="Organization: Tailor",
                   externalRefs=[{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                                  "referenceLocator": f"pkg:pypi/{name}@{version}"}])
    others, relations = [], []
    for other, license, how in dict.fromkeys(entry for part in IN_WHEELS[name] for entry in INSIDE[part]):
        others.append(package(other, version_of(other), license))
        relations.append((ours["SPDXID"], how, others[-1]["SPDXID"]))
    for other in grafted(name for name, _ in contents):
        license = next((license for begin, license in GRAFTED_LICENSES.items() if other.startswith(begin)), "NOASSERTION")
        others.append(package(other, version_of(other), license))
        relations.append((ours["SPDXID"], "CONTAINS", others[-1]["SPDXID"]))
    if name == "tailor-runtime" and re.search("-(many|musl)linux", path):
        others.append(zig())
        relations.append((ours["SPDXID"], "STATIC_LINK", others[-1]["SPDXID"]))
    for other, version in re.findall(r"^Requires-Dist: ([\w.-]+)(.*)$", fields, re.M):
        others.append(package(other, version, "NOASSERTION"))
        relations.append((ours["SPDXID"], "DEPENDS_ON", others[-1]["SPDXID"]))
    return ours, others, files, relations


def describe_archive(path):
    files = files_of(unpacked_tar(pathlib.Path(path).read_bytes()))
    name, version = re.fullmatch(r"(.+)-([0-9.]+)\.tar\.gz", os.path.basename(path)).groups()
    ours = package(f"{name}-source", version, "Apache-2.0", filesAnalyzed=True, packageVerificationCode=verification_code(files),
                   packageFileName=os.path.basename(path), checksums=digest(pathlib.Path(path).read_bytes()),
                   hasFiles=[file["SPDXID"] for file in files], supplier="Organization: Tailor")
    return ours, [], files, []


def document(path):
    describe = {".deb": describe_deb, ".whl": describe_wheel}.get(os.path.splitext(path)[1], describe_archive)
    ours, others, files, relations = describe(path)
    created = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    everything = {"SPDXRef-DOCUMENT": None, **{other["SPDXID"]: other for other in others}}
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", ours["SPDXID"]), *relations]
    return {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
        "name": os.path.basename(path),
        "documentNamespace": f"https://tailor.invalid/spdx/{os.path.basename(path)}-{ours['checksums'][1]['checksumValue']}",
        "creationInfo": {"created": created.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: tailor-sbom"]},
        "packages": [ours, *(other for other in everything.values() if other is not None)],
        "files": files,
        "relationships": [{"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}
                          for one, kind, other in relations],
    }


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for path in sys.argv[1:]:
        out = pathlib.Path(re.sub(r"\.(deb|whl|tar\.gz)$", ".spdx.json", path))
        out.write_text(json.dumps(document(path), indent=1) + "\n")


if __name__ == "__main__":
    main()
