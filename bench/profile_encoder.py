"""Where the time of an encoder run goes: the median of each kernel launch, and sums by kind of kernel.

    profile_encoder.py B S [--threads N] [--library-dir DIR] [--launches]
"""
import argparse
import collections
import os
import pathlib
import statistics
import sys

HERE = pathlib.Path(__file__).resolve().parent
PYTHON = HERE.parent / "bindings" / "python"
sys.path[:0] = [str(PYTHON), str(PYTHON / "examples")]
RUNS = 30


def profile(executable, arrays, threads):
    """The names of the launches, and the times in seconds of each over RUNS runs."""
    names = [launch["kernel"] for launch in executable.describe()["variants"][0]["launches"]]
    times = [[] for _ in names]

    def trace(event):
        if event.launch is not None:
            times[event.launch].append((event.end_ns - event.begin_ns) * 1e-9)

    session = executable.session(threads=threads, trace=trace)
    for _ in range(RUNS):
        session.run(*arrays)
    return names, times


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("batch", type=int, metavar="B")
    arguments.add_argument("length", type=int, metavar="S")
    arguments.add_argument("--threads", type=int, default=1)
    arguments.add_argument("--library-dir", default=HERE.parent / "build" / "lib")
    arguments.add_argument("--launches", action="store_true", help="list every launch")
    options = arguments.parse_args()
    os.environ["TAILOR_LIBRARY_DIR"] = str(options.library_dir)

    from side_by_side.processes.operands import tokens
    from minilm import graph, weights
    executable = graph.build(weights.load()[1]).compile(targets=["host"])
    names, times = profile(executable, tokens(options.batch, options.length), options.threads)

    kinds = collections.Counter()
    for name, own in zip(names, times):
        median = statistics.median(own)
        kinds[name.split("_", 1)[1]] += median  # "g10_dot" is a dot
        if options.launches:
            print(f"{name:<24} {median * 1e6:>10.1f} us")
    total = kinds.total()
    for kind, seconds in kinds.most_common():
        print(f"{kind:<24} {seconds * 1e6:>10.1f} us {seconds / total:>6.1%}")


if __name__ == "__main__":
    main()
