"""Single ONNX operators against onnxruntime, on one thread; all dim sizes that an operator lets vary are symbols."""
from .. import engines
from ..figures import Figure, geomean
from ..processes.nodes import NODES

SECONDS = 0.1
TOLERANCE = 1e-3  # of the largest element


def single_nodes(bench):
    out = []
    with engines.all_open(lambda: engines.python_engine("tailor", 1),
                          lambda: engines.python_engine("onnxruntime", 1)) as opened:
        peer = opened[1].name
        for name in NODES:
            bench.progress(name)
            for engine in opened:
                engine.prepare(node=name)
            engines.require_agreement(opened, TOLERANCE, name)
            own, theirs = engines.take_turns(opened, bench.rounds, SECONDS)
            out.append(Figure(name, own * 1e6, "us", None, peer, theirs * 1e6, theirs / own))
    mean = geomean(figure.ratio for figure in out)
    return [Figure(f"{len(out)} operators, geometric mean", mean, "x", None, peer, ratio=mean), *out]
