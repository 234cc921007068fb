"""Matmuls of the ranges of MikPoly's Table 3 against the best of OpenBLAS, oneDNN and MKL, on one thread.

As in rows/dots.py M is a symbol, and w is constant: oneDNN and Tailor have it packed beforehand. Here every run has the
same w and x, which stay in cache where they fit.
"""
import statistics

from .. import engines
from ..figures import AtLeast, Figure, NotMeasured, geomean
from ..lists import drawn_dots
from ..tables import Table

COUNT, FULL_COUNT = 24, 192
MOST_FLOPS, FULL_MOST_FLOPS = 1e9, 2e10
MOST_NUMBERS = 1 << 26
SECONDS = 0.05
TOLERANCE = 1e-4
PEERS = ("openblas", "onednn", "mkl")


def drawn(bench):
    shapes = list(dict.fromkeys(drawn_dots(FULL_COUNT, FULL_MOST_FLOPS, MOST_NUMBERS) if bench.full else
                                drawn_dots(COUNT, MOST_FLOPS, MOST_NUMBERS)))
    kinds = [kind for kind in PEERS if engines.program_exists(kind, bench.build_dir)]
    if not kinds:
        raise NotMeasured("no peer is built: ./dev bench builds them")
    for missing in set(PEERS) - set(kinds):
        bench.note(f"mikpoly: no peer {missing}, its library is not installed")
    own = bench.tailor.with_dots(shapes)
    openers = [lambda: engines.python_engine("tailor", 1)]
    openers += [lambda kind=kind: engines.program_engine(kind, bench.build_dir, 1) for kind in kinds]
    with engines.all_open(*openers) as opened:
        names = [engine.name for engine in opened[1:]]
        times = {shape: measured(bench, own, shape, opened) for shape in shapes}
    bench.tables.append(table(names, times))
    return figures(names, times)


def measured(bench, own, shape, opened):
    """Seconds of Tailor and of each peer, medians of turns."""
    text = "x".join(map(str, shape))
    bench.progress(text)
    for engine in opened:
        engine.prepare(op="dot", **dict(zip("mkn", shape)))
    engines.require_agreement(opened, TOLERANCE, text)
    turns = []
    for _ in range(bench.rounds):
        mine = own.one(f"given_dot/{text}", repetitions=1).nanoseconds("real_time") * 1e-9
        turns.append([mine, *engines.take_turns(opened[1:], 1, SECONDS)])
    return [statistics.median(each) for each in zip(*turns)]


def figures(names, times):
    """`times`: {shape: [seconds of Tailor, of each peer]}."""
    ratios = {shape: min(theirs) / own for shape, (own, *theirs) in times.items()}
    worst, best = min(ratios, key=ratios.get), "the best of " + ", ".join(names)
    mean = geomean(ratios.values())
    out = [Figure(f"matmuls drawn from MikPoly's ranges, {len(times)} shapes, geometric mean", mean, "x", AtLeast(1.4),
                  best, ratio=mean),
           Figure("worst: {} x {} x {}".format(*worst), ratios[worst], "x", AtLeast(0.85), best, ratio=ratios[worst])]
    for i, name in enumerate(names):
        ratio = geomean(theirs[i] / own for own, *theirs in times.values())
        out.append(Figure(f"matmuls drawn from MikPoly's ranges, beside {name.split()[0]}", ratio, "x", None, name,
                          ratio=ratio))
    return out


def table(names, times):
    """From the slowest to the fastest beside the best peer."""
    rows = [[*map(str, shape), *(seconds * 1e6 for seconds in row), min(row[1:]) / row[0]]
            for shape, row in sorted(times.items(), key=lambda item: min(item[1][1:]) / item[1][0])]
    return Table("Matmuls drawn from MikPoly's ranges, us", ("M", "K", "N", "Tailor", *names, "ratio to the best"), rows)
