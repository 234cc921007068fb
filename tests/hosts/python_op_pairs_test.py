"""Single elementwise ops, all pairs of them, and random chains, on special values, against scalar_reference.

A day runs each type at one CPU level or on the GPU that the emulator plays: every op alone with all operands, and half of
the pairs of ops (of floats a quarter) with one choice of operands, which is one pair in 170; and some chains everywhere.
What it runs rotates. TAILOR_TEST_ALL=1 runs all pairs everywhere, which takes hours. TAILOR_OP_PAIRS=<n> chooses the day.

Transcendental functions are held to the exact value where they come last. Where an op follows, the reference goes on from
the bits of a graph that ends there, for compiled code gives a value the same bits wherever it stands. So what follows is
checked to the bit, without one more output in the graph, which could keep ops from being folded.
"""
import collections
import dataclasses
import functools
import os
import pathlib
import re
import time
import typing
import unittest

import numpy as np

import scalar_reference as reference
import tailor
from scalar_reference import FLOATS, INTEGERS, NUMPY, constants, special_values

DAY = int(os.environ.get("TAILOR_OP_PAIRS", time.time() // 86400))
TEST_ALL = "TAILOR_TEST_ALL" in os.environ
LEVELS = ("x86-64-v2", "x86-64-v3", "x86-64-v4")
GPU = "simt"
SHARES = {dtype: 6 if dtype in FLOATS else 3 for dtype in NUMPY}  # a day runs one in so many pairs of ops
CHAINS, LENGTH = (2000 if TEST_ALL else 100), 6  # of each target
OUTPUTS = 100  # of a graph
CONSTANTS_IN_PAIRS = 10  # all but 2.0 and 3.0
TOGETHER = 4  # outputs of a kernel
# Two runs: of whole vectors, for which GPUs have code of their own, and of some with a rest.
WHOLE, REST = slice(640), slice(640, None)


class OfGraph:
    """x, y, constants and ops in a graph."""

    def __init__(self, graph):
        self.graph, self.inputs, self.constants = graph, {}, {}

    def input(self, name, dtype):
        if (name, dtype) not in self.inputs:
            self.inputs[name, dtype] = self.graph.input(f"{name}_{dtype}", dtype, ["N"])
        return self.inputs[name, dtype]

    def constant(self, dtype, i):
        if (dtype, i) not in self.constants:
            self.constants[dtype, i] = self.graph.constant(constants(dtype)[i])
        return self.constants[dtype, i]

    def apply(self, op, *operands):
        return getattr(self.graph, op + "_" if op in ("and", "or", "not") else op)(*operands)


class OfArrays:
    """x, y and constants in NumPy. x and y are each special value beside each other one."""

    def __init__(self):
        places = np.r_[:640, :29]
        self.inputs = {(name, dtype): special_values(dtype)[places // stride % 24] for dtype in NUMPY
                       for name, stride in (("x", 1), ("y", 24))}

    def input(self, name, dtype):
        return self.inputs[name, dtype]

    def constant(self, dtype, i):
        return constants(dtype)[i]


ARRAYS = OfArrays()


@dataclasses.dataclass(eq=False)
class Step:
    """An op of a value and what stands beside it."""
    label: str
    op: str
    source: str
    to: str
    operands: typing.Callable  # of OfGraph or OfArrays and the value
    build: typing.Callable  # of OfGraph and the operands
    references: list  # of the operands' arrays; any of them is right
    ulps: float | None = None  # how far off a result may be; None: it is exact
    in_pairs: bool = True  # else alone and in chains


def beside(dtype):
    """(label, operand, whether in pairs) of what may stand beside a value, itself too."""
    yield "x", lambda of, v: of.input("x", dtype), True
    yield "y", lambda of, v: of.input("y", dtype), False
    yield "_", lambda of, v: v, False
    for i, constant in enumerate(constants(dtype)):
        yield str(constant.item()), lambda of, v, i=i: of.constant(dtype, i), i < CONSTANTS_IN_PAIRS


def steps_of_two(name, op, dtype, to, build, references, ulps=None):
    """With the value on the left, and on the right where that differs."""
    one_order = name in ("add", "mul", "and", "or", "xor", *reference.COMPARISONS)
    for label, other, in_pairs in beside(dtype):
        if op in ("pow", "mod", "rem"):  # their code is long
            in_pairs = label in ("x", "0.5", "2.0" if op == "pow" else "3")
        yield Step(f"{name}(_, {label})", op, dtype, to, lambda of, v, f=other: (v, f(of, v)), build, references, ulps,
                   in_pairs)
        if not one_order and label != "_":
            yield Step(f"{name}({label}, _)", op, dtype, to, lambda of, v, f=other: (f(of, v), v), build, references, ulps,
                       in_pairs)


def steps_of(dtype):
    for op in reference.OPS:
        references, ulps = reference.functions(op, dtype), reference.ulps(op, dtype)
        if not references:
            continue
        build = lambda of, *operands, op=op: of.apply(op, *operands)
        if reference.OPS[op].arity == 1:
            yield Step(op, op, dtype, dtype, lambda of, v: (v,), build, references, ulps)
            continue
        to = "bool" if op in reference.COMPARISONS else dtype
        yield from steps_of_two(op, op, dtype, to, build, references, ulps)
        if op in reference.COMPARISONS:  # clamps are made of these
            yield from steps_of_two(f"where_{op}", op, dtype, dtype,
                                    lambda of, x, y, f=build: of.apply("select", f(of, x, y), x, y),
                                    [lambda x, y, f=references[0]: np.where(f(x, y), x, y)])
    for to in NUMPY:
        yield Step(f"cast to {to}", "cast", dtype, to, lambda of, v: (v,),
                   lambda of, x, to=to: of.apply("cast", x, to), [lambda x, to=to: reference.cast(x, to)])
        if NUMPY[to].itemsize == NUMPY[dtype].itemsize:
            yield Step(f"bitcast to {to}", "bitcast", dtype, to, lambda of, v: (v,),
                       lambda of, x, to=to: of.apply("bitcast", x, to), [lambda x, to=to: reference.bitcast(x, to)])
    yield from selects_of(dtype)


def selects_of(dtype):
    def step(label, to, operands, in_pairs=True):
        return Step(f"select({label})", "select", dtype, to, operands, lambda of, *given: of.apply("select", *given),
                    [np.where], None, in_pairs)
    for label, other, _ in beside(dtype):
        yield step(f"b, _, {label}", dtype, lambda of, v, f=other: (of.input("y", "bool"), v, f(of, v)), label == "x")
        yield step(f"b, {label}, _", dtype, lambda of, v, f=other: (of.input("y", "bool"), f(of, v), v),
                   label in ("0", "0.0"))
    for to in NUMPY if dtype == "bool" else ():
        yield step(f"_, x, y of {to}", to, lambda of, v, to=to: (v, of.input("x", to), of.input("y", to)))
        yield step(f"_, x, c of {to}", to, lambda of, v, to=to: (v, of.input("x", to), of.constant(to, 0)))
        yield step(f"_, c, x of {to}", to, lambda of, v, to=to: (v, of.constant(to, 0), of.input("x", to)))


STEPS = {dtype: list(steps_of(dtype)) for dtype in NUMPY}
PAIRED = {dtype: [step for step in steps if step.in_pairs] for dtype, steps in STEPS.items()}


def by_op(steps):
    """{op: steps}; casts are one op, choices by a comparison another one for each comparison."""
    groups = collections.defaultdict(list)
    for step in steps:
        groups[re.match(r"\w+", step.label)[0]].append(step)
    return groups


def all_pairs(dtype):
    """By diagonals: no two of a graph share their first step, for folds look for values of one use."""
    for k in range(max(map(len, PAIRED.values()))):
        for i, first in enumerate(PAIRED[dtype]):
            if k < len(PAIRED[first.to]):
                yield first, PAIRED[first.to][(i + k) % len(PAIRED[first.to])]


def pairs_of_turn(dtype, turn):
    """By diagonals, pairs of ops, one in so many; of the steps that these stand for, those whose turn it is."""
    groups = {source: by_op(steps) for source, steps in PAIRED.items()}
    ops = list(dict.fromkeys(op for steps in groups.values() for op in steps))
    firsts, share = list(groups[dtype].values()), SHARES[dtype]
    for n in range(turn % share, len(ops) * len(firsts), share):
        k, i = divmod(n, len(firsts))
        turn_of_second, turn_of_first = divmod(turn // share + n, len(firsts[i]))
        first = firsts[i][turn_of_first]
        seconds = groups[first.to].get(ops[(i + k) % len(ops)])
        if seconds:
            yield first, seconds[turn_of_second % len(seconds)]


def random_chains(rng):
    groups = {dtype: list(by_op(steps).values()) for dtype, steps in STEPS.items()}
    for i in range(CHAINS):
        chain, dtype = [], list(NUMPY)[i % len(NUMPY)]
        for _ in range(LENGTH):
            steps = groups[dtype][rng.integers(len(groups[dtype]))]
            chain.append(steps[rng.integers(len(steps))])
            dtype = chain[-1].to
        yield tuple(chain)


def graphs_of(chains):
    """Parts of the chains that start with different steps."""
    part = {}
    for chain in chains:
        if chain[0] in part or len(part) == OUTPUTS:
            yield list(part.values())
            part = {}
        part[chain[0]] = chain
    if part:
        yield list(part.values())


def compiled(chains, target):
    """Each chain is an output. The bits of a few, mixed, are one more, which makes those one kernel: it compiles sooner."""
    graph = tailor.Graph("pairs")
    of, bits = OfGraph(graph), collections.defaultdict(list)
    for i, chain in enumerate(chains):
        value = of.input("x", chain[0].source)
        for step in chain:
            value = step.build(of, *step.operands(of, value))
        graph.output(f"y{i}", value)
        width = NUMPY[chain[-1].to].itemsize
        bits[width].append(graph.bitcast(value, f"u{8 * width}"))
    for width, mixed in bits.items():
        for start in range(0, len(mixed), TOGETHER):
            graph.output(f"mix{width}_{start}", functools.reduce(graph.xor, mixed[start:start + TOGETHER]))
    inputs = [ARRAYS.input(*key) for key in of.inputs]
    return graph.compile(target, max_versions=1, device="cuda" if target == GPU else "cpu"), inputs


def run(chains, target):
    """(chain, result) of each in one graph."""
    executable, inputs = compiled(chains, target)
    results = [executable.run(*(array[part] for array in inputs)) for part in (WHOLE, REST)]
    return zip(chains, map(np.concatenate, zip(*results)))


def problem(chain, got, results):
    """What is wrong with what a chain gave, in words; None if nothing is. results: of chains that are its beginnings."""
    values, known = [ARRAYS.input("x", chain[0].source)], True
    with np.errstate(all="ignore"):
        for k, step in enumerate(chain):
            if k > 0 and chain[k - 1].ulps is not None:
                values = [results[chain[:k]]]
            if step.op == "bitcast" and step.source in FLOATS:  # the bits of a NaN are not promised
                known &= values[0] == values[0]
            operands = [step.operands(ARRAYS, value) for value in values]
            ulps = step.ulps and reference.ulps(step.op, step.source, *operands[0])
            values = [f(*given) for given in operands for f in step.references]
            values = list({value.tobytes(): value for value in values}.values())
        right = [reference.is_right(got, value, step.to, ulps) for value in values]
    bad = known & ~np.logical_or.reduce(right)
    if not bad.any():
        return None
    i = int(np.argmax(bad))
    x, y = (ARRAYS.input(name, chain[0].source)[i] for name in ("x", "y"))
    words = ", then ".join(step.label for step in chain)
    return f"{words} of {chain[0].source} x = {x}, y = {y}: {got[i]} for {values[0][i]}; {bad.sum()} such places"


class OpPairs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.targets, cls.reasons = [], {}
        graph = tailor.Graph("any")
        graph.output("y", graph.input("x", "f32", ["N"]))
        for level in LEVELS:
            try:
                graph.compile(level)
                cls.targets.append(level)
            except tailor.Error as error:
                if "CPU" not in str(error):
                    raise
                cls.reasons[level] = str(error)
        if "TAILOR_CUDA_DRIVER" in os.environ:
            cls.targets.append(GPU)
        else:
            cls.reasons[GPU] = "TAILOR_CUDA_DRIVER names no driver that plays a GPU"

    def expect_right(self, what, chains, target):
        chains = list(dict.fromkeys(chains))
        beginnings = {chain[:k] for chain in chains for k in range(1, len(chain)) if chain[k - 1].ulps is not None}
        with self.subTest(what=what, target=target, day=DAY):
            results = {}
            for part in graphs_of(sorted(beginnings, key=len)):
                results |= run(part, target)
            found = [problem(chain, got, results) for chain, got in results.items()]
            for part in graphs_of(chain for chain in chains if chain not in results):
                found += [problem(chain, got, results) for chain, got in run(part, target)]
            found = [text for text in found if text is not None]
            self.assertEqual(found[:50], [], f"{len(found)} of {len(chains)} are wrong; TAILOR_OP_PAIRS={DAY}")

    def test_targets(self):
        for target, reason in self.reasons.items():
            with self.subTest(target=target):
                self.skipTest(f"{target}: {reason}")

    def test_steps_are_the_elementwise_ops_of_the_table(self):
        table = pathlib.Path(__file__).parents[2] / "graph" / "op_table.h"
        types = {"kNumeric": FLOATS + INTEGERS, "kFloat": FLOATS, "kInteger": INTEGERS, "kLogic": ("bool", *INTEGERS)}
        rows = re.findall(r'^TAILOR_OP\(.*?"(\w+)".* (k\w+), +kElementwise,', table.read_text(), re.MULTILINE)
        listed = {(op, dtype) for op, rule in rows for dtype in types.get(rule, NUMPY)}
        self.assertEqual({(step.op, step.source) for steps in STEPS.values() for step in steps}, listed)

    def test_folds_of_known_optimizers(self):
        """max(abs(x), 0), clamps between equal and other bounds: alone, for folds look for values of one use."""
        for dtype in FLOATS:
            named = {step.label: step for step in STEPS[dtype]}
            for chain in (("abs", "max(_, 0.0)"), ("abs", "max(0.0, _)"), ("abs", "min(_, 0.0)"),
                          ("where_lt(0.5, _)", "where_lt(_, 0.5)"), ("where_lt(_, 1.0)", "where_lt(1.0, _)"),
                          ("where_gt(0.5, _)", "where_gt(_, 0.5)"), ("max(_, 0.0)", "min(_, 1.0)")):
                for target in self.targets:
                    self.expect_right(dtype, [tuple(named[label] for label in chain)], target)

    def test_pairs(self):
        for n, dtype in enumerate(NUMPY):
            alone = [(step,) for step in STEPS[dtype]]
            turn, place = divmod(DAY + n, len(self.targets))
            if TEST_ALL:
                for target in self.targets:
                    self.expect_right(dtype, alone + list(all_pairs(dtype)), target)
            else:
                self.expect_right(dtype, alone + list(pairs_of_turn(dtype, turn)), self.targets[place])

    def test_chains(self):
        for target in self.targets:
            rng = np.random.default_rng([DAY, (*LEVELS, GPU).index(target)])
            self.expect_right("chains", random_chains(rng), target)


if __name__ == "__main__":
    print(f"TAILOR_OP_PAIRS={DAY}")
    unittest.main()
