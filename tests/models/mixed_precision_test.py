"""A BERT-like encoder whose weights and activations are bf16 or f16, at any batch size and sequence length.

The reference is the same encoder in NumPy with float64. What error is right follows from a third evaluation: NumPy again,
with every op's result rounded to the narrow type. It rounds wherever the graph does, so its distance from the reference
is what the type costs; only the order of sums and single units in the last place differ from Tailor, so the error of
either is a sample from one distribution. Over thousands of elements their root mean squares differ by a few percent and
their largest by more; twice as much on either count is a wrong or a missing rounding.
"""
import unittest

import numpy as np

import tailor

LAYERS, HEADS, WIDTH, WORDS = 2, 2, 24, 50
TOTAL, INNER = HEADS * WIDTH, 3 * HEADS * WIDTH
SHAPES = [(1, 1), (1, 7), (2, 16), (3, 33), (8, 5), (1, 64), (5, 21)]


def round_bf16(array):
    """To nearest, ties to even, as float64. Through f32, which has room to make that one rounding for what ops give."""
    bits = np.asarray(array, np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7fff + (bits >> 16 & 1) & 0xffff0000).astype(np.uint32)).view(np.float32).astype(np.float64)


def round_f16(array):
    return np.asarray(array, np.float16).astype(np.float64)


ROUND = {"bf16": round_bf16, "f16": round_f16}


def weights(dtype):
    random = np.random.default_rng(0)

    def matrix(rows, columns, scale):
        return ROUND[dtype](random.normal(size=(rows, columns)) * scale)

    w = {"words": matrix(WORDS, TOTAL, 1)}
    for i in range(LAYERS):
        for name, rows, columns in [("q", TOTAL, TOTAL), ("k", TOTAL, TOTAL), ("v", TOTAL, TOTAL), ("o", TOTAL, TOTAL),
                                    ("up", TOTAL, INNER), ("down", INNER, TOTAL)]:
            w[f"{i}.{name}"] = matrix(rows, columns, rows ** -0.5)
            w[f"{i}.{name}.bias"] = matrix(1, columns, 0.1)[0]
        for name in ("norm1", "norm2"):
            w[f"{i}.{name}"] = ROUND[dtype](1 + 0.1 * random.normal(size=TOTAL))
            w[f"{i}.{name}.bias"] = matrix(1, TOTAL, 0.1)[0]
    return w


class Arrays:
    """The ops on NumPy arrays, each result rounded; compound ops round once."""

    def __init__(self, rounding):
        self.r = rounding

    def constant(self, array):
        return array

    def gather(self, table, ids):
        return table[ids]

    def dot(self, x, y):
        return self.r(x @ y)

    def add(self, x, y):
        return self.r(x + y)

    def mul(self, x, y):
        return self.r(x * y)

    def split(self, x):
        return x.reshape(*x.shape[:2], HEADS, WIDTH).transpose(0, 2, 1, 3)

    def join(self, x):
        return x.transpose(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], TOTAL)

    def swap(self, x):
        return x.swapaxes(-1, -2)

    def softmax(self, x):
        e = np.exp(x - x.max(-1, keepdims=True))
        return self.r(e / e.sum(-1, keepdims=True))

    def layer_norm(self, x, scale, bias):
        centred = x - x.mean(-1, keepdims=True)
        variance = (centred * centred).mean(-1, keepdims=True)
        return self.r(centred / np.sqrt(variance + 1e-5) * scale + bias)

    def sigmoid_gelu(self, x):
        return self.r(x * self.r(1 / (1 + np.exp(-self.r(self.r(1.702) * x)))))


