"""Lists of shapes, and the part of them that a quick run measures."""
import types
import unittest

from side_by_side import lists
from side_by_side.bench import Bench
from side_by_side.rows import convolutions


class ListsTest(unittest.TestCase):
    def test_products_are_row_major(self):
        shapes = lists.dot_shapes()
        self.assertEqual(shapes[0], (16, 1760, 1760))
        self.assertEqual(len(shapes), 93)
        self.assertEqual(sum(rows >= 32 for rows, _, _ in shapes), 51)

    def test_convolutions_are_distinct_and_of_small_batches(self):
        cases = lists.conv_cases(4)
        self.assertEqual(len(cases), 103)
        self.assertEqual(len({str(case) for case in cases}), 103)
        self.assertEqual(cases[0], {"op": "conv", "x": [4, 1, 161, 700], "weights": [32, 1, 5, 20], "strides": [2, 2],
                                    "pads": [0, 0]})
        self.assertEqual(convolutions.flops(cases[0]), 2 * 4 * 79 * 341 * 32 * 5 * 20)
        self.assertEqual(len({convolutions.name_of(case) for case in cases}), len(cases))

    def test_a_stream_is_the_same_every_time(self):
        self.assertEqual(lists.encoder_stream(100), lists.encoder_stream(100))
        self.assertEqual(lists.encoder_stream(9), lists.encoder_stream(100)[:9])
        for batch, length in lists.encoder_stream(1000):
            self.assertTrue(1 <= batch <= 8 and 1 <= length <= 512)

    def test_drawn_matmuls_are_within_their_ranges(self):
        shapes = lists.drawn_dots(500, 1e9, 1 << 26)
        self.assertEqual(shapes[:24], lists.drawn_dots(24, 1e9, 1 << 26))
        ranges = [{name: int(value) for name, value in row.items()} for row in lists.rows_of("mikpoly_gemm_ranges.csv")]
        self.assertEqual(sum(row["cases"] for row in ranges), 1433)
        for m, k, n in shapes:
            self.assertLessEqual(2 * m * k * n, 1e9)
            self.assertTrue(any(all(row[f"{dim}_min"] <= size <= row[f"{dim}_max"] for dim, size in zip("mkn", (m, k, n)))
                                for row in ranges), (m, k, n))

    def test_a_quick_run_takes_cases_from_the_first_to_the_last(self):
        quick, full = types.SimpleNamespace(full=False), types.SimpleNamespace(full=True)
        self.assertEqual(Bench.pick(quick, range(10), 4), [0, 3, 6, 9])
        self.assertEqual(Bench.pick(quick, range(3), 4), [0, 1, 2])
        self.assertEqual(Bench.pick(full, range(10), 4), list(range(10)))


if __name__ == "__main__":
    unittest.main()
