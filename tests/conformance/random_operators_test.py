"""Random operators: against a generator in numpy, bit by bit, and against the distributions, by bounds at fixed seeds.

TAILOR_TEST_DEVICE says where they run (tests/support/devices.py)."""
import math
import os
import tempfile
import unittest

import numpy
from onnx import TensorProto, helper

import devices
import tailor
import tailor.onnx
from control_test import body, looped
from import_test import ints, model

FLOAT, DOUBLE, HALF, BFLOAT = TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16
INT32, INT64, BOOL, UINT8 = TensorProto.INT32, TensorProto.INT64, TensorProto.BOOL, TensorProto.UINT8
node = helper.make_node
EMULATED = os.environ.get("TAILOR_TEST_DEVICE") == "emulated"
COUNT = 5000 if EMULATED else 200000  # of numbers whose distribution is looked at


# ---- The generator in numpy.

def philox(counter, key):
    """Philox4x32-10: four words for each entry of the counter's four words."""
    c = [numpy.asarray(word, numpy.uint64) for word in counter]
    k, low = list(key), numpy.uint64(0xffffffff)
    for _ in range(10):
        even, odd = c[0] * numpy.uint64(0xd2511f53), c[2] * numpy.uint64(0xcd9e8d57)
        c = [odd >> 32 ^ c[1] ^ numpy.uint64(k[0]), odd & low, even >> 32 ^ c[3] ^ numpy.uint64(k[1]), even & low]
        k = [(k[0] + 0x9e3779b9) % 2**32, (k[1] + 0xbb67ae85) % 2**32]
    return c


def words(seed, count, run=0):
    """Of `count` elements of a node with this seed attribute: a float, or a Dropout's integer."""
    key = int(seed) if isinstance(seed, int) else int(numpy.float32(seed).view(numpy.uint32))
    index = numpy.arange(count, dtype=numpy.uint64)
    return philox([index & 0xffffffff, index >> 32, run % 2**32, run >> 32], [key % 2**32, key >> 32])


def fraction(high, low, dtype):
    if dtype == numpy.float32:
        return (high >> 8).astype(dtype) * dtype(2**-24)
    return ((high << 32 | low) >> 11).astype(dtype) * dtype(2**-53)


def uniform(seed, count, dtype=numpy.float32, run=0):
    w = words(seed, count, run)
    return fraction(w[0], w[1], dtype)


def polynomial(x, coefficients):
    total = numpy.full_like(x, coefficients[0])
    for c in coefficients[1:]:
        total = total * x + x.dtype.type(c)
    return total


def normal(seed, count, dtype=numpy.float32, run=0):
    """Box and Muller in the very operations of frontend/random.cc, each of which rounds once."""
    w = words(seed, count, run)
    if dtype == numpy.float32:
        bits, digits, root_half = numpy.int32, 23, 0x3f3504f3
        log = [0.2992439, 0.39974850, 0.66666815, 2.0]
        sine = [39.759827, -76.581173, 81.602476, -41.341681, 6.2831853]
        u, t = w[0].astype(dtype) * dtype(2**-32) + dtype(2**-33), fraction(w[1], w[3], dtype)
    else:
        bits, digits, root_half = numpy.int64, 52, 0x3fe6a09e667f3bcd
        log = [0.14809710360655277, 0.15312528148364191, 0.18183631680229329, 0.22222197056726047, 0.28571428760641680,
               0.39999999999302338, 0.66666666666667646, 2.0]
        sine = [0.10089695501646811, -0.71773379214134533, 3.8199280942271642, -15.094641676117900, 42.058693925428682,
                -76.705859752824919, 81.605249276073615, -41.341702240399757, 6.2831853071795865]
        u, t = fraction(w[0], w[1], dtype) + dtype(2**-54), fraction(w[2], w[3], dtype)
    offset = u.view(bits) - bits(root_half)
    m = ((offset & bits(2**digits - 1)) + bits(root_half)).view(dtype)
    s = (m - dtype(1)) / (m + dtype(1))
    log_u = (offset >> digits).astype(dtype) * dtype(math.log(2)) + s * polynomial(s * s, log)
    r = numpy.abs(t - dtype(0.5)) - dtype(0.25)
    return numpy.sqrt(log_u * dtype(-2)) * (r * polynomial(r * r, sine))


def happens(probability, seed, count):
    return words(seed, count)[0] < (probability * 2.0**32).astype(numpy.uint64)


