"""Decoders with growing caches, one token after about a thousand: keys and values of a run are inputs of the next one, in
Tailor's session and in onnxruntime's bindings without a copy by the host."""
import pathlib
import tempfile

from .. import corpus, engines
from ..figures import AtLeast, Figure, NotMeasured, failure, geomean
from ..tables import Table
from .models import compile_once, specifications

STEPS = 48  # tokens, then again from the first cache; the last one is at the size of models.csv
LONG = 512  # least past of the cases of models.csv that are taken
SECONDS = 2.0  # of each turn


def growing(bench):
    if not bench.full and "caches" not in bench.asked:
        raise NotMeasured("minutes and PyTorch: ./dev bench --only caches")
    models = [model for model in corpus.listed() if model.sizes.get("past", 0) >= LONG]
    if bench.named:
        models = [model for model in models if model.name in bench.named or model.export in bench.named]
    figures, rows = [], []
    for model in bench.pick(models, 2):
        try:
            for threads in bench.threads:
                own, theirs = token_times(bench, model, threads)
                rows.append([model.name, str(threads), theirs / own, 1e3 * own, 1e3 * theirs])
        except NotMeasured as reason:
            figures.append(Figure(f"caches: {model.name}", reason=f"not measured: {reason}"))
        except Exception as error:  # noqa: BLE001 - the other models are still measured
            figures.append(Figure(f"caches: {model.name}", reason=failure(error)))
    bench.tables.append(Table("Growing caches: speed-up, and ms a token",
                              ("model", "threads", "over onnxruntime", "Tailor P50", "onnxruntime P50"), rows))
    for threads in bench.threads:
        ratios = {row[0]: row[2] for row in rows if row[1] == str(threads)}
        if ratios:
            worst = min(ratios, key=ratios.get)
            figures += [Figure(f"{len(ratios)} decoders, threads={threads}, geometric mean", geomean(ratios.values()), "x",
                               AtLeast(1.0), "onnxruntime", ratio=geomean(ratios.values())),
                        Figure(f"threads={threads}, worst: {worst}", ratios[worst], "x", AtLeast(1.0), "onnxruntime",
                               ratio=ratios[worst])]
    return figures


def token_times(bench, model, threads):
    """Median seconds of a token: Tailor's and onnxruntime's."""
    bench.progress(f"{model.name} after {model.sizes['past']} tokens, threads={threads}")
    path, entry = bench.corpus.file(model), bench.corpus.entry(model)
    first = {**model.sizes, **{name: model.sizes[name] - STEPS + 1 for name in ("past", "total")}}
    with tempfile.TemporaryDirectory(dir=bench.folder) as folder:
        artifact = pathlib.Path(folder) / "host.tlr"
        compile_once(path, artifact, specifications(bench, path, entry, model.sizes)["host"])
        with engines.all_open(lambda: engines.python_engine("tailor", threads, artifact),
                              lambda: engines.python_engine("onnxruntime", threads, path)) as opened:
            for engine in opened:
                engine.prepare(inputs=entry["inputs"], sizes=first, fixed=entry.get("fixed") or {}, steps=STEPS)
            engines.require_agreement(opened, model.tolerance, model.name)
            return engines.take_turns(opened, bench.rounds, SECONDS)
