"""Values are indexed as numpy indexes arrays."""
import unittest

import numpy as np

import tailor
from python_programs import X


class IndexTest(unittest.TestCase):
    SHAPES = ((5, 4, 6), (1, 4, 6), (9, 4, 6), (2, 4, 6))

    def check(self, indices, shapes=SHAPES, dims=("N", 4, "M")):
        """numpy's result for each index, at each shape."""
        graph = tailor.Graph("parts")
        x = graph.input("x", "f32", dims)
        for i, index in enumerate(indices):
            graph.output(f"y{i}", x[index])
        executable = graph.compile("host")
        for shape in shapes:
            array = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
            for index, got in zip(indices, executable.run(array)):
                np.testing.assert_array_equal(got, array[index], err_msg=f"{index} of {shape}")

    def test_basic_indices_are_numpys(self):
        s = slice
        self.check([0, -1, (0, 1), (..., 2), (s(None), s(None, None, 2)), (..., None), None, (s(None), None, 1), ...,
                    (s(1, None),), (s(None, -1),), (s(-3, None),), (s(2, 100),), (s(100, None),), (s(None, -100),),
                    (s(None), s(1, 3)), (s(None, None, -1),), (s(None, None, -2), s(None), s(4, 1, -1)), (s(3, 0, -1),),
                    (s(-2, None, -1), 3, s(None, 2)), (0, ..., -1), (s(None), -4), (0, 0, 0), (), s(1, 1), s(3, 1),
                    (s(None, None, 3), None, ..., s(1, None, 2)), np.int64(0), (np.array(0), s(-1, None))])

    def test_lists_of_positions_are_gathered(self):
        graph = tailor.Graph("rows")
        x, at = graph.input("x", "f32", ["N", 4]), graph.input("at", "i64", ["K"])
        graph.output("rows", x[at])
        graph.output("columns", x[1:, [3, 0, -1]])
        graph.output("grid", x[:, np.array([[0, 1], [2, 3]], np.int32)])
        rows, columns, grid = graph.compile("host").run(X, np.array([2, 0, -1, 2]))
        np.testing.assert_array_equal(rows, X[[2, 0, -1, 2]])
        np.testing.assert_array_equal(columns, X[1:, [3, 0, -1]])
        np.testing.assert_array_equal(grid, X[:, [[0, 1], [2, 3]]])

    def test_bounds_may_be_dims(self):
        graph, n = tailor.Graph("window"), tailor.symbol("n")
        x, by = graph.input("x", "f32", ["N", 4]), graph.input("by", "f32", [n])
        graph.output("y", x[1:n + 1])
        graph.output("last", x[x.shape[0] - 1])
        graph.output("tail", x[n:])
        self.assertEqual(repr(x[1:n + 1]), "<tailor.Value f32[n, 4]>")
        executable = graph.compile("host")
        for size in (0, 1, 2):
            y, last, tail = executable.run(X, np.zeros(size, np.float32))
            np.testing.assert_array_equal(y, X[1:size + 1])
            np.testing.assert_array_equal(last, X[-1])
            np.testing.assert_array_equal(tail, X[size:])
        with self.assertRaises(tailor.Error):
            executable.run(X, np.zeros(3, np.float32))

    def test_positions_out_of_range(self):
        graph = tailor.Graph()
        x = graph.input("x", "f32", ["N", 4])
        for index in ((0, 4), (0, -5)):
            with self.assertRaisesRegex(IndexError, f"index {index[1]} is out of range for a dim size of 4"):
                x[index]
        graph.output("y", x[2])
        graph.output("z", x[-2])
        executable = graph.compile("host")
        executable.run(X)
        for rows in (0, 1, 2):
            with self.assertRaises(tailor.Error):
                executable.run(X[:rows])

    def test_shapes_stay_plain_where_bounds_are_proven(self):
        graph = tailor.Graph()
        x = graph.input("x", "f32", [tailor.symbol("N", min=4), 8])
        for part, shape in ((x[1:], "N - 1, 8"), (x[:4, :100], "4, 8"), (x[-3:], "3, 8"), (x[:, ::3], "N, 3"),
                            (x[0], "8"), (x[..., None], "N, 8, 1")):
            self.assertEqual(repr(part), f"<tailor.Value f32[{shape}]>")

    def test_what_is_no_index(self):
        graph = tailor.Graph()
        x, mask = graph.input("x", "f32", ["N", 4]), graph.input("m", "bool", ["N"])
        for index in (mask, np.array([True, False]), [True, False], True, (0, np.bool_(True)), x.gt(0.0)):
            with self.assertRaisesRegex(TypeError, "boolean masks are no indices.*graph.compact.*graph.select"):
                x[index]
        for index, error, words in (((0, 0, 0), IndexError, "an index for 3 axes of a value with 2"),
                                    ((..., ...), IndexError, "more than one ..."),
                                    ((slice(None, None, 0),), ValueError, "step of a slice is 0"),
                                    (([0], [1]), IndexError, "index twice"), ((0, [1]), IndexError, "index twice"),
                                    (1.0, TypeError, "an index has 1.0"), ("x", TypeError, "an index has 'x'"),
                                    (np.array([1.0]), TypeError, "positions in an index are float64"),
                                    (slice(0.5, None), TypeError, "float")):
            with self.assertRaisesRegex(error, words):
                x[index]
        with self.assertRaises(TypeError):
            x[0] = 1.0


if __name__ == "__main__":
    unittest.main()
