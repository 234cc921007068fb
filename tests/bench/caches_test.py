"""Row caches: what a decoder's next run reads."""
import unittest

import numpy

from side_by_side import corpus
from side_by_side.processes.growing import Loop
from side_by_side.rows import caches

CASE = {"inputs": [{"name": "ids", "dtype": "int64", "values": 5, "dims": ["batch", "sequence"]},
                   {"name": "mask", "dtype": "int64", "values": "mask", "dims": ["batch", "total"]},
                   {"name": "key", "dtype": "float32", "values": "normal", "dims": ["batch", "past", 2]}],
        "steps": 2}
FIRST = {"ids": numpy.zeros((1, 1), numpy.int64), "mask": numpy.ones((1, 4), numpy.int64),
         "key": numpy.zeros((1, 3, 2), numpy.float32)}


class LoopTest(unittest.TestCase):
    def setUp(self):
        self.read = []

    def step(self, inputs):
        """A decoder whose cache gets a row of the number of runs."""
        self.read.append(dict(inputs))
        row = numpy.full((1, 1, 2), len(self.read), numpy.float32)
        return [numpy.zeros((1, 1)), numpy.concatenate([inputs["key"], row], axis=1)]

    def test_outputs_are_inputs_of_the_next_run(self):
        loop = Loop(CASE, FIRST, self.step)
        first, second = loop(), loop()
        self.assertIs(self.read[1]["key"], first[1])
        self.assertEqual([each["key"].shape[1] for each in self.read], [3, 4])
        self.assertEqual([each["mask"].shape[1] for each in self.read], [4, 5])
        self.assertEqual(self.read[1]["mask"][0, -1], 1)
        self.assertEqual(second[1][0, -1, 0], 2)

    def test_after_the_last_token_the_first_cache_is_read_again(self):
        loop = Loop(CASE, FIRST, self.step)
        for _ in range(3):
            loop()
        self.assertIs(self.read[2]["key"], FIRST["key"])
        self.assertEqual(self.read[2]["mask"].shape[1], 4)


class ModelsTest(unittest.TestCase):
    def test_decoders_of_the_list_have_a_past_that_holds_all_steps(self):
        long = [model for model in corpus.listed() if model.sizes.get("past", 0) >= caches.LONG]
        self.assertGreaterEqual(len(long), 6)
        for model in long:
            self.assertEqual(model.sizes["total"], model.sizes["past"] + model.sizes["sequence"], model.name)
            self.assertGreater(model.sizes["past"], caches.STEPS, model.name)


if __name__ == "__main__":
    unittest.main()
