"""Whole models against the better of onnxruntime and OpenVINO, all with the same ONNX file (corpus.py).

Tailor's file is compiled with every dim symbolic that the model leaves open; peers open the model once for all shapes.
For each number of threads every engine is a new process, opened while no other runs: it opens the model, answers once,
and then takes turns with the others.
"""
import dataclasses
import itertools
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from .. import corpus, engines
from ..figures import AtLeast, AtMost, Figure, NotMeasured, failure, geomean, percentile
from ..tables import Table

SECONDS = 1.0  # of each turn
PEERS = ("onnxruntime", "openvino")
NAMES = ("Tailor", "onnxruntime", "OpenVINO")
BUILDS = ("default", "host", "fixed")
COMPILE_TIMEOUT = 600
GEOMEANS = {"images": 1.2, "transformers": 1.15, "speech": 1.0, "detection": 1.0, "quantized": 1.0}
GEOMEANS_AVX512 = {**GEOMEANS, "transformers": 1.3}
WORST = {"images": 0.95, "transformers": 1.0, "speech": 1.0, "detection": 1.0, "quantized": 0.95}
COMPILE_RATIO = AtMost(1.5)
MEBI = 1 << 20


@dataclasses.dataclass
class Side:
    """An engine with a model: seconds and bytes. `opened`: loading an artifact, or a peer's own compilation;
    `open_peak`: memory after it; `answered`: from the start of the process to its first answer."""
    name: str
    opened: float
    open_peak: int
    answered: float
    times: list = dataclasses.field(default_factory=list)
    peak: int = 0

    @property
    def median(self):
        return statistics.median(self.times)


@dataclasses.dataclass
class Measured:
    """`builds`: {name of BUILDS: (seconds, peak bytes)} of compiling; `sides`: {threads: [Side], Tailor's first}."""
    model: corpus.Model
    builds: dict
    sides: dict

    def ratio(self, threads):
        """To the better peer; None without peers."""
        own, *peers = self.sides[threads]
        return min(peer.median for peer in peers) / own.median if peers else None

    def compile_ratio(self):
        return self.builds["host"][0] / self.builds["fixed"][0]


def whole_models(bench):
    if not bench.full and "models" not in bench.asked:
        raise NotMeasured("ten minutes and PyTorch: ./dev bench --only models")
    results, missing = [], []
    for model in corpus.selected(corpus.listed(), bench.named, bench.full):
        try:
            results.append(measured(bench, model))
        except NotMeasured as reason:
            missing.append(Figure(f"models: {model.name}", reason=f"not measured: {reason}"))
        except Exception as error:  # noqa: BLE001 - the other models are still measured
            missing.append(Figure(f"models: {model.name}", reason=failure(error)))
    most = max(bench.threads)
    bench.tables += [*(run_table(results, threads) for threads in bench.threads), compile_table(results, most),
                     process_table(results, most)]
    return figures(results, bench.threads, GEOMEANS_AVX512 if bench.cpu.wide else GEOMEANS) + missing


# ---- One model --------------------------------------------------------------------------------------

def measured(bench, model):
    bench.progress(f"{model.name}: compiling")
    path, entry = bench.corpus.file(model), bench.corpus.entry(model)
    case = {"inputs": entry["inputs"], "sizes": model.sizes, "fixed": entry.get("fixed") or {}}
    with tempfile.TemporaryDirectory(dir=bench.folder) as folder:
        artifacts = {build: pathlib.Path(folder) / f"{build}.tlr" for build in BUILDS}
        builds = compiled(bench, path, specifications(bench, path, entry, model.sizes), artifacts)
        files, sides = {"tailor": artifacts["host"], **dict.fromkeys(PEERS, path)}, {}
        for threads in bench.threads:
            bench.progress(f"{model.name} at {model.shape}, threads={threads}")
            sides[threads] = turns(bench, model, files, case, entry.get("unordered", False), threads)
    return Measured(model, builds, sides)


def specifications(bench, path, entry, sizes):
    """What compile_model.py gets for each of BUILDS: all CPU levels, this one, and this one with fixed sizes."""
    dims, fixed = entry.get("dims") or {}, entry.get("fixed") or {}
    host = {"targets": [bench.cpu.target], "dims": dims, "fixed": fixed}
    return {"default": {**host, "targets": []}, "host": host,
            "fixed": {**host, "dims": corpus.fixed_dims(path, entry, sizes)}}


def compiled(bench, path, wanted, artifacts):
    """{build: (seconds, peak bytes)}, medians; builds for this CPU take turns."""
    found = {build: [] for build in BUILDS}
    for turn in range(bench.rounds):
        for build in BUILDS:
            if turn == 0 or build != "default":
                found[build].append(compile_once(path, artifacts[build], wanted[build]))
    return {build: tuple(map(statistics.median, zip(*each))) for build, each in found.items()}


def compile_once(path, artifact, specification):
    done = subprocess.run([sys.executable, "-m", "side_by_side.processes.compile_model", path, artifact,
                           json.dumps(specification)], env=engines.python_paths(), capture_output=True, text=True,
                          check=False, timeout=COMPILE_TIMEOUT)
    if done.returncode != 0:
        raise RuntimeError(f"compiling ended with {done.returncode}: {''.join(done.stderr.splitlines()[-1:])[-300:]}")
    result = json.loads(done.stdout)
    return result["seconds"], result["peak"]


