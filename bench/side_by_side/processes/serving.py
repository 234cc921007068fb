"""Serves several models to concurrent callers, by the protocol of serve.py.

    python -m side_by_side.processes.serving KIND --parallelism N NAME=FILE...

    {"prepare": {REQUEST}}, {"save": FILE}, {"memory": true}       as in serve.py
    {"callers": N, "requests": [{REQUEST}, ...]}  prepare N callers; each runs every request once      -> {}
    {"serve": SECONDS}                            all callers run their requests for about SECONDS
                                                  -> {"callers": [[[request, seconds], ...], ...], "seconds": elapsed}
    {"check": true}       runs every request of all callers, beside the results of their first runs        -> {}

A request is a case with the name of its model: {"model": NAME, "encoder": [B, S]}. Every caller is a thread that cycles
through the same list from a place of its own, and goes on there in the next turn. N of --parallelism is what
Service of the engine says. Of engines that have no queue of their own as many runs go on at once as occupy the CPUs;
other callers wait in turn.
"""
import argparse
import collections
import importlib
import itertools
import os
import threading
import time

import numpy

from .operands import of_model
from .serve import KINDS, Server, speak

TOLERANCE = 1e-3  # of a caller's last results beside its first ones


def spread(count, requests):
    """For each of `count` callers the endless order in which it takes the requests, given by their number."""
    starts = [caller * requests // count for caller in range(count)]
    return [itertools.cycle([*range(start, requests), *range(start)]) for start in starts]


class Admission:
    """Lets `most` callers in at once, the others in the order in which they came."""

    def __init__(self, most):
        self._lock, self._free, self._waiting = threading.Lock(), most, collections.deque()

    def __enter__(self):
        with self._lock:
            if self._free > 0:
                self._free -= 1
                return
            gate = threading.Lock()
            gate.acquire()
            self._waiting.append(gate)
        gate.acquire()  # whoever leaves opens it

    def __exit__(self, *_):
        with self._lock:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._free += 1

    def around(self, run):
        def admitted():
            with self:
                return run()
        return admitted


class Callers:
    """`runs[caller][request]()` runs a request with buffers of the caller's own."""

    def __init__(self, runs):
        self._runs, self._orders = runs, spread(len(runs), len(runs[0]))
        self._first = self._all()

    def serve(self, seconds):
        """The requests that each caller ran with their latencies, and the seconds that passed until the last ended."""
        begin = time.perf_counter()
        served = self._together(lambda caller: self._cycle(caller, begin + seconds))
        return {"callers": served, "seconds": time.perf_counter() - begin}

    def _cycle(self, caller, end):
        runs, served, now = self._runs[caller], [], time.perf_counter()
        for request in self._orders[caller]:
            run = runs[request]
            run()
            done = time.perf_counter()
            served.append((request, done - now))
            now = done
            if now >= end:
                return served

    def _together(self, work):
        """The results of work(caller) on a thread for each caller. The first exception of one is raised."""
        results, failures = [None] * len(self._runs), []

        def caller(number):
            try:
                results[number] = work(number)
            except Exception as error:  # noqa: BLE001 - raised below
                failures.append(error)
        threads = [threading.Thread(target=caller, args=(number,)) for number in range(len(self._runs))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]
        return results

    def _all(self):
        """Results of all requests, of all callers at once."""
        return self._together(lambda caller: [numpy.array(run()) for run in self._runs[caller]])

    def check(self):
        """Raises ValueError if a caller's results are no longer those of its first runs."""
        for caller, (first, last) in enumerate(zip(self._first, self._all())):
            for request, (expected, result) in enumerate(zip(first, last)):
                if not abs(result - expected).max() <= TOLERANCE * abs(expected).max():
                    raise ValueError(f"caller {caller} got another result of request {request} than before")


class ServiceServer(Server):
    def __init__(self, service, most):
        super().__init__(self, time.perf_counter)
        self._service, self._caller, self._callers = service, service.caller(), None
        self._admitted = (lambda run: run) if service.QUEUES else Admission(most).around

    def prepare(self, request):
        return self._caller(request["model"], of_model(request))

    def answer(self, request):
        if "callers" in request:
            inputs = [(each["model"], of_model(each)) for each in request["requests"]]
            makers = [self._service.caller() for _ in range(request["callers"])]
            self._callers = Callers([[self._admitted(maker(*each)) for each in inputs] for maker in makers])
            return {}
        if "serve" in request:
            return self._callers.serve(request["serve"])
        if "check" in request:
            self._callers.check()
            return {}
        return super().answer(request)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("kind", choices=[kind for kind in KINDS if kind != "torch"])
    arguments.add_argument("models", nargs="+", metavar="NAME=FILE")
    arguments.add_argument("--parallelism", type=int, required=True)
    options = arguments.parse_args()
    module = importlib.import_module(f"side_by_side.processes.{options.kind}_engine")
    service = module.Service(dict(model.split("=", 1) for model in options.models), options.parallelism)
    most = max(1, len(os.sched_getaffinity(0)) // options.parallelism)
    speak(service.name, ServiceServer(service, most))


if __name__ == "__main__":
    main()
