"""The sentence encoder in Tailor and in onnxruntime, measured in turn, and tailor-bench with its bars.

    ./dev bench [--json FILE] [--threads 1,2] [--rounds N]

Each engine runs in a process of its own; at every shape they take turns, A B A B, while the other sleeps. Times of
one thread are CPU times, others elapsed times. A ratio is onnxruntime's median divided by Tailor's: above 1 Tailor
is faster.
"""
import argparse
import importlib.metadata
import json
import math
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
PYTHON = HERE.parent / "bindings" / "python"
sys.path[:0] = [str(PYTHON), str(PYTHON / "examples")]

SHAPES = [(1, 1), (1, 2), (1, 7), (1, 16), (1, 33), (1, 128), (2, 16), (3, 21), (4, 64), (8, 32), (8, 128), (16, 256)]
SECONDS = 0.15  # of each turn
PAUSE = 0.02  # before each turn: the other engine's threads fall asleep
AGREEMENT = 1e-4

# name in tailor-bench, which of its times (CPU time for what one thread does), name of the metric, unit,
# nanoseconds in one unit, bar
BARS = [("empty_run", "cpu_time", "empty run", "ns", 1, 300),
        ("added_kernel", "real_time", "added kernel", "ns", 1, 60),
        ("load/without_constants", "cpu_time", "load without constants", "ms", 1e6, 1),
        ("load/encoder", "cpu_time", "load the encoder", "ms", 1e6, None),
        ("compile/encoder_all_targets", "real_time", "compile the encoder, all targets", "s", 1e9, 3),
        ("compile/encoder_host", "real_time", "compile the encoder, this CPU", "s", 1e9, 3),
        ("softmax/64x512", "cpu_time", "softmax 64 x 512", "us", 1e3, None),
        ("layer_norm/64x512", "cpu_time", "layer norm 64 x 512", "us", 1e3, None),
        ("gelu/64x512", "cpu_time", "gelu 64 x 512", "us", 1e3, None)]
DOT_BAR = 0.90
DOT_BAR_FROM = (84, 768, 768)  # M, K, N; smaller products are shown without a bar
NANOSECONDS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}


def metric(name, value, unit, target=None, met=None, peer=None, peer_value=None):
    ratio = peer_value / value if peer_value is not None else None
    return {"name": name, "value": value, "unit": unit, "peer": peer, "peer_value": peer_value, "ratio": ratio,
            "target": target, "met": met}


def machine():
    model = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")),
                 platform.machine())
    return {"cpu": model, "cpus": os.cpu_count(), "kernel": platform.release(), "load_average": os.getloadavg()[0],
            "python": platform.python_version(), "onnxruntime": importlib.metadata.version("onnxruntime")}


# ---- The encoder, side by side ----------------------------------------------------------------------


class Engine:
    """An engine_process.py."""

    def __init__(self, name, model, threads):
        command = [sys.executable, str(HERE / "engine_process.py"), name, str(model), "--threads", str(threads)]
        environment = dict(os.environ, PYTHONPATH=str(PYTHON))
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                         env=environment)
        self._read()

    def _read(self):
        line = self._process.stdout.readline()
        if not line:
            sys.exit(f"{self._process.args[2]} ended with status {self._process.wait()}")
        return json.loads(line)

    def ask(self, **request):
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return self._read()

    def close(self):
        self._process.stdin.close()
        self._process.wait()


def difference(engines, shape, folder):
    """The largest difference between the two engines' embeddings."""
    import numpy
    results = []
    for i, engine in enumerate(engines):
        engine.ask(save=shape, to=str(folder / f"{i}.npy"))
        results.append(numpy.load(folder / f"{i}.npy"))
    return float(abs(results[0] - results[1]).max())


def take_turns(engines, shape, rounds):
    """The median time in seconds of each engine."""
    times = [[], []]
    for _ in range(rounds):
        for own, engine in zip(times, engines):
            time.sleep(PAUSE)
            own.extend(engine.ask(run=shape, seconds=SECONDS)["times"])
    return [statistics.median(own) for own in times]


