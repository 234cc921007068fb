"""Tests and measures Tailor on this machine's GPU. Prints one table: figures, targets, and peers' figures.

    ./dev gpu-check [--only NAME] [--full] [--json FILE] [--results FILE]

Without a GPU every row says why there is none. On an emulated GPU (TAILOR_CUDA_DRIVER) only suites count: times are the
emulator's, and no results are written. The exit status is 1 if a row failed or a suite has failing cases; a missed
speed target is no failure. Only Python's standard library is needed; PyTorch is a peer if it is installed.
"""
import argparse
import dataclasses
import datetime
import importlib.util
import json
import os
import pathlib
import platform
import sys

from . import figures, report
from .figures import NotMeasured
from .gpu_program import GpuProgram, ask
from .gpu_rows import ROWS

HERE = pathlib.Path(__file__).resolve().parent
COUNTED = "kernels"  # the unit of figures that are valid on an emulator too
SUITES = ("gpu-1", "gpu-2", "gpu-3")


def parsed(arguments):
    parser = argparse.ArgumentParser(prog="gpu-check", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, required=True, help="tailor-gpu")
    parser.add_argument("--cases", type=pathlib.Path, required=True, help="the cases of the ONNX suite")
    parser.add_argument("--regressions", type=pathlib.Path, required=True, help="folder of graphs that failed once")
    parser.add_argument("--torch-python", default=sys.executable, help="a Python that may have PyTorch")
    parser.add_argument("--only", action="append", choices=[row.name for row in ROWS], help="measure only this row")
    parser.add_argument("--full", action="store_true", help="whole lists, 3,000 random graphs")
    parser.add_argument("--slice", default="0/1", help="I/N: every N-th ONNX case from the I-th on")
    parser.add_argument("--suites", action="append", help="a GoogleTest filter: only these tests of gpu-1")
    parser.add_argument("--json", type=pathlib.Path, help="write the figures to this file")
    parser.add_argument("--results", type=pathlib.Path, help="write the table as a page with date and device")
    parser.add_argument("--log", type=pathlib.Path, help="write the output of failing suites to this file")
    return parser.parse_args(arguments)


def machine(device):
    model = platform.machine()
    with open("/proc/cpuinfo") as lines:
        model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), model)
    return {"gpu": device, "cpu": model, "cpus": len(os.sched_getaffinity(0)), "kernel": platform.release(),
            "python": platform.python_version(), "date": datetime.date.today().isoformat()}


class GpuBench:
    """State that rows share in one run."""

    def __init__(self, options):
        self.gpu, self.full = GpuProgram(options.program, options.torch_python), options.full
        self.emulated = bool(self.gpu.device().get("emulated"))
        self.cases, self.slice, self.suites = str(options.cases), options.slice, options.suites
        self.regressions, self.log = str(options.regressions), options.log
        self.machine, self.notes = machine(self.gpu.device()), []
        self._torch_python, self._has_torch = options.torch_python, None

    def note(self, text):
        """A remark for readers of the table; kept once."""
        if text not in self.notes:
            self.notes.append(text)

    def progress(self, text):
        print(f"   {text}", file=sys.stderr, flush=True)

    def keep(self, output):
        """Writes the output of a failing suite to the log, else to stderr."""
        if self.log is None:
            sys.stderr.write(output)
            return
        with open(self.log, "a") as log:
            log.write(output)

    def pick(self, cases, count):
        """All cases, or `count` of them in a quick run, evenly spread."""
        if self.full or len(cases) <= count:
            return list(cases)
        return [cases[round(i * (len(cases) - 1) / max(count - 1, 1))] for i in range(count)]

    def torch(self, names):
        """PyTorch's figures; raises NotMeasured if it is not installed or has no GPU."""
        if self.emulated:
            raise NotMeasured("PyTorch does not run on the emulator")
        if str(self._torch_python) == sys.executable and importlib.util.find_spec("torch") is None:
            raise NotMeasured("PyTorch is not installed")
        answers = ask([self._torch_python, "-m", "side_by_side.processes.torch_gpu"], names,
                      {**self.gpu.environment, "PYTHONPATH": str(HERE.parent)})
        for name, answer in answers.items():
            if "reason" in answer:
                raise NotMeasured(f"{name} by PyTorch: {answer['reason']}")
        return {name: {**answer["figures"], "peer": answer["peer"]} for name, answer in answers.items()}


def without_times(outcome):
    """The outcome without times: on an emulator a row only shows that measuring works."""
    def emptied(part):
        if part.value is None or part.unit == COUNTED:
            return part
        reason = f"not measured: the emulator plays the GPU ({report.number(part.value, part.unit)} there)"
        return dataclasses.replace(part, value=None, peer_value=None, ratio=None, reason=reason)
    parts = [emptied(part) for part in outcome.parts]
    return dataclasses.replace(outcome, parts=parts, head=emptied(outcome.head))


def measure_row(row, bench):
    def measure(bench):
        bench.gpu.require_device()
        return row.measure(bench)
    outcome = figures.measure(dataclasses.replace(row, measure=measure), bench)
    return without_times(outcome) if bench.emulated and row.name not in SUITES else outcome


def results_page(outcomes, described, notes):
    device = described["gpu"]
    if "absence" in device:
        place = f"No GPU: {device['absence']}"
    else:
        memory = f"{device['memory_bytes'] / 2**30:.0f} GiB"
        place = (f"{device['name']} (compute capability {device['capability']}, {device['processors']} "
                 f"multiprocessors, {memory}), driver for CUDA {device['driver']}; target {device['target']}")
    lines = ["# Figures of GPUs", "", "Written by `./dev gpu-check --results docs/gpu-results.md`; "
             "[gpu.md](gpu.md#checking-a-gpu) explains the rows.", "",
             f"- {described['date']}", f"- {place}", f"- {described['cpu']}, {described['cpus']} CPUs", "",
             report.markdown(outcomes)]
    if notes:
        lines += ["", *(f"- {note}" for note in notes)]
    return "\n".join(lines) + "\n"


def main(arguments=None):
    options = parsed(arguments)
    bench = GpuBench(options)
    if bench.emulated and options.results:
        sys.exit("gpu-check: the emulator's figures are no results of a GPU")
    outcomes = []
    for row in ROWS:
        if options.only and row.name not in options.only:
            continue
        print(f"-- {row.name}: {row.title}", file=sys.stderr, flush=True)
        outcomes.append(measure_row(row, bench))
        if options.json:
            options.json.write_text(json.dumps(report.as_json(outcomes, bench.machine, bench.notes), indent=1) + "\n")
    if options.results:
        options.results.write_text(results_page(outcomes, bench.machine, bench.notes))
    print(report.table(outcomes), *(f"\n- {note}" for note in bench.notes), sep="")
    wrong = [outcome for outcome in outcomes if outcome.failed or (outcome.row.name in SUITES and outcome.met is False)]
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
