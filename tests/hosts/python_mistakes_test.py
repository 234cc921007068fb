"""Mistakes of Python callers (integers, truth values, handles) and their errors."""
import copy
import ctypes
import gc
import importlib
import multiprocessing
import pickle
import pkgutil
import threading
import unittest

import numpy as np

import tailor
from tailor import _handles, _integers, _library, _ops, errors

HUGE = (2**64 + 3, 2**63, -2**63 - 1)


def scale():
    graph = tailor.Graph("scale")
    graph.output("y", graph.input("x", "f32", ["N", 4]) * 2.0)
    return graph


class IntegerTest(unittest.TestCase):
    def refuses(self, call, *words):
        with self.assertRaises(OverflowError) as caught:
            call()
        for word in words:
            self.assertIn(word, str(caught.exception))

    def test_dims(self):
        graph, s = tailor.Graph(), tailor.symbol("S")
        for wrong in HUGE:
            self.refuses(lambda: graph.input("x", "f32", [1, wrong]), f"shape[1] is {wrong}")
            self.refuses(lambda: graph.input("x", "f32", [s + wrong]), f"shape[0] is {wrong}")
            self.refuses(lambda: graph.assume_equal(s, wrong), f"{wrong}")
            self.refuses(lambda: graph.assume_at_least(s, wrong), f"{wrong}")
        x = graph.input("x", "f32", ["A", "B"])
        self.refuses(lambda: x.reshape(shape=[2**64 + 3]), f"shape[0] is {2**64 + 3}")
        self.refuses(lambda: x.slice([2**64, 0], [1, 1]), f"[0] is {2**64}")

    def test_symbols(self):
        for field in ("min", "max", "multiple_of"):
            symbol = tailor.symbol("S", **{field: 2**64 + 3})
            self.refuses(lambda: tailor.Graph().input("x", "f32", [symbol]), 'symbol "S"', f"{field} is {2**64 + 3}")
        self.refuses(lambda: tailor.Graph().input("x", "f32", [tailor.symbol("S", likely=[8, 2**64 + 8])]),
                     'symbol "S"', f"likely[1] is {2**64 + 8}")

    def test_arguments_of_ops(self):
        graph = tailor.Graph()
        x = graph.input("x", "f32", ["A", "B", 4, 4])
        for axis in HUGE:
            calls = [x.softmax, x.log_softmax, x.l2_normalize, graph.sort, graph.argsort, x.reduce_sum,
                     lambda axis: x.transpose([0, 1, 2, axis]), lambda axis: graph.unique(x, axis),
                     lambda axis: graph.top_k(x, 1, axis), lambda axis: graph.concat([x, x], axis),
                     lambda axis: graph.iota([4], axis, "i64"), lambda axis: x.scan(axis, "add"),
                     lambda axis: x.gather(graph.input(f"i{axis}", "i64", [3]), axis=axis)]
            for call in calls:
                self.refuses((lambda: call(x, axis)) if getattr(call, "__self__", None) is graph else
                             (lambda: call(axis)), f"is {axis}")
        weights = np.ones((4, 4, 1, 1), np.float32)
        self.refuses(lambda: x.conv(weights, groups=2**64 + 1), f"groups is {2**64 + 1}")
        self.refuses(lambda: x.conv(weights, strides=[1, 2**64 + 1]), f"strides[1] is {2**64 + 1}")
        self.refuses(lambda: x.conv(weights, dilations=[2**64 + 1, 1]), f"dilations[0] is {2**64 + 1}")
        self.refuses(lambda: x.conv(weights, pads=[2**64 + 1, 1]), f"pads[0] is {2**64 + 1}")
        self.refuses(lambda: x.max_pool([2**64 + 1, 1]), f"sizes[0] is {2**64 + 1}")
        self.refuses(lambda: graph.top_k(x, 2**64 + 1), f"k is {2**64 + 1}")

    def test_options(self):
        graph = scale()
        for field in ("threads", "max_versions", "max_code_bytes"):
            for wrong in (-1, 2**64):
                self.refuses(lambda: graph.compile("host", **{field: wrong}), f"{field} is {wrong}")
        self.refuses(lambda: graph.compile("host", optimize=2**64), f"optimize is {2**64}")
        executable = graph.compile("host")
        x = np.ones((3, 4), np.float32)
        for wrong in (-1, 2**64 + 1):
            self.refuses(lambda: executable.session(threads=wrong), f"threads is {wrong}")
            self.refuses(lambda: executable.plan(x, threads=wrong), f"threads is {wrong}")
            self.refuses(lambda: executable.session(stream=wrong), f"stream is {wrong}")
            self.refuses(lambda: executable.session().follow(wrong), f"event is {wrong}")
            self.refuses(lambda: executable.session().record(wrong), f"event is {wrong}")
        self.refuses(lambda: graph.compile("host", device=f"cuda:{2**32}"), f"device_ordinal is {2**32}")
        self.refuses(lambda: executable.plan((2**64 + 3, 4)), f"input 'x' dim 0 is {2**64 + 3}")
        self.refuses(lambda: executable.session().reserve((2**64 + 3, 4)), f"input 'x' dim 0 is {2**64 + 3}")
        with self.assertRaises(TypeError):
            executable.plan((1.5, 4))
        with self.assertRaises(TypeError):
            executable.session(threads=1.5)

    def test_integers_of_numpy_are_integers(self):
        graph = tailor.Graph()
        x = graph.input("x", "f32", [np.int64(3), np.uint8(4)])
        self.assertEqual(repr(x.softmax(np.int32(-1))), "<tailor.Value f32[3, 4]>")

    def test_every_integer_is_checked(self):
        """No struct but the packed one of tensors, and no argument of a function that builds graphs, is ctypes' own."""
        for module in (_library, _ops):
            for thing in vars(module).values():
                if isinstance(thing, type) and issubclass(thing, ctypes.Structure) and "_fields_" in vars(thing):
                    self.assertTrue(issubclass(thing, _integers.Options) or thing is _library.Tensor, thing)
        library = _library.compiler()
        for name in (*_library._COMPILER, *_ops.SIGNATURES):
            for argument in getattr(library, name).argtypes:
                self.assertNotIn(argument, _integers.ARGUMENTS, name)
        with self.assertRaisesRegex(ctypes.ArgumentError, "outside"):
            library.tailor_graph_softmax(None, 2**64 + 3, 0, None)


