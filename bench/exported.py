"""Exported models with dynamic dims beside the same files compiled for one shape: what compiling for all shapes costs.

    exported.py [--shape N] [--runs N] [--size NAME=VALUE...] [--kernels MS] FILE.onnx...

Needs PYTHONPATH=bindings/python:tools/export_models and TAILOR_LIBRARY_DIR; a manifest.json lies beside each file
(tools/export_models). Both are compiled for the host, in processes of their own, and run on one thread in turns. Prints
for each file the seconds of analysis, fusion and lowering (dynamic, fixed, and their ratio), the median milliseconds of a
run (fixed, dynamic), and fixed / dynamic: above 1 the dynamic one is faster. The last line has the geometric mean.

With --kernels, the kernels of both that take at least MS milliseconds are paired in order of launch (kernels of one op; of
all pairings the one with the smallest sum of |log(dynamic / fixed)|); prints those with dynamic / fixed above 1.05, the
median ratio, and kernels without a partner. Both sessions are then in one process and traced."""
import argparse
import json
import math
import pathlib
import statistics
import subprocess
import sys
import time

LOWERING = ("analyse", "rewrite", "fuse", "lower")


def bound_dims(entry, sizes):
    """The dims of the file at `sizes`: {dim_param: integer}."""
    return {of_file: sizes[dim] for each in entry["inputs"] for of_file, dim in zip(each["file_dims"], each["dims"])
            if isinstance(of_file, str)}


def serve(path, fixed, sizes):
    """Compiles the model and runs it once for each line on stdin; writes seconds, as JSON."""
    import numpy
    import tailor.onnx
    from samples import sample
    entry = json.loads((path.parent / "manifest.json").read_text())[path.name]
    graph = tailor.onnx.load(path, dims=bound_dims(entry, sizes) if fixed else None)
    phases, last = {}, [None, time.perf_counter()]

    def at(phase, _):
        now = time.perf_counter()
        phases[last[0]] = phases.get(last[0], 0) + now - last[1]
        last[:] = phase.split()[0], now

    executable = graph.compile(["host"], progress=at)
    print(json.dumps(sum(phases.get(phase, 0) for phase in LOWERING)), flush=True)
    rng = numpy.random.default_rng(0)
    inputs = {each["name"]: sample(each, sizes, rng) for each in entry["inputs"]}
    session = executable.session(threads=1)
    session.run(**inputs)
    for _ in sys.stdin:
        start = time.perf_counter()
        session.run(**inputs)
        print(json.dumps(time.perf_counter() - start), flush=True)


def traced_session(path, fixed, sizes):
    """A session, the names of its launches, and {launch: [seconds]}, which its runs fill."""
    import tailor.onnx
    entry = json.loads((path.parent / "manifest.json").read_text())[path.name]
    executable = tailor.onnx.load(path, dims=bound_dims(entry, sizes) if fixed else None).compile(["host"])
    variant = next(each for each in executable.describe()["variants"] if each["in_use"])
    seconds = {}

    def trace(event):
        if event.launch is not None:
            seconds.setdefault(event.launch, []).append((event.end_ns - event.begin_ns) * 1e-9)

    return executable.session(threads=1, trace=trace), [each["kernel"] for each in variant["launches"]], seconds


def pair(dynamic, fixed, alone=0.3):
    """Pairs of [(name, seconds)] in order, and those left without a partner, each of which costs `alone`."""
    cost = {(0, 0): (0, None)}
    for i in range(len(dynamic) + 1):
        for j in range(len(fixed) + 1):
            choices = []
            if i:
                choices.append((cost[i - 1, j][0] + alone, (i - 1, j)))
            if j:
                choices.append((cost[i, j - 1][0] + alone, (i, j - 1)))
            if i and j and dynamic[i - 1][0].split("_", 1)[1] == fixed[j - 1][0].split("_", 1)[1]:
                ratio = abs(math.log(dynamic[i - 1][1] / fixed[j - 1][1]))
                choices.append((cost[i - 1, j - 1][0] + ratio, (i - 1, j - 1)))
            if choices:
                cost[i, j] = min(choices)
    pairs, rest, at = [], [], (len(dynamic), len(fixed))
    while at != (0, 0):
        before = cost[at][1]
        if before[0] < at[0] and before[1] < at[1]:
            pairs.append((dynamic[before[0]], fixed[before[1]]))
        else:
            rest.append(("dynamic", *dynamic[before[0]]) if before[0] < at[0] else ("fixed", *fixed[before[1]]))
        at = before
    return pairs[::-1], rest[::-1]


