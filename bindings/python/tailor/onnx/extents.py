"""Arithmetic on extents while importing: every extent is an int or a canonical dim of the graph.

What can be decided of symbolic extents is decided here; None means that it cannot."""
import itertools
import math
import operator

from .. import dims as _dims
from .. import errors as _errors
from . import dim_text

_MAX = 2**31 - 1
_UNBOUNDED = (-math.inf, math.inf)


class Extents:
    """The extents of one graph."""

    def __init__(self, graph):
        self._graph = graph
        self._bounds = {}  # text -> what bounds() found for an extent that has parts
        self._parts = {}  # text -> (operation, lhs, rhs) of earlier extents, or None for a leaf
        self._ranges = {}  # text -> (min, max) of symbols
        self._bound = {}  # handle of a value -> the symbol that has its value
        self._counts = {}  # text of such a symbol -> the value
        self._selected = set()  # texts of selections between an extent and 0 or -1
        self._words = {}  # names of symbols that the graph has declared itself, and the extents

    def symbol(self, symbol):
        """The dim of a tailor.Symbol (or of an expression or int that the user gave)."""
        dim = self.fold(symbol)
        if isinstance(symbol, _dims.Symbol):
            self._ranges[self.text(dim)] = symbol.min, symbol.max
        return dim

    def fresh(self, stem, low=0, high=_MAX):
        """A new symbol, whose name is `stem` and a number."""
        for number in itertools.count(1):
            name = f"{stem}{number}"
            if name not in self._graph._symbols:
                return self.symbol(_dims.symbol(name, min=low, max=high))

    def bind(self, count, low=0):
        """The extent, at least `low`, that an integer value of rank 0 gives when the graph runs.

        The same value gives the same symbol."""
        if count.handle not in self._bound:
            extent = self.fresh("n", low)
            wide = count if count.dtype == "i64" else self._graph.cast(count, "i64")
            self._counts[self.text(extent)] = self._graph.bind(wide, extent=[extent])
            self._bound[count.handle] = extent
        return self._bound[count.handle]

    def leaves(self, dim):
        """{text: extent} of what `dim` is an expression of: symbols, or itself where nothing else is known."""
        if isinstance(dim, int):
            return {}
        text = self.text(dim)
        if text.isidentifier() and text not in self._graph._symbols:
            self._words[text] = dim
        names = dim_text.read(text, self._names(), lambda leaf: {leaf} if isinstance(leaf, str) else set(),
                              lambda operation, lhs, rhs: lhs | rhs)
        if names is None:
            return {text: dim}
        return {name: self._words[name] if name in self._words else self.fold(self._graph._symbols[name][0])
                for name in names}

    def rewritten(self, dim, into, leaf):
        """`dim` as an extent of the graph of `into`, where leaf(text) stands for each of its leaves."""
        if isinstance(dim, int):
            return dim
        out = dim_text.read(self.text(dim), self._names(),
                            lambda part: part if isinstance(part, int) else leaf(part),
                            lambda operation, lhs, rhs: getattr(into, operation)(lhs, rhs))
        return leaf(self.text(dim)) if out is None else out

    def _names(self):
        """The symbols that an extent's text may name."""
        return {*self._graph._symbols, *self._words}

    def fold(self, dim):
        """`dim` as an int where it is one, else as a dim of the graph."""
        if isinstance(dim, int):
            return dim
        if hasattr(dim, "__index__"):
            return operator.index(dim)
        handle = self._graph._dim(dim)
        text = self._graph.dim_text(_dims.GraphDim(self._graph, handle))
        return int(text) if text.lstrip("-").isdigit() else _dims.GraphDim(self._graph, handle)

    def text(self, dim):
        """Equal texts mean equal extents."""
        return str(dim) if isinstance(dim, int) else self._graph.dim_text(dim)

    def add(self, lhs, rhs):
        return self._combine("add", lhs, rhs)

    def sub(self, lhs, rhs):
        return self._combine("sub", lhs, rhs)

    def mul(self, lhs, rhs):
        return self._combine("mul", lhs, rhs)

    def floordiv(self, lhs, rhs):
        return self._combine("floordiv", lhs, rhs)

    def mod(self, lhs, rhs):
        return self._combine("mod", lhs, rhs)

    def min(self, lhs, rhs):
        if self.compare(lhs, rhs, "le"):
            return lhs
        return rhs if self.compare(rhs, lhs, "le") else self._combine("min", lhs, rhs)

    def max(self, lhs, rhs):
        if self.compare(lhs, rhs, "le"):
            return rhs
        return lhs if self.compare(rhs, lhs, "le") else self._combine("max", lhs, rhs)

    def ceildiv(self, lhs, rhs):
        """lhs / rhs rounded up, for rhs > 0."""
        return self.floordiv(self.add(lhs, rhs - 1), rhs)

    def quotient(self, lhs, rhs):
        """lhs / rhs rounded down, None where rhs may be less than 0. Division by 0, which ONNX leaves undefined, is by 1."""
        if self.bounds(rhs)[0] < 0 or rhs == 0:
            return None
        down = self.floordiv(lhs, rhs)
        exact = isinstance(rhs, int) or self.text(self.mul(down, rhs)) == self.text(lhs)
        return down if exact else self.floordiv(lhs, self.max(rhs, 1))

    def remainder(self, lhs, rhs):
        """What quotient() leaves."""
        down = self.quotient(lhs, rhs)
        if down is None or self.text(self.mul(down, rhs)) == self.text(lhs):
            return None if down is None else 0
        return self.mod(lhs, self.max(rhs, 1))

    def truncdiv(self, lhs, rhs):
        """lhs / rhs rounded towards 0; None where rhs may be less than 0."""
        down = self.quotient(lhs, rhs)
        if down is None or self.bounds(lhs)[0] >= 0:
            return down
        up = self.quotient(self.add(lhs, self.sub(rhs, 1)), rhs)
        return self.add(self.max(down, 0), self.min(up, 0))

    def truncmod(self, lhs, rhs):
        """What truncdiv() leaves, which has the sign of lhs; None where rhs may be less than 0."""
        if self.bounds(lhs)[0] >= 0:
            return self.remainder(lhs, rhs)
        up = self.truncdiv(lhs, rhs)
        return None if up is None else self.sub(lhs, self.mul(up, rhs))

    def less(self, lhs, rhs):
        """1 where lhs < rhs, else 0."""
        known = self.compare(lhs, rhs, "lt")
        return self._clamped(self.sub(rhs, lhs)) if known is None else int(known)

    def same(self, lhs, rhs):
        """1 where the extents are equal, else 0."""
        known = self.compare(lhs, rhs, "eq")
        if known is not None:
            return int(known)
        return self.sub(1, self._clamped(self.max(self.sub(lhs, rhs), self.sub(rhs, lhs))))

    def select(self, condition, lhs, rhs):
        """lhs where the condition is 1, rhs where it is 0."""
        if isinstance(condition, int):
            return lhs if condition else rhs
        dim = self.add(rhs, self.mul(condition, self.sub(lhs, rhs)))
        if any(isinstance(part, int) and part in (0, -1) for part in (lhs, rhs)):
            self._selected.add(self.text(dim))
        return dim

    def may_ask(self, dim):
        """Whether `dim` is a selection between an extent and a 0 or -1, by which a Reshape asks for what is there or left."""
        return self.text(dim) in self._selected

    def _clamped(self, dim):
        """`dim` within [0, 1]."""
        return self.min(self.max(dim, 0), 1)

    def product(self, dims):
        out = 1
        for dim in dims:
            out = self.mul(out, dim)
        return out

    def equal(self, lhs, rhs):
        """Whether the extents are equal: True, False, or None."""
        return self.compare(lhs, rhs, "eq")

    def compare(self, lhs, rhs, relation):
        """Whether `lhs relation rhs` (eq, lt, le) holds at all shapes: True, False, or None where it depends."""
        difference = self.sub(lhs, rhs)
        low, high = self.bounds(difference)
        if relation == "eq":
            return True if low == high == 0 else False if low > 0 or high < 0 else None
        if relation == "lt":
            return True if high < 0 else False if low >= 0 else None
        return True if high <= 0 else False if low > 0 else None

    def bounds(self, dim):
        """(min, max) of an extent."""
        if isinstance(dim, int):
            return dim, dim
        text = self.text(dim)
        if text in self._ranges:
            return self._ranges[text]
        if self._parts.get(text) is None:
            return 0, _MAX
        if text not in self._bounds:
            self._bounds[text] = self._bounds_of(*self._parts[text])
        return self._bounds[text]

    def _bounds_of(self, operation, lhs, rhs):
        low, high = _BOUNDS[operation](self.bounds(lhs), self.bounds(rhs))
        if operation == "sub":
            low = max(low, 0) if self._at_least(lhs, rhs) else low
            high = min(high, 0) if self._at_least(rhs, lhs) else high
        return low, high

    def _at_least(self, lhs, rhs, depth=3):
        """Whether lhs >= rhs follows from what they are the greater or the lesser of."""
        if self.bounds(lhs)[0] >= self.bounds(rhs)[1]:
            return True
        difference = self._fitting("sub", lhs, rhs)
        if isinstance(difference, int):
            return difference >= 0
        if not depth:
            return False
        operation, *parts = self._parts.get(self.text(lhs)) or (None,)
        if operation in ("max", "min"):
            enough = any if operation == "max" else all
            if enough(self._at_least(part, rhs, depth - 1) for part in parts):
                return True
        operation, *parts = self._parts.get(self.text(rhs)) or (None,)
        enough = any if operation == "min" else all
        return operation in ("max", "min") and enough(self._at_least(lhs, part, depth - 1) for part in parts)

    def as_value(self, dim):
        """The extent as an i64 tensor of rank 0: the last index of one more, of which kernels keep but the number."""
        if isinstance(dim, int):
            return self._graph.scalar(dim, "i64")
        if self.text(dim) in self._counts:
            return self._counts[self.text(dim)]
        count = self._fitting("add", dim, 1) if self.bounds(dim)[0] >= 0 else None
        if count is not None:
            indices = self._graph.iota([count], 0, "i64")
            return self._graph.reshape(self._graph.slice(indices, [dim], [1]), [])
        operation, lhs, rhs = self._parts[self.text(dim)]
        lhs, rhs = self.as_value(lhs), self.as_value(rhs)
        if operation == "floordiv":
            return self._graph.div(self._graph.sub(lhs, self._graph.mod(lhs, rhs)), rhs)
        return getattr(self._graph, operation)(lhs, rhs)

    def _fitting(self, operation, lhs, rhs):
        """The dim, or None where it is too long for one."""
        try:
            return self.fold(_dims.Expression(operation, lhs, rhs))
        except _errors.Error as error:
            if error.code != "RESOURCE_EXHAUSTED":
                raise
            return None

    def _combine(self, operation, lhs, rhs):
        if isinstance(lhs, int) and isinstance(rhs, int):
            return _INT[operation](lhs, rhs)
        dim = self._fitting(operation, lhs, rhs)
        if dim is None:
            longest = max((lhs, rhs), key=lambda part: len(self.text(part)))
            if self.bounds(longest)[0] < 0:
                raise _errors.Error("RESOURCE_EXHAUSTED", f"{operation} of extents: more than 1024 terms")
            symbol = self.bind(self.as_value(longest))  # which the graph computes when it runs
            return self._combine(operation, *(symbol if part is longest else part for part in (lhs, rhs)))
        for operand in (lhs, rhs):  # operands come before results, so that parts never form a cycle
            self._parts.setdefault(self.text(operand))
        self._parts.setdefault(self.text(dim), (operation, lhs, rhs))
        return dim


_INT = {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "floordiv": operator.floordiv,
        "mod": operator.mod, "min": min, "max": max}


def _mul_bounds(lhs, rhs):
    products = [0 if 0 in (a, b) else a * b for a in lhs for b in rhs]
    return min(products), max(products)


def _floordiv_bounds(lhs, rhs):
    """A great divisor brings a bound towards 0, a small one leaves it away from there."""
    if rhs[0] < 1:
        return _UNBOUNDED
    return _quotient(lhs[0], rhs[lhs[0] >= 0]), _quotient(lhs[1], rhs[lhs[1] < 0])


def _quotient(bound, divisor):
    if math.isinf(bound):
        return bound
    return bound // divisor if not math.isinf(divisor) else -1 if bound < 0 else 0


_BOUNDS = {
    "add": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "sub": lambda a, b: (a[0] - b[1], a[1] - b[0]),
    "mul": _mul_bounds,
    "floordiv": _floordiv_bounds,
    "mod": lambda a, b: (0, min(a[1], b[1] - 1) if a[0] >= 0 else b[1] - 1),
    "min": lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
    "max": lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
}
