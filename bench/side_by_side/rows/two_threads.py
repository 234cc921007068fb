"""Large products on two threads against the multiply-add peak of both, measured in between."""
from ..figures import AtLeast, Figure, geomean


def dots(bench):
    results = bench.tailor.run("^dot_2_threads/").values()
    each = {result.name.replace("/", " "): result.counter("share_of_peak") for result in results}
    return [Figure("products on 2 threads, geometric mean", geomean(each.values()), "of peak", AtLeast(0.92)),
            *(Figure(name, share, "of peak") for name, share in each.items())]