def compare(models, threads, rounds, folder):
    """One metric per shape, and their geometric mean."""
    engines = [Engine(name, model, threads) for name, model in models.items()]
    peer = f"onnxruntime {importlib.metadata.version('onnxruntime')}"
    print(f"\nEncoder, {threads} thread{'s' * (threads > 1)}\n{'B':>4} {'S':>4} {'tailor':>11} {'onnxruntime':>12} "
          f"{'ratio':>6} {'difference':>11}")
    metrics = []
    for batch, length in SHAPES:
        apart = difference(engines, (batch, length), folder)
        if not apart <= AGREEMENT:
            sys.exit(f"the engines disagree by {apart} at B = {batch}, S = {length}")
        own, theirs = take_turns(engines, (batch, length), rounds)
        metrics.append(metric(f"encoder B={batch} S={length}, threads={threads}", own * 1e3, "ms", peer=peer,
                              peer_value=theirs * 1e3))
        print(f"{batch:>4} {length:>4} {own * 1e3:>8.3f} ms {theirs * 1e3:>9.3f} ms {theirs / own:>6.2f} {apart:>11.1e}",
              flush=True)
    for engine in engines:
        engine.close()
    mean = math.exp(statistics.fmean(math.log(m["ratio"]) for m in metrics))
    print(f"geometric mean of the ratios: {mean:.2f}")
    return [*metrics, metric(f"encoder geomean of ratios, threads={threads}", mean, "x", peer=peer)]


def make_models(folder):
    """The encoder as an artifact and as an ONNX file, with the same weights."""
    import export_encoder
    kind = export_encoder.export(folder / "encoder.onnx")
    # The compiler library stays out of this process, which only waits while others measure.
    script = ("import sys; from minilm import graph, weights; "
              "graph.build(weights.load()[1]).compile().save(sys.argv[1])")
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path[:2]))
    subprocess.run([sys.executable, "-c", script, str(folder / "encoder.tlr")], env=environment, check=True)
    return kind, {"tailor": folder / "encoder.tlr", "onnxruntime": folder / "encoder.onnx"}


# ---- tailor-bench -----------------------------------------------------------------------------------


def run_benchmarks(build_dir, folder):
    """Medians of tailor-bench by name."""
    out = folder / "bench.json"
    subprocess.run([str(build_dir / "bin" / "tailor-bench"), "--benchmark_filter=-encoder/|kernel_chain",
                    f"--benchmark_out={out}", "--benchmark_out_format=json"], check=True, stdout=subprocess.DEVNULL)
    rows = json.loads(out.read_text())["benchmarks"]
    return {row["run_name"].split("/iterations")[0].removesuffix("/real_time"): row for row in rows
            if row.get("aggregate_name") == "median"}


def judge(rows):
    metrics = []
    for row_name, time_name, name, unit, nanoseconds, bar in BARS:
        row = rows[row_name]
        value = row[time_name] * NANOSECONDS[row["time_unit"]] / nanoseconds
        metrics.append(metric(name, value, unit, bar, None if bar is None else value <= bar))
    metrics.append(metric("multiply-add peak, one thread", rows["fma_peak"]["gflops"], "Gflop/s"))
    for row_name, row in rows.items():
        if row_name.startswith("dot/"):
            extents = map(int, row_name[4:].split("x"))
            bar = DOT_BAR if all(x >= least for x, least in zip(extents, DOT_BAR_FROM)) else None
            value = row["share_of_peak"]
            metrics.append(metric(f"dot {row_name[4:]}, share of peak", value, "share", bar,
                                  None if bar is None else value >= bar))
    print(f"\n{'':<42} {'value':>10} {'':<8} {'bar':>6}")
    for m in metrics:
        bar = "" if m["target"] is None else f"{m['target']:>6} {'met' if m['met'] else 'MISSED'}"
        print(f"{m['name']:<42} {m['value']:>10.3f} {m['unit']:<8} {bar}")
    return metrics


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--build-dir", type=pathlib.Path, default=HERE.parent / "build")
    arguments.add_argument("--json", type=pathlib.Path, help="write the figures to this file")
    arguments.add_argument("--threads", default="1,2", help="thread counts to compare at")
    arguments.add_argument("--rounds", type=int, default=5, help="turns of each engine at each shape")
    options = arguments.parse_args()
    os.environ["TAILOR_LIBRARY_DIR"] = str(options.build_dir / "lib")

    described = machine()
    print(f"{described['cpu']}, {described['cpus']} CPUs, load average {described['load_average']:.2f}")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        metrics = judge(run_benchmarks(options.build_dir, folder))
        described["weights"], models = make_models(folder)
        for threads in map(int, options.threads.split(",")):
            metrics += compare(models, threads, options.rounds, folder)
    if options.json:
        options.json.write_text(json.dumps({"metrics": metrics, "machine": described}, indent=1) + "\n")


if __name__ == "__main__":
    main()
