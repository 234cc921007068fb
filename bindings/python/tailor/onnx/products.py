"""Matrix products."""
from .registry import operator

_DOT_TYPES = ("f16", "bf16", "f32", "f64", "i32", "i64", "u32", "u64")


@operator("MatMul")
def _matmul(node, lhs, rhs):
    if 0 in (lhs.rank, rhs.rank):
        node.fail("an operand has rank 0")
    return batched(node, lhs.value, lhs.shape, rhs.value, rhs.shape)


def batched(node, lhs, left, rhs, right):
    """numpy's matmul, operands of rank 1 too."""
    graph = node.graph
    wide_left = (1, *left) if len(left) == 1 else left
    wide_right = (*right, 1) if len(right) == 1 else right
    lhs = graph.reshape(lhs, wide_left) if len(left) == 1 else lhs
    rhs = graph.reshape(rhs, wide_right) if len(right) == 1 else rhs
    out = graph.dot(lhs, rhs)
    dims = [node.extents.fold(dim) for dim in out.shape]
    if len(left) == 1:
        del dims[-2]
    if len(right) == 1:
        del dims[-1]
    return out if len(dims) == len(out.shape) else graph.reshape(out, dims)


@operator("Gemm", since=7)
def _gemm(node, a, b, c=None):
    graph = node.graph
    alpha, beta = node.attribute("alpha", 1.0), node.attribute("beta", 1.0)
    out = graph.dot(a.value, b.value, transpose_lhs=node.attribute("transA", 0),
                    transpose_rhs=node.attribute("transB", 0))
    out = out if alpha == 1.0 else graph.mul(out, alpha)
    if c is None or beta == 0.0:
        return out
    return graph.add(out, c.value if beta == 1.0 else graph.mul(c.value, beta))


class _Term:
    """A value whose dims have letters; digits stand for the dims of "...", counted from the last."""

    def __init__(self, node, value, letters):
        self.node, self.value, self.letters = node, value, list(letters)

    @property
    def dims(self):
        """Extents by letter."""
        return dict(zip(self.letters, map(self.node.extents.fold, self.value.shape)))

    def moved(self, letters, shape=None):
        """The value with its dims in another order, and then perhaps in another shape."""
        order, graph = [self.letters.index(letter) for letter in letters], self.node.graph
        value = self.value if order == sorted(order) else graph.transpose(self.value, order)
        return value if shape is None else graph.reshape(value, shape)

    def summed(self, kept):
        """The sum over all letters but these."""
        axes = [i for i, letter in enumerate(self.letters) if letter not in kept]
        value = self.node.graph.reduce_sum(self.value, axes) if axes else self.value
        return _Term(self.node, value, [letter for letter in self.letters if letter in kept])

    def diagonal(self):
        """The elements whose indices are equal wherever a letter is given twice."""
        graph, value, letters = self.node.graph, self.value, list(self.letters)
        for letter in set(letters):
            while letters.count(letter) > 1:
                dims = list(map(self.node.extents.fold, value.shape))
                first, second = [i for i, other in enumerate(letters) if other == letter][:2]
                row = graph.iota([dims[first]] + [1] * (len(dims) - 1 - first), 0, "i64")
                column = graph.iota([dims[second]] + [1] * (len(dims) - 1 - second), 0, "i64")
                value = graph.reduce_sum(graph.select(graph.eq(row, column), value, 0), [second])
                del letters[second]
        return _Term(self.node, value, letters)


