"""Softmax, norms and their kin of f16 and bf16 compute in f32 and round their result once, on every CPU level."""
import unittest

import numpy as np

import tailor

# Half a unit in the last place, relative to the result, with room for what f32 computes in between.
BOUND = {"f16": 2.0 ** -11, "bf16": 2.0 ** -8}
LEVELS = {"x86-64-v2": "sse4_2", "x86-64-v3": "avx2", "x86-64-v4": "avx512vl"}  # and what a CPU that has it names
COUNT, EPSILON = 1000, 1e-5


def narrowed(array, dtype):
    """The numbers nearest to `array`: as inputs are passed, and as float64."""
    if dtype == "f16":
        half = np.asarray(array, np.float16)
        return half, half.astype(np.float64)
    bits = np.asarray(array, np.float32).view(np.uint32).astype(np.uint64)
    high = ((bits + 0x7fff + (bits >> 16 & 1)) >> 16).astype(np.uint16)
    return high, widened(high)


def widened(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def log_softmax(x):
    shifted = x - x.max(-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


def layer_norm(x, scale, bias):
    centered = x - x.mean(-1, keepdims=True)
    return centered / np.sqrt((centered ** 2).mean(-1, keepdims=True) + EPSILON) * scale + bias


OPS = {
    "softmax": (lambda g, x, s, b: g.softmax(x), lambda x, s, b: np.exp(log_softmax(x))),
    "log_softmax": (lambda g, x, s, b: g.log_softmax(x), lambda x, s, b: log_softmax(x)),
    "layer_norm": (lambda g, x, s, b: g.layer_norm(x, s, b, EPSILON), layer_norm),
    "l2_normalize": (lambda g, x, s, b: g.l2_normalize(x, -1, 1e-12),
                     lambda x, s, b: x / np.sqrt((x ** 2).sum(-1, keepdims=True))),
}


def rows():
    """A ramp, the same falling, a shuffled one with an offset, noise."""
    random, ramp = np.random.default_rng(0), np.linspace(-4, 4, COUNT)
    return np.stack([ramp, ramp[::-1], random.permutation(ramp) + 10, random.normal(size=COUNT)])


def here():
    """The levels that this machine runs."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        features = file.read().split()
    levels = [level for level, feature in LEVELS.items() if feature in features]
    print("levels run here:", *levels, flush=True)
    return ["host", *levels]


class NarrowNormsTest(unittest.TestCase):
    def run_all(self, dtype, level):
        graph = tailor.Graph("norms")
        x = graph.input("x", dtype, ["R", "C"])
        scale, bias = graph.input("scale", dtype, ["C"]), graph.input("bias", dtype, ["C"])
        for name, (build, _) in OPS.items():
            graph.output(name, graph.cast(build(graph, x, scale, bias), "f32"))
        executable = graph.compile((level,))
        random = np.random.default_rng(1)
        arrays = [narrowed(a, dtype) for a in (rows(), random.normal(size=COUNT), random.normal(size=COUNT))]
        return executable.run(*[given for given, _ in arrays]), [exact for _, exact in arrays]

    def check(self, dtype):
        for level in here():
            got, exact = self.run_all(dtype, level)
            for (name, (_, reference)), result in zip(OPS.items(), got):
                wanted = reference(*exact)
                with self.subTest(level=level, op=name):
                    error = np.abs(result - wanted) - 1e-6
                    self.assertLessEqual(float((error / np.abs(wanted)).max()), BOUND[dtype])

    def test_each_is_one_kernel(self):
        for dtype in ("f16", "bf16", "f32"):
            for name, (build, _) in OPS.items():
                graph = tailor.Graph(name)
                x = graph.input("x", dtype, ["R", "C"])
                graph.output("y", build(graph, x, graph.input("scale", dtype, ["C"]), graph.input("bias", dtype, ["C"])))
                with self.subTest(dtype=dtype, op=name):
                    self.assertEqual(len(graph.compile(("x86-64-v2",)).launches), 1)

    def test_f16(self):
        self.check("f16")

    def test_bf16(self):
        self.check("bf16")


if __name__ == "__main__":
    unittest.main()
