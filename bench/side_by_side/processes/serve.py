"""Serves one engine: reads a request as JSON from each line of its input, answers with a line.

    python -m side_by_side.processes.serve KIND --threads N [--model FILE]

    {"prepare": {CASE}}   make a case ready and run it once        -> {"first": seconds}
    {"time": SECONDS}     run it repeatedly for about SECONDS      -> {"times": [seconds, ...]}
    {"save": FILE}        run it, write its results as raw f32     -> {"elements": [of each result]}
    {"memory": true}      bytes of this process                    -> {"peak": bytes, "now": bytes}
    {"opened": true}      seconds that it took to open the model   -> {"seconds": seconds}
    {"launches": true}    kernels of a run                         -> {"launches": number}; only of Tailor and catalog
    {"reserve": [B, S]}, {"workspace": [[B, S], ...]}              only of Tailor's encoders
    {"reserve_case": CASE}                                         only of Tailor

A case is {"encoder": [B, S]}, {"image": [N, H, W]} or {"text_line": [N, W]} of the model, {"inputs": [...], "sizes":
{...}, "fixed": {...}} as manifest.json of tools/export_models describes them (with "steps": N, of a decoder: runs for N
tokens, whose caches grow; see growing.py), {"node": NAME} of nodes.py, or an op with its dim sizes ("op": "dot", "m":
...). A failure is answered by {"error": TEXT}. With one thread, times are CPU times of the process on the last CPU, that
of a first run with the compilers it called, else elapsed times.
"""
import argparse
import importlib
import json
import os
import resource
import sys
import time

import numpy

LEAST_RUNS = 3
KINDS = ("tailor", "onnxruntime", "openvino", "torch", "catalog", "xla", "iree", "tvm")


def cpu_time_with_children():
    """Children count once they have ended: compilers."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def time_run(run, clock):
    begin = clock()
    run()
    return clock() - begin


def time_runs(run, seconds, clock):
    """The times of LEAST_RUNS runs or more; of fewer where one takes longer than `seconds`."""
    times, begin = [], time.perf_counter()
    while True:
        times.append(time_run(run, clock))
        passed = time.perf_counter() - begin
        if passed >= seconds and (len(times) >= LEAST_RUNS or passed >= LEAST_RUNS * seconds):
            return times


def memory():
    fields = dict(line.split(":", 1) for line in open("/proc/self/status"))
    return {name: int(fields[field].split()[0]) << 10 for name, field in (("peak", "VmHWM"), ("now", "VmRSS"))}


def save(results, path):
    """Writes an array, or several one after another; returns their numbers of elements."""
    arrays = [results] if isinstance(results, numpy.ndarray) else list(results)
    with open(path, "wb") as file:
        for array in arrays:
            numpy.ascontiguousarray(array, numpy.float32).tofile(file)
    return [array.size for array in arrays]


def failure(error):
    return {"error": f"{type(error).__name__}: {error}"}


class Server:
    """`opened`: the seconds in which the engine was made; `first_clock`: of first runs, which may compile."""

    def __init__(self, engine, clock, opened=0.0, first_clock=None):
        self._engine, self._clock, self._opened, self._run = engine, clock, opened, None
        self._first_clock = first_clock or clock

    def answer(self, request):
        if "prepare" in request:
            self._run = self._engine.prepare(request["prepare"])
            return {"first": time_run(self._run, self._first_clock)}
        if "time" in request:
            return {"times": time_runs(self._run, request["time"], self._clock)}
        if "save" in request:
            return {"elements": save(self._run(), request["save"])}
        if "opened" in request:
            return {"seconds": self._opened}
        if "memory" in request:
            return memory()
        return self._engine.answer(request)


def speak(name, server, replies=sys.stdout):
    """Says that the engine `name` is ready, and answers requests until the input ends."""
    print(json.dumps({"ready": name}), file=replies, flush=True)
    for line in sys.stdin:
        try:
            reply = server.answer(json.loads(line))
        except Exception as error:  # noqa: BLE001 - reported to the client
            reply = failure(error)
        print(json.dumps(reply), file=replies, flush=True)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("kind", choices=KINDS)
    arguments.add_argument("--threads", type=int, required=True)
    arguments.add_argument("--model")
    options = arguments.parse_args()
    clock = first_clock = time.perf_counter
    if options.threads == 1:  # CPU time excludes other processes, and includes helper threads of the engine
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        clock, first_clock = time.process_time, cpu_time_with_children
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what libraries print is no reply
    try:
        module = importlib.import_module(f"side_by_side.processes.{options.kind}_engine")
        begin = time.perf_counter()
        engine = module.Engine(options.model, options.threads)
    except Exception as error:  # noqa: BLE001 - reported to the client
        print(json.dumps(failure(error)), file=replies, flush=True)
        return 1
    speak(engine.name, Server(engine, clock, time.perf_counter() - begin, first_clock), replies)
    return 0


if __name__ == "__main__":
    sys.exit(main())
