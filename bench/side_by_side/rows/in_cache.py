"""Row kernels on 64 x 512 elements, which stay in L2, on one thread."""
import statistics

from .. import engines
from ..figures import AtLeast, AtMost, Figure

ROWS, COLUMNS = 64, 512
SECONDS = 0.05
TOLERANCE = 1e-5
SPEED_UP = {"softmax": AtLeast(2.8), "layer_norm": AtLeast(2), "gelu": AtLeast(2.2), "gelu_tanh": None, "exp": None}
SPEED_UP_AVX2 = {"softmax": AtLeast(1.6), "layer_norm": AtLeast(1.6), "gelu": AtLeast(1.5), "gelu_tanh": None,
                 "exp": AtLeast(1.3)}
SOFTMAX_PER_ELEMENT = AtMost(0.22)  # ns, with AVX-512


def row_kernels(bench):
    openers = [lambda: engines.python_engine("tailor", 1)]
    if engines.program_exists("onednn", bench.build_dir):
        openers.append(lambda: engines.program_engine("onednn", bench.build_dir, 1))
    with engines.all_open(*openers) as opened:
        speed_up = SPEED_UP if bench.cpu.wide else SPEED_UP_AVX2
        return [figure for op, bar in speed_up.items() for figure in figures_of(bench, op, bar, opened)]


def figures_of(bench, op, bar, opened):
    own, theirs = microseconds(bench, op, opened)
    peer = opened[1].name if theirs else None
    ratio = theirs / own if theirs else None
    name = op.replace("_", " ")
    out = [Figure(f"{name} {ROWS} x {COLUMNS}", own, "us", None, peer, theirs, ratio),
           Figure(f"{name}, speed-up", ratio, "x", bar, peer, ratio=ratio,
                  reason=None if peer else "not measured: oneDNN is not installed")]
    if op == "softmax":
        out.append(Figure("softmax, an element", own * 1e3 / (ROWS * COLUMNS), "ns",
                          SOFTMAX_PER_ELEMENT if bench.cpu.wide else None))
    return out


def microseconds(bench, op, opened):
    """The medians of tailor-bench and of the peer, which is None where there is none."""
    for engine in opened:
        engine.prepare(op=op, rows=ROWS, columns=COLUMNS)
    engines.require_agreement(opened, TOLERANCE, op)
    own, theirs = [], []
    for _ in range(bench.rounds):
        own.append(bench.tailor.one(f"{op}/{ROWS}x{COLUMNS}", repetitions=1).nanoseconds("cpu_time") * 1e-3)
        theirs += [seconds * 1e6 for seconds in engines.take_turns(opened[1:], 1, SECONDS)]
    return statistics.median(own), statistics.median(theirs) if theirs else None
