"""One engine with the encoder in it, in a process of its own: reads a request as JSON from each line of its input,
answers with a line. side_by_side.py starts two of these, and lets one work at a time.

    {"run": [B, S], "seconds": T}   time runs at this shape for about T seconds
    {"save": [B, S], "to": FILE}    run once and write the embeddings as .npy
"""
import argparse
import json
import os
import pathlib
import sys
import time

import numpy

LEAST_RUNS = 5


def tokens(batch, length):
    """ids and mask of sentences of differing lengths, padded."""
    random = numpy.random.default_rng(batch * 1000 + length)
    ids = random.integers(1000, 30000, (batch, length))
    lengths = random.integers((length + 1) // 2, length + 1, (batch, 1))
    return ids, (numpy.arange(length) < lengths).astype(numpy.int64)


class Tailor:
    def __init__(self, model, threads):
        import tailor.runtime
        self._session = tailor.runtime.load(model).session(threads=threads)

    def bind(self, ids, mask, out):
        self._session.bind([ids, mask], [out])
        return self._session.run_bound


class OnnxRuntime:
    def __init__(self, model, threads):
        import onnxruntime
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        self._session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])

    def bind(self, ids, mask, out):
        binding = self._session.io_binding()
        binding.bind_cpu_input("ids", ids)
        binding.bind_cpu_input("mask", mask)
        binding.bind_output("embedding", "cpu", 0, numpy.float32, out.shape, out.ctypes.data)
        return lambda: self._session.run_with_iobinding(binding)


ENGINES = {"tailor": Tailor, "onnxruntime": OnnxRuntime}


def time_runs(run, seconds, clock):
    """The times in seconds of at least LEAST_RUNS runs, after one that does not count."""
    run()
    times, end = [], time.perf_counter() + seconds
    while len(times) < LEAST_RUNS or time.perf_counter() < end:
        begin = clock()
        run()
        times.append(clock() - begin)
    return times


def answer(engine, clock, request):
    batch, length = request.get("run") or request["save"]
    ids, mask = tokens(batch, length)
    out = numpy.empty((batch, 384), numpy.float32)
    run = engine.bind(ids, mask, out)
    if "run" in request:
        return {"times": time_runs(run, request["seconds"], clock)}
    run()
    numpy.save(request["to"], out)
    return {}


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("engine", choices=ENGINES)
    arguments.add_argument("model", type=pathlib.Path)
    arguments.add_argument("--threads", type=int, required=True)
    options = arguments.parse_args()
    clock = time.perf_counter
    if options.threads == 1:  # all work is this thread's: its CPU time leaves out what others on the machine do
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        clock = time.thread_time
    engine = ENGINES[options.engine](options.model, options.threads)
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(engine, clock, json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
