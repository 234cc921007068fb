"""The papers' workloads: Tailor against PyTorch, onnxruntime, OpenVINO, XLA, IREE and TVM, and without one mechanism each.

bench/data/papers.csv lists models, small_graphs.py graphs for one mechanism each, which PyTorch does not run here. Tailor's
artifact has every dim symbolic that the model leaves open; "fixed" is the same model compiled for the timed shape. Peers take
turns with Tailor, and so does Tailor with each of its own variants. One thread.

Some peers compile at the first run of a shape: torch.compile where it must again, XLA always, IREE and TVM where they cannot
compile the model with its symbols. TVM is not tuned: a run of BERT takes 20 seconds.
"""
import dataclasses
import pathlib
import statistics
import tempfile

from .. import corpus, engines
from ..figures import AtLeast, AtMost, Figure, NotMeasured, failure, geomean, percentile
from ..lists import rows_of
from ..small_graphs import SMALL_GRAPHS
from ..tables import Table
from .models import compile_once

SECONDS, VARIANT_SECONDS, NEW_SECONDS = 1.0, 0.5, 0.3  # of a turn
TOLERANCE = 1e-3
# What compile_model.py gets beyond the targets, by column. "fixed" has the dims of the timed shape.
VARIANTS = {
    "stitch": {"without": ["stitch"]},
    "loop fusion": {"without": ["fuse-elementwise", "fuse-dot-epilogue", "fuse-reduce", "stitch", "fuse-scan"]},
    "merge": {"without": ["merge-matmuls"]},
    "chain": {"without": ["chain-matmuls"]},
    "interleave": {"without": ["interleave-rows"]},
    "pack": {"without": ["pack-short-rows"]},
    "layout": {"without": ["keep-channels-last", "keep-images-channels-last"]},
    "versions": {"max_versions": 1},
    "search": {"without": ["choose-tilings"]},
    "fixed": {},
}
PEERS = {"eager": ("catalog", "eager"), "compiled": ("catalog", "compiled"), "AOTInductor": ("catalog", "aot"),
         "onnxruntime": ("onnxruntime", None), "OpenVINO": ("openvino", None),
         "XLA": ("compilers", "xla"), "IREE": ("compilers", "iree"), "TVM": ("compilers", "tvm")}
COMPILED_IN_FIRST_RUN = ("compiled", "XLA", "IREE", "TVM")
MEANS = {"eager": 1.5, "compiled": 1.3, "onnxruntime": 1.3, "XLA": 1.3}
FIXED_SPEED, LAUNCHES, NEW_SHAPE = AtLeast(0.97), AtMost(0.5), AtMost(1.1)


@dataclasses.dataclass(frozen=True)
class Workload:
    """`entry`: in the manifest; `catalog`: the model's name in PyTorch, or None; `timed`, `new`: sizes of the symbols."""
    name: str
    path: pathlib.Path
    entry: dict
    catalog: str | None
    timed: dict
    new: dict

    @property
    def shape(self):
        return " ".join(f"{name}={size}" for name, size in self.timed.items())

    def case(self, sizes):
        return {"inputs": self.entry["inputs"], "sizes": sizes, "fixed": self.entry.get("fixed") or {}}


@dataclasses.dataclass
class Side:
    """One engine at a workload: seconds of runs, kernels of a run if known, seconds to open the model, and of the first run
    at a new shape over the median of later ones, None if it fails there."""
    times: list
    opened: float
    launches: int | None
    new_shape: float | None

    @property
    def median(self):
        return statistics.median(self.times)


@dataclasses.dataclass
class Measured:
    """`sides`: {"Tailor" or a key of PEERS: Side}; `gains`: {a key of VARIANTS: [time without over time with, of each round]}."""
    name: str
    shape: str
    sides: dict
    gains: dict

    def ratio(self, peer):
        return self.sides[peer].median / self.sides["Tailor"].median


