"""Fixed costs: of a run, and before the first run."""
from ..figures import AtMost, Figure, NotMeasured


def dispatch(bench):
    results = bench.tailor.run("^(empty_run|added_kernel)$")
    out = [Figure("empty run", results["empty_run"].nanoseconds("cpu_time"), "ns", AtMost(150)),
           Figure("added kernel", results["added_kernel"].nanoseconds("real_time"), "ns", AtMost(30))]
    bar = AtMost(0.5)
    try:
        out.append(Figure("fork and join, 2 threads", bench.tailor.one("fork_join").counter("nanoseconds") * 1e-3, "us",
                          bar))
    except NotMeasured as reason:
        out.append(Figure("fork and join, 2 threads", bar=bar, reason=f"not measured: {reason}"))
    return out


def load_and_compile(bench):
    """Repetitions follow each other: no other process takes turns at compiling."""
    results = bench.tailor.run("^(load|compile)/")
    def figure(benchmark, clock, name, unit, scale, bar):
        return Figure(name, results[benchmark].nanoseconds(clock) / scale, unit, bar)
    return [figure("load/without_constants", "cpu_time", "load without constants", "ms", 1e6, AtMost(1)),
            figure("load/encoder", "cpu_time", "load the encoder", "ms", 1e6, None),
            figure("compile/encoder_all_targets", "real_time", "compile the encoder, all targets", "s", 1e9, AtMost(3)),
            figure("compile/encoder_host", "real_time", "compile the encoder, this CPU", "s", 1e9, AtMost(3))]
