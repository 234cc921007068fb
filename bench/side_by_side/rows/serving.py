"""Eight callers on one runtime with three models, at mixed shapes, beside serving setups of other engines."""
import dataclasses
import os
import statistics
import time

from .. import engines
from ..figures import AtLeast, AtMost, Figure, percentile
from ..lists import serving_requests

CALLERS = 8
EACH, FULL_EACH = 6, 16  # requests of a caller's list to each model, in a quick run and in a full one
MODELS = ("minilm", "resnet18", "crnn")
TOLERANCE = 1e-3
SECONDS, FULL_SECONDS = 5, 60  # of each turn
TRIAL_SECONDS, FULL_TRIAL_SECONDS = 2, 10  # of each parallelism


@dataclasses.dataclass
class Turn:
    """The callers' requests with their latencies, as processes/serving.py answers them."""
    callers: list
    seconds: float

    def rate(self):
        return sum(map(len, self.callers)) / self.seconds

    def latency(self, requests, model, percent):
        """In seconds; of all models where `model` is None."""
        return percentile([seconds for served in self.callers for request, seconds in served
                           if model in (None, requests[request]["model"])], percent)


@dataclasses.dataclass
class Served:
    """An engine's turns, and its memory in bytes before the first and after the last."""
    name: str
    turns: list
    before: int = 0
    after: int = 0

    def rate(self):
        return statistics.median(turn.rate() for turn in self.turns)

    def latency(self, requests, model, percent):
        return statistics.median(turn.latency(requests, model, percent) for turn in self.turns)

    def shares(self):
        """The number of requests of each caller in all turns, over their mean."""
        counts = [sum(map(len, each)) for each in zip(*(turn.callers for turn in self.turns))]
        return [count / statistics.fmean(counts) for count in counts]


def opened(bench, kind, parallelism):
    artifacts = {"minilm": bench.models.artifact, "resnet18": bench.models.image_artifact,
                 "crnn": bench.models.text_line_artifact}
    make = (lambda model: artifacts[model](model)) if kind == "tailor" else bench.models.onnx
    return engines.serving_engine(kind, parallelism, {model: make(model) for model in MODELS})


def turn_of(engine, seconds):
    time.sleep(engines.PAUSE)
    return Turn(**engine.ask(serve=seconds))


def fastest(bench, kind, requests):
    """The parallelism with which the engine serves most requests a second: 1, or the number of CPUs. OpenVINO has so
    many streams; the others have so many threads in a run."""
    rates = {}
    for parallelism in (1, len(os.sched_getaffinity(0))):
        bench.progress(f"{kind} with {what(kind, parallelism)}")
        with engines.all_open(lambda: opened(bench, kind, parallelism)) as (engine,):
            engine.ask(callers=CALLERS, requests=requests)
            rates[parallelism] = turn_of(engine, FULL_TRIAL_SECONDS if bench.full else TRIAL_SECONDS).rate()
    best = max(rates, key=rates.get)
    tried = ", ".join(f"{rate:.1f} with {parallelism}" for parallelism, rate in rates.items())
    bench.note(f"serving: {kind} has {what(kind, best)}; requests a second in trials: {tried}")
    return best


def what(kind, parallelism):
    return f"{parallelism} {'stream' if kind == 'openvino' else 'thread'}{'s' if parallelism > 1 else ''}"


def served(bench, kinds, requests):
    """Served of each engine."""
    chosen = {kind: fastest(bench, kind, requests) for kind in kinds}
    openers = [lambda kind=kind: opened(bench, kind, chosen[kind]) for kind in kinds]
    with engines.all_open(*openers) as processes:
        for request in requests:
            for engine in processes:
                engine.prepare(**request)
            engines.require_agreement(processes, TOLERANCE, str(request))
        out = []
        for engine in processes:
            engine.ask(callers=CALLERS, requests=requests)
            out.append(Served(engine.name, [], engine.ask(memory=True)["now"]))
        for number in range(bench.rounds):
            for engine, own in zip(processes, out):
                bench.progress(f"turn {number + 1} of {bench.rounds}: {engine.name}")
                own.turns.append(turn_of(engine, FULL_SECONDS if bench.full else SECONDS))
                own.after = engine.ask(memory=True)["now"]
        for engine in processes:
            engine.ask(check=True)
        return out


def figures(results, requests):
    """Ratios with their targets, and the figures that they are made of. `results`: of Tailor first."""
    own, *peers = results
    shares = own.shares()
    out = [figure for peer in peers for figure in targets(own, peer, requests)]
    out += [Figure("serving: requests of the slowest caller over the mean", min(shares), "x", AtLeast(0.5)),
            Figure("serving: requests of the fastest caller over the mean", max(shares), "x", AtMost(2)),
            Figure("serving: memory that the turns add to that before", own.after / own.before - 1, "x", AtMost(0.05))]
    for peer in peers:
        out += beside(own, peer, requests)
    for each in results:
        out += [Figure(f"serving: memory before, {short(each)}", each.before / 2**20, "MiB"),
                Figure(f"serving: memory after, {short(each)}", each.after / 2**20, "MiB")]
    for peer in peers:
        out += [Figure(f"serving: slowest caller over the mean, {short(peer)}", min(peer.shares()), "x"),
                Figure(f"serving: fastest caller over the mean, {short(peer)}", max(peer.shares()), "x")]
    return out


def short(served):
    return served.name.split()[0]


def targets(own, peer, requests):
    fast = own.rate() / peer.rate()
    late = peer.latency(requests, None, 99) / own.latency(requests, None, 99)
    return [Figure(f"serving: throughput, beside {short(peer)}", fast, "x", AtLeast(1), peer.name, ratio=fast),
            Figure(f"serving: P99 latency, beside {short(peer)}", late, "x", AtLeast(1), peer.name, ratio=late)]


def beside(own, peer, requests):
    """Throughput, and latencies of all requests and of each model's."""
    out = [Figure(f"serving: requests a second, beside {short(peer)}", own.rate(), "", None, peer.name, peer.rate(),
                  own.rate() / peer.rate())]
    for model in (None, *dict.fromkeys(request["model"] for request in requests)):
        for percent in (50, 99):
            mine, theirs = (each.latency(requests, model, percent) * 1e3 for each in (own, peer))
            out.append(Figure(f"serving: P{percent} of {model or 'all'}, beside {short(peer)}", mine, "ms", None,
                              peer.name, theirs, theirs / mine))
    return out


def eight_callers(bench):
    peers = [kind for kind in ("onnxruntime", "openvino") if engines.package_exists(kind)]
    requests = serving_requests(FULL_EACH if bench.full else EACH)
    return figures(served(bench, ["tailor", *peers], requests), requests)
