"""Latency and throughput against one dim, beside other engines: the points of the plots that draw.py makes."""
import collections
import json
import subprocess

from . import engines
from .rows import encoders

# `name` is that of the plot's file. `shapes` are of the model's `case`, `xs` their places on the x axis. A point is the
# latency of a run in ms, or with `counted` the number of these things a second; a run has shape[0] of them.
Curve = collections.namedtuple("Curve", "name title model case shapes xs x_label counted", defaults=("",))

LENGTHS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
BATCHES = (1, 2, 3, 4, 6, 8, 10, 12, 14, 16)
SIDES = (64, 96, 128, 160, 192, 224, 256, 320, 384, 448)
TOKENS = 64  # of each sentence in a batch

CURVES = [
    Curve("encoder-latency", "Latency of a sentence encoder, one sentence", "minilm", "encoder",
          [(1, length) for length in LENGTHS], LENGTHS, "tokens"),
    Curve("encoder-throughput", f"Throughput of a sentence encoder, {TOKENS} tokens each", "minilm", "encoder",
          [(batch, TOKENS) for batch in BATCHES], BATCHES, "sentences in a batch", "sentences"),
    Curve("resnet18-latency", "Latency of ResNet-18, one image", "resnet18", "image",
          [(1, side, side) for side in SIDES], SIDES, "height and width of the image, pixels"),
]
WORKLOADS = {"minilm": "all-MiniLM-L6-v2", "resnet18": "ResNet-18 with random weights"}


def points(curve, names, turns):
    """The curve as JSON: `series` has a list of values, one for each x, by the engine's name."""
    def value(turn, engine):
        seconds = turn.medians[engine]
        return turn.shape[0] / seconds if curve.counted else seconds * 1e3
    return {"name": curve.name, "title": curve.title, "workload": WORKLOADS[curve.model], "x_label": curve.x_label,
            "x": list(curve.xs), "unit": f"{curve.counted}/s" if curve.counted else "ms",
            "series": {name: [float(f"{value(turn, i):.4g}") for turn in turns] for i, name in enumerate(names)}}


def measure(curve, bench, threads):
    artifact = bench.models.artifact if curve.case == "encoder" else bench.models.image_artifact
    paths = {"tailor": artifact(curve.model)}
    peers = [kind for kind in ("onnxruntime", "openvino") if engines.package_exists(kind)]
    openers = [lambda kind=kind: engines.python_engine(kind, threads, paths.get(kind, bench.models.onnx(curve.model)))
               for kind in ("tailor", *peers)]
    return points(curve, *encoders.compare(bench, curve.model, openers, curve.shapes, curve.case))


def plot(bench, folder, python):
    """Writes folder/points.json and draws it, with the Python that has matplotlib."""
    threads = max(bench.threads)
    measured = [measure(curve, bench, threads) for curve in CURVES]
    folder.mkdir(parents=True, exist_ok=True)
    document = {"machine": bench.machine, "threads": threads, "turns": bench.rounds, "curves": measured}
    (folder / "points.json").write_text(json.dumps(document, indent=1) + "\n")
    if not python.exists():
        raise FileNotFoundError(f"{python}: matplotlib is not installed; ./dev bench --plots installs it")
    subprocess.run([python, "-m", "side_by_side.draw", folder], env=engines.python_paths(), check=True)
