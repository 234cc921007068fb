"""Writes what a package contains as SPDX 2.3 JSON, beside it: sbom.py PACKAGE.deb|WHEEL.whl|CRATE.crate|ARCHIVE.tar.gz ...

Writes FILE.spdx.json. Of a Debian package or a wheel: its files with hashes, the packages it depends on, and what is compiled or copied
into it, with the versions of the build machine's packages. Of a crate, the Go module and the source: the files, and for a crate the
packages it depends on. The same package on the same machine gives the same bytes: the time is SOURCE_DATE_EPOCH.
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


def analyzed(path, name, version, contents, **more):
    """(the SPDX package of a file of ours, its files)."""
    files = files_of(contents)
    return package(name, version, "Apache-2.0", filesAnalyzed=True, packageVerificationCode=verification_code(files),
                   packageFileName=os.path.basename(path), checksums=digest(pathlib.Path(path).read_bytes()),
                   hasFiles=[file["SPDXID"] for file in files], supplier="Organization: Tailor", **more), files


def purl(locator):
    return {"externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": locator}]}


def describe_deb(path):
    fields = dict(re.findall(r"^(\S+): (.*)$", output("dpkg-deb", "-f", path), re.M))
    name, version = fields["Package"], fields["Version"]
    ours, files = analyzed(path, name, version, unpacked_tar(output("dpkg-deb", "--fsys-tarfile", path, binary=True)),
                           **purl(f"pkg:deb/debian/{name}@{version}?arch={fields['Architecture']}"))
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
    ours, files = analyzed(path, name, version, contents, **purl(f"pkg:pypi/{name}@{version}"))
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


def crate_dependencies(manifest):
    """Names and versions in a Cargo.toml as cargo writes it into a crate."""
    return re.findall(r"^\[dependencies\.([\w-]+)\]\nversion = \"=?([^\"]*)\"", manifest, re.M)


def describe_crate(path):
    contents = unpacked_tar(pathlib.Path(path).read_bytes())
    name, version = re.fullmatch(r"(.+)-(\d+\.\d+\.\d+)\.crate", os.path.basename(path)).groups()
    ours, files = analyzed(path, name, version, contents, **purl(f"pkg:cargo/{name}@{version}"))
    manifest = dict(contents)[f"{name}-{version}/Cargo.toml"].decode()
    others = [package(other, needed, "Apache-2.0") for other, needed in crate_dependencies(manifest)]
    return ours, others, files, [(ours["SPDXID"], "DEPENDS_ON", other["SPDXID"]) for other in others]


def describe_go_proxy(path):
    """The module in a folder for GOPROXY=file://, MODULE/@v/VERSION.zip."""
    module, version, archive = next((match[1], match[2], data) for name, data in unpacked_tar(pathlib.Path(path).read_bytes())
                                    if (match := re.fullmatch(r"(?:\./)?(.+)/@v/v(.+)\.zip", name)))
    with zipfile.ZipFile(io.BytesIO(archive)) as files:
        contents = [(name, files.read(name)) for name in files.namelist()]
    ours, files = analyzed(path, module, version, contents, **purl(f"pkg:golang/{module}@v{version}"))
    return ours, [], files, []


def describe_source(path):
    name, version = re.fullmatch(r"(.+)-([0-9.]+)\.tar\.gz", os.path.basename(path)).groups()
    ours, files = analyzed(path, f"{name}-source", version, unpacked_tar(pathlib.Path(path).read_bytes()))
    return ours, [], files, []


# By the end of the file's name, the first that matches.
DESCRIBE = ((r"\.deb", describe_deb), (r"\.whl", describe_wheel), (r"\.crate", describe_crate),
            (r"tailor-go-[0-9.]+\.tar\.gz", describe_go_proxy), (r"\.tar\.gz", describe_source))


def document(path):
    describe = next(function for end, function in DESCRIBE if re.search(f"{end}$", path))
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
        pathlib.Path(f"{path}.spdx.json").write_text(json.dumps(document(path), indent=1) + "\n")


if __name__ == "__main__":
    main()