class TruthTest(unittest.TestCase):
    def setUp(self):
        self.graph = tailor.Graph()
        self.s = tailor.symbol("S")
        self.x = self.graph.input("x", "f32", [self.s, 7])

    def test_values_have_none(self):
        x = self.x
        for call in (lambda: bool(x > 0), lambda: not x, lambda: x and x, lambda: x or x, lambda: 0 < x < 1,
                     lambda: bool(x.eq(x)), lambda: any([x]), lambda: 1 if x else 2):
            with self.assertRaisesRegex(TypeError, "graph.select.*graph.if_"):
                call()

    def test_extents_have_none_unless_they_are_numbers(self):
        for extent in (self.s, self.s + 1, self.x.shape[0], self.x.shape[0] * 2):
            with self.assertRaisesRegex(TypeError, "when a program runs"):
                bool(extent)
        self.assertTrue(self.x.shape[1])
        self.assertFalse(self.graph.input("e", "f32", [0]).shape[0])
        with self.assertRaises(TypeError):
            self.s > 3

    def test_what_needs_no_truth_works(self):
        x, y = self.x, self.graph.input("y", "f32", [self.s, 7])
        self.assertTrue(x == x and x != y and not x == y)
        self.assertIs(x == 0, False)
        self.assertIn(x, [y, x])
        self.assertNotIn(x, [y, self.s, 3])
        self.assertEqual({x: 1, y: 2}[y], 2)
        self.assertEqual({self.s: 1, self.x: 2}[self.s], 1)
        self.assertEqual([y, x].index(x), 1)
        for call in (len, iter, list, lambda v: 3 in v, float, int):
            for thing in (x, self.s):
                with self.assertRaises(TypeError):
                    call(thing)


class SymbolTest(unittest.TestCase):
    def test_contradictions_are_refused_where_the_symbol_is_declared(self):
        for options, words in (({"multiple_of": 8, "likely": [16, 12]}, 'symbol "S": likely value 12 is no multiple of 8'),
                               ({"max": 8, "likely": [9]}, 'symbol "S": likely value 9 is outside [0, 8]'),
                               ({"min": 9, "max": 15, "multiple_of": 8}, 'symbol "S": no multiple of 8 lies in [9, 15]'),
                               ({"min": 9, "max": 8}, 'symbol "S": min is 9, above max 8')):
            with self.assertRaises(tailor.Error) as caught:
                tailor.Graph().input("x", "f32", [tailor.symbol("S", **options)])
            self.assertEqual((caught.exception.code, caught.exception.message), ("INVALID_ARGUMENT", words))
        with self.assertRaisesRegex(tailor.Error, "likely value 12 is no multiple of 8"):
            tailor.Graph.parse("graph @g(%x: f32[S]) where S multiple_of 8 likely [12] {\n  return %x\n}\n")


