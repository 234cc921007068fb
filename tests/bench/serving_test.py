"""Serving: callers that take turns through one list, their figures, and the protocol."""
import collections
import itertools
import pathlib
import tempfile
import threading
import time
import unittest

import numpy
import tailor

from side_by_side import engines, lists
from side_by_side.processes import serving as processes
from side_by_side.rows import serving

REQUESTS = [{"model": "minilm"}, {"model": "crnn"}]


def results(name, slow):
    """Three turns of two callers: latencies of 1 to 4 times `slow` seconds, and memory that grows by a tenth."""
    turn = serving.Turn([[(0, slow), (1, 2 * slow)], [(0, 3 * slow), (1, 4 * slow)]], 4 * slow)
    return serving.Served(name, [turn] * 3, 1000, 1100)


class ListTest(unittest.TestCase):
    def test_requests_are_mixed_and_the_same_every_time(self):
        requests = lists.serving_requests(16)
        self.assertEqual(requests, lists.serving_requests(16))
        self.assertEqual(collections.Counter(request["model"] for request in requests),
                         {model: 16 for model in serving.MODELS})
        self.assertGreater(len({request["model"] for request in requests[:8]}), 1)

    def test_callers_begin_at_places_of_their_own_and_see_all_requests(self):
        orders = [list(itertools.islice(order, 5)) for order in processes.spread(2, 4)]
        self.assertEqual(orders, [[0, 1, 2, 3, 0], [2, 3, 0, 1, 2]])


class FiguresTest(unittest.TestCase):
    def test_percentiles_are_measured_values(self):
        values = list(range(1, 201))
        self.assertEqual([serving.percentile(values, percent) for percent in (50, 99, 100)], [100, 198, 200])
        self.assertEqual(serving.percentile([7], 50), 7)

    def test_a_turn_counts_requests_and_tells_models_apart(self):
        served = results("A", 1)
        self.assertEqual(served.rate(), 1)
        self.assertEqual(served.latency(REQUESTS, None, 99), 4)
        self.assertEqual(served.latency(REQUESTS, "minilm", 99), 3)

    def test_parallelism_is_named_as_the_engine_does(self):
        self.assertEqual([serving.what("openvino", 2), serving.what("tailor", 1)], ["2 streams", "1 thread"])

    def test_shares_are_of_all_turns(self):
        turns = [serving.Turn([[(0, 1)], [(0, 1)] * 2], 1), serving.Turn([[], [(0, 1)]], 1)]
        self.assertEqual(serving.Served("A", turns).shares(), [0.5, 1.5])

    def test_ratios_above_one_mean_that_tailor_is_better(self):
        served = [results("Tailor", 1), results("B 1.2", 2)]
        found = {figure.name: figure for figure in serving.figures(served, REQUESTS)}
        for name in ("serving: throughput, beside B", "serving: P99 latency, beside B"):
            self.assertEqual((found[name].value, found[name].met), (2, True))
        memory = found["serving: memory that the turns add to that before"]
        self.assertAlmostEqual(memory.value, 0.1)
        self.assertIs(memory.met, False)
        self.assertEqual(found["serving: P99 of all, beside B"].peer_value, 8000)

    def test_every_figure_has_a_name_of_its_own(self):
        served = [results("Tailor", 1), results("B 1.2", 2), results("C 3", 2)]
        names = [figure.name for figure in serving.figures(served, REQUESTS)]
        self.assertEqual(len(set(names)), len(names))


class AdmissionTest(unittest.TestCase):
    def test_callers_wait_in_the_order_in_which_they_came(self):
        admission, order, inside = processes.Admission(1), [], []

        def caller(number):
            with admission:
                inside.append(number)
                self.assertEqual(inside, [number])
                order.append(number)
                inside.remove(number)
        threads = [threading.Thread(target=caller, args=(number,)) for number in range(4)]
        with admission:
            for count, thread in enumerate(threads, start=1):
                thread.start()
                while len(admission._waiting) < count:
                    time.sleep(0.001)
        for thread in threads:
            thread.join()
        self.assertEqual(order, [0, 1, 2, 3])
        admission.around(lambda: order.clear())()
        self.assertEqual(order, [])

    def test_as_many_are_inside_as_allowed(self):
        admission = processes.Admission(2)
        with admission, admission:
            self.assertEqual(len(admission._waiting), 0)


class CallersTest(unittest.TestCase):
    def test_every_caller_goes_on_where_it_ended(self):
        ran = []
        runs = [[lambda request=request: ran.append(request) or numpy.zeros(1) for request in range(3)]]
        callers = processes.Callers(runs)
        ran.clear()
        for _ in range(4):
            self.assertEqual(len(callers.serve(0)["callers"][0]), 1)
        self.assertEqual(ran, [0, 1, 2, 0])

    def test_results_that_change_and_runs_that_fail_are_found(self):
        answers = iter([1, 1, 2])
        callers = processes.Callers([[lambda: numpy.array([next(answers)], numpy.float32)]])
        callers.check()
        with self.assertRaisesRegex(ValueError, "caller 0 got another result of request 0"):
            callers.check()
        with self.assertRaises(StopIteration):
            callers.serve(0)


class EngineTest(unittest.TestCase):
    def test_callers_of_one_runtime(self):
        graph = tailor.Graph("crnn")
        x = graph.input("image", "f32", [tailor.symbol("N", max=8), 1, 32, tailor.symbol("W", max=64)])
        graph.output("y", x.exp())
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "model.tlr")
            graph.compile("host").save(path)
            with engines.all_open(lambda: engines.serving_engine("tailor", 2, {"crnn": path})) as (engine,):
                requests = [{"model": "crnn", "text_line": shape} for shape in ([1, 5], [2, 7], [3, 1])]
                engine.prepare(**requests[1])
                self.assertEqual(engine.results()[0].size, 2 * 32 * 7)
                engine.ask(callers=4, requests=requests)
                turn = serving.Turn(**engine.ask(serve=0.05))
                engine.ask(check=True)
        self.assertEqual(len(turn.callers), 4)
        self.assertTrue(all(turn.callers))
        self.assertGreater(turn.rate(), 0)


if __name__ == "__main__":
    unittest.main()
