"""Runs exported models through Tailor and compares with onnxruntime, one line per model.

    python check.py [--timeout SECONDS] [--memory BYTES] [--markdown] [--slice] [FILE.onnx...]

Each model is imported with its dims dynamic, compiled for the host in a process of its own, and run at the shapes of
manifest.json beside it. Without files: all of tests/models/exported; of these, --slice takes some that have found mistakes
and a few others each day, or all where TAILOR_TEST_ALL is set. Needs the Python of .venv, PYTHONPATH=bindings/python and
TAILOR_LIBRARY_DIR."""
import argparse
import dataclasses
import json
import os
import pathlib
import re
import resource
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXPORTED = ROOT / "tests" / "models" / "exported"
TOLERANCE = 1e-4  # of the largest magnitude of an output
ROUNDING = 2  # times onnxruntime's error against float64, where the two differ by more
LEAST_MAGNITUDE = 1e-2  # of an output: onnxruntime's Sigmoid near 0 is exact to 6e-8 absolute, not relative


@dataclasses.dataclass
class Result:
    """What became of a model. `outcome`: "ok", "wrong", or the stage that failed: "import", "compile", "run"."""
    outcome: str = "import"
    message: str = ""
    import_seconds: float = 0.0
    compile_seconds: float = 0.0
    worst: float = 0.0
    data_dims: int = 0
    bind_nodes: int = 0
    bcast_dims: int = 0
    longest_dim: int = 0
    shapes: int = 0

    def line(self, name):
        seconds = f"import {self.import_seconds:.1f} s, compile {self.compile_seconds:.1f} s"
        dims = (f"{self.data_dims} data-dependent dims, {self.bind_nodes} bind, {self.bcast_dims} bcast dims, "
                f"longest dim {self.longest_dim} characters")
        text = f"{self.outcome:8} {name}: {seconds}, {self.shapes} shapes, error {self.worst:.1e}; {dims}"
        return f"{text}; {self.message}" if self.message else text

    def row(self, name):
        cells = (name, self.outcome, f"{self.import_seconds:.1f}", f"{self.compile_seconds:.1f}", f"{self.worst:.1e}",
                 self.shapes, self.data_dims, self.bind_nodes, self.bcast_dims, self.longest_dim,
                 self.message.replace("|", "\\|").replace("\n", " ")[:300])
        return "| " + " | ".join(map(str, cells)) + " |"


# Every day: files that have found mistakes, and a decoder with caches.
SLICED = ("fpn_dynamo", "llama_dynamo", "ssdlite_dynamo", "swin_legacy", "vits_encoder_legacy")
PER_DAY = 3  # of the others


HEADER = ("| file | outcome | import s | compile s | error | shapes | data dims | bind | bcast dims | longest dim | "
          "message |\n|---|---|---|---|---|---|---|---|---|---|---|")


def error_of(got, wanted):
    """The largest difference relative to the largest magnitude; infinite where shapes or integers differ."""
    import numpy
    if got.shape != wanted.shape or got.dtype != wanted.dtype:
        return float("inf")
    if wanted.size == 0:
        return 0.0
    if not numpy.issubdtype(wanted.dtype, numpy.floating):
        return 0.0 if (got == wanted).all() else float("inf")
    error = float(abs(got - wanted).max() / max(abs(wanted).max(), LEAST_MAGNITUDE))
    return float("inf") if numpy.isnan(error) else error


def error_of_rows(got, wanted):
    """As error_of, of outputs that are rows of one table in any order: every wanted row takes the nearest one left."""
    import numpy
    scales = [max(abs(each).max(initial=0), LEAST_MAGNITUDE) for each in wanted]
    if any(a.shape != b.shape for a, b in zip(got, wanted)):
        return float("inf")
    left, rows = (numpy.concatenate([each.reshape(len(each), -1) / scale for each, scale in zip(table, scales)], axis=1)
                  for table in (got, wanted))
    worst = 0.0
    for row in rows:
        distances = abs(left - row).max(axis=1)
        nearest = distances.argmin()
        worst, left = max(worst, float(distances[nearest])), numpy.delete(left, nearest, axis=0)
    return worst


def read_text(text, result):
    """Counts what the graph's text shows of data-dependent dims."""
    result.data_dims = len(set(re.findall(r"(?<=[\[\s,(*+-])n\d+\b", text)))
    result.bind_nodes = len(re.findall(r"= bind ", text))
    dims = {dim for shape in re.findall(r" : \w+\[(.*)\]", text) for dim in split_dims(shape)}
    result.bcast_dims = sum("bcast(" in dim for dim in dims)
    result.longest_dim = max(map(len, dims), default=0)


def split_dims(shape):
    depth, start = 0, 0
    for i, character in enumerate(shape):
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            yield shape[start:i].strip()
            start = i + 1
    yield shape[start:].strip()


def is_rounding(path, arrays, got, wanted):
    """Whether the outputs are as near to float64 as onnxruntime's are: within ROUNDING times their errors."""
    import exact
    try:
        truth = exact.outputs(path, arrays)
    except Exception:  # an operator that onnx's evaluator lacks; it raises anything
        return False
    return all(error_of(ours.astype(right.dtype), right) <= max(TOLERANCE, ROUNDING * error_of(theirs.astype(right.dtype), right))
               for ours, theirs, right in zip(got, wanted, truth))


