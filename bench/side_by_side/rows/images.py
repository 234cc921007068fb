"""ResNets at images of random sizes against other engines, all with the same ONNX file's weights."""
from .. import engines
from ..lists import image_stream
from . import encoders

TOLERANCE = 1e-3
MODELS = ("resnet18", "resnet50")
COUNT, FULL_COUNT = 3, 20  # shapes of a quick run, and of a full one


def random_sizes(bench):
    peers = [kind for kind in ("onnxruntime", "openvino") if engines.package_exists(kind)]
    shapes = image_stream(FULL_COUNT if bench.full else COUNT)
    out = []
    for threads in bench.threads:
        for model in MODELS:
            path = {"tailor": bench.models.image_artifact(model)}
            openers = [lambda kind=kind: engines.python_engine(kind, threads, path.get(kind, bench.models.onnx(model)))
                       for kind in ("tailor", *peers)]
            names, turns = encoders.compare(bench, model, openers, shapes, case="image", tolerance=TOLERANCE)
            out += encoders.speed_ups(names, turns, f"{model}, threads={threads}", None)
    return out
