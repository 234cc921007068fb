"""Compiles a real sentence encoder once, runs it at many shapes, saves it, and reloads it without a compiler.

    ./dev demo [--json FILE] [--threads N]
"""
from __future__ import annotations

import argparse
import ctypes
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Optional

if TYPE_CHECKING:
    import tailor
    from minilm.wordpiece import WordPiece

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

SHAPES = [(1, 1), (1, 2), (1, 7), (1, 16), (1, 33), (1, 128), (2, 16), (3, 21), (4, 64), (8, 32), (8, 128), (16, 256)]
SENTENCES = ["A man is playing the guitar on stage.", "Someone performs a song with his guitar.",
             "The stock market fell sharply this morning.", "Bake the bread until the crust is brown."]
ERROR_BAR = 1e-5
PASSAGE = ("When the shapes of its tensors change at run time, a program that was compiled for one shape must be "
           "padded, bucketed or compiled again. A compiler that keeps the extents as symbols does the work once. ") * 8


def median_ms(run: Callable[[], object], seconds: float = 0.4, least: int = 3) -> float:
    """The median time of `run` in milliseconds, over at least `least` calls and about `seconds`."""
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < least or time.perf_counter() < end:
        begin = time.perf_counter()
        run()
        times.append((time.perf_counter() - begin) * 1e3)
    return statistics.median(times)


def heading(text: str) -> None:
    print(f"\n{text}\n{'-' * len(text)}")


def sequences(tokenizer: Optional[WordPiece]) -> list[list[int]]:
    """Token numbers to embed; without a tokenizer (seeded weights) fixed ones."""
    if tokenizer is None:
        return [[101, *range(2000, 2000 + n), 102] for n in (7, 30, 300, 12)]
    return [tokenizer.encode(text) for text in [*SENTENCES[:2], PASSAGE, SENTENCES[2]]]


def show_compilation(executable: tailor.Executable, seconds: float) -> None:
    description = executable.describe()
    launches = description["variants"][0]["launches"]
    print("symbols   ", ", ".join(f"{s.name} in [{s.min}, {s.max}]" for s in executable.symbols))
    print("facts     ", len(description["facts"]), "among them:")
    for fact in description["facts"][:4]:
        print("             ", fact)
    print("variants  ", ", ".join(variant["target"] for variant in description["variants"]))
    print("launches  ", len(launches), "kernels with", sum(len(l["versions"]) for l in launches), "versions")
    print("checks    ", len(description["checks"]), "compiled into the executable")
    print(f"compiled   in {seconds:.2f} s")


def run_shapes(executable: tailor.Executable, tokenizer: Optional[WordPiece], reference: Callable[[Any, Any], Any],
               threads: int) -> list[dict[str, Any]]:
    """One row per shape; the largest difference from the reference."""
    import numpy
    from minilm.graph import pad

    rows: list[dict[str, Any]] = []
    texts = sequences(tokenizer)
    session = executable.session(threads=threads)
    print(f"{'B':>4} {'S':>4} {'latency':>11} {'workspace':>12} {'max error':>10}")
    for batch, length in SHAPES:
        ids, mask = pad(texts, batch, length)
        out = numpy.empty((batch, 384), numpy.float32)
        session.bind([ids, mask], [out])
        session.run_bound()
        error = float(abs(out - reference(ids, mask)).max())
        latency = median_ms(session.run_bound)
        workspace = executable.plan(ids.shape, mask.shape, threads=threads).workspace_bytes
        print(f"{batch:>4} {length:>4} {latency:>8.2f} ms {workspace / 1e6:>9.2f} MB {error:>10.1e}")
        rows.append({"batch": batch, "length": length, "latency_ms": latency, "workspace_bytes": workspace,
                     "max_abs_error": error})
    return rows


def embed(executable: tailor.Executable, tokenizer: WordPiece, texts: Sequence[str]) -> Any:
    from minilm.graph import pad

    encoded = [tokenizer.encode(text) for text in texts]
    return executable.run(*pad(encoded, len(texts), max(map(len, encoded))))[0]


def show_similarities(executable: tailor.Executable, tokenizer: WordPiece) -> dict[str, Any]:
    embedded = embed(executable, tokenizer, SENTENCES)
    similarity = embedded @ embedded.T
    for i in range(1, len(SENTENCES)):
        print(f"{similarity[0, i]:+.3f}  {SENTENCES[0]!r} / {SENTENCES[i]!r}")
    return {"paraphrases": float(similarity[0, 1]), "unrelated": [float(s) for s in similarity[0, 2:]]}


# ---- The fresh process ------------------------------------------------------------------------------


def mapped_libraries() -> list[str]:
    with open("/proc/self/maps") as maps:
        return sorted({pathlib.Path(line.split()[-1]).name for line in maps if ".so" in line})


def reload(path: str) -> None:
    """Runs in a process of its own, which loads nothing but the runtime library. Prints one JSON object."""
    import numpy

    folder = pathlib.Path(path)
    begin = time.perf_counter()
    import tailor.runtime
    from tailor import _library
    tailor.runtime.version()  # loads the library
    dlopen_ms = (time.perf_counter() - begin) * 1e3

    artifact = folder / "minilm.tlr"

    def load() -> None:
        tailor.runtime.load(artifact).session()

    load()
    times = []
    for _ in range(50):
        begin = time.perf_counter()
        load()
        times.append((time.perf_counter() - begin) * 1e3)

    executable = tailor.runtime.load(artifact)
    data = numpy.load(folder / "expected.npz")
    session = executable.session(threads=int(data["threads"]))
    identical, allocations = True, 0
    count = ctypes.CDLL(None).tailor_allocations_during
    count.restype = ctypes.c_uint64
    count.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64]
    run_bound = _library.runtime().tailor_session_run_bound
    for i in reversed(range(len(SHAPES))):  # the largest first: the others then fit in its workspace
        out = numpy.empty_like(data[f"out{i}"])
        session.bind([data[f"ids{i}"], data[f"mask{i}"]], [out])
        session.run_bound()
        identical &= out.tobytes() == data[f"out{i}"].tobytes()
        allocations += count(ctypes.cast(run_bound, ctypes.c_void_p), session._handle, 3)
    libraries = mapped_libraries()
    print(json.dumps({"load_ms": statistics.median(times), "dlopen_ms": dlopen_ms, "reload_identical": identical,
                      "mallocs_after_warmup": allocations,
                      "compiler_loaded": any(name.startswith(("libtailor.so", "libLLVM")) for name in libraries)}))


