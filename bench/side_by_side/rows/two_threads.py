"""Large matmuls on two threads against the multiply-add peak of both, measured in between."""
from ..figures import AtLeast, Figure, geomean


def dots(bench):
    results = bench.tailor.run("^(dot_2_threads/|fma_peak_2_threads$)")
    peak = results.pop("fma_peak_2_threads")
    each = {result.name.replace("/", " "): result.counter("share_of_peak") for result in results.values()}
    return [Figure("matmuls on 2 threads, geometric mean", geomean(each.values()), "of peak", AtLeast(0.92)),
            *(Figure(name, share, "of peak") for name, share in each.items()),
            Figure("multiply-add peak, 2 threads", peak.counter("gflops"), "Gflop/s")]
