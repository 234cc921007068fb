"""Every elementwise op on floats after every other, on special values, against NumPy; chains of them at random.

A twentieth of the pairs, which one by the day; all with TAILOR_TEST_ALL=1. TAILOR_OP_PAIRS=<n> chooses the slice and the
chains.
"""
import os
import time
import unittest

import numpy as np

import tailor

SEED = int(os.environ.get("TAILOR_OP_PAIRS", time.time() // 86400))
TEST_ALL = "TAILOR_TEST_ALL" in os.environ
SLICES = 20  # 40 to 80 s of one core each
OUTPUTS = 100  # compositions that a graph holds
CONSTANTS = (0.0, -0.0, 1.0, -1.0, 0.5, np.inf, -np.inf, np.nan, 30000.0, 1e-7)
SPECIAL = np.array(CONSTANTS + (-0.5, 2.0, -2.0, 0.25, 3.5, -30000.0, -1e-7), np.float64)


def chosen(y_wins, x, y):
    """y where it wins; NaN where either is."""
    return np.where(np.isnan(x), x, np.where(np.isnan(y), y, np.where(y_wins, y, x)))


# name: (of a graph and values, of NumPy). Arithmetic is exact or rounds once, so NumPy's bits are the right ones.
UNARY = {
    "neg": (lambda g, x: -x, np.negative),
    "abs": (lambda g, x: g.abs(x), np.abs),
    "sqrt": (lambda g, x: g.sqrt(x), np.sqrt),
    "floor": (lambda g, x: g.floor(x), np.floor),
    "ceil": (lambda g, x: g.ceil(x), np.ceil),
    "round": (lambda g, x: g.round(x), np.rint),
    "trunc": (lambda g, x: g.trunc(x), np.trunc),
}
BINARY = {
    "max": (lambda g, x, y: g.max(x, y), lambda x, y: chosen(y > x, x, y)),
    "min": (lambda g, x, y: g.min(x, y), lambda x, y: chosen(y < x, x, y)),
    "add": (lambda g, x, y: x + y, np.add),
    "sub": (lambda g, x, y: x - y, np.subtract),
    "mul": (lambda g, x, y: x * y, np.multiply),
    "where_gt": (lambda g, x, y: g.select(g.gt(x, y), y, x), lambda x, y: np.where(x > y, y, x)),
    "where_lt": (lambda g, x, y: g.select(g.lt(x, y), x, y), lambda x, y: np.where(x < y, x, y)),
    "where_le": (lambda g, x, y: g.select(g.le(x, y), x, y), lambda x, y: np.where(x <= y, x, y)),
    "where_ge": (lambda g, x, y: g.select(g.ge(x, y), y, x), lambda x, y: np.where(x >= y, y, x)),
    "where_eq": (lambda g, x, y: g.select(g.eq(x, y), y, x), lambda x, y: np.where(x == y, y, x)),
    "where_ne": (lambda g, x, y: g.select(g.ne(x, y), x, y), lambda x, y: np.where(x != y, x, y)),
}


def steps():
    """(name, of graph, input, constants and a value, of NumPy): each op with x or a constant, in both orders."""
    for name, (build, reference) in UNARY.items():
        yield name, lambda g, x, c, v, f=build: f(g, v), lambda x, c, v, f=reference: f(v)
    for name, (build, reference) in BINARY.items():
        for i in range(-1, len(CONSTANTS)):
            label = "x" if i < 0 else CONSTANTS[i]

            def other(x, c, i=i):
                return x if i < 0 else c[i]
            yield (f"{name}(_, {label})", lambda g, x, c, v, f=build, o=other: f(g, v, o(x, c)),
                   lambda x, c, v, f=reference, o=other: f(v, o(x, c)))
            yield (f"{name}({label}, _)", lambda g, x, c, v, f=build, o=other: f(g, o(x, c), v),
                   lambda x, c, v, f=reference, o=other: f(o(x, c), v))


STEPS = list(steps())


def wrong(got, wanted):
    """Where neither equal nor both NaN; which of two zeros is not promised (docs/decisions/max-and-nan.md)."""
    return ~((got == wanted) | (np.isnan(got) & np.isnan(wanted)))


class OpPairs(unittest.TestCase):
    def check(self, chains, dtype, target):
        """Chains of steps, each of which starts with x. Returns what is wrong, in words."""
        x = np.tile(SPECIAL.astype(dtype), 3)  # whole vectors and a rest at every level
        constants = [dtype(value) for value in CONSTANTS]
        problems = []
        for start in range(0, len(chains), OUTPUTS):
            part = chains[start:start + OUTPUTS]
            graph = tailor.Graph("pairs")
            name = np.dtype(dtype).name.replace("float", "f")
            value = graph.input("x", name, ["N"])
            scalars = [graph.scalar(float(constant), name) for constant in constants]
            for i, chain in enumerate(part):
                result = value
                for step in chain:
                    result = STEPS[step][1](graph, value, scalars, result)
                graph.output(f"y{i}", result)
            with np.errstate(all="ignore"):
                for chain, got in zip(part, graph.compile(target).run(x)):
                    wanted = x
                    for step in chain:
                        wanted = STEPS[step][2](x, constants, wanted)
                    bad = wrong(got, wanted)
                    if bad.any():
                        i = int(np.argmax(bad))
                        words = ", then ".join(STEPS[step][0] for step in chain)
                        problems.append(f"{words} of {x[i]}: {got[i]} for {wanted[i]}")
        return problems

    def expect_right(self, chains, dtype, target):
        with self.subTest(dtype=np.dtype(dtype).name, target=target, seed=SEED):
            try:
                problems = self.check(chains, dtype, target)
            except tailor.Error as error:
                if "CPU" not in str(error):
                    raise
                self.skipTest(f"{target}: {error}")
            self.assertEqual(problems, [], f"{len(problems)} of {len(chains)} chains are wrong; TAILOR_OP_PAIRS={SEED}")

    def test_folds_of_known_optimizers(self):
        """max(abs(x), 0), clamps between equal and other bounds."""
        names = [step[0] for step in STEPS]
        chains = [[names.index(name) for name in chain] for chain in (
            ("abs", "max(_, 0.0)"), ("abs", "max(0.0, _)"), ("abs", "min(_, 0.0)"),
            ("where_gt(_, 0.5)", "where_lt(_, 0.5)"), ("where_lt(_, 1.0)", "where_gt(_, 1.0)"),
            ("where_gt(_, 0.5)", "where_gt(0.5, _)"), ("max(_, 0.0)", "min(_, 1.0)"))]
        for target in ("x86-64-v2", "x86-64-v3", "x86-64-v4"):
            for dtype in (np.float16, np.float32, np.float64):
                for chain in chains:  # alone: folds look for values of one use
                    self.expect_right([chain], dtype, target)

    def test_pairs(self):
        count = len(STEPS)
        # By diagonals: no two of a graph share their first step, for folds look for values of one use.
        pairs = [[first, (first + k) % count] for k in range(count) for first in range(count)]
        cases = [(dtype, target) for dtype in (np.float32, np.float64, np.float16)
                 for target in ("x86-64-v2", "x86-64-v3", "x86-64-v4")]
        if TEST_ALL:
            for case in cases:
                self.expect_right(pairs, *case)
            return
        part = [pair for i, pair in enumerate(pairs) if i // count % SLICES == SEED % SLICES]
        self.expect_right(part, *cases[SEED // SLICES % len(cases)])

    def test_chains(self):
        random = np.random.default_rng(SEED)
        chains = random.integers(len(STEPS), size=(2000 if TEST_ALL else 100, 6)).tolist()
        for target in ("x86-64-v2", "x86-64-v3", "x86-64-v4"):
            for dtype in (np.float16, np.float32, np.float64):
                self.expect_right(chains[:] if TEST_ALL else chains[:50], dtype, target)


if __name__ == "__main__":
    print(f"TAILOR_OP_PAIRS={SEED}")
    unittest.main()
