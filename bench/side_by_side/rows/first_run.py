"""First runs at shapes that were never seen, against later runs at the same shapes."""
import statistics

from .. import engines
from ..figures import AtMost, Figure, NotMeasured, geomean
from ..lists import encoder_stream

LEAST_SECONDS = 1e-3  # of a steady run; shorter ones are left out
SECONDS = 0.1
QUICK = 24


def first_run(bench):
    """The sentence encoder on one thread. Peers have no workspace to reserve; they have seen one shape."""
    shapes = list(dict.fromkeys(encoder_stream(200 if bench.full else QUICK, most_length=512 if bench.full else 128)))
    largest = [max(dim_sizes) for dim_sizes in zip(*shapes)]
    with engines.all_open(lambda: engines.python_engine("tailor", 1, bench.models.artifact("minilm")),
                          lambda: engines.python_engine("onnxruntime", 1, bench.models.onnx("minilm"))) as opened:
        opened[0].ask(reserve=largest)
        ratios = [ratios_of(engine, shapes) for engine in opened]
    own, theirs = ratios
    if not own:
        raise NotMeasured(f"no run of the encoder takes {LEAST_SECONDS * 1e3:g} ms")
    return [Figure("first run over later runs, geometric mean", geomean(own), "x", AtMost(1.1), opened[1].name,
                   geomean(theirs), geomean(theirs) / geomean(own)),
            Figure("first run over later runs, worst", max(own), "x", None, opened[1].name, max(theirs))]


def ratios_of(engine, shapes):
    engine.prepare(encoder=[1, 1])
    out = []
    for shape in shapes:
        first, later = engine.prepare(encoder=shape), statistics.median(engine.times(SECONDS))
        if later >= LEAST_SECONDS:
            out.append(first / later)
    return out