class ErrorTest(unittest.TestCase):
    def test_texts_are_cut_between_characters(self):
        for text, quoted in (("graph @g() {\n  %y = é %x\n}", "'é' is no op"), ("graph @g() { %y = 😀€", "'😀' is no op"),
                             ("graph @g() { %\"\\é\"", "unknown escape of a character")):
            with self.assertRaises(tailor.Error) as caught:
                tailor.Graph.parse(text)
            self.assertIn(quoted, caught.exception.message)
            self.assertNotIn("\ufffd", caught.exception.message)

    def test_a_status_is_released_whatever_it_says(self):
        class Library:
            released = []
            tailor_status_code = staticmethod(lambda status: 3)
            tailor_status_message = staticmethod(lambda status: b"cut: \xc3")
            tailor_status_node = staticmethod(lambda status: b"\xff")
            tailor_status_release = released.append

        runtime, _library.runtime = _library.runtime, Library
        try:
            with self.assertRaises(tailor.Error) as caught:
                _library.check(7)
        finally:
            _library.runtime = runtime
        self.assertEqual((caught.exception.message, caught.exception.node), ("cut: \ufffd", "\ufffd"))
        self.assertEqual(Library.released, [7])

    def exceptions(self):
        for module in pkgutil.walk_packages(tailor.__path__, "tailor."):
            if module.name.endswith("__main__"):
                continue
            try:
                found = vars(importlib.import_module(module.name)).values()
            except ImportError:  # what is optional
                continue
            yield from (kind for kind in found if isinstance(kind, type) and issubclass(kind, Exception)
                        and kind.__module__.startswith("tailor"))

    def test_errors_are_pickled_with_all_attributes(self):
        kinds = set(self.exceptions())
        self.assertIn(tailor.Error, kinds)
        for kind in kinds:
            error = kind("INVALID_ARGUMENT", "a", "n") if kind is tailor.Error else kind("a", "n")
            error.noted = [1]
            for twin in (copy.copy(error), copy.deepcopy(error),
                         *(pickle.loads(pickle.dumps(error, p)) for p in range(pickle.HIGHEST_PROTOCOL + 1))):
                self.assertIs(type(twin), kind)
                self.assertEqual((str(twin), twin.args, vars(twin)), (str(error), error.args, vars(error)))

    def test_an_error_leaves_a_pool_in_order(self):
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            pending = pool.apply_async(tailor.Graph.parse, ("grph",))
            with self.assertRaises(tailor.Error) as caught:
                pending.get(60)
            self.assertEqual(caught.exception.code, "INVALID_ARGUMENT")
            self.assertEqual(pool.apply_async(abs, (-3,)).get(60), 3)


class HandleTest(unittest.TestCase):
    def test_copies_share_a_handle(self):
        graph = scale()
        executable = graph.compile("host")
        session = executable.session()
        x = np.ones((3, 4), np.float32)
        twins = [copy.copy(thing) for thing in (graph, executable, session)]
        handles = [thing._handle for thing in (graph, executable, session)]
        del graph, executable, session
        gc.collect()
        self.assertEqual([twin._handle for twin in twins], handles)
        graph, executable, session = twins
        self.assertIn("@scale", graph.text)
        for runs in (executable, session):
            np.testing.assert_array_equal(runs.run(x)[0], 2 * x)

    def test_handles_are_neither_pickled_nor_copied_deep(self):
        graph = scale()
        value = graph.input("z", "f32", ["N"])
        for thing, noun in ((graph, "graph"), (graph.compile("host").session(), "session"), (value, "graph"),
                            (tailor.Runtime(), "runtime")):
            for call, what in ((pickle.dumps, "pickled"), (copy.deepcopy, "copied deep|pickled")):
                with self.assertRaisesRegex(TypeError, f"{noun} cannot be ({what})"):
                    call(thing)

    def test_what_was_not_made_is_an_error(self):
        for kind in (tailor.Graph, tailor.Executable, tailor.Session, tailor.Runtime):
            empty = kind.__new__(kind)
            with self.assertRaises(AttributeError):
                empty._handle
        with self.assertRaisesRegex(tailor.Error, "is null"):
            _library.check(_library.runtime().tailor_session_wait(_handles.Handle()))
        with self.assertRaises(tailor.Error):
            tailor.Graph.parse("graph")

    def test_a_handle_goes_with_its_last_user(self):
        released = []
        handle = _handles.Handle(5).own(released.append)
        again = handle
        del handle
        gc.collect()
        self.assertEqual(released, [])
        del again
        gc.collect()
        self.assertEqual(released, [5])

    def test_a_call_under_way_keeps_its_handle(self):
        """The last reference goes while the C function is inside the call."""
        released, inside = [], []
        holder = [_handles.Handle(5).own(released.append)]

        @ctypes.CFUNCTYPE(None)
        def within():
            holder.clear()
            gc.collect()
            inside.append(list(released))

        call = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(ctypes.cast(within, ctypes.c_void_p).value)
        call(*[holder[0]])
        self.assertEqual((inside, released), ([[]], [5]))


class ThreadTest(unittest.TestCase):
    def test_two_threads_use_one_session(self):
        """A run is right, or refused because another is under way."""
        graph = tailor.Graph()
        graph.output("y", graph.input("x", "f32", ["N", 64]).softmax() * 2.0)
        session = graph.compile("host").session()
        x = np.random.default_rng(0).standard_normal((2000, 64), np.float32)
        want, told = session.run(x)[0].tobytes(), []

        def run():
            for _ in range(100):
                try:
                    told.append("right" if session.run(x)[0].tobytes() == want else "wrong")
                except tailor.Error as error:
                    told.append(error.code)

        threads = [threading.Thread(target=run) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(told), 200)
        self.assertLessEqual(set(told), {"right", "FAILED_PRECONDITION"})
        self.assertIn("right", told)


if __name__ == "__main__":
    unittest.main()
