"""Choosing kernels at run time, with the memo of earlier choices off."""
import statistics

from ..figures import AtMost, Figure, NotMeasured


def choice(bench):
    """From the benchmarks choice/...: the time of a choice, and in the counter `regret` how much slower the kernels
    that were chosen are than the best ones, as a share."""
    names = [name for name in bench.tailor.names() if name.startswith("choice/")]
    if not names:
        raise NotMeasured("no benchmarks named choice/...")
    results = bench.tailor.run("^choice/").values()
    nanoseconds = statistics.median(result.nanoseconds("cpu_time") for result in results)
    out = [Figure("choosing a kernel, median", nanoseconds * 1e-3, "us", AtMost(0.3))]
    try:
        regret = statistics.fmean(result.counter("regret") for result in results)
        out.append(Figure("loss by the choice, mean", regret, "share", AtMost(0.03)))
    except NotMeasured as reason:
        out.append(Figure("loss by the choice, mean", bar=AtMost(0.03), reason=f"not measured: {reason}"))
    return out
