"""Puts what tests and measures a GPU into one folder that runs without this tree: ./dev gpu-bundle.

    python tools/gpu_bundle/make.py --build-dir DIR --cases FILE --out FOLDER

FOLDER/ gpu-check          tests and measures; README
        tailor-gpu         starts bin/tailor-gpu, with LLVM inside
        lib/               the shared libraries that it needs, but for the C library's
        lib/glibc/         those, for machines whose own are older
        python/, share/    tables and torch's part; the ONNX suite's cases and graphs that failed once

Fails where the folder is larger than 60 MB. Beside it is the same as FOLDER.tar. Prints sizes, and the C library that
is needed where lib/glibc is not to be used.
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
MOST_BYTES = 60_000_000
GLIBC = re.compile(r"(ld-linux-x86-64|libc|libm|libdl|libpthread|librt)\.so\.\d+$")
ALSO = ("libdl.so.2", "libpthread.so.0", "librt.so.1")  # of the C library: empty, but drivers ask for them
PYTHON = ("__init__.py", "figures.py", "gpu_check.py", "gpu_program.py", "lists.py", "report.py",
          "processes/__init__.py", "processes/torch_gpu.py", "gpu_rows/*.py")


def needed_libraries(program):
    """{name: path} of all that the loader loads with it."""
    listed = subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout
    found = dict(re.findall(r"(\S+) => (/\S+)", listed))
    loader = re.search(r"(/\S*(ld-linux-x86-64\.so\.2))", listed)
    return {**found, loader[2]: loader[1]}


def least_glibc(files):
    """The version of the newest symbol of the C library that these files need."""
    versions = set()
    for file in files:
        symbols = subprocess.run(["objdump", "-T", file], check=True, capture_output=True, text=True).stdout
        versions |= {tuple(map(int, version.split("."))) for version in re.findall(r"GLIBC_([\d.]+)", symbols)}
    return ".".join(map(str, max(versions)))


def copy_libraries(program, out):
    libraries = needed_libraries(program)
    folder = pathlib.Path(libraries["libc.so.6"]).parent
    libraries.update({name: str(folder / name) for name in ALSO})
    for name, path in libraries.items():
        target = out / "lib" / ("glibc" if GLIBC.match(name) else "") / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
        if not GLIBC.match(name):
            subprocess.run(["strip", "--strip-unneeded", target], check=True)


def fill(options, out):
    (out / "bin").mkdir(parents=True)
    shutil.copy(options.build_dir / "bin" / "tailor-gpu-alone", out / "bin" / "tailor-gpu")
    copy_libraries(out / "bin" / "tailor-gpu", out)
    for name in ("gpu-check", "tailor-gpu", "README"):
        shutil.copy(HERE / name, out / name)
    bench = ROOT / "bench"
    for pattern in PYTHON:
        for path in sorted((bench / "side_by_side").glob(pattern)):
            target = out / "python" / path.relative_to(bench)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
    (out / "python" / "data").mkdir()
    shutil.copy(bench / "data" / "deepbench_gemm.csv", out / "python" / "data")
    shutil.copytree(ROOT / "tests" / "fuzz" / "regressions", out / "share" / "regressions")
    shutil.copy(options.cases, out / "share" / "onnx.cases")


def size_of(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build-dir", type=pathlib.Path, required=True)
    parser.add_argument("--cases", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    options = parser.parse_args()
    shutil.rmtree(options.out, ignore_errors=True)
    fill(options, options.out)
    for path in sorted(options.out.iterdir()):
        print(f"{(size_of(path) if path.is_dir() else path.stat().st_size) / 1e6:8.1f} MB  {path.name}")
    size = size_of(options.out)
    ours = [options.out / "bin" / "tailor-gpu", *(options.out / "lib").glob("*.so*")]
    print(f"{size / 1e6:8.1f} MB  {options.out}; without lib/glibc it needs glibc {least_glibc(ours)}")
    if size > MOST_BYTES:
        sys.exit(f"the folder is larger than {MOST_BYTES / 1e6:.0f} MB")
    with tarfile.open(options.out.with_name(options.out.name + ".tar"), "w") as tar:
        tar.add(options.out, options.out.name)


if __name__ == "__main__":
    main()