def distance(sample, distribution):
    """Of Kolmogorov and Smirnov: the greatest distance of the sample's distribution, times the root of its size."""
    sample = numpy.sort(sample.astype(numpy.float64).ravel())
    exact, steps = distribution(sample), numpy.arange(sample.size + 1) / sample.size
    return max(numpy.abs(exact - steps[1:]).max(), numpy.abs(exact - steps[:-1]).max()) * math.sqrt(sample.size)


def seeded(executable, seed=0, **options):
    """A session whose runs are numbered from 0."""
    session = executable.session(**options)
    session.set_seed(seed)
    return session


LIKELY = 1.95  # distances that one sample in a thousand exceeds
gaussian = numpy.vectorize(lambda x: 0.5 * math.erfc(-x / math.sqrt(2)))


# ---- Tests

class RandomTest(unittest.TestCase):
    def compiled(self, nodes, inputs=(), outputs=(("y", FLOAT),), initializers=(), opset=22, **options):
        graph = tailor.onnx.load(model(nodes, inputs, outputs, initializers, opset), **options)
        return devices.compiled(graph)

    def first(self, *arguments, inputs_of_run=None, **options):
        """The outputs of the first run with the seed 0."""
        return seeded(self.compiled(*arguments, **options)).run(**inputs_of_run or {})

    def same(self, got, wanted):
        self.assertEqual((got.dtype, got.shape), (wanted.dtype, wanted.shape))
        numpy.testing.assert_array_equal(got, wanted)

    def refused(self, reason, *arguments, **options):
        with self.assertRaisesRegex(tailor.onnx.ModelError, reason):
            self.compiled(*arguments, **options)


