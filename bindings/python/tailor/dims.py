"""Extents as expressions over named symbols. They belong to no graph until one uses them."""
import operator


class Dim:
    """An extent: `symbol("S") * 4 + 1`. Operators +, -, *, // and % take dims and integers.

    == compares Dim objects. An extent has no truth value, but for one of a value's shape that is a number."""

    def __add__(self, other):
        return _expression("add", self, other)

    def __radd__(self, other):
        return _expression("add", other, self)

    def __sub__(self, other):
        return _expression("sub", self, other)

    def __rsub__(self, other):
        return _expression("sub", other, self)

    def __mul__(self, other):
        return _expression("mul", self, other)

    def __rmul__(self, other):
        return _expression("mul", other, self)

    def __floordiv__(self, other):
        return _expression("floordiv", self, other)

    def __rfloordiv__(self, other):
        return _expression("floordiv", other, self)

    def __mod__(self, other):
        return _expression("mod", self, other)

    def __rmod__(self, other):
        return _expression("mod", other, self)

    def __bool__(self):
        raise TypeError(f"whether {self!r} is 0 is known when a program runs, not while its graph is built: use "
                        "tailor.minimum or tailor.maximum, or graph.if_ on a value")


class Symbol(Dim):
    """A named extent with what is known of it."""

    def __init__(self, name, min, max, multiple_of, likely):
        self.name, self.min, self.max, self.multiple_of, self.likely = name, min, max, multiple_of, tuple(likely)

    def __repr__(self):
        return self.name


class Expression(Dim):
    def __init__(self, operation, lhs, rhs):
        self.operation, self.lhs, self.rhs = operation, lhs, rhs

    def __repr__(self):
        return f"{self.operation}({self.lhs!r}, {self.rhs!r})"


def names_of(dim):
    """The names of the symbols in an extent that belongs to no graph."""
    if isinstance(dim, Expression):
        return names_of(dim.lhs) | names_of(dim.rhs)
    return {dim.name} if isinstance(dim, Symbol) else set()


class GraphDim(Dim):
    """An extent that a graph told of one of its values."""

    def __init__(self, graph, handle):
        self.graph, self.handle = graph, handle

    def __repr__(self):
        return self.graph.dim_text(self)

    def __bool__(self):
        text = repr(self)
        return int(text) != 0 if text.removeprefix("-").isdecimal() else super().__bool__()


def _expression(operation, lhs, rhs):
    for side in (lhs, rhs):
        if not isinstance(side, Dim) and not hasattr(side, "__index__"):
            return NotImplemented
    return Expression(operation, *(side if isinstance(side, Dim) else operator.index(side) for side in (lhs, rhs)))


def symbol(name, *, min=0, max=2**31 - 1, multiple_of=1, likely=()):
    """A named extent in [min, max] that is a multiple of `multiple_of`; every run checks that.

    `likely` values get code of their own; results never depend on them. A graph that uses the symbol refuses a range
    without a multiple, and likely values that are out of range or no multiples."""
    return Symbol(name, min, max, multiple_of, likely)


def minimum(lhs, rhs):
    """The smaller of two extents."""
    return _expression("min", lhs, rhs)


def maximum(lhs, rhs):
    """The larger of two extents."""
    return _expression("max", lhs, rhs)