def compare(path, entry, executable, session, sizes, rng, result):
    """Runs both at one shape; returns what is wrong, or None."""
    import numpy
    from samples import sample
    arrays = {each["name"]: sample(each, sizes, rng) for each in entry["inputs"]}
    fixed = fixed_inputs(entry)
    try:
        wanted = [as_tensor(output) for output in session.run(None, arrays | fixed)]
    except Exception as error:  # pybind's exceptions are of no common class
        return f"onnxruntime refuses {sizes}: {str(error)[:200]}"
    try:
        got = executable.run(**arrays)
    except Exception as error:
        return f"run at {sizes}: {error}"
    got = [numpy.asarray(each) for each in got]
    errors, tolerance = [error_of(a, b) for a, b in zip(got, wanted)], entry.get("tolerance", TOLERANCE)
    if max(errors) > tolerance and entry.get("unordered"):
        errors = [error_of_rows(got, wanted)]
    result.worst, result.shapes = max(result.worst, *errors), result.shapes + 1
    if max(errors) <= tolerance or is_rounding(path, arrays | fixed, got, wanted):
        return None
    result.outcome = "wrong"
    return f"wrong at {sizes}: errors {errors}, shapes {[(a.shape, b.shape) for a, b in zip(got, wanted)]}"


def as_tensor(output):
    """An output of onnxruntime; the maps of a ZipMap, whose keys it sorts as classes are, as the tensor of their values."""
    import numpy
    return numpy.array([list(row.values()) for row in output], numpy.float32) if isinstance(output, list) else output


def fixed_inputs(entry):
    import numpy
    return {name: numpy.asarray(value) for name, value in entry.get("fixed", {}).items()}


def measure(path, entry, report):
    """Imports, compiles and runs a model; `report` gets the result after each stage."""
    import numpy
    import onnxruntime
    import tailor.onnx
    result, started = Result(), time.monotonic()
    report(result)
    dims = {name: tailor.symbol(name, **dim) if isinstance(dim, dict) else dim for name, dim in entry.get("dims", {}).items()}
    graph = tailor.onnx.load(path, dims, fixed_inputs(entry))
    result.import_seconds, result.outcome = time.monotonic() - started, "compile"
    read_text(graph.text, result)
    report(result)
    started = time.monotonic()
    executable = graph.compile(["host"])
    result.compile_seconds, result.outcome = time.monotonic() - started, "run"
    report(result)
    options = onnxruntime.SessionOptions()
    if entry.get("unoptimized"):
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    rngs = map(numpy.random.default_rng, range(len(entry["shapes"])))
    failures = [compare(path, entry, executable, session, sizes, rng, result) for sizes, rng in zip(entry["shapes"], rngs)]
    result.message = "; ".join(filter(None, failures))
    if not result.message:
        result.outcome = "ok"
    report(result)


def child(path, memory):
    """The process of one model: prints results as JSON, the last of which counts."""
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    last = Result()

    def report(result):
        nonlocal last
        last = result
        print(json.dumps(dataclasses.asdict(result)), flush=True)

    entry = json.loads(path.with_name("manifest.json").read_text())[path.name]
    try:
        measure(path, entry, report)
    except Exception as error:
        last.message = f"{type(error).__name__}: {error}"
        report(last)


def check(path, timeout, memory):
    """A model's result, whatever its process did."""
    command = [sys.executable, "-B", __file__, "--child", "--memory", str(memory), str(path)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
        output, ended = done.stdout, f"process ended with {done.returncode}: {done.stderr[-300:]}"
        clean = done.returncode == 0
    except subprocess.TimeoutExpired as expired:
        output, ended, clean = (expired.stdout or b"").decode(), f"no result in {timeout} s", False
    lines = output.splitlines()
    result = Result(**json.loads(lines[-1])) if lines else Result()
    if not clean:
        result.message = ended
    return result


def sliced(files):
    """SLICED, and PER_DAY of the others in turn."""
    if "TAILOR_TEST_ALL" in os.environ:
        return files
    others = [file for file in files if file.stem not in SLICED]
    first = int(time.time() // 86400) * PER_DAY
    return [file for file in files if file.stem in SLICED] + [others[(first + i) % len(others)] for i in range(PER_DAY)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds a model, default 120")
    parser.add_argument("--memory", type=int, default=6 << 30, help="bytes of address space, default 6 GiB")
    parser.add_argument("--markdown", action="store_true", help="print rows of a table")
    parser.add_argument("--slice", action="store_true", help="of the committed files those of today")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(arguments.files[0], arguments.memory)
        return 0
    if arguments.markdown:
        print(HEADER)
    good = True
    files = arguments.files or sorted(EXPORTED.glob("*.onnx"))
    for path in sliced(files) if arguments.slice else files:
        result = check(path.absolute(), arguments.timeout, arguments.memory)
        good = good and result.outcome == "ok"
        print(result.row(path.stem) if arguments.markdown else result.line(path.stem), flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