class GeneratorTest(unittest.TestCase):
    def test_known_answers(self):
        """kat_vectors of Random123, philox4x32 10."""
        ones = 0xffffffff
        for counter, key, wanted in (
                ([0] * 4, [0] * 2, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
                ([ones] * 4, [ones] * 2, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
                ([0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344], [0xa4093822, 0x299f31d0],
                 "d16cfe09 94fdcceb 5001e420 24126ea1")):
            self.assertEqual(" ".join(f"{int(word):08x}" for word in philox(counter, key)), wanted)


class NumbersTest(RandomTest):
    def test_uniform(self):
        for dtype, array_type in ((FLOAT, numpy.float32), (DOUBLE, numpy.float64)):
            for seed in (0.0, 1.0, -2.5):
                y, = self.first([node("RandomUniform", [], ["y"], shape=[7, 11, 13], dtype=dtype, seed=seed)],
                                outputs=[("y", dtype)])
                self.same(y, uniform(seed, 1001, array_type).reshape(7, 11, 13))

    def test_normal(self):
        for dtype, array_type in ((FLOAT, numpy.float32), (DOUBLE, numpy.float64)):
            y, = self.first([node("RandomNormal", [], ["y"], shape=[COUNT], dtype=dtype, seed=3.0)],
                            outputs=[("y", dtype)])
            self.same(y, normal(3.0, COUNT, array_type))

    def test_ranges_and_scales(self):
        y, z = self.first([node("RandomUniform", [], ["y"], shape=[1000], seed=4.0, low=-3.0, high=5.0),
                           node("RandomNormal", [], ["z"], shape=[1000], seed=4.0, mean=-3.0, scale=0.25)],
                          outputs=[("y", FLOAT), ("z", FLOAT)])
        self.same(y, uniform(4.0, 1000) * numpy.float32(8) - numpy.float32(3))
        self.same(z, normal(4.0, 1000) * numpy.float32(0.25) - numpy.float32(3))

    def test_narrow_types(self):
        """Numbers of f32, rounded once; uniform ones stay below `high`."""
        for dtype in (HALF, BFLOAT):
            array_type = helper.tensor_dtype_to_np_dtype(dtype)
            y, z = self.first([node("RandomUniform", [], ["y"], shape=[COUNT], seed=5.0, dtype=dtype),
                               node("RandomNormal", [], ["z"], shape=[1000], seed=5.0, dtype=dtype)],
                              outputs=[("y", dtype), ("z", dtype)])
            most = 1 - 2.0**-11 if dtype == HALF else 1 - 2.0**-8
            self.same(y, numpy.minimum(uniform(5.0, COUNT), numpy.float32(most)).astype(array_type))
            self.assertEqual(float(y.max()), most)
            self.same(z, normal(5.0, 1000).astype(array_type))

    def test_high_is_never_reached(self):
        """Rounding would reach it."""
        for dtype, low, high in ((FLOAT, 1, 2), (FLOAT, 2**23, 2**23 + 1), (FLOAT, -1, 0), (FLOAT, -1, -1 + 2**-23),
                                 (HALF, 1000, 1001), (HALF, -2, -1), (BFLOAT, 0.1, 0.3), (DOUBLE, 1, 2)):
            y, = self.first([node("RandomUniform", [], ["y"], shape=[5000], seed=6.0, dtype=dtype, low=float(low),
                                  high=float(high))], outputs=[("y", dtype)])
            numbers = y.astype(numpy.float64)
            self.assertLess(numbers.max(), numpy.float32(high), (dtype, low, high))
            self.assertGreaterEqual(numbers.max(), numbers.min())

    def test_far_ranges(self):
        y, = self.first([node("RandomUniform", [], ["y"], shape=[1000], seed=6.0, low=-3e38, high=3e38)])
        self.assertTrue(numpy.isfinite(y).all())
        self.assertLess(distance(y.astype(numpy.float64) / 6e38 + 0.5, lambda x: x), LIKELY)
        for low, high in ((0, math.inf), (-math.inf, 0), (math.nan, 1)):
            self.refused('RandomUniform node "draw": its range is',
                         [node("RandomUniform", [], ["y"], "draw", shape=[2], low=float(low), high=float(high))])

    def test_no_range(self):
        y, = self.first([node("RandomUniform", [], ["y"], shape=[5], low=2.0, high=2.0)])
        self.same(y, numpy.full(5, 2, numpy.float32))

    def test_like(self):
        nodes = [node("RandomUniformLike", ["x"], ["u"], seed=1.0), node("RandomNormalLike", ["x"], ["n"], seed=2.0),
                 node("RandomUniformLike", ["i"], ["d"], seed=3.0, dtype=DOUBLE)]
        executable = self.compiled(nodes, [("x", FLOAT, ["a", "b"]), ("i", INT64, ["a"])],
                                   [("u", FLOAT), ("n", FLOAT), ("d", DOUBLE)])
        for a, b in ((3, 5), (1, 1), (64, 33), (0, 5), (3, 0)):
            u, n, d = seeded(executable).run(x=numpy.full((a, b), numpy.nan, numpy.float32),
                                               i=numpy.zeros(a, numpy.int64))
            self.same(u, uniform(1.0, a * b).reshape(a, b))
            self.same(n, normal(2.0, a * b).reshape(a, b))
            self.same(d, uniform(3.0, a, numpy.float64))

    def test_elements_do_not_depend_on_the_size(self):
        long, = self.first([node("RandomNormal", [], ["y"], shape=[2000], seed=9.0)])
        for size in (0, 1, 2, 17, 1023, 1025):
            short, = self.first([node("RandomNormal", [], ["y"], shape=[size], seed=9.0)])
            self.same(short, long[:size])
        scalar, = self.first([node("RandomNormalLike", ["x"], ["y"], seed=9.0)], [("x", FLOAT, [])],
                             inputs_of_run={"x": numpy.float32(0)})
        self.same(scalar, long[0].reshape(()))

    def test_threads_and_targets(self):
        graph = tailor.onnx.load(model([node("RandomNormalLike", ["x"], ["y"], seed=1.0),
                                        node("RandomUniformLike", ["x"], ["z"], seed=1.0)],
                                       [("x", FLOAT, ["a", "b"])], [("y", FLOAT), ("z", FLOAT)]))
        x = numpy.zeros((123, 4567), numpy.float32)
        wanted = [make(1.0, x.size).reshape(x.shape) for make in (normal, uniform)]
        targets = ["host", "x86-64-v2", "x86-64-v3"]
        for target in targets:
            executable = graph.compile(target)
            for threads in (1, 2):
                for got, numbers in zip(seeded(executable, threads=threads).run(x=x), wanted):
                    self.same(got, numbers)


class DistributionTest(RandomTest):
    def test_uniform(self):
        for dtype in (FLOAT, DOUBLE):
            y, = self.first([node("RandomUniform", [], ["y"], shape=[COUNT], seed=1.0, dtype=dtype)],
                            outputs=[("y", dtype)])
            self.assertTrue(((y >= 0) & (y < 1)).all())
            self.assertLess(distance(y, lambda x: x), LIKELY)
            self.moments(y, 0.5, 1 / 12, 0, 1.8)

    def test_normal(self):
        for dtype in (FLOAT, DOUBLE):
            y, = self.first([node("RandomNormal", [], ["y"], shape=[COUNT], seed=1.0, dtype=dtype)],
                            outputs=[("y", dtype)])
            self.assertLess(distance(y, gaussian), LIKELY)
            self.moments(y, 0, 1, 0, 3)

    def moments(self, y, mean, variance, skewness, kurtosis):
        y, error = y.astype(numpy.float64), 4 / math.sqrt(y.size)  # four standard errors
        standard = (y - mean) / math.sqrt(variance)
        self.assertLess(abs(standard.mean()), error)
        self.assertLess(abs((standard**2).mean() - 1), error * math.sqrt(kurtosis - 1))
        self.assertLess(abs((standard**3).mean() - skewness), error * math.sqrt(15))
        self.assertLess(abs((standard**4).mean() - kurtosis), error * math.sqrt(96))

    def test_neighbours_are_independent(self):
        y, = self.first([node("RandomNormal", [], ["y"], shape=[COUNT], seed=2.0)])
        for lag in (1, 2, 4, 16, 1000):
            self.assertLess(abs((y[lag:] * y[:-lag]).mean()), 4 / math.sqrt(COUNT - lag))

    def test_nodes_are_independent(self):
        nodes = [node("RandomNormal", [], [f"y{i}"], shape=[COUNT]) for i in range(4)]
        nodes += [node("RandomNormal", [], [f"y{i + 4}"], shape=[COUNT], seed=float(i)) for i in range(4)]
        ys = self.first(nodes, outputs=[(f"y{i}", FLOAT) for i in range(8)])
        for i, y in enumerate(ys):
            for z in ys[:i]:
                self.assertLess(abs((y * z).mean()), 4 / math.sqrt(COUNT))


class BernoulliTest(RandomTest):
    P = numpy.array([0, 1, 0.5, 1e-9, 1 - 2**-24, -1, 2, numpy.nan, numpy.inf, -numpy.inf], numpy.float64)

    def test_numbers(self):
        for dtype, array_type in ((FLOAT, numpy.float32), (DOUBLE, numpy.float64), (HALF, numpy.float16)):
            executable = self.compiled([node("Bernoulli", ["x"], ["y"], seed=1.0)], [("x", dtype, ["n"])],
                                       [("y", dtype)])
            x = numpy.linspace(0, 1, 1001).astype(array_type)
            y, = seeded(executable).run(x=x)
            self.same(y, happens(x.astype(numpy.float64), 1.0, x.size).astype(array_type))

    def test_what_is_no_probability(self):
        x = numpy.repeat(self.P, 1000)
        y, = self.first([node("Bernoulli", ["x"], ["y"])], [("x", DOUBLE, ["n"])], [("y", DOUBLE)],
                        inputs_of_run={"x": x})
        share = dict(zip(map(str, self.P), y.reshape(-1, 1000).mean(1)))
        for never in ("0.0", "-1.0", "nan", "-inf"):
            self.assertEqual(share[never], 0, never)
        for always in ("1.0", "2.0", "inf"):
            self.assertEqual(share[always], 1, always)

    def test_types(self):
        x = numpy.random.default_rng(0).random((5, 40), numpy.float32)
        wanted = happens(x.astype(numpy.float64).ravel(), 1.0, x.size).reshape(x.shape)
        for dtype in (BOOL, UINT8, TensorProto.INT8, TensorProto.UINT16, TensorProto.INT16, INT32, TensorProto.UINT32,
                      INT64, TensorProto.UINT64, HALF, BFLOAT, FLOAT, DOUBLE):
            y, = self.first([node("Bernoulli", ["x"], ["y"], seed=1.0, dtype=dtype)], [("x", FLOAT, ["a", "b"])],
                            [("y", dtype)], inputs_of_run={"x": x})
            self.same(y, wanted.astype(helper.tensor_dtype_to_np_dtype(dtype)))

    def test_frequencies(self):
        x = numpy.repeat(numpy.array([0.001, 0.1, 0.5, 0.9], numpy.float32), COUNT)
        y, = self.first([node("Bernoulli", ["x"], ["y"], seed=7.0)], [("x", FLOAT, ["n"])], inputs_of_run={"x": x})
        for p, share in zip((0.001, 0.1, 0.5, 0.9), y.reshape(4, -1).astype(numpy.float64).mean(1)):
            self.assertLess(abs(share - p), 4 * math.sqrt(p * (1 - p) / COUNT))


class MultinomialTest(RandomTest):
    def drawn(self, x, samples, dtype=INT32, input_type=FLOAT, seed=1.0):
        y, = self.first([node("Multinomial", ["x"], ["y"], sample_size=samples, dtype=dtype, seed=seed)],
                        [("x", input_type, ["b", "c"])], [("y", dtype)], inputs_of_run={"x": x})
        self.assertEqual((y.dtype, y.shape), (helper.tensor_dtype_to_np_dtype(dtype), (len(x), samples)))
        return y

    def test_numbers(self):
        x = numpy.random.default_rng(1).standard_normal((3, 100)).astype(numpy.float32) * 3
        p = numpy.exp(x.astype(numpy.float64) - x.max(1, keepdims=True))
        sums = numpy.cumsum(p, 1)
        u = uniform(1.0, 3 * 500, numpy.float64).reshape(3, 500)
        wanted = numpy.stack([numpy.searchsorted(s, v * s[-1], "right") for s, v in zip(sums, u)])
        for dtype in (INT32, INT64):
            numpy.testing.assert_array_equal(self.drawn(x, 500, dtype), wanted)

    def test_frequencies(self):
        """Chi squared of 8 classes, whose 99.9th percentile at 7 degrees of freedom is 24.3."""
        p = numpy.array([[0.001, 0.2, 0.05, 0.3, 0.249, 0.1, 0.05, 0.05], [0.125] * 8])
        y = self.drawn((numpy.log(p) + [[5], [-3]]).astype(numpy.float32), COUNT)
        for row, shares in zip(y, p):
            counts = numpy.bincount(row, minlength=8)
            self.assertLess(((counts - COUNT * shares)**2 / (COUNT * shares)).sum(), 24.3)

    def test_classes_without_probability(self):
        x = numpy.full((2, 9), -numpy.inf, numpy.float32)
        x[0, [2, 5]], x[1, 8] = [0, 1], -1e4
        y = self.drawn(x, 1000)
        self.assertEqual(set(y[0]), {2, 5})
        self.assertEqual(set(y[1]), {8})

    def test_one_class_and_no_batch(self):
        self.assertFalse(self.drawn(numpy.zeros((3, 1), numpy.float32), 4).any())
        self.drawn(numpy.zeros((0, 5), numpy.float32), 4)
        self.drawn(numpy.zeros((2, 5), numpy.float32), 0)
        with self.assertRaisesRegex(tailor.Error, "Multinomial needs a class"):
            self.drawn(numpy.zeros((2, 0), numpy.float32), 4)

    def test_types(self):
        x = numpy.zeros((2, 5))
        for input_type, array_type in ((HALF, numpy.float16), (DOUBLE, numpy.float64)):
            self.assertLess(self.drawn(x.astype(array_type), 100, INT64, input_type).max(), 5)

    def test_errors(self):
        def of(**attributes):
            return [node("Multinomial", ["x"], ["y"], "draw", **attributes)], [("x", FLOAT, ["b", "c"])]
        self.refused('Multinomial node "draw".* f32, not i32 or i64', *of(dtype=FLOAT))
        self.refused('"sample_size" is -1', *of(sample_size=-1))
        self.refused("rank 1", [node("Multinomial", ["x"], ["y"])], [("x", FLOAT, ["c"])])


class DropoutTest(RandomTest):
    OUTPUTS = [("y", FLOAT), ("mask", BOOL)]

    def inputs(self, shape=(30, 70)):
        return numpy.random.default_rng(2).standard_normal(shape).astype(numpy.float32)

    def check(self, x, y, mask, ratio, seed):
        kept = ~happens(numpy.float64(numpy.float32(ratio)), seed, x.size).reshape(x.shape)
        self.same(mask, kept)
        scale = numpy.float32(1) / (numpy.float32(1) - numpy.float32(ratio))
        self.same(y, numpy.where(kept, x * scale, numpy.float32(0)))

    def dropout(self, inputs=("x", "ratio", "training"), **attributes):
        return [node("Dropout", list(inputs), ["y", "mask"], "drop", **attributes)]

    def test_training(self):
        x = self.inputs()
        for ratio in (0.1, 0.5, 0.999):
            y, mask = self.first(self.dropout(seed=5), [("x", FLOAT, ["a", "b"])], self.OUTPUTS,
                                 [("ratio", numpy.float32(ratio)), ("training", numpy.asarray(True))],
                                 inputs_of_run={"x": x})
            self.check(x, y, mask, ratio, 5)
        y, mask = self.first(self.dropout(("x", "", "training"), seed=2**40 + 1), [("x", FLOAT, ["a", "b"])],
                             self.OUTPUTS, [("training", numpy.asarray(True))], inputs_of_run={"x": x})
        self.check(x, y, mask, 0.5, 2**40 + 1)

    def test_what_is_known_when_it_runs(self):
        x = self.inputs()
        executable = self.compiled(self.dropout(seed=5), [("x", FLOAT, ["a", "b"]), ("ratio", FLOAT, []),
                                                          ("training", BOOL, [])], self.OUTPUTS)
        for training, ratio in ((True, 0.3), (True, 0.0), (True, 1.0), (False, 0.3), (False, 1.0)):
            y, mask = seeded(executable).run(x=x, ratio=numpy.float32(ratio), training=numpy.asarray(training))
            if training and 0 < ratio < 1:
                self.check(x, y, mask, ratio, 5)
            elif training and ratio == 1:
                self.assertFalse(mask.any() or y.any())
            else:
                self.assertTrue(mask.all())
                self.same(y, x)

    def test_inference_draws_nothing(self):
        for training, ratio in ((False, 0.5), (True, 0.0)):
            text = tailor.onnx.load(model(self.dropout(), [("x", FLOAT, ["a", "b"])], self.OUTPUTS,
                                          [("ratio", numpy.float32(ratio)), ("training", numpy.asarray(training))],
                                          opset=22)).text
            self.assertNotIn("xor", text)

    def test_all_is_dropped(self):
        x = numpy.full(50, numpy.inf, numpy.float32)
        y, mask = self.first(self.dropout(), [("x", FLOAT, ["a"])], self.OUTPUTS,
                             [("ratio", numpy.float32(1)), ("training", numpy.asarray(True))], inputs_of_run={"x": x})
        self.assertFalse(mask.any() or y.any())

    def test_types(self):
        x = self.inputs()
        kept = ~happens(numpy.float64(0.25), 5, x.size).reshape(x.shape)
        for dtype, array_type in ((HALF, numpy.float16), (DOUBLE, numpy.float64)):
            wide = x.astype(array_type)
            y, mask = self.first(self.dropout(seed=5), [("x", dtype, ["a", "b"])], [("y", dtype), ("mask", BOOL)],
                                 [("ratio", numpy.float32(0.25)), ("training", numpy.asarray(True))],
                                 inputs_of_run={"x": wide})
            self.same(mask, kept)
            exact = numpy.float64 if dtype == DOUBLE else numpy.float32
            self.same(y, numpy.where(kept, wide.astype(exact) * (exact(1) / exact(0.75)), 0).astype(array_type))

    def test_before_opset_7(self):
        x = numpy.ones((40, 50), numpy.float32)
        y, mask = self.first([node("Dropout", ["x"], ["y", "mask"], ratio=0.25)], [("x", FLOAT, ["a", "b"])],
                             [("y", FLOAT), ("mask", FLOAT)], opset=6, inputs_of_run={"x": x})
        self.same(y, mask * (numpy.float32(1) / numpy.float32(0.75)))
        self.assertLess(abs(float(mask.mean()) - 0.75), 4 * math.sqrt(0.1875 / 2000))

    def test_errors(self):
        for ratio in (-0.1, 1.5, numpy.nan):
            self.refused(r'Dropout node "drop".* ratio .* is not in \[0, 1\]', self.dropout(),
                         [("x", FLOAT, ["a"])], self.OUTPUTS,
                         [("ratio", numpy.float32(ratio)), ("training", numpy.asarray(True))])


class NodesTest(RandomTest):
    """Which numbers a node without seed gets."""

    def numbers(self, nodes, outputs="y", **options):
        return self.first(nodes, outputs=[(name, FLOAT) for name in outputs], **options)

    def test_loading_again_and_other_nodes_change_nothing(self):
        y, = self.numbers([node("RandomNormal", [], ["y"], shape=[100])])
        again, other = self.numbers([node("RandomUniform", [], ["z"], shape=[7]),
                                     node("RandomNormal", [], ["y"], shape=[100])], "yz")
        self.same(again, y)
        self.assertEqual(other.shape, (7,))

    def test_nodes_differ(self):
        a, b = self.numbers([node("RandomUniform", [], [name], shape=[100]) for name in "ab"], "ab")
        self.assertFalse(numpy.isin(a, b).any())

    def test_equal_seeds_give_equal_numbers(self):
        a, b = self.numbers([node("RandomUniform", [], [name], shape=[100], seed=3.0) for name in "ab"], "ab")
        self.same(a, b)

    def test_calls_of_functions_differ(self):
        proto = model([node("Noise", [], [name], domain="own") for name in "ab"], [],
                      [("a", FLOAT), ("b", FLOAT)], opset=22)
        proto.functions.append(helper.make_function("own", "Noise", [], ["r"],
                                                    [node("RandomUniform", [], ["r"], shape=[100])],
                                                    [helper.make_opsetid("", 22)]))
        proto.opset_import.append(helper.make_opsetid("own", 1))
        a, b = seeded(devices.compiled(tailor.onnx.load(proto))).run()
        self.assertFalse(numpy.isin(a, b).any())

    def test_iterations_of_a_loop_differ(self):
        for attributes in ({}, {"seed": 3.0}):
            loop = looped([node("Identity", ["going"], ["on"]), node("RandomUniform", [], ["r"], shape=[50], **attributes)],
                          [], [("r", FLOAT)])
            executable = self.compiled([node("Loop", ["n", ""], ["y"], body=loop)], [("n", INT64, [])])
            y, = seeded(executable).run(n=numpy.asarray(40))
            self.assertGreater(numpy.unique(y).size, 1990)  # of 2^24 numbers some meet
            self.same(seeded(executable).run(n=numpy.asarray(4))[0], y[:4])

    def test_iterations_of_nested_loops_differ(self):
        inner = looped([node("Identity", ["going"], ["on"]), node("RandomUniform", [], ["r"], shape=[5])], [],
                       [("r", FLOAT)])
        outer = looped([node("Identity", ["going"], ["on"]), node("Loop", ["m", ""], ["rs"], body=inner)], [],
                       [("rs", FLOAT)])
        y, = self.first([node("Loop", ["n", ""], ["y"], body=outer)], [("n", INT64, []), ("m", INT64, [])],
                        inputs_of_run={"n": numpy.asarray(7), "m": numpy.asarray(6)})
        self.assertEqual(y.shape, (7, 6, 5))
        self.assertEqual(numpy.unique(y).size, 7 * 6 * 5)

    def test_states_whose_dims_change(self):
        """The body is imported more than once."""
        loop = looped([node("Identity", ["going"], ["on"]), node("RandomUniform", [], ["r"], shape=[3]),
                       node("Concat", ["s", "r"], ["s_out"], axis=0)], [("s", FLOAT, None)])
        y, = self.first([node("Loop", ["n", "", "x"], ["y"], body=loop)], [("n", INT64, []), ("x", FLOAT, ["a"])],
                        inputs_of_run={"n": numpy.asarray(20), "x": numpy.full(2, -1, numpy.float32)})
        self.assertEqual(y.shape, (62,))
        self.assertEqual(numpy.unique(y).size, 61)

    def test_steps_of_a_scan_differ(self):
        noise = body([node("Add", ["x_in", "s"], ["s_out"]), node("RandomNormalLike", ["x_in"], ["r"]),
                      node("Add", ["x_in", "r"], ["row"])], [("s", FLOAT, [3]), ("x_in", FLOAT, [3])],
                     [("s_out", FLOAT), ("row", FLOAT)])
        _, y = self.first([node("Scan", ["zero", "x"], ["last", "y"], body=noise, num_scan_inputs=1)],
                          [("x", FLOAT, ["n", 3])], [("last", FLOAT), ("y", FLOAT)],
                          [("zero", numpy.zeros(3, numpy.float32))], inputs_of_run={"x": numpy.zeros((30, 3), numpy.float32)})
        self.assertEqual(numpy.unique(y).size, 90)

    def test_branches(self):
        """Either branch, both, or a loop in one of them draw."""
        loop = looped([node("Identity", ["going"], ["on"]), node("RandomUniform", [], ["r"], shape=[2])], [],
                      [("r", FLOAT)])
        draws = [node("RandomUniform", [], ["one"], shape=[4, 2])]
        keeps = [node("Identity", ["x"], ["one"])]
        loops = [node("Loop", ["four", ""], ["one"], body=loop)]
        for then_nodes, else_nodes in ((draws, keeps), (keeps, draws), (draws, draws), (loops, keeps), (keeps, loops),
                                       (draws, loops)):
            branches = [body(nodes, [], [("one", FLOAT)]) for nodes in (then_nodes, else_nodes)]
            executable = self.compiled([node("If", ["c"], ["y"], then_branch=branches[0], else_branch=branches[1])],
                                       [("c", BOOL, []), ("x", FLOAT, [4, 2])], initializers=[("four", numpy.asarray(4))])
            for taken, nodes in ((True, then_nodes), (False, else_nodes)):
                x = numpy.full((4, 2), -1, numpy.float32)
                y, = seeded(executable).run(c=numpy.asarray(taken), x=x)
                if nodes is keeps:
                    self.same(y, x)
                else:
                    self.assertEqual(numpy.unique(y[y >= 0]).size, 8)


class RunsTest(RandomTest):
    """What repeated runs give."""
    NODES = [node("RandomUniform", [], ["own"], shape=[64], seed=3.0), node("RandomUniform", [], ["drawn"], shape=[64])]
    OUTPUTS = [("own", FLOAT), ("drawn", FLOAT)]

    def setUp(self):
        self.graph = tailor.onnx.load(model(self.NODES, [], self.OUTPUTS, opset=22))

    def sequence(self, session, count=4):
        """own and drawn of each run."""
        return [numpy.stack(outputs) for outputs in zip(*(session.run() for _ in range(count)))]

    def test_runs_are_numbered(self):
        own, drawn = self.sequence(seeded(devices.compiled(self.graph)))
        self.same(own, numpy.stack([uniform(3.0, 64, run=run) for run in range(4)]))
        self.assertEqual(numpy.unique(drawn).size, 4 * 64)

    def test_seeds_of_sessions(self):
        executable = devices.compiled(self.graph)
        first, again, other = (self.sequence(seeded(executable, seed)) for seed in (7, 7, 2**64 - 1))
        for a, b in zip(first, again):
            self.same(a, b)
        self.same(other[0], first[0])
        self.assertFalse(numpy.isin(other[1], first[1]).any())

    def test_a_seed_begins_the_sequence_again(self):
        session = seeded(devices.compiled(self.graph), 7)
        first = self.sequence(session)
        session.set_seed(7)
        for a, b in zip(self.sequence(session), first):
            self.same(a, b)

    def test_seeds_that_are_none(self):
        session = devices.compiled(self.graph).session()
        for seed in (-1, 2**64):
            with self.assertRaisesRegex(OverflowError, "seed"):
                session.set_seed(seed)

    def test_without_a_seed(self):
        """Sessions of one executable share the numbers of runs; another executable has another seed."""
        executable = devices.compiled(self.graph)
        sessions = [executable.session() for _ in range(2)]
        own, drawn = (numpy.concatenate(parts) for parts in zip(*(self.sequence(session, 2) for session in sessions)))
        self.same(own, numpy.stack([uniform(3.0, 64, run=run) for run in range(4)]))
        self.assertEqual(numpy.unique(drawn).size, 4 * 64)
        other = self.sequence(devices.compiled(self.graph).session())
        self.same(other[0], own)
        self.assertFalse(numpy.isin(other[1], drawn).any())

    def test_iterations_of_each_run(self):
        loop = looped([node("Identity", ["going"], ["on"]), node("RandomUniform", [], ["r"], shape=[8], seed=1.0)], [],
                      [("r", FLOAT)])
        session = seeded(self.compiled([node("Loop", ["n", ""], ["y"], body=loop)], [("n", INT64, [])]))
        y = numpy.stack([session.run(n=numpy.asarray(6))[0] for _ in range(5)])
        self.assertEqual(numpy.unique(y).size, 5 * 6 * 8)

    def test_saved_artifacts(self):
        if EMULATED:
            self.skipTest("the artifact is for the host's CPU")
        executable = self.graph.compile()
        with tempfile.TemporaryDirectory() as folder:
            executable.save(f"{folder}/random.tlr")
            loaded = tailor.load(f"{folder}/random.tlr")
            for a, b in zip(self.sequence(seeded(loaded, 5)), self.sequence(seeded(executable, 5))):
                self.same(a, b)


class ErrorsTest(RandomTest):
    def test_types_and_shapes(self):
        self.refused('RandomUniform node "draw".*i32, which is no type of floats',
                     [node("RandomUniform", [], ["y"], "draw", shape=[2], dtype=INT32)])
        self.refused("i64, which is no type of floats", [node("RandomNormalLike", ["x"], ["y"])],
                     [("x", INT64, ["n"])])
        for op in ("Bernoulli", "Dropout"):
            operands = ["x", "", "on"] if op == "Dropout" else ["x"]
            self.refused(f'{op} node "draw": its input is i64, which is no type of floats',
                         [node(op, operands, ["y"], "draw")], [("x", INT64, ["n"])],
                         initializers=[("on", numpy.asarray(True))])
        self.refused("its input is i32", [node("Multinomial", ["x"], ["y"])], [("x", INT32, ["b", "c"])])
        self.refused('"shape" has the negative dim size -2', [node("RandomNormal", [], ["y"], shape=[3, -2])])
        self.refused('attribute "shape" is missing', [node("RandomNormal", [], ["y"])])


if __name__ == "__main__":
    unittest.main()
