"""A feature pyramid of depthwise 7x7 convolutions, with H and W dynamic and fixed: what dims joined by broadcasting cost.

The third time is that of the general version only (max_versions=1), which computes addresses with bcast(...).

    joins.py [--side N] [--runs N]      (PYTHONPATH=bindings/python, TAILOR_LIBRARY_DIR)

Prints the median time of each, in turns, for 1 to 3 levels of f32[1, 64, side, side].
"""
import argparse
import statistics
import time

import numpy

import tailor

CHANNELS, LEVELS = 64, (1, 2, 3)


def pyramid(levels, height, width):
    random = numpy.random.default_rng(0)
    graph = tailor.Graph("pyramid")
    down, blur = (graph.constant((random.standard_normal(shape) / 10).astype(numpy.float32))
                  for shape in ((CHANNELS, CHANNELS, 3, 3), (CHANNELS, 1, 7, 7)))
    below = [graph.input("x", "f32", [1, CHANNELS, height, width])]
    for _ in range(levels):
        below.append(graph.conv(below[-1], down, strides=[2, 2], pads=[(1, 1), (1, 1)]))
    top = below.pop()
    for number, level in enumerate(reversed(below)):
        n, c, h, w = top.shape
        spread = graph.broadcast(graph.reshape(top, [n, c, h, 1, w, 1]), [n, c, h, 2, w, 2])
        top = graph.reshape(spread, [n, c, h * 2, w * 2]) + level
        graph.output(f"y{number}", graph.conv(top, blur, groups=CHANNELS, pads=[(3, 3), (3, 3)]))
    return graph


def seconds(executable, x):
    start = time.perf_counter()
    executable.run(x)
    return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--side", type=int, default=128)
    parser.add_argument("--runs", type=int, default=9)
    options = parser.parse_args()
    x = numpy.random.default_rng(1).standard_normal((1, CHANNELS, options.side, options.side), numpy.float32)
    for levels in LEVELS:
        dynamic = pyramid(levels, "H", "W")
        executables = [pyramid(levels, options.side, options.side).compile(), dynamic.compile(),
                       dynamic.compile(max_versions=1)]
        for executable in executables:
            executable.run(x)
        times = [[seconds(executable, x) for executable in executables] for _ in range(options.runs)]
        fixed, joined, general = (statistics.median(column) * 1e3 for column in zip(*times))
        print(f"{levels} levels: fixed {fixed:.1f} ms, dynamic {joined:.1f} ms ({joined / fixed:.2f}), general "
              f"{general:.1f} ms ({general / fixed:.2f})")


if __name__ == "__main__":
    main()
