"""Memory-bound kernels: rows of f32 against a copy in the same process, in turn, on tensors larger than the caches; and
one shape that fits the caches against PyTorch."""
from ..figures import AtLeast, Figure, NotMeasured

AT_SIZE, IN_CACHE = ["16384x4096", "262144x256"], "1024x1024"
REDUCES = ["750000x32", "64x30000"]  # AStitch section 3.3
EMULATED, EMULATED_REDUCES = ["5x40", "3x70"], ["40x8", "2x300"]


def share_of(name, figures, target):
    return Figure(f"{name}, share of a copy's speed", figures["share_of_copy"], "share", AtLeast(target))


def beside_like(figures):
    return figures["like_copy_seconds"] / figures["seconds"]


def shares(bench, kind, shapes, target):
    results = bench.gpu.measure([f"{kind}/{shape}" for shape in shapes])
    return [share_of(name, figures, target) for name, figures in results.items()]


def against_torch(bench, kind):
    name = f"{kind}/{EMULATED[0] if bench.emulated else IN_CACHE}"
    figure = Figure(f"{name}, beside PyTorch", unit="x", bar=AtLeast(1.0))
    own = bench.gpu.measure([f"{name}/hot"])[f"{name}/hot"]["seconds"]
    try:
        theirs = bench.torch([name])[name]
    except NotMeasured as reason:
        figure.reason = f"not measured: {reason}"
        return figure
    figure.value = figure.ratio = theirs["seconds"] / own
    figure.peer = theirs["peer"]
    return figure


def softmax(bench):
    return [*shares(bench, "softmax", EMULATED if bench.emulated else AT_SIZE, 0.9), against_torch(bench, "softmax")]


def layer_norm(bench):
    return [*shares(bench, "layer_norm", EMULATED if bench.emulated else AT_SIZE, 0.9),
            against_torch(bench, "layer_norm")]


def reduces(bench):
    """Shares; and, without a target, the speed of a copy with as many launches and bytes."""
    names = [f"reduce_sum/{shape}" for shape in (EMULATED_REDUCES if bench.emulated else REDUCES)]
    results = bench.gpu.measure(names)
    return [*(share_of(name, results[name], 0.8) for name in names),
            *(Figure(f"{name}, beside a copy of as many bytes", beside_like(figures), "x", peer="cuMemcpyDtoDAsync",
                     ratio=beside_like(figures)) for name, figures in results.items())]