def fresh_process(executable: tailor.Executable, tokenizer: Optional[WordPiece], threads: int,
                  library_dir: pathlib.Path) -> dict[str, Any]:
    """Saves the artifact and what it computes here, and has a new process load and compare."""
    import numpy
    from minilm.graph import pad

    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        executable.save(folder / "minilm.tlr")
        data: dict[str, Any] = {"threads": threads}
        texts = sequences(tokenizer)
        session = executable.session(threads=threads)
        for i, (batch, length) in enumerate(SHAPES):
            data[f"ids{i}"], data[f"mask{i}"] = pad(texts, batch, length)
            data[f"out{i}"], = session.run(data[f"ids{i}"], data[f"mask{i}"])
        numpy.savez(folder / "expected.npz", **data)
        environment = dict(os.environ, LD_PRELOAD=str(library_dir / "libtailor_allocation_count.so"))
        done = subprocess.run([sys.executable, __file__, "--library-dir", str(library_dir), "--reload", str(folder)],
                              env=environment, check=True, stdout=subprocess.PIPE, text=True)
        result: dict[str, Any] = json.loads(done.stdout)
        result["artifact_bytes"] = (folder / "minilm.tlr").stat().st_size
    result["runtime_library_bytes"] = (library_dir / "libtailor_runtime.so").stat().st_size
    return result


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--library-dir", type=pathlib.Path, default=HERE.parents[2] / "build" / "lib")
    arguments.add_argument("--json", type=pathlib.Path, help="write the figures to this file")
    arguments.add_argument("--threads", type=int, default=os.cpu_count())
    arguments.add_argument("--reload", help=argparse.SUPPRESS)
    options = arguments.parse_args()
    os.environ["TAILOR_LIBRARY_DIR"] = str(options.library_dir)
    if options.reload:
        return reload(options.reload)

    import tailor
    from minilm import graph, reference, weights, wordpiece

    kind, parameters, folder = weights.load()
    tokenizer = None if folder is None else wordpiece.WordPiece.from_file(folder / "vocab.txt")
    if kind == "seeded":
        print(f"NOTE: the package {weights.PACKAGE} is not installed. The encoder runs with SEEDED random weights of "
              "the same architecture: errors and speed are real, similarities would mean nothing and are left out.")

    heading("1. Build the graph")
    built = graph.build(parameters)
    print(f"all-MiniLM-L6-v2, {kind} weights: {built.text.count(chr(10))} lines of graph text")

    heading("2. Compile once, for all shapes")
    begin = time.perf_counter()
    executable = built.compile()
    compile_seconds = time.perf_counter() - begin
    show_compilation(executable, compile_seconds)

    heading(f"3. Run at {len(SHAPES)} shapes ({options.threads} threads)")
    before = tailor.modules_emitted() + tailor.counters()["images_linked"]
    rows = run_shapes(executable, tokenizer, reference.Reference(parameters), options.threads)
    compilations = tailor.modules_emitted() + tailor.counters()["images_linked"] - before
    error = max(row["max_abs_error"] for row in rows)
    print(f"largest difference from float64 NumPy: {error:.1e} (bar {ERROR_BAR}); compilations since: {compilations}")
    similarities = show_similarities(executable, tokenizer) if tokenizer else None

    heading("4. Save, and reload in a fresh process with the runtime library alone")
    result = fresh_process(executable, tokenizer, options.threads, options.library_dir)
    print(f"artifact {result['artifact_bytes'] / 1e6:.1f} MB, runtime library {result['runtime_library_bytes'] / 1e3:.0f} kB")
    print(f"load {result['load_ms']:.3f} ms (open to runnable, median of 50), dlopen and Python module apart "
          f"{result['dlopen_ms']:.1f} ms")
    print("outputs", "identical" if result["reload_identical"] else "DIFFERENT", "to those of the compiling process;",
          "compiler libraries loaded:", "YES" if result["compiler_loaded"] else "none")
    print("allocations in 36 repeated runs:", result["mallocs_after_warmup"])

    if options.json:
        options.json.write_text(json.dumps({
            "max_abs_error": error, "compile_seconds": compile_seconds, "compilations_after_first": compilations,
            "weights": kind, "threads": options.threads, "similarities": similarities, "shapes": rows, **result},
            indent=1) + "\n")
    failures = [text for failed, text in [
        (error > ERROR_BAR, f"the error {error:.1e} exceeds {ERROR_BAR}"),
        (compilations, "something was compiled after the first compilation"),
        (not result["reload_identical"], "the reloaded artifact gave other bytes"),
        (result["compiler_loaded"], "the fresh process loaded a compiler"),
        (result["mallocs_after_warmup"], "repeated runs allocated memory")] if failed]
    if failures:
        sys.exit("FAILED: " + "; ".join(failures))


if __name__ == "__main__":
    main()
