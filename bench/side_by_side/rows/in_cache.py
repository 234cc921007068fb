"""Row kernels on 64 x 512 elements, which stay in L2, on one thread."""
import statistics

from .. import engines
from ..figures import AtLeast, AtMost, Figure

ROWS, COLUMNS = 64, 512
SECONDS = 0.05
TOLERANCE = 1e-5
SPEED_UP = {"softmax": AtLeast(2.8), "layer_norm": AtLeast(2), "gelu": AtLeast(2.2), "exp": None}
SOFTMAX_PER_ELEMENT = AtMost(0.22)  # ns


def row_kernels(bench):
    with engines.all_open(lambda: engines.python_engine("tailor", 1),
                          lambda: engines.program_engine("onednn", bench.build_dir, 1)) as opened:
        return [figure for op in SPEED_UP for figure in figures_of(bench, op, opened)]


def figures_of(bench, op, opened):
    tailor, peer = opened
    case = {"op": op, "rows": ROWS, "columns": COLUMNS}
    for engine in opened:
        engine.prepare(**case)
    engines.require_agreement(opened, TOLERANCE, op)
    own, theirs = [], []
    for _ in range(bench.rounds):
        result = bench.tailor.one(f"{op}/{ROWS}x{COLUMNS}", repetitions=1)
        own.append(result.nanoseconds("cpu_time") * 1e-3)
        theirs.append(engines.take_turns([peer], 1, SECONDS)[0] * 1e6)
    mine, other = statistics.median(own), statistics.median(theirs)
    name = op.replace("_", " ")
    out = [Figure(f"{name} {ROWS} x {COLUMNS}", mine, "us", None, peer.name, other, other / mine),
           Figure(f"{name}, speed-up", other / mine, "x", SPEED_UP[op], peer.name,
                  ratio=other / mine)]
    if op == "softmax":
        out.append(Figure("softmax, an element", mine * 1e3 / (ROWS * COLUMNS), "ns", SOFTMAX_PER_ELEMENT))
    return out
