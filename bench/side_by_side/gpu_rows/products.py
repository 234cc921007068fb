"""Matmuls in bf16 with sums in f32 and a constant rhs, beside cuBLASLt in the same process, in turn."""
from ..figures import AtLeast, Figure, geomean
from ..lists import rows_of

LARGE = ["4096x4096x4096/nn", "8192x4096x4096/nn", "4096x8192x4096/nn", "4096x4096x8192/nt", "8192x8192x8192/nn"]
EMULATED = ["70x64x48/nn", "33x64x48/tt"]
NO_PEER = "not measured: no cuBLASLt was found"
QUICK = 24


def deepbench_shapes():
    """The distinct matmuls of the list as M x K x N of row-major y = x w. The list is column-major: its columns are
    rows here, and its operands change places; a transposed operand stays transposed."""
    shapes = {}
    for row in rows_of("deepbench_gemm.csv"):
        form = "".join("t" if row[name] == "1" else "n" for name in ("b_trans", "a_trans"))
        shapes[f"{row['n']}x{row['k']}x{row['m']}/{form}"] = None
    return list(shapes)


def against_peer(what, value, target, ratios, count, peer):
    """The figure of all matmuls. If fewer than `count` were measured, it can miss its target, but not meet it."""
    bar = AtLeast(target)
    if not ratios:
        return Figure(what, unit="x", bar=bar, reason=NO_PEER)
    ratio = value(ratios)
    if len(ratios) < count:
        what, bar = f"{what} of {len(ratios)} of {count}", bar if ratio < target else None
    return Figure(what, ratio, "x", bar, peer, ratio=ratio)


def compared(bench, shapes, count, *targets):
    """A figure for each target (what, value, target) over `shapes`, of `count` in all, and one for each shape."""
    measured, missing = bench.gpu.measure_each([f"dot_bf16/{shape}" for shape in shapes])
    parts, ratios, peer = [], [], None
    for shape in shapes:
        part = Figure(f"matmul {shape}", unit="Tflop/s")
        figures = measured.get(f"dot_bf16/{shape}")
        if figures is None:
            part.reason = f"not measured: {missing[f'dot_bf16/{shape}']}"
        else:
            part.value = figures["flops_per_second"] * 1e-12
        if figures and "peer_seconds" in figures:
            part.peer = peer = figures["peer"]
            part.ratio = figures["peer_seconds"] / figures["seconds"]
            part.peer_value = part.value / part.ratio
            ratios.append(part.ratio)
        parts.append(part)
    return [*(against_peer(*target, ratios, count, peer) for target in targets), *parts]


def large(bench):
    shapes = EMULATED if bench.emulated else LARGE
    return compared(bench, shapes, len(shapes), ("large matmuls, the worst", min, 0.85))


def deepbench(bench):
    shapes = deepbench_shapes()
    return compared(bench, EMULATED if bench.emulated else bench.pick(shapes, QUICK), len(shapes),
                    ("DeepBench, the geometric mean", geomean, 1.0), ("DeepBench, the worst", min, 0.7))