def workloads(bench):
    if not bench.full and "papers" not in bench.asked:
        raise NotMeasured("twenty minutes or more, and PyTorch: ./dev bench --only papers")
    if unknown := set(bench.peers) - set(PEERS):
        raise NotMeasured(f"no peer is named {', '.join(sorted(unknown))}; there are {', '.join(PEERS)}")
    results, missing = [], []
    for name, prepare in listed(bench):
        try:
            results.append(measured(bench, prepare()))
        except NotMeasured as reason:
            missing.append(Figure(f"papers: {name}", reason=f"not measured: {reason}"))
        except Exception as error:  # noqa: BLE001 - the other workloads are still measured
            missing.append(Figure(f"papers: {name}", reason=failure(error)))
    if results:
        bench.tables += [run_table(results)] + ([] if bench.peers else [gain_table(results)])
    try:
        engines.require_compilers()
    except NotMeasured as reason:
        missing.append(Figure("over XLA, IREE and TVM", reason=f"not measured: {reason}"))
    return figures(results) + missing


def listed(bench):
    """(name, function that prepares the Workload) of those named, else of all, or of those of a quick run."""
    def wanted(name, quick):
        return name in bench.named if bench.named else bench.full or quick
    models = [(row["name"], lambda row=row: model_workload(bench, row)) for row in rows_of("papers.csv")
              if wanted(row["name"], row["quick"] == "yes")]
    graphs = [(name, lambda name=name: graph_workload(bench, name)) for name in SMALL_GRAPHS if wanted(name, True)]
    if not models + graphs:
        known = [*(row["name"] for row in rows_of("papers.csv")), *SMALL_GRAPHS]
        raise NotMeasured(f"no workload is named {', '.join(bench.named)}; there are {', '.join(known)}")
    return models + graphs


def model_workload(bench, row):
    timed, new = corpus.sizes_of(row["sizes"]), corpus.sizes_of(row["new"])
    model = corpus.Model(row["model"], row["exporter"], "", True, timed)
    return Workload(row["name"], bench.corpus.file(model), bench.corpus.entry(model), row["model"], timed, new)


def graph_workload(bench, name):
    graph, path = SMALL_GRAPHS[name], bench.folder / f"{name.replace(' ', '_')}.onnx"
    graph.save(path)
    return Workload(name, path, graph.entry(), None, graph.sizes, graph.new)


# ---- One workload -----------------------------------------------------------------------------------

def measured(bench, work):
    case = work.case(work.timed)
    with tempfile.TemporaryDirectory(dir=bench.folder) as folder:
        base = {"targets": [bench.cpu.target], "dims": work.entry.get("dims") or {}, "fixed": case["fixed"]}
        artifact, variant = pathlib.Path(folder) / "model.tlr", pathlib.Path(folder) / "variant.tlr"
        bench.progress(f"{work.name}: compiling")
        seconds, _ = compile_once(work.path, artifact, base)
        bench.progress(f"{work.name} at {work.shape}, beside peers")
        sides = beside_peers(bench, work, artifact, seconds)
        gains = {}
        for name, options in {} if bench.peers else VARIANTS.items():
            bench.progress(f"{work.name} without {name}" if name != "fixed" else f"{work.name} for its shape")
            dims = {"dims": corpus.fixed_dims(work.path, work.entry, work.timed)} if name == "fixed" else {}
            compile_once(work.path, variant, {**base, **options, **dims})
            gains[name] = beside_variant(bench, case, artifact, variant)
    return Measured(work.name, work.shape, sides, gains)


def openers(bench, work, artifact):
    """{name: function that opens the engine}, of those asked for; PyTorch only for models of the catalog."""
    def opener(kind, mode):
        if kind == "catalog":
            return lambda: engines.python_engine(kind, 1, f"{mode}:{work.catalog}", corpus.EXPORTERS_PYTHON)
        if kind == "compilers":
            return lambda: engines.compiler_engine(mode, 1, work.path)
        return lambda: engines.python_engine(kind, 1, work.path)
    peers = {name: opener(kind, mode) for name, (kind, mode) in PEERS.items()
             if (kind != "catalog" or work.catalog) and (not bench.peers or name in bench.peers)}
    return {"Tailor": lambda: engines.python_engine("tailor", 1, artifact), **peers}


