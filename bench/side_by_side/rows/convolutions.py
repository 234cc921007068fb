"""Convolutions with constant weights against oneDNN, on one thread.

Tailor's batch size is a symbol and its activations are [N, C, H, W]; oneDNN is built for each size, and may have
activations and weights in the layouts that it prefers, packed beforehand.
"""
import math

from .. import engines
from ..figures import AtLeast, Figure, geomean
from ..lists import conv_cases

SECONDS = 0.2
QUICK = 4
QUICK_FLOPS = 1e9  # at most, of a case in a quick run
TOLERANCE = 1e-3  # oneDNN may take Winograd's algorithm
MOST_BATCH = 4


def flops(case):
    out = [(x + 2 * pad - k) // stride + 1
           for x, pad, k, stride in zip(case["x"][2:], case["pads"], case["weights"][2:], case["strides"])]
    return 2 * case["x"][0] * math.prod(out) * math.prod(case["weights"])


def name_of(case):
    """Distinct for distinct cases: "conv 1x64x56x56 * 256x64x1x1, stride 2x2, pad 0x0"."""
    x, weights, strides, pads = ("x".join(map(str, case[part])) for part in ("x", "weights", "strides", "pads"))
    return f"conv {x} * {weights}, stride {strides}, pad {pads}"


def deepbench(bench):
    cases = conv_cases(MOST_BATCH)
    if not bench.full:
        cases = bench.pick([case for case in cases if flops(case) <= QUICK_FLOPS], QUICK)
    ratios = {}
    with engines.all_open(lambda: engines.python_engine("tailor", 1),
                          lambda: engines.program_engine("onednn", bench.build_dir, 1)) as opened:
        peer = opened[1].name
        for case in cases:
            name = name_of(case)
            bench.progress(name)
            for engine in opened:
                engine.prepare(**case)
            engines.require_agreement(opened, TOLERANCE, name)
            own, theirs = engines.take_turns(opened, bench.rounds, SECONDS)
            ratios[name] = theirs / own
    mean, worst = geomean(ratios.values()), min(ratios, key=ratios.get)
    return [Figure(f"{len(cases)} convolutions, geometric mean", mean, "x", AtLeast(1.0), peer, ratio=mean),
            Figure(f"worst: {worst}", ratios[worst], "x", None, peer, ratio=ratios[worst])]
