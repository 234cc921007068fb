"""Matrix products."""
from .registry import operator


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


@operator("Einsum")
def _einsum(node, *xs):
    """Operands spread over all letters, multiplied, and summed over those that the result does not have."""
    equation = node.attribute("equation").replace(" ", "")
    left, arrow, result = equation.partition("->")
    terms = left.split(",")
    if len(terms) != len(xs):
        node.fail(f'"{equation}" is for {len(terms)} operands')
    terms = [_letters(node, term, x.rank) for term, x in zip(terms, xs)]
    every = sorted({letter for term in terms for letter in term})
    if arrow:
        dots = sorted(letter for letter in every if letter.isdigit())
        result = [letter for part in result.replace("...", ".") for letter in (dots if part == "." else part)]
    else:
        flat = [letter for term in terms for letter in term]
        result = [letter for letter in every if letter.isdigit() or flat.count(letter) == 1]
    order = result + [letter for letter in every if letter not in result]
    if len(order) > 8:
        node.unsupported("more than 8 letters")
    out = None
    for term, x in zip(terms, xs):
        spread = _spread(node, x, term, order)
        out = spread if out is None else node.graph.mul(out, spread)
    summed = list(range(len(result), len(order)))
    return node.graph.reduce_sum(out, summed) if summed else out


def _letters(node, term, rank):
    """The letters of one operand; digits stand for the dims of "...", counted from the last."""
    given = len(term.replace("...", ""))
    if rank < given or (rank > given and "..." not in term):
        node.fail(f'"{term}" does not fit rank {rank}')
    hidden = [str(9 - (rank - given) + i) for i in range(rank - given)]
    return [letter for part in term.replace("...", ".") for letter in (hidden if part == "." else part)]


def _spread(node, x, term, order):
    """x with its dims in `order`, 1 where it has none; a letter given twice takes the diagonal."""
    graph, value, dims, letters = node.graph, x.value, list(x.shape), list(term)
    for letter in [letter for letter in set(letters) if letters.count(letter) > 1]:
        while letters.count(letter) > 1:
            first, second = [i for i, other in enumerate(letters) if other == letter][:2]
            row = graph.iota([dims[first]] + [1] * (len(dims) - 1 - first), 0, "i64")
            column = graph.iota([dims[second]] + [1] * (len(dims) - 1 - second), 0, "i64")
            value = graph.reduce_sum(graph.select(graph.eq(row, column), value, 0), [second])
            del letters[second], dims[second]
    kept = [letter for letter in order if letter in letters]
    value = graph.transpose(value, [letters.index(letter) for letter in kept]) if kept else value
    return graph.reshape(value, [dims[letters.index(letter)] if letter in letters else 1 for letter in order])


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
