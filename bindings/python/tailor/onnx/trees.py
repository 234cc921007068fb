"""Ensembles of decision trees: all trees of all rows go down together, as many steps as the deepest tree has."""
import numpy

from .indexing import flat_gather, position
from .registry import operator

_AVERAGE, _SUM, _MIN, _MAX = range(4)
_MEMBER = 6


class _Trees:
    """Tables by place: the inner nodes come first, then the leaves, which lead to themselves."""

    def __init__(self, node):
        self.node, self.leaves = node, node.attribute("leaf_weights").array
        self.splits = node.attribute("nodes_splits").array
        self.inner, self.roots = len(self.splits), list(node.attribute("tree_roots"))
        self.modes = self._padded(node.attribute("nodes_modes").array)
        self.features = self._padded(node.attribute("nodes_featureids"))
        self.missing = self._padded(node.attribute("nodes_missing_value_tracks_true") or [0] * self.inner)
        self.targets = numpy.asarray(node.attribute("leaf_targetids"))
        self.true, self.false = (self._branches(branch) for branch in ("true", "false"))
        if len(self.targets) != len(self.leaves) or not all(0 <= root < self.inner for root in self.roots):
            node.fail("leaves without a target, or roots that are no nodes")

    def _padded(self, values):
        """A value for each inner node, and 0 for the leaves."""
        if len(values) != self.inner:
            self.node.fail(f"{len(values)} values for {self.inner} nodes")
        return numpy.append(numpy.asarray(values, numpy.int64), numpy.zeros(len(self.leaves), numpy.int64))

    def _branches(self, branch):
        """Where each place leads."""
        ids, leaf = (numpy.asarray(self.node.attribute(f"nodes_{branch}{kind}")) for kind in ("nodeids", "leafs"))
        if not len(ids) == len(leaf) == self.inner or not ((0 <= ids) & (ids < numpy.where(
                leaf, len(self.leaves), self.inner))).all():
            self.node.fail(f"a {branch} branch leads nowhere")
        return numpy.append(numpy.where(leaf, ids + self.inner, ids), self.inner + numpy.arange(len(self.leaves)))

    def depth(self):
        """The most steps from a root to a leaf."""
        places, steps = set(self.roots), 0
        while places:
            places = {int(place) for branch in (self.true, self.false) for place in branch[list(places)]
                      if place < self.inner}
            steps += 1
            if steps > self.inner:
                self.node.fail("its trees have a cycle")
        return steps

    def members(self):
        """The sets that nodes test, [places, most members]; NaN, which equals nothing, fills the rows."""
        tensor, places = self.node.attribute("membership_values"), numpy.flatnonzero(self.modes == _MEMBER)
        values = tensor.array if tensor is not None else numpy.zeros(0, self.splits.dtype)
        ends = numpy.flatnonzero(numpy.isnan(values))
        if len(ends) != len(places):
            self.node.fail(f"{len(ends)} sets of members for {len(places)} nodes")
        sets = numpy.split(values, ends + 1)[:len(ends)]
        table = numpy.full((len(self.modes), max(map(len, sets))), numpy.nan, self.splits.dtype)
        for place, members in zip(places, sets):
            table[place, :len(members)] = members
        return table


def _holds(node, trees, place, value):
    """Whether each row's value takes the true branch at its place."""
    graph, out = node.graph, None
    split = graph.gather(graph.constant(numpy.append(trees.splits, numpy.zeros_like(trees.leaves))), place)
    tests = [graph.le, graph.lt, graph.ge, graph.gt, graph.eq, graph.ne]
    for mode in sorted(set(trees.modes[:trees.inner].tolist())):
        if not 0 <= mode <= _MEMBER:
            node.fail(f"unknown mode {mode}")
        if mode == _MEMBER:
            members = graph.gather(graph.constant(trees.members()), place)
            equal = graph.eq(members, graph.reshape(value, [*value.shape, 1]))
            test = graph.ne(graph.reduce_max(graph.cast(equal, "i32"), [2]), 0)
        else:
            test = tests[mode](value, split)
        if out is None:
            out = test
        else:
            out = graph.select(graph.eq(graph.gather(graph.constant(trees.modes), place), mode), test, out)
    if not trees.missing.any():
        return out
    tracked = graph.ne(graph.gather(graph.constant(trees.missing), place), 0)
    return graph.or_(out, graph.and_(graph.ne(value, value), tracked))


def _reached(node, x, trees):
    """The leaf that each row of x reaches in each tree, i64."""
    graph, shape = node.graph, [x.shape[0], len(trees.roots)]
    place = graph.broadcast(graph.constant(numpy.asarray(trees.roots, numpy.int64)), shape)
    row = position(node, shape, 0)
    for _ in range(trees.depth()):
        feature = graph.gather(graph.constant(trees.features), place)
        value = flat_gather(node, x.value, x.shape, [row, feature], shape)
        place = graph.select(_holds(node, trees, place, value), graph.gather(graph.constant(trees.true), place),
                             graph.gather(graph.constant(trees.false), place))
    return graph.sub(place, trees.inner)


def _aggregated(node, weights, targets, shape):
    """[rows, trees] of weights, put together for each target."""
    graph, how, count = node.graph, node.attribute("aggregate_function", _SUM), node.attribute("n_targets", 1)
    limits = numpy.finfo(node.attribute("leaf_weights").array.dtype)
    if how not in (_AVERAGE, _SUM, _MIN, _MAX):
        node.fail(f"unknown aggregate_function {how}")
    reduce, neutral = {_MIN: (graph.reduce_min, limits.max), _MAX: (graph.reduce_max, limits.min)}.get(
        how, (graph.reduce_sum, 0))
    hit = graph.eq(graph.reshape(targets, [*shape, 1]), graph.iota([count], 0, "i64"))
    spread = graph.select(hit, graph.reshape(weights, [*shape, 1]), graph.scalar(float(neutral), weights.dtype))
    out = reduce(spread, [1])
    return graph.div(out, float(shape[1])) if how == _AVERAGE else out


@operator("TreeEnsemble", domain="ai.onnx.ml")
def _tree_ensemble(node, x):
    graph, trees = node.graph, _Trees(node)
    if x.rank != 2 or not trees.roots:
        node.fail(f"{len(trees.roots)} trees for an operand of rank {x.rank}")
    leaf = _reached(node, x, trees)
    weights = graph.gather(graph.constant(trees.leaves), leaf)
    out = _aggregated(node, weights, graph.gather(graph.constant(trees.targets), leaf),
                      [x.shape[0], len(trees.roots)])
    transforms = [lambda scores: scores, graph.softmax, graph.sigmoid]
    transform = node.attribute("post_transform", 0)
    if not 0 <= transform < len(transforms):
        node.unsupported(f"post_transform {transform} is not supported")
    return transforms[transform](out)
