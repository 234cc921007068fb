"""Lays out the Go module as a module proxy serves it, a folder for GOPROXY=file://.

    python3 tools/package/go_proxy.py --version 0.1.0 FOLDER

Several versions may be added to one folder. SOURCE_DATE_EPOCH is the time of the version; the same source gives the same bytes."""
import argparse
import json
import os
import pathlib
import re
import time
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCE = ROOT / "bindings" / "go"


def module_path(go_mod: str) -> str:
    return re.search(r"^module\s+(\S+)", go_mod, re.MULTILINE).group(1)


def module_files():
    """Path in the module, path here."""
    yield "LICENSE", ROOT / "LICENSE"
    for path in sorted(SOURCE.rglob("*")):
        if path.is_file() and path.suffix in (".go", ".mod", ".sum", ".md"):
            yield path.relative_to(SOURCE).as_posix(), path


def write_zip(path: pathlib.Path, prefix: str) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, source in module_files():
            entry = zipfile.ZipInfo(f"{prefix}/{name}", date_time=(1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, source.read_bytes())


def add_version(folder: pathlib.Path, version: str) -> None:
    go_mod = (SOURCE / "go.mod").read_text()
    module = module_path(go_mod)
    versions = folder / module / "@v"
    versions.mkdir(parents=True, exist_ok=True)
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
    info = {"Version": version, "Time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))}
    (versions / f"{version}.info").write_text(json.dumps(info) + "\n")
    (versions / f"{version}.mod").write_text(go_mod)
    write_zip(versions / f"{version}.zip", f"{module}@{version}")
    known = {path.stem for path in versions.glob("*.info")}
    (versions / "list").write_text("".join(f"{name}\n" for name in sorted(known)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--version", required=True, help="0.1.0")
    parser.add_argument("folder", type=pathlib.Path)
    arguments = parser.parse_args()
    if not re.fullmatch(r"\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?", arguments.version):
        parser.error(f"--version {arguments.version} is no version such as 0.1.0")
    add_version(arguments.folder, f"v{arguments.version}")


if __name__ == "__main__":
    main()
