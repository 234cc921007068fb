"""Runs the ONNX backend node suite against Tailor and writes onnx.md, every skip with its reason.

    python tests/conformance/run.py [--symbolic] [--device cpu|cuda|emulated] [--filter TEXT] [--slice I/N|today/N]
                                    [--workers N] [--verbose]
"""
import argparse
import collections
import datetime
import json
import os
import pathlib
import queue
import subprocess
import sys
import threading
import time

import cases

HERE = pathlib.Path(__file__).resolve().parent
SUPPORT = HERE.parent / "support"
sys.path.append(str(SUPPORT))
import devices  # noqa: E402

TIMEOUT_SECONDS = 120


class Worker:
    """A process that runs cases; one that dies or hangs fails its case and is replaced."""

    def __init__(self, mode, script=HERE / "worker.py"):
        self._mode, self._script, self._process = mode, script, None

    def run(self, name):
        if self._process is None:
            path = [os.environ.get("PYTHONPATH", ""), str(HERE.parents[1] / "bindings" / "python"), str(SUPPORT)]
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, path))}
            self._process = subprocess.Popen([sys.executable, self._script], stdin=subprocess.PIPE, text=True,
                                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment)
        process = self._process
        timer = threading.Timer(TIMEOUT_SECONDS, process.kill)
        timer.start()
        try:
            process.stdin.write(f"{self._mode} {name}\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        timer.cancel()
        if line:
            result = json.loads(line)
            if result["status"] == "failed":  # what it broke, a device say, must not fail others
                self.close()
                self._process = None
            return result
        self._process = None
        return {"case": name, "status": "failed", "reason": f"the process ended with {process.wait()}", "fixed": []}

    def close(self):
        if self._process is not None:
            self._process.stdin.close()
            self._process.wait()


def run_all(names, mode, workers, script=HERE / "worker.py"):
    """The results by case, in the suite's order."""
    waiting, results = queue.SimpleQueue(), {}
    for name in names:
        waiting.put(name)

    def drain():
        worker = Worker(mode, script)
        while True:
            try:
                name = waiting.get_nowait()
            except queue.Empty:
                worker.close()
                return
            results[name] = worker.run(name)

    threads = [threading.Thread(target=drain) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [results[name] for name in names]


def chosen(names, options):
    """The cases that the options ask for."""
    names = [name for name in names if options.filter in name]
    if options.slice and not os.environ.get("TAILOR_TEST_ALL"):
        index, count = options.slice.split("/")
        index = int(time.time() // 86400) if index == "today" else int(index)
        names = names[index % int(count)::int(count)]
    return names


def count(results):
    by = collections.Counter(result["status"] for result in results)
    return f"{by['passed']} passed, {by['failed']} failed, {by['skipped']} skipped"


def _cell(text):
    """A text as one cell of a table."""
    return " ".join(text.replace("|", "/").split())


def report(results, options):
    """The text of onnx.md."""
    fixed = sum(1 for result in results if result["status"] == "passed" and result["fixed"])
    lines = ["# ONNX backend node suite" + (", every input dim a symbol" if options.symbolic else "") + (
        "" if options.device == "cpu" else f", on the device \"{options.device}\""), "",
             f"onnx {cases.onnx.__version__}: {count(results)}.", ""]
    lines += [f"{fixed} of those that passed were given shapes, axes or the like at load (`fixed=`).", ""]
    for status, title in (("failed", "Failures"), ("skipped", "Skips")):
        rows = [result for result in results if result["status"] == status]
        if rows:
            lines += [f"## {title}", "", "| case | reason |", "|---|---|"]
            lines += [f"| {row['case']} | {_cell(row['reason'])} |" for row in rows] + [""]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--symbolic", action="store_true", help="every input dim a symbol, three shapes")
    parser.add_argument("--device", default="cpu",
                        help=f"where cases run: {', '.join(devices.DEVICES)}, or a CPU target")
    parser.add_argument("--filter", default="", help="only cases whose name contains this")
    parser.add_argument("--slice", help="i/n: every n-th case from the i-th on; today/n: another slice every day; "
                        "all cases where TAILOR_TEST_ALL is set")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--verbose", action="store_true", help="print skips too")
    options = parser.parse_args()
    found = list(cases.find())
    if len(found) < cases.FLOOR:
        sys.exit(f"found {len(found)} cases; at least {cases.FLOOR} are expected: is onnx 1.22 installed?")
    os.environ["TAILOR_TEST_DEVICE"] = options.device
    names = chosen(found, options)
    results = run_all(names, "symbolic" if options.symbolic else "suite", options.workers)
    for result in results:
        if result["status"] == "failed" or (options.verbose and result["status"] == "skipped"):
            print(f"{result['status']} {result['case']}: {result['reason']}")
    if len(names) == len(found):
        suffix = "_symbolic" * options.symbolic + f"_{options.device}" * (options.device != "cpu")
        (HERE / f"onnx{suffix}.md").write_text(report(results, options))
    print(count(results))
    sys.exit(any(result["status"] == "failed" for result in results))


if __name__ == "__main__":
    main()
