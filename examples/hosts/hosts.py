"""Five hosts, one encoder: compiles a sentence encoder once, runs the artifact in programs in C, C++, Rust, Go and Python, and
compares the bytes of their results with each other and with those of the executable that was compiled.

    ./dev hosts [--small]

With TAILOR_LIBRARY_DIR the libraries are those of a build; without it they are the installed ones, and so is the Python package.
"""
from __future__ import annotations

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
from typing import Any, Optional

import numpy

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BINDINGS = ROOT / "bindings" / "python"
sys.path[:0] = [str(BINDINGS), str(BINDINGS / "examples")]

import tailor  # noqa: E402

SHAPES = [(1, 7), (3, 21), (1, 1), (8, 128), (2, 16), (16, 256), (1, 33), (5, 64)]
SMALL_SHAPES = [(1, 7), (3, 21), (1, 1), (8, 64), (2, 16)]
HOSTS = ["C", "C++", "Rust", "Go", "Python"]
PROGRAMS = {"C": "c_encoder", "C++": "cpp_encoder", "Rust": "rust_encoder", "Go": "go_encoder"}


def encoder() -> tuple[str, tailor.Graph]:
    from minilm import graph, weights

    kind, parameters, _ = weights.load()
    return f"all-MiniLM-L6-v2, {kind} weights", graph.build(parameters)


def small_encoder() -> tuple[str, tailor.Graph]:
    """One layer with the encoder's inputs and output."""
    random = numpy.random.default_rng(0)
    graph = tailor.Graph("small")
    batch, length = tailor.symbol("B", min=1, max=64), tailor.symbol("S", min=1, max=512)
    ids = graph.input("ids", "i64", [batch, length])
    mask = graph.input("mask", "i64", [batch, length]).cast("f32").reshape([batch, length, 1])
    table = graph.constant(random.standard_normal((30522, 16), numpy.float32), "table")
    weight = graph.constant(random.standard_normal((16, 32), numpy.float32), "weight")
    hidden = graph.dot(table.gather(ids), weight).gelu()
    graph.output("embedding", (hidden * mask).reduce_sum([1]).l2_normalize(-1))
    return "a small encoder", graph


def batches(shapes: list[tuple[int, int]]) -> list[tuple[Any, Any]]:
    """Pairs of ids and mask: rows of unlike lengths."""
    random = numpy.random.default_rng(1)
    result = []
    for batch, length in shapes:
        lengths = random.integers(1, length + 1, (batch, 1))
        mask = (numpy.arange(length) < lengths).astype(numpy.int64)
        result.append((random.integers(1000, 30000, (batch, length)) * mask, mask))
    return result


def write_inputs(path: pathlib.Path, inputs: list[tuple[Any, Any]]) -> None:
    with open(path, "wb") as file:
        for ids, mask in inputs:
            numpy.array(ids.shape, numpy.int64).tofile(file)
            ids.tofile(file)
            mask.tofile(file)


def environment(libraries: Optional[str], folder: pathlib.Path) -> dict[str, str]:
    """That of a host: a folder with the runtime library alone, where the libraries are those of a build."""
    if libraries is None:
        return dict(os.environ)
    alone = folder / "lib"
    alone.mkdir()
    for path in pathlib.Path(libraries).glob("libtailor_runtime.so*"):
        shutil.copy(path, alone, follow_symlinks=False)
    return {**os.environ, "LD_LIBRARY_PATH": str(alone), "TAILOR_LIBRARY_DIR": str(alone), "PYTHONPATH": str(BINDINGS),
            "PYTHONDONTWRITEBYTECODE": "1"}


def keep(folder: pathlib.Path, expected: bytes, target: pathlib.Path) -> None:
    """Copies the artifact and the inputs, and writes the results that a host should give."""
    shutil.copytree(folder, target)
    (target / "expected.out").write_bytes(expected)


def run_host(host: str, programs: pathlib.Path, folder: pathlib.Path, environ: dict[str, str], expected: bytes) -> bool:
    """Prints the host's line."""
    outputs = folder / f"{host}.out"
    command = [sys.executable, str(HERE / "encoder.py")] if host == "Python" else [str(programs / PROGRAMS[host])]
    done = subprocess.run([*command, str(folder / "encoder.tlr"), str(folder / "inputs.bin"), str(outputs)], env=environ,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        print(f"{host:<8}exit status {done.returncode}: {done.stderr.strip()}")
        return False
    load, first = done.stdout.split()
    equal = outputs.read_bytes() == expected
    print(f"{host:<8}{load:>8} ms {first:>12} ms   {'equal' if equal else 'DIFFERENT'}")
    return equal


def main() -> bool:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--programs", type=pathlib.Path, default=ROOT / "build" / "tests" / "hosts")
    arguments.add_argument("--small", action="store_true", help="a graph of one layer")
    arguments.add_argument("--keep", type=pathlib.Path, metavar="FOLDER",
                           help="write encoder.tlr, inputs.bin and expected.out, the results, to FOLDER")
    options = arguments.parse_args()

    name, graph = small_encoder() if options.small else encoder()
    executable = graph.compile()
    inputs = batches(SMALL_SHAPES if options.small else SHAPES)
    expected = b"".join(executable.run(ids, mask)[0].tobytes() for ids, mask in inputs)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        executable.save(folder / "encoder.tlr")
        write_inputs(folder / "inputs.bin", inputs)
        if options.keep:
            keep(folder, expected, options.keep)
        environ = environment(os.environ.get("TAILOR_LIBRARY_DIR"), folder)
        size = (folder / "encoder.tlr").stat().st_size
        print(f"{name}: {size / 1e6:.1f} MB; {len(inputs)} shapes, {len(expected)} bytes of results")
        print(f"{'host':<8}{'loaded':>11} {'first result':>15}   bytes")
        return all([run_host(host, options.programs, folder, environ, expected) for host in HOSTS])


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