def turns(bench, model, files, case, unordered, threads):
    """[Side] of Tailor and of the peers that run the model."""
    opened, sides = [], {}
    try:
        for kind, file in files.items():
            try:
                engine, side = answering(kind, file, case, threads)
            except NotMeasured as reason:  # for all models alike
                bench.note(f"models: {reason}")
                continue
            except RuntimeError as error:
                if kind == "tailor":
                    raise
                bench.note(f"models: {model.name} without {kind}: {str(error)[:200]}")
                continue
            opened.append(engine)
            sides[engine] = side
        kept = agreeing(bench, model, opened, unordered)
        for engine, times in zip(kept, engines.times_of_turns(kept, bench.rounds, SECONDS)):
            sides[engine].times, sides[engine].peak = times, engine.ask(memory=True)["peak"]
        return [sides[engine] for engine in kept]
    finally:
        for engine in opened:
            engine.close()


def agreeing(bench, model, opened, unordered):
    """Tailor and the peers that agree with it. A peer whose results differ is noted; ValueError where all peers' do."""
    own, *peers = opened
    kept, errors = [own], []
    for peer in peers:
        try:
            engines.require_agreement([own, peer], model.tolerance, model.name, unordered)
            kept.append(peer)
        except ValueError as error:
            errors.append(error)
    if errors and len(kept) == 1:
        raise errors[0]
    for error in errors:
        bench.note(f"models: {error}")
    return kept


def answering(kind, file, case, threads):
    """An engine that has answered once, and its Side."""
    begin = time.perf_counter()
    engine = engines.python_engine(kind, threads, file)
    try:
        ready = time.perf_counter() - begin
        opened, peak = engine.ask(opened=True)["seconds"], engine.ask(memory=True)["peak"]
        begin = time.perf_counter()
        engine.prepare(**case)
        return engine, Side(engine.name, opened, peak, ready + time.perf_counter() - begin)
    except BaseException:
        engine.close()
        raise


# ---- Figures and tables -----------------------------------------------------------------------------

def figures(results, thread_counts, geomeans):
    return ([figure for threads in thread_counts for group in corpus.GROUPS
             for figure in group_figures(group, [each for each in results if each.model.group == group], threads,
                                         geomeans[group])] + compile_figures(results))


def group_figures(group, results, threads, target):
    """The geometric mean over a group's models that have a peer, and the worst of them."""
    ratios = {each.model.name: each.ratio(threads) for each in results if each.ratio(threads)}
    name = f"{group}, {len(ratios)} models, threads={threads}"
    if not ratios:
        return [Figure(name, bar=AtLeast(target), reason="not measured: no model runs in a peer")] if results else []
    mean, worst, peer = geomean(ratios.values()), min(ratios, key=ratios.get), "the better peer"
    return [Figure(f"{name}, geometric mean", mean, "x", AtLeast(target), peer, ratio=mean),
            Figure(f"{group}, threads={threads}, worst: {worst}", ratios[worst], "x", AtLeast(WORST[group]), peer,
                   ratio=ratios[worst])]


def compile_figures(results):
    if not results:
        return []
    worst = max(results, key=Measured.compile_ratio)
    return [Figure("compile with dynamic over fixed sizes, geometric mean",
                   geomean(each.compile_ratio() for each in results), "x"),
            Figure(f"compile with dynamic over fixed sizes, worst: {worst.model.name}", worst.compile_ratio(), "x",
                   COMPILE_RATIO)]


def column(sides, read):
    """A cell for Tailor and each peer; None of a peer that does not run the model."""
    present = {side.name.split()[0].lower(): side for side in sides}
    return [read(present[kind]) if kind in present else None for kind in ("tailor", *PEERS)]


def run_table(results, threads):
    rows = []
    for each in results:
        sides = each.sides[threads]
        _, *ratios = column(sides, lambda side: side.median / sides[0].median)
        percentiles = zip(*(column(sides, lambda side: 1e3 * percentile(side.times, percent)) for percent in (50, 99)))
        rows.append([each.model.name, each.model.group, each.model.shape, *ratios, each.ratio(threads),
                     *itertools.chain(*percentiles)])
    return Table(f"Models, threads={threads}: speed-up, and ms of a run",
                 ("model", "group", "shape", *(f"over {name}" for name in NAMES[1:]), "over the better",
                  *(f"{name} P{percent}" for name in NAMES for percent in (50, 99))), rows)


def compile_table(results, threads):
    rows = []
    for each in results:
        _, *seconds = column(each.sides[threads], lambda side: side.opened)
        _, *peaks = column(each.sides[threads], lambda side: side.open_peak / MEBI)
        rows.append([each.model.name, *(each.builds[build][0] for build in BUILDS), each.compile_ratio(), *seconds,
                     *(each.builds[build][1] / MEBI for build in ("default", "host")), *peaks])
    return Table("Compiling models: seconds, and MiB of the process at its peak. Tailor for all CPU levels, for this one, and "
                 "for this one with fixed sizes; peers when they open the model",
                 ("model", "s all levels", "s this level", "s fixed sizes", "this level / fixed",
                  *(f"s {name}" for name in NAMES[1:]), "MiB all levels", "MiB this level",
                  *(f"MiB {name}" for name in NAMES[1:])), rows)


def process_table(results, threads):
    rows = [[each.model.name, *column(each.sides[threads], lambda side: 1e3 * side.answered),
             *column(each.sides[threads], lambda side: side.peak / MEBI)] for each in results]
    return Table(f"Processes of models, threads={threads}: ms from the start to the first answer, Tailor from an artifact; MiB "
                 "at the peak, after all runs",
                 ("model", *(f"ms {name}" for name in NAMES), *(f"MiB {name}" for name in NAMES)), rows)
