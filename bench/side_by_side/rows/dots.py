"""Matmuls on one thread: x[M, K] w[K, N] with M symbolic and w constant.

The matmuls of the list read their weights from memory: in every engine, copies of w that exceed four last-level caches
take turns. Shares are relative to the machine's limit, measured in between by the same process: the multiply-add peak,
or the roofline, which is the longer of multiplying at that peak and of reading the bytes of x, w and y from memory.
"""
import dataclasses
import re

from .. import engines
from ..figures import AtLeast, Figure, NotMeasured, geomean
from ..lists import dot_shapes

SECONDS = 0.1  # of each turn
TOLERANCE = 1e-4
QUICK = 4  # shapes
MANY_ROWS, FEW_ROWS = 32, 16


@dataclasses.dataclass
class Dot:
    """The measurements of one shape."""
    peak_share: float
    roofline_share: float
    seconds: float
    peers: dict  # name -> seconds


def name_of(shape):
    return "dot_from_memory/{}x{}x{}".format(*shape)


def measured(bench, shapes):
    """{shape: Dot}; each shape is measured once in a run of the bench."""
    missing = [shape for shape in shapes if name_of(shape) not in bench.tailor.names()]
    if missing:
        raise NotMeasured(f"no benchmark named {name_of(missing[0])}" + f" (nor {len(missing) - 1} others)" *
                          (len(missing) > 1))
    wanted = [shape for shape in shapes if shape not in bench.dots]
    if wanted:
        with engines.all_open(*peer_openers(bench)) as peers:
            for shape in wanted:
                bench.progress(name_of(shape))
                bench.dots[shape] = measure(bench, shape, peers)
    return {shape: bench.dots[shape] for shape in shapes}


def peer_openers(bench):
    """Tailor, for its results, and the installed peers; missing ones are noted."""
    openers = [lambda: engines.python_engine("tailor", 1)]
    for kind in ("onednn", "openblas"):
        if engines.program_exists(kind, bench.build_dir):
            openers.append(lambda kind=kind: engines.program_engine(kind, bench.build_dir, 1))
        else:
            bench.note(f"matmuls: no peer {kind}, its library is not installed")
    return openers


def measure(bench, shape, opened):
    tailor, *peers = opened
    m, k, n = shape
    case = {"op": "dot", "m": m, "k": k, "n": n}
    for engine in opened:
        engine.prepare(**case)
    engines.require_agreement(opened, TOLERANCE, name_of(shape))
    for peer in peers:
        peer.prepare(**case, copies=bench.weight_copies(4 * k * n))
    own, theirs = [], {peer.name: [] for peer in peers}
    for _ in range(bench.rounds):
        own.append(bench.tailor.one(name_of(shape), repetitions=1))
        for peer in peers:
            theirs[peer.name].append(engines.take_turns([peer], 1, SECONDS)[0])
    middle = sorted(own, key=lambda result: result.nanoseconds("real_time"))[len(own) // 2]
    seconds = middle.nanoseconds("real_time") * 1e-9
    return Dot(middle.counter("peak_share"), middle.counter("roofline_share"), seconds,
               {name: sorted(times)[len(times) // 2] for name, times in theirs.items()})


def shares(bench, shapes, what, read, unit, bar):
    """The geometric mean of `read` over the shapes, beside that of each peer."""
    dots = list(measured(bench, shapes).values())
    mean = geomean(map(read, dots))
    out = [Figure(f"{what}, {len(dots)} shapes", mean, unit, bar)]
    for peer in dots[0].peers:
        faster = geomean(dot.peers[peer] / dot.seconds for dot in dots)
        out.append(Figure(f"{what}, beside {peer.split()[0]}", mean, unit, peer=peer, peer_value=mean / faster,
                          ratio=faster))
    return out


def listed(bench, keep):
    return bench.pick([shape for shape in dot_shapes() if keep(shape[0])], QUICK)


def many_rows(bench):
    return shares(bench, listed(bench, lambda rows: rows >= MANY_ROWS), "matmuls of many rows",
                  lambda dot: dot.peak_share, "of peak", AtLeast(0.94))


def few_rows(bench):
    return shares(bench, listed(bench, lambda rows: rows <= FEW_ROWS), "matmuls of few rows",
                  lambda dot: dot.roofline_share, "of roofline", AtLeast(0.90))


def worst(bench):
    shapes = listed(bench, lambda rows: rows >= MANY_ROWS) + listed(bench, lambda rows: rows <= FEW_ROWS)
    dots = measured(bench, shapes)
    shape = min(dots, key=lambda shape: dots[shape].roofline_share)
    return [Figure(f"worst matmul: {name_of(shape)}", dots[shape].roofline_share, "of roofline", AtLeast(0.70))]


COMPUTE_BOUND_FROM = 256  # each of M, K and N


def bf16(bench):
    """dot_bf16/<CPU level>/<dim sizes>, timed in turn with f32, at the best level that this machine runs."""
    levels = {}  # best first
    for name in bench.tailor.names():
        match = re.fullmatch(r"dot_bf16/(.+)/(\d+)x(\d+)x(\d+)", name)
        if match and min(map(int, match.groups()[1:])) >= COMPUTE_BOUND_FROM:
            levels.setdefault(match[1], []).append(name)
    reasons = []
    for level, names in levels.items():
        try:
            results = bench.tailor.run("|".join(f"^{re.escape(name)}$" for name in names))
        except NotMeasured as reason:
            reasons.append(str(reason))
            continue
        speedups = [results[name].counter("times_f32") for name in names]
        return [Figure(f"bf16, {len(names)} shapes, {level}, geometric mean", geomean(speedups), "x", AtLeast(1.85))]
    raise NotMeasured("; ".join(reasons) or "no benchmarks named dot_bf16/<level>/<dim sizes>")


# ---- In cache ---------------------------------------------------------------------------------------

IN_CACHE_BAR_FROM = (84, 768, 768)  # M, K, N; smaller matmuls are shown without a target


def in_cache(bench):
    """Matmuls with one copy of w, which stays in cache."""
    names = [name for name in bench.tailor.names() if re.match(r"dot/\d", name)]
    if not names:
        raise NotMeasured("no benchmarks named dot/... beside the list's")
    results = bench.tailor.run("^fma_peak$|" + "|".join(f"^{re.escape(name)}$" for name in names))
    out = [Figure("multiply-add peak, one thread", results["fma_peak"].counter("gflops"), "Gflop/s")]
    for name in names:
        dim_sizes = map(int, name.removeprefix("dot/").split("x"))
        large = all(dim_size >= least for dim_size, least in zip(dim_sizes, IN_CACHE_BAR_FROM))
        out.append(Figure(f"{name.replace('/', ' ')}, share of peak",
                          results[name].counter("peak_share"), "of peak",
                          AtLeast(0.90) if large else None))
    return out