def beside_peers(bench, work, artifact, seconds):
    opened, sides = {}, {}
    case, new = work.case(work.timed), work.case(work.new)
    try:
        for name, opener in openers(bench, work, artifact).items():
            try:
                engine = opened[name] = opener()
                first = engine.prepare(**case)
                if name != "Tailor":
                    engines.require_agreement([opened["Tailor"], engine], TOLERANCE, work.name)
            except (NotMeasured, RuntimeError, ValueError) as reason:
                if name == "Tailor":
                    raise
                where = "" if isinstance(reason, NotMeasured) else f"{work.name} "
                bench.note(f"papers: {where}without {name}: {str(reason)[:200]}")
                if name in opened:
                    opened.pop(name).close()
                continue
            own = engine.ask(opened=True)["seconds"]
            sides[name] = Side([], seconds if name == "Tailor" else own + (first if name in COMPILED_IN_FIRST_RUN else 0),
                               launches(engine, name), None)
        for name, times in zip(opened, engines.times_of_turns(list(opened.values()), bench.rounds, SECONDS)):
            sides[name].times = times
        opened["Tailor"].ask(reserve_case=new)
        for name, engine in opened.items():
            try:
                first = engine.prepare(**new)
                sides[name].new_shape = first / statistics.median(engine.times(NEW_SECONDS))
            except RuntimeError as reason:
                if name == "Tailor":
                    raise
                bench.note(f"papers: {work.name}: {name} fails at another shape: {str(reason)[:200]}")
        return sides
    finally:
        for engine in opened.values():
            engine.close()


def launches(engine, name):
    """None for engines that do not tell."""
    return engine.ask(launches=True)["launches"] if name in ("Tailor", "eager") else None


def beside_variant(bench, case, artifact, variant):
    """The time of the variant over that of the artifact, of each round."""
    with engines.all_open(*(lambda file=file: engines.python_engine("tailor", 1, file) for file in (artifact, variant))) as pair:
        for engine in pair:
            engine.prepare(**case)
        engines.require_agreement(pair, TOLERANCE, "without a pass")
        turns = [engines.times_of_turns(pair, 1, VARIANT_SECONDS) for _ in range(bench.rounds)]
        return [statistics.median(theirs) / statistics.median(own) for own, theirs in turns]


# ---- Figures and tables -----------------------------------------------------------------------------

def figures(results):
    out = []
    for peer in PEERS:
        ratios = {each.name: each.ratio(peer) for each in results if peer in each.sides}
        if not ratios:
            continue
        mean, worst = geomean(ratios.values()), min(ratios, key=ratios.get)
        bar = AtLeast(MEANS[peer]) if peer in MEANS else None
        out += [Figure(f"over {peer}, {len(ratios)} workloads, geometric mean", mean, "x", bar, peer, ratio=mean),
                Figure(f"over {peer}, worst: {worst}", ratios[worst], "x", AtLeast(1.0), peer, ratio=ratios[worst])]
    if any(each.gains for each in results):
        out.append(Figure("speed of one build for all shapes over that of one for the shape, geometric mean",
                          geomean(statistics.median(each.gains["fixed"]) for each in results), "x", FIXED_SPEED))
    counted = [each for each in results if "eager" in each.sides]
    if counted:
        out.append(Figure("kernels over those of eager PyTorch, geometric mean", geomean(
            each.sides["Tailor"].launches / each.sides["eager"].launches for each in counted), "x", LAUNCHES))
    if results:
        worst = max(results, key=lambda each: each.sides["Tailor"].new_shape)
        out.append(Figure(f"first run at a new shape over later ones, worst: {worst.name}", worst.sides["Tailor"].new_shape, "x",
                          NEW_SHAPE))
    return out


def run_table(results):
    """A row for each workload and engine."""
    rows = [[each.name, each.shape, name, 1e3 * side.median, 1e3 * percentile(side.times, 99),
             each.ratio(name) if name != "Tailor" else None, side.launches, side.opened, side.new_shape]
            for each in results for name, side in each.sides.items()]
    return Table("Workloads of the papers, one thread: ms of a run, Tailor's speed-up, kernels of a run, seconds to compile or "
                 "open, first run at another shape over later ones",
                 ("workload", "shape", "engine", "P50 ms", "P99 ms", "speed-up", "kernels", "s to compile", "new shape"), rows)


def gain_table(results):
    """The median over rounds, and half of their range."""
    def cell(gains):
        return f"{statistics.median(gains):.2f} +- {(max(gains) - min(gains)) / 2:.2f}"
    return Table("Time without a mechanism over time with it; fixed: compiled for the shape over compiled for all",
                 ("workload", *VARIANTS), [[each.name, *(cell(each.gains[name]) for name in VARIANTS)] for each in results])
