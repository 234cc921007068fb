"""Suites: how many of their cases pass on the device."""
import re

from ..figures import AtLeast, AtMost, Figure
from ..gpu_program import count_tests

# A process for each: children of a process that has used a GPU cannot use it.
DEVICE_TESTS = ("Cuda*:TakenOutput*", "EveryOp.*", "Convolutions.*:MergedMatmuls.*")
RANDOM_GRAPHS = "RandomGraphs.*-*Donated*"
GRAPHS = {"quick": 80, "full": 1000, "emulated": 6}


def figures(bench, passed, failed, skipped, output):
    """`output` is kept if something failed."""
    if failed:
        bench.keep(output)
    return [Figure("passed", passed, "cases", AtLeast(1)), Figure("failed", failed, "cases", AtMost(0)),
            Figure("skipped", skipped, "cases")]


def run_tests(bench, patterns, **variables):
    totals, outputs = [0, 0, 0], ""
    for pattern in patterns:
        bench.progress(pattern)
        status, output = bench.gpu.run("test", f"--gtest_filter={pattern}", **variables)
        counts = list(count_tests(output))
        if status != 0 and counts[1] == 0:  # it ended before it could count
            counts[1] = 1
        totals = [total + count for total, count in zip(totals, counts)]
        outputs += output
    for reason in sorted(set(re.findall(r"Skipped\n(.+)", outputs))):
        bench.note(f"skipped: {reason}")
    return figures(bench, *totals, outputs)


def device_tests(bench):
    return run_tests(bench, bench.suites or DEVICE_TESTS)


def random_graphs(bench):
    kind = "emulated" if bench.emulated else "full" if bench.full else "quick"
    return run_tests(bench, [RANDOM_GRAPHS], TAILOR_FUZZ_GRAPHS=str(GRAPHS[kind]), TAILOR_REGRESSIONS=bench.regressions,
                     **({"TAILOR_TEST_ALL": "1"} if kind == "full" else {}))


def onnx_cases(bench):
    status, output = bench.gpu.run("cases", bench.cases, bench.slice)
    counted = re.search(r"^(\d+) passed, (\d+) failed$", output, re.MULTILINE)
    passed, failed = map(int, counted.groups()) if counted else (0, 1)
    return figures(bench, passed, failed, 0, output)
