"""NonMaxSuppression: a loop that takes the best box left of every batch and class, and drops what overlaps it."""
import math

from .closures import Closure
from .indexing import extent_value, flat_gather, position
from .loops import Loop
from .registry import operator


@operator("NonMaxSuppression", since=10)
def _non_max_suppression(node, boxes, scores, most=None, overlap=None, least=None):
    graph = node.graph
    alive = graph.broadcast(graph.scalar(1, "bool"), scores.shape) if least is None else \
        graph.gt(scores.value, node.scalar(least))
    limit = node.tensor(graph.scalar(0.0, boxes.dtype) if overlap is None else node.scalar(overlap))
    given = {"boxes": node.tensor(_corners(node, boxes)), "scores": scores, "overlap": limit}
    alive = node.tensor(alive)
    closure = Closure(node, [], given, [alive])
    loop = Loop(closure, ["step", "alive"], [alive],
                lambda region, scope, step, states: _step(region, scope, states[0]))
    _, (picks,) = loop.run(_most(node, most, boxes.shape[1]), True)
    return _listed(node, picks)


def _most(node, most, boxes):
    """The boxes that a class may have: an extent."""
    extents = node.extents
    part = 0 if most is None else node.parts(most, "the number of boxes")[0]
    if isinstance(part, int):
        return extents.min(max(part, 0), boxes)
    return extents.bind(node.graph.min(node.graph.max(node.part_value(part), 0), extent_value(node, boxes)))


def _corners(node, boxes):
    """The boxes [B, N, 4] as least y, least x, greatest y, greatest x."""
    graph = node.graph
    first, second = (graph.slice(boxes.value, [0, 0, start], [*boxes.shape[:2], 2]) for start in (0, 2))
    if not node.attribute("center_point_box", 0):
        return graph.concat([graph.min(first, second), graph.max(first, second)], 2)
    half = graph.mul(second, 0.5)  # x and y of the center; areas do not care which is first
    return graph.concat([graph.sub(first, half), graph.add(first, half)], 2)


def _step(region, scope, alive):
    """(whether a box was found, [what is left], [the boxes found: i64 [B, C], -1 for none])."""
    graph, (batches, classes, count) = region.graph, alive.shape
    total = extent_value(region, count)
    left = graph.select(alive.value, scope["scores"].value, -math.inf)
    best = graph.and_(alive.value, graph.eq(left, graph.reduce_max(left, [2], keep_dims=1)))
    index = position(region, alive.shape, 2)
    pick = graph.reduce_min(graph.select(best, index, total), [2])  # of equal scores the first
    found = graph.lt(pick, total)
    held = graph.min(pick, graph.sub(total, 1))
    boxes = scope["boxes"].value
    chosen = flat_gather(region, boxes, [batches, count, 4], [position(region, [batches, classes], 0), held],
                         [batches, classes])
    dropped = graph.or_(_overlaps(region, boxes, chosen, alive.shape, scope["overlap"].value),
                        graph.eq(index, graph.reshape(held, [batches, classes, 1])))
    more = graph.reduce_max(graph.cast(found, "i32"), [0, 1])
    rest = graph.and_(alive.value, graph.not_(dropped))
    return (region.tensor(graph.gt(more, 0)), [region.tensor(rest)], [region.tensor(graph.select(found, pick, -1))])


def _overlaps(region, boxes, chosen, shape, limit):
    """Where a chosen box [B, C, 4] and another [B, N, 4] share more than `limit` of what they cover together."""
    graph, (batches, classes, count) = region.graph, shape

    def edge(x, rows, i, out):
        return graph.reshape(graph.slice(x, [0, 0, i], [batches, rows, 1]), out)

    every = [edge(boxes, count, i, [batches, 1, count]) for i in range(4)]
    one = [edge(chosen, classes, i, [batches, classes, 1]) for i in range(4)]
    sides = [graph.max(graph.sub(graph.min(one[i + 2], every[i + 2]), graph.max(one[i], every[i])), 0.0)
             for i in range(2)]
    shared = graph.mul(*sides)
    areas = [graph.mul(graph.sub(box[2], box[0]), graph.sub(box[3], box[1])) for box in (one, every)]
    together = graph.sub(graph.add(*areas), shared)
    return graph.and_(graph.gt(shared, 0.0), graph.gt(graph.div(shared, together), limit))


def _listed(node, picks):
    """The boxes found [K, B, C], -1 for none, as rows (batch, class, box) by batch, class and score."""
    graph, extents = node.graph, node.extents
    steps, batches, classes = picks.shape
    shape = [batches, classes, steps]
    picks = graph.transpose(picks.value, [1, 2, 0])
    columns = [*(position(node, shape, axis) for axis in (0, 1)), picks]
    rows = graph.concat([graph.reshape(graph.broadcast(column, shape), [*shape, 1]) for column in columns], 3)
    count = extents.product(shape)
    return graph.compact(graph.reshape(rows, [count, 3]), graph.reshape(graph.ge(picks, 0), [count]))