class Values:
    """The same ops on values of a graph."""

    def __init__(self, graph, dtype):
        self.graph, self.dtype = graph, dtype

    def constant(self, array):
        if self.dtype == "f16":
            return self.graph.constant(array.astype(np.float16))
        bits = (array.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
        return self.graph.constant(bits, dtype="bf16")

    def gather(self, table, ids):
        return table.gather(ids)

    def dot(self, x, y):
        return x.dot(y)

    def add(self, x, y):
        return x + y

    def mul(self, x, y):
        return x * y

    def split(self, x):
        return x.reshape([*x.shape[:2], HEADS, WIDTH]).transpose([0, 2, 1, 3])

    def join(self, x):
        return x.transpose([0, 2, 1, 3]).reshape([x.shape[0], x.shape[2], TOTAL])

    def swap(self, x):
        return x.transpose([0, 1, 3, 2])

    def softmax(self, x):
        return self.graph.softmax(x)

    def layer_norm(self, x, scale, bias):
        return self.graph.layer_norm(x, scale, bias)

    def sigmoid_gelu(self, x):
        return x * (x * 1.702).sigmoid()


def encoder(ops, ids, bias, w):
    """ids [B, S] and bias [B, 1, 1, S] -> [B, S, TOTAL]"""
    w = {name: ops.constant(array) for name, array in w.items()}

    def linear(x, name):
        return ops.add(ops.dot(x, w[name]), w[f"{name}.bias"])

    x = ops.gather(w["words"], ids)
    for i in range(LAYERS):
        q, k, v = (ops.split(linear(x, f"{i}.{part}")) for part in "qkv")
        scores = ops.add(ops.mul(ops.dot(q, ops.swap(k)), ops.constant(np.asarray(0.25))), bias)
        attended = linear(ops.join(ops.dot(ops.softmax(scores), v)), f"{i}.o")
        x = ops.layer_norm(ops.add(attended, x), w[f"{i}.norm1"], w[f"{i}.norm1.bias"])
        inner = ops.sigmoid_gelu(linear(x, f"{i}.up"))
        x = ops.layer_norm(ops.add(linear(inner, f"{i}.down"), x), w[f"{i}.norm2"], w[f"{i}.norm2.bias"])
    return x


def compiled(dtype, targets):
    graph = tailor.Graph("encoder")
    ids = graph.input("ids", "i64", ["B", "S"])
    bias = graph.input("bias", "f32", ["B", 1, 1, "S"])
    result = encoder(Values(graph, dtype), ids, bias.cast(dtype), weights(dtype))
    graph.output("y", result.cast("f32"))
    return graph.compile(targets)


class MixedPrecisionTest(unittest.TestCase):
    def errors(self, dtype, executable):
        """Of Tailor and of NumPy with roundings, over all shapes."""
        w, random = weights(dtype), np.random.default_rng(1)
        tailors, numpys, scale = [], [], []
        for batch, length in SHAPES:
            ids = random.integers(0, WORDS, (batch, length))
            lengths = random.integers(1, length + 1, batch)  # what lies beyond is masked
            bias = np.where(np.arange(length) < lengths[:, np.newaxis], 0.0, -1e4)[:, np.newaxis, np.newaxis]
            exact = encoder(Arrays(lambda array: array), ids, ROUND[dtype](bias), w)
            rounded = encoder(Arrays(ROUND[dtype]), ids, ROUND[dtype](bias), w)
            got, = executable.run(ids=ids, bias=bias.astype(np.float32))
            self.assertEqual(got.shape, exact.shape)
            tailors.append((got - exact).ravel())
            numpys.append((rounded - exact).ravel())
            scale.append(exact.ravel())
        return np.concatenate(tailors), np.concatenate(numpys), np.concatenate(scale)

    def check(self, dtype, targets):
        got, wanted, exact = self.errors(dtype, compiled(dtype, targets))
        root = lambda array: float(np.sqrt(np.mean(array ** 2)))
        print(f"{dtype} {targets}: error {root(got):.2e}, at most {np.abs(got).max():.2e}; NumPy with roundings "
              f"{root(wanted):.2e}, at most {np.abs(wanted).max():.2e}", flush=True)
        # The measure itself: some sixty roundings in a row, each of half a unit in the last of 8 or 11 bits.
        self.assertLess(root(wanted), root(exact) * (2 ** -6 if dtype == "bf16" else 2 ** -9))
        self.assertLess(root(got), 2 * root(wanted))
        self.assertLess(np.abs(got).max(), 2 * np.abs(wanted).max())

    def test_bf16(self):
        self.check("bf16", "host")

    def test_f16(self):
        self.check("f16", "host")

    def test_levels_that_convert(self):
        for dtype in ("bf16", "f16"):
            self.check(dtype, "x86-64-v2")

    def test_what_this_machine_cannot_run_is_passed_over(self):
        self.check("bf16", ())


if __name__ == "__main__":
    unittest.main()
