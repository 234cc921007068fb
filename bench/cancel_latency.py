"""How soon cancelled runs return: the time from Session.cancel on another thread to the end of the run.

Usage: PYTHONPATH=bindings/python python bench/cancel_latency.py [--threads N] [--repeat N] [CASE...]

One line per graph: the time of a whole run, and the median and maximum of the latencies of runs cancelled at many
moments (docs/decisions/runs-are-polled.md).
"""
import argparse
import statistics
import threading
import time

import numpy as np

import tailor

RANDOM = np.random.default_rng(0)


def floats(*shape):
    return RANDOM.standard_normal(shape, dtype=np.float32)


def compiled(build, *arrays):
    """The executable of `build`, over one symbol per dim of the arrays, and the arrays."""
    graph = tailor.Graph("g")
    inputs = [graph.input(f"x{i}", array.dtype, [tailor.symbol(f"d{i}_{d}", max=1 << 40) for d in range(array.ndim)])
              for i, array in enumerate(arrays)]
    graph.output("y", build(graph, *inputs))
    return graph.compile("host"), arrays


CASES = {
    "matmul 3072^3": lambda: compiled(lambda g, a, b: a @ b, floats(3072, 3072), floats(3072, 3072)),
    "matmul of 16 rows": lambda: compiled(lambda g, a, b: a @ b, floats(16, 8192), floats(8192, 32768)),
    "elementwise, 64 M": lambda: compiled(lambda g, a: (a.exp() + 1.0).log().tanh(), floats(64, 1 << 20)),
    "softmax, 8 rows": lambda: compiled(lambda g, a: a.softmax(-1), floats(8, 8 << 20)),
    "softmax, columns": lambda: compiled(lambda g, a: a.softmax(0), floats(8 << 20, 8)),
    "attention, 8192": lambda: compiled(lambda g, q, k, v: ((q @ k.transpose([0, 2, 1])) * 0.1).softmax(-1) @ v,
                                        *(floats(4, 8192, 64) for _ in range(3))),
    "convolution": lambda: compiled(lambda g, x, w: x.conv(w), floats(4, 64, 512, 512), floats(64, 64, 3, 3)),
    "transpose": lambda: compiled(lambda g, a: a.transpose([1, 0]), floats(16384, 8192)),
    "sort, 1 M": lambda: compiled(lambda g, a: g.sort(a, axis=-1)[0], floats(1, 1 << 20)),
    "gather, 48 M": lambda: compiled(lambda g, a, i: a.gather(i), floats(1 << 20), RANDOM.integers(0, 1 << 20, 48 << 20)),
    "l2_normalize, 2 rows": lambda: compiled(lambda g, a: a.l2_normalize(-1), floats(2, 32 << 20)),
    "sum of 64 M": lambda: compiled(lambda g, a: a.reduce_sum([0]), floats(64 << 20)),
    # Kernels that poll within one task.
    "scan, 32 M": lambda: compiled(lambda g, a: a.scan(0, "add"), floats(32 << 20)),
    "scatter, 32 M": lambda: compiled(lambda g, a, i, u: g.scatter(a, g.reshape(i, [i.shape[0], 1]), u, "add"),
                                      floats(1 << 20), RANDOM.integers(0, 1 << 20, 32 << 20), floats(32 << 20)),
    "matmul, K of 4 M": lambda: compiled(lambda g, a, b: a @ b, floats(16, 4 << 20), floats(4 << 20, 16)),
    "matmul, K of 32 M": lambda: compiled(lambda g, a, b: a @ b, floats(1, 32 << 20), floats(32 << 20, 1)),
}


def measure(session, arrays, repeat):
    """The time of a whole run and the latencies, in ms."""
    out = session.run(*arrays)
    begin = time.perf_counter()
    session.run(*arrays, out=out)
    whole = time.perf_counter() - begin
    latencies = []
    for i in range(repeat):
        ended = []

        def run():
            try:
                session.run(*arrays, out=out)
            except tailor.Error as error:
                assert error.code == "CANCELLED", error
            ended.append(time.perf_counter())

        thread = threading.Thread(target=run)
        thread.start()
        time.sleep(whole * (i + 0.5) / repeat * 0.8)
        cancelled = time.perf_counter()
        session.cancel()
        thread.join()
        session.uncancel()
        latencies.append(max(ended[0] - cancelled, 0.0) * 1e3)
    return whole * 1e3, latencies


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE", help="words of the cases to measure")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=20)
    arguments = parser.parse_args()
    print(f"{'case':22} {'run, ms':>9} {'median':>8} {'max, ms':>8}   {arguments.threads} threads")
    for name, make in CASES.items():
        if arguments.cases and not any(word in name for word in arguments.cases):
            continue
        executable, arrays = make()
        whole, latencies = measure(executable.session(threads=arguments.threads), arrays, arguments.repeat)
        print(f"{name:22} {whole:9.1f} {statistics.median(latencies):8.2f} {max(latencies):8.2f}", flush=True)


if __name__ == "__main__":
    main()
