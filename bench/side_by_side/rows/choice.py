"""Choosing how products are cut at run time, with the memo of earlier choices off."""
from ..figures import AtMost, Figure


def choice(bench):
    """From choice/never_seen: the time of a choice. From choice/regret: by how large a share the cuts that were chosen
    take longer than the best ones, in the mean."""
    nanoseconds = bench.tailor.one("choice/never_seen").nanoseconds("cpu_time")
    regret = bench.tailor.one("choice/regret", repetitions=1)
    return [Figure("choosing a cut, median", nanoseconds * 1e-3, "us", AtMost(0.3)),
            Figure("loss by the choice, mean", regret.counter("regret"), "share", AtMost(0.03)),
            Figure("loss by the rule alone, mean", regret.counter("regret_of_rule"), "share")]
