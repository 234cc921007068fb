"""Transformer encoders at many shapes against other engines, all with the same ONNX file's weights.

Each engine runs a shape once before it is timed; the ratio of that first run to later ones is a figure of its own.
"""
import collections

from .. import engines
from ..figures import AtLeast, Figure, geomean
from ..lists import encoder_stream

SECONDS = 0.15  # of each turn
TOLERANCE = 1e-3  # of embeddings of length 1; other engines have approximate exp and erf
COUNT = {"minilm": 5, "bert_base": 2}  # shapes of a quick run
FULL_COUNT = 100
FIXED = [(1, 1), (1, 2), (1, 7), (1, 16), (1, 33), (1, 128), (2, 16), (3, 21), (4, 64), (8, 32), (8, 128), (16, 256)]
Turn = collections.namedtuple("Turn", "shape medians firsts")


def compare(bench, model, openers, shapes, case="encoder", tolerance=TOLERANCE):
    """The engines' names, and a Turn for each shape of what the model takes: an "encoder" or an "image"."""
    turns = []
    with engines.all_open(*openers) as opened:
        for shape in shapes:
            bench.progress(f"{model} at {' x '.join(map(str, shape))}")
            firsts = [engine.prepare(**{case: shape}) for engine in opened]
            engines.require_agreement(opened, tolerance, f"{model} at {shape}")
            turns.append(Turn(shape, engines.take_turns(opened, bench.rounds, SECONDS), firsts))
        return [engine.name for engine in opened], turns


def openers_of(bench, model, threads, *kinds):
    path = {"tailor": bench.models.artifact(model)}
    return [lambda kind=kind: engines.python_engine(kind, threads, path.get(kind, bench.models.onnx(model)))
            for kind in kinds]


def speed_ups(names, turns, what, bar):
    """One figure for each engine but the first, and for each engine one of its first runs over later ones."""
    out = []
    for i, name in enumerate(names[1:], start=1):
        ratio = geomean(turn.medians[i] / turn.medians[0] for turn in turns)
        out.append(Figure(f"{what}, beside {name.split()[0]}", ratio, "x", bar, name, ratio=ratio))
    for i, name in enumerate(names):
        first = geomean(turn.firsts[i] / turn.medians[i] for turn in turns)
        out.append(Figure(f"{what}, first run over later ones: {name.split()[0]}", first, "x"))
    return out


def stream_of(bench, model):
    return encoder_stream(FULL_COUNT if bench.full else COUNT[model])


def threads_of(bench):
    """The thread counts; in a quick run only the largest."""
    return bench.threads if bench.full else [max(bench.threads)]


def random_stream(bench):
    bar = AtLeast(1.3)
    peers = [kind for kind in ("onnxruntime", "openvino") if engines.package_exists(kind)]
    out = [] if "openvino" in peers else [Figure("encoders, beside OpenVINO", bar=bar,
                                                 reason="not measured: openvino is not installed")]
    for threads in threads_of(bench):
        for model in COUNT:
            names, turns = compare(bench, model, openers_of(bench, model, threads, "tailor", *peers),
                                   stream_of(bench, model))
            out += speed_ups(names, turns, f"{model}, threads={threads}", bar)
    return out


def torch_stream(bench):
    out = []
    for threads in threads_of(bench):
        for model in COUNT:
            openers = [*openers_of(bench, model, threads, "tailor"),
                       lambda: engines.torch_engine(threads, bench.models.onnx(model))]
            names, turns = compare(bench, model, openers, stream_of(bench, model))
            out += speed_ups(names, turns, f"{model}, threads={threads}", AtLeast(1.5))
    return out


def fixed_shapes(bench):
    out = []
    for threads in bench.threads:
        openers = openers_of(bench, "minilm", threads, "tailor", "onnxruntime")
        (_, peer), turns = compare(bench, "minilm", openers, FIXED)
        for turn in turns:
            own, theirs = turn.medians
            out.append(Figure("encoder B={} S={}, threads={}".format(*turn.shape, threads), own * 1e3, "ms", None, peer,
                              theirs * 1e3, theirs / own))
        out.append(Figure(f"encoder geomean of ratios, threads={threads}",
                          geomean(turn.medians[1] / turn.medians[0] for turn in turns), "x", None, peer))
    return out
