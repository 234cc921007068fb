"""An encoder of BERT-large's size in bf16, with the same seeded weights in both engines."""
import math

from ..figures import AtLeast, AtMost, Figure, NotMeasured, geomean
from ..lists import encoder_stream

MODEL, EMULATED = "bert_large", "bert_tiny"
LAYERS = {MODEL: 24, EMULATED: 1}
# One launch for each memory-bound region: embeddings and their norm; the mask's bias; two norms in each layer; the
# number of tokens of a sentence, the sum over them, its norm. The others are matmuls and attention.
KERNELS, KERNELS_OF_LAYER = 5, 7
QUICK, FULL = 8, 50
LEAST_COSINE = 0.98  # between parts of an embedding, in bf16 throughout


def names_of(bench):
    if bench.emulated:
        return [f"{EMULATED}/2x5"]
    return [f"{MODEL}/{batch}x{length}" for batch, length in encoder_stream(FULL if bench.full else QUICK)]


def cosine(a, b):
    length = math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))
    return sum(x * y for x, y in zip(a, b)) / length if length > 0 else math.nan


def require_agreement(own, theirs):
    for name in own:
        mine, other = ([figures[name][f"y{i}"] for i in range(sum(key[0] == "y" for key in figures[name]))]
                       for figures in (own, theirs))
        if len(mine) != len(other) or not cosine(mine, other) >= LEAST_COSINE:
            raise ValueError(f"results differ: {name}")


def random_stream(bench):
    own = bench.gpu.measure(names_of(bench))
    figure = Figure("BERT-large, beside PyTorch", unit="x", bar=AtLeast(1.3))
    out = [figure]
    try:
        theirs = bench.torch(list(own))
        require_agreement(own, theirs)
        ratios = {name: theirs[name]["seconds"] / own[name]["seconds"] for name in own}
        figure.value = figure.ratio = geomean(ratios.values())
        figure.peer = next(iter(theirs.values()))["peer"]
    except NotMeasured as reason:
        figure.reason, theirs, ratios = f"not measured: {reason}", {}, {}
    for name, figures in own.items():
        peer = theirs.get(name, {})
        out.append(Figure(name, figures["seconds"] * 1e3, "ms", None, peer.get("peer"),
                          peer and peer["seconds"] * 1e3 or None, ratios.get(name)))
    return out


def launches(bench):
    name = names_of(bench)[0]
    most = KERNELS + KERNELS_OF_LAYER * LAYERS[name.split("/")[0]]
    return [Figure("launches of a run", bench.gpu.measure([name])[name]["launches"], "kernels", AtMost(most))]
