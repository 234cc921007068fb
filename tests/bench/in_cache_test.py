"""Row kernels without and with a peer, with fake times."""
import pathlib
import types
import unittest
from unittest import mock

from side_by_side import cpu
from side_by_side.figures import AtLeast
from side_by_side.rows import in_cache
from side_by_side.tailor_bench import Result


def bench_of(nanoseconds, wide=True):
    def one(name, repetitions):
        return Result({"run_name": name, "cpu_time": nanoseconds, "time_unit": "ns"})
    return types.SimpleNamespace(tailor=types.SimpleNamespace(one=one), build_dir=pathlib.Path("/nowhere"), rounds=2,
                                 cpu=cpu.chosen("host", avx512=wide))


class InCacheTest(unittest.TestCase):
    def test_without_a_peer_own_figures_remain(self):
        figures = {figure.name: figure for figure in in_cache.row_kernels(bench_of(32768))}
        self.assertEqual((figures["softmax, an element"].value, figures["softmax, an element"].met), (1, False))
        self.assertEqual(figures["layer norm 64 x 512"].value, 32.768)
        self.assertEqual((figures["gelu, speed-up"].value, figures["gelu, speed-up"].reason),
                         (None, "not measured: oneDNN is not installed"))

    def test_a_peer_that_takes_three_times_as_long(self):
        peer = types.SimpleNamespace(name="peer 1")
        with mock.patch.object(in_cache, "microseconds", return_value=(2.0, 6.0)):
            time, speed_up = in_cache.figures_of(None, "gelu", AtLeast(2.2), [None, peer])
        self.assertEqual((time.peer, time.peer_value, time.ratio), ("peer 1", 6, 3))
        self.assertEqual((speed_up.value, speed_up.met), (3, True))

    def test_targets_without_avx512(self):
        figures = {figure.name: figure for figure in in_cache.row_kernels(bench_of(32768, wide=False))}
        self.assertEqual(figures["exp, speed-up"].bar, AtLeast(1.3))
        self.assertIsNone(figures["softmax, an element"].bar)


if __name__ == "__main__":
    unittest.main()