def compare_kernels(path, sizes, runs, least):
    import numpy
    from samples import sample
    entry = json.loads((path.parent / "manifest.json").read_text())[path.name]
    rng = numpy.random.default_rng(0)
    inputs = {each["name"]: sample(each, sizes, rng) for each in entry["inputs"]}
    sessions = [traced_session(path, fixed, sizes) for fixed in (False, True)]
    for _ in range(runs):
        for session, _, _ in sessions:
            session.run(**inputs)
    medians = [[(name, statistics.median(seconds[i])) for i, name in enumerate(names) if i in seconds]
               for _, names, seconds in sessions]
    pairs, rest = pair(*([each for each in column if each[1] >= least] for column in medians))
    print(f"{path.stem}: {len(pairs)} pairs, median {statistics.median(d[1] / f[1] for d, f in pairs):.3f}")
    for (dynamic, taken), (fixed, beside) in pairs:
        if taken > 1.05 * beside:
            print(f"  {taken / beside:.2f}  {dynamic} {taken * 1e3:.2f} ms, fixed {fixed} {beside * 1e3:.2f} ms")
    for which, name, taken in rest:
        print(f"  without a partner: {which} {name} {taken * 1e3:.2f} ms")


class Worker:
    def __init__(self, path, fixed, sizes):
        command = [sys.executable, "-B", __file__, "--serve", "fixed" if fixed else "dynamic", "--size",
                   *(f"{name}={value}" for name, value in sizes.items()), "--", str(path)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.lowering = self._read()

    def _read(self):
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the process ended with {self._process.wait()}")
        return json.loads(line)

    def run(self):
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return self._read()

    def close(self):
        self._process.stdin.close()
        self._process.wait()


def compare(path, sizes, runs):
    """Seconds of lowering and of a run: [dynamic, fixed]."""
    workers = []
    try:
        for fixed in (False, True):
            workers.append(Worker(path, fixed, sizes))
        times = [[worker.run() for worker in workers] for _ in range(runs)]
        return [worker.lowering for worker in workers], [statistics.median(column) for column in zip(*times)]
    finally:
        for worker in workers:
            worker.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=pathlib.Path, metavar="FILE.onnx")
    parser.add_argument("--shape", type=int, default=-1, help="number in the manifest; default: the last")
    parser.add_argument("--size", nargs="*", default=[], metavar="NAME=VALUE", help="instead of the shape's")
    parser.add_argument("--runs", type=int, default=21)
    parser.add_argument("--kernels", type=float, metavar="MS", help="compare kernels of at least MS milliseconds")
    parser.add_argument("--serve", choices=("dynamic", "fixed"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    given = {name: int(value) for name, value in (size.split("=") for size in options.size)}
    if options.serve:
        serve(options.files[0], options.serve == "fixed", given)
        return
    if options.kernels is not None:
        for path in options.files:
            shape = json.loads((path.parent / "manifest.json").read_text())[path.name]["shapes"][options.shape]
            sizes = {name: given.get(name, size) for name, size in shape.items()}
            compare_kernels(path, sizes, options.runs, options.kernels / 1e3)
        return
    print("| file | lowering, dynamic s | fixed s | ratio | run, fixed ms | dynamic ms | fixed / dynamic |")
    print("|---|---|---|---|---|---|---|", flush=True)
    ratios = []
    for path in options.files:
        shape = json.loads((path.parent / "manifest.json").read_text())[path.name]["shapes"][options.shape]
        try:
            lowering, run = compare(path, {name: given.get(name, size) for name, size in shape.items()}, options.runs)
        except RuntimeError as error:
            print(f"| {path.stem} | {error} |", flush=True)
            continue
        ratios.append(run[1] / run[0])
        print(f"| {path.stem} | {lowering[0]:.2f} | {lowering[1]:.2f} | {lowering[0] / lowering[1]:.2f} | "
              f"{run[1] * 1e3:.2f} | {run[0] * 1e3:.2f} | {ratios[-1]:.2f} |", flush=True)
    if ratios:
        print(f"geometric mean of {len(ratios)}: {math.exp(statistics.mean(map(math.log, ratios))):.3f}")


if __name__ == "__main__":
    main()