@operator("Einsum")
def _einsum(node, *xs):
    """Operands multiplied from the left, each time summed over the letters that nothing after needs."""
    equation = node.attribute("equation").replace(" ", "")
    left, arrow, result = equation.partition("->")
    terms = left.split(",")
    if len(terms) != len(xs):
        node.fail(f'"{equation}" is for {len(terms)} operands')
    terms = [_letters(node, term, x.rank) for term, x in zip(terms, xs)]
    flat = [letter for term in terms for letter in term]
    if arrow:
        dots = sorted({letter for letter in flat if letter.isdigit()})
        result = [letter for part in result.replace("...", ".") for letter in (dots if part == "." else part)]
    else:
        result = [letter for letter in sorted(set(flat)) if letter.isdigit() or flat.count(letter) == 1]
    terms = [_Term(node, x.value, term).diagonal() for x, term in zip(xs, terms)]
    out = terms[0]
    for i, term in enumerate(terms[1:]):
        out = _multiplied(out, term, {*result, *(letter for later in terms[i + 2:] for letter in later.letters)})
    return out.summed(result).moved(result)


def _letters(node, term, rank):
    """The letters of one operand."""
    given = len(term.replace("...", ""))
    if rank < given or (rank > given and "..." not in term):
        node.fail(f'"{term}" does not fit rank {rank}')
    hidden = [str(9 - (rank - given) + i) for i in range(rank - given)]
    return [letter for part in term.replace("...", ".") for letter in (hidden if part == "." else part)]


def _multiplied(lhs, rhs, needed):
    """The product of two terms, summed over the letters that are not needed."""
    node = lhs.node
    lhs, rhs = lhs.summed(needed | set(rhs.letters)), rhs.summed(needed | set(lhs.letters))
    left, right = lhs.dims, rhs.dims
    batch = [letter for letter in lhs.letters if letter in right and letter in needed]
    inner = [letter for letter in lhs.letters if letter in right and letter not in needed]
    rows, columns = ([letter for letter in term.letters if letter not in other]
                     for term, other in ((lhs, right), (rhs, left)))
    if len(batch) + len(inner) + len(rows) + len(columns) > 8:
        node.unsupported("more than 8 letters")
    if not inner or lhs.value.dtype not in _DOT_TYPES or any(
            _may_stretch(node, letter, left[letter], right[letter]) for letter in batch + inner):
        order = batch + inner + rows + columns
        return _Term(node, node.graph.mul(_spread(lhs, order), _spread(rhs, order)), order).summed(needed)

    def shape(dims, *groups):
        return [dims[letter] for letter in batch] + [node.extents.product(map(dims.get, group)) for group in groups]

    out = node.graph.dot(lhs.moved(batch + rows + inner, shape(left, rows, inner)),
                         rhs.moved(batch + inner + columns, shape(right, inner, columns)))
    dims = [*map(node.extents.fold, out.shape[:-2]), *map(left.get, rows), *map(right.get, columns)]
    return _Term(node, node.graph.reshape(out, dims), batch + rows + columns)


def _may_stretch(node, letter, lhs, rhs):
    """Whether one of a letter's extents may be the 1 that broadcasts: for a dim of "...", or where it is known."""
    return node.extents.text(lhs) != node.extents.text(rhs) and (letter.isdigit() or 1 in (lhs, rhs))


def _spread(term, order):
    """The term with its dims in `order`, 1 where it has none."""
    dims = term.dims
    return term.moved([letter for letter in order if letter in dims], [dims.get(letter, 1) for letter in order])


@operator("Det")
def _det(node, x):
    """Laplace's expansion along the first row; for small static matrices."""
    size = x.shape[-1]
    if not isinstance(size, int) or size > 4 or size != x.shape[-2]:
        node.unsupported("determinants of other than static square matrices up to 4 x 4")
    batch = list(x.shape[:-2])

    def entry(row, column):
        part = node.graph.slice(x.value, [0] * len(batch) + [row, column], [*batch, 1, 1])
        return node.graph.reshape(part, batch)

    return _minor(node.graph, entry, 0, list(range(size)))


def _minor(graph, entry, row, columns):
    """The determinant of the rows from `row` on and these columns."""
    if len(columns) == 1:
        return entry(row, columns[0])
    total = None
    for i, column in enumerate(columns):
        term = graph.mul(entry(row, column), _minor(graph, entry, row + 1, columns[:i] + columns[i + 1:]))
        total = term if total is None else (graph.sub if i % 2 else graph.add)(total, term)
    return total
