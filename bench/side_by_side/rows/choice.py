"""Choosing the tiling of matmuls at run time, without a shape cache."""
from ..figures import AtMost, Figure


def choice(bench):
    """From choice/never_seen: the time of a choice. From choice/regret: the mean time of the chosen tilings over that
    of the best ones, less 1."""
    nanoseconds = bench.tailor.one("choice/never_seen").nanoseconds("cpu_time")
    regret = bench.tailor.one("choice/regret", repetitions=1)
    return [Figure("choosing a tiling, median", nanoseconds * 1e-3, "us", AtMost(0.3)),
            Figure("regret of the choice, mean", regret.counter("regret"), "share", AtMost(0.03)),
            Figure("regret of the rule alone, mean", regret.counter("regret_of_rule"), "share")]
