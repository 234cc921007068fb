"""Decoders whose caches grow: outputs of a run are inputs of the next one."""
import numpy


class Loop:
    """Each call runs a model for one more token. After `case["steps"]` tokens it begins again with the inputs `first`.

    `step(inputs)` returns the outputs: logits first, then the caches in the order of the inputs that have a dim "past". Inputs
    with a dim "total" are masks, which grow by one column of ones a token.
    """

    def __init__(self, case, first, step):
        self._step, self._steps, self._done = step, case["steps"], case["steps"]
        self._first = first
        self._caches = [entry["name"] for entry in case["inputs"] if "past" in entry["dims"]]
        self._masks = [entry["name"] for entry in case["inputs"] if "total" in entry["dims"]]
        self._inputs = {}

    def __call__(self):
        if self._done == self._steps:
            self._inputs, self._done = dict(self._first), 0
        outs = self._step(self._inputs)
        self._inputs.update(zip(self._caches, outs[1:]))
        for name in self._masks:
            mask = self._inputs[name]
            self._inputs[name] = numpy.concatenate([mask, numpy.ones_like(mask[:, :1])], axis=1)
        self._done += 1
        return outs
