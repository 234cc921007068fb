"""Graphs whose dims are joined by broadcasting: each run takes one of two versions, by its dim sizes."""
import os
import unittest

import numpy as np

import tailor

CHANNELS = 4
rng = np.random.default_rng(30)
WEIGHTS = rng.standard_normal((CHANNELS, 3, 3))


def blur(x):
    """A depthwise 3x3 convolution, padded by 1, in float64."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    height, width = x.shape[2:]
    return sum(WEIGHTS[None, :, i, j, None, None] * padded[:, :, i:i + height, j:j + width]
               for i in range(3) for j in range(3))


def enlarged(graph, x):
    s = x.shape
    apart = graph.reshape(x, [s[0], s[1], s[2], 1, s[3], 1])
    spread = graph.broadcast(apart, [s[0], s[1], s[2], 2, s[3], 2])
    return graph.reshape(spread, [s[0], s[1], s[2] * 2, s[3] * 2])


def pyramid(levels, height="H", width="W"):
    """Each level blurred, of what is enlarged plus what it had."""
    graph = tailor.Graph("pyramid")
    weights = graph.constant(WEIGHTS[:, None].astype(np.float32))
    below = [graph.input("x", "f32", ["B", CHANNELS, height, width])]
    for _ in range(levels):
        below.append(graph.max_pool(below[-1], [3, 3], strides=[2, 2], pads=[(1, 1), (1, 1)]))
    top = below.pop()
    for number, level in enumerate(reversed(below)):
        top = enlarged(graph, top) + level
        graph.output(f"y{number}", graph.conv(top, weights, groups=CHANNELS, pads=[(1, 1), (1, 1)]))
    return graph


def expected(x, levels):
    below = [x.astype(np.float64)]
    for _ in range(levels):
        padded = np.pad(below[-1], ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=-np.inf)
        windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))[:, :, ::2, ::2]
        below.append(windows.max((-1, -2)))
    top, results = below.pop(), []
    for level in reversed(below):
        top = top.repeat(2, 2).repeat(2, 3) + level
        results.append(blur(top))
    return results


class JoinsTest(unittest.TestCase):
    def setUp(self):
        self.levels = 2
        self.graph = pyramid(self.levels)
        self.executable = self.graph.compile()

    def versions_run(self, executable, *shape):
        plan = executable.plan(shape)
        return {number for number, version in enumerate(plan.chosen) if version >= 0}

    def check(self, executable, *shape):
        x = rng.standard_normal(shape).astype(np.float32)
        for got, want in zip(executable.run(x), expected(x, self.levels)):
            self.assertEqual(got.shape, want.shape)
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)

    def test_both_versions_are_right(self):
        for shape in ((1, 4, 8, 8), (2, 4, 64, 40), (1, 4, 1, 8), (1, 4, 12, 1), (1, 4, 1, 1), (3, 4, 4, 4)):
            with self.subTest(shape=shape):
                self.check(self.executable, *shape)

    def test_a_run_has_the_launches_of_one_version(self):
        equal, one = self.versions_run(self.executable, 1, 4, 8, 8), self.versions_run(self.executable, 1, 4, 1, 8)
        self.assertTrue(equal and one)
        self.assertFalse(equal & one)

    def test_plan_tells_outputs_and_memory_of_the_version(self):
        for shape in ((1, 4, 8, 8), (1, 4, 1, 8)):
            x = np.zeros(shape, np.float32)
            self.assertEqual([tuple(dims) for dims in self.executable.plan(shape).shapes],
                             [y.shape for y in expected(x, self.levels)])

    def test_extents_that_do_not_broadcast_are_refused(self):
        with self.assertRaises(tailor.Error) as caught:
            self.executable.run(np.zeros((1, 4, 7, 8), np.float32))
        self.assertIn("dim 2", str(caught.exception))
        self.check(self.executable, 1, 4, 8, 8)

    def test_an_artifact_has_both(self):
        loaded = tailor.Executable.from_bytes(self.graph.compile_artifact())
        for shape in ((1, 4, 8, 8), (1, 4, 1, 8)):
            self.check(loaded, *shape)

    def test_facts_tell_of_them(self):
        self.assertIn("versions\n", self.graph.facts)
        self.assertTrue(any("one of 2 versions" in fact for fact in self.executable.describe()["facts"]))

    def test_one_version_where_that_is_the_bound(self):
        executable = self.graph.compile(max_versions=1)
        self.assertFalse(any("versions" in fact for fact in executable.describe()["facts"]))
        for shape in ((1, 4, 8, 8), (1, 4, 1, 8)):
            self.check(executable, *shape)

    def test_declared_facts_remove_the_general_version(self):
        graph = pyramid(self.levels, height=tailor.symbol("H", multiple_of=4), width=tailor.symbol("W", multiple_of=4))
        self.assertNotIn("versions\n", graph.facts)
        executable = graph.compile()
        self.assertFalse(any("versions" in fact for fact in executable.describe()["facts"]))
        self.check(executable, 1, 4, 8, 12)

    def test_behind_extents_that_data_tells(self):
        graph = tailor.Graph("rows")
        x = graph.input("x", "f32", ["N", "W"])
        mask = graph.input("mask", "bool", ["N"])
        other = graph.input("other", "f32", ["M", "W"])
        weights = rng.standard_normal((1, 1, 3)).astype(np.float32)
        kept = graph.compact(x, mask)
        joined = kept + other
        rows = graph.reshape(joined, [joined.shape[0], 1, "W"])
        graph.output("y", graph.conv(rows, graph.constant(weights), pads=[(1, 1)]))
        graph.output("kept", kept)
        executable = graph.compile()
        values = rng.standard_normal((5, 6)).astype(np.float32)
        keep = np.array([True, False, True, True, False])
        for rows in (3, 1):
            others = rng.standard_normal((rows, 6)).astype(np.float32)
            y, kept = executable.run(values, keep, others)
            np.testing.assert_array_equal(kept, values[keep])
            want = np.stack([np.convolve(row, weights[0, 0, ::-1], "same") for row in values[keep] + others])
            np.testing.assert_allclose(y[:, 0], want, rtol=1e-5, atol=1e-5)
        with self.assertRaises(tailor.Error):
            executable.run(values, keep, np.zeros((2, 6), np.float32))

    def test_a_region_that_contradicts_the_joins_leaves_the_general_version(self):
        branches = []
        for left in (2, 1):
            branch = tailor.Graph(f"branch{left}")
            p, q = (branch.input(name, "f32", [dim, 8]) for name, dim in (("p", "P"), ("q", "Q")))
            if left == 2:  # P is 2 and Q is 1
                branch.output("z", branch.reshape(p, [2, 8]) + branch.reshape(q, [1, 8]))
            else:
                branch.output("z", branch.broadcast(branch.scalar(0, "f32"), [2, 8]))
            branches.append(branch)
        graph = tailor.Graph("contradiction")
        x, y = graph.input("x", "f32", ["A", 8]), graph.input("y", "f32", ["B", 8])
        weights = rng.standard_normal((8, 8)).astype(np.float32)
        graph.output("o", graph.dot(x + y, graph.constant(weights)))
        z, = graph.if_(graph.input("c", "bool", []), [x, y], branches[0], branches[1])
        graph.output("z", z)
        a, b = rng.standard_normal((2, 8)).astype(np.float32), rng.standard_normal((1, 8)).astype(np.float32)
        executable = graph.compile()
        self.assertTrue(any("one version: a region contradicts" in fact for fact in executable.describe()["facts"]))
        self.assertEqual(len(executable.launches), len(graph.compile(max_versions=1).launches))
        o, z = executable.run(a, b, np.array(True))
        np.testing.assert_allclose(o, (a + b).astype(np.float64) @ weights, rtol=1e-4, atol=1e-5)
        np.testing.assert_array_equal(z, a + b)

    @unittest.skipUnless("TAILOR_CUDA_DRIVER" in os.environ, "no emulated GPU")
    def test_on_a_gpu(self):
        executable = self.graph.compile(targets="simt", device="cuda")
        for shape in ((1, 4, 8, 8), (1, 4, 1, 8), (2, 4, 16, 4)):
            self.check(executable, *shape)
        self.assertFalse(executable.plan((1, 4, 8, 8)).reads_back)


if __name__ == "__main__":
    unittest.main()
