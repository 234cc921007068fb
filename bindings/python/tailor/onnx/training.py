"""One step of an optimizer; several parameters come one after the other in each group of operands."""
from .registry import operator

_DOMAIN = "ai.onnx.preview.training"


def _groups(operands, count):
    """[(first of each group...), (second of each group...), ...]."""
    size = len(operands) // count
    return list(zip(*(operands[i * size:(i + 1) * size] for i in range(count))))


def _rate(node, rate, step):
    """rate / (1 + step * decay_factor)."""
    graph = node.graph
    decay = graph.mul(graph.cast(step.value, rate.dtype), node.attribute("decay_factor", 0.0))
    return graph.div(rate.value, graph.add(decay, 1.0))


def _regularized(node, x, gradient):
    return node.graph.add(gradient.value, node.graph.mul(x.value, node.attribute("norm_coefficient", 0.0)))


@operator("Adagrad", domain=_DOMAIN)
def _adagrad(node, rate, step, *operands):
    graph, out = node.graph, []
    for x, gradient, squares in _groups(operands, 3):
        gradient = _regularized(node, x, gradient)
        total = graph.add(squares.value, graph.mul(gradient, gradient))
        scale = graph.add(graph.sqrt(total), node.attribute("epsilon", 0.0))
        move = graph.div(graph.mul(gradient, _rate(node, rate, step)), scale)
        out.append((graph.sub(x.value, move), total))
    return [value for group in zip(*out) for value in group]


@operator("Adam", domain=_DOMAIN)
def _adam(node, rate, step, *operands):
    graph, out = node.graph, []
    alpha, beta = node.attribute("alpha", 0.9), node.attribute("beta", 0.999)
    time = graph.cast(step.value, rate.dtype)
    bias = graph.div(graph.sqrt(graph.sub(1.0, graph.pow(graph.scalar(beta, rate.dtype), time))),
                     graph.sub(1.0, graph.pow(graph.scalar(alpha, rate.dtype), time)))
    first_step = graph.gt(step.value, 0)
    speed = graph.mul(rate.value, graph.select(first_step, bias, 1.0))
    for x, gradient, mean, square in _groups(operands, 4):
        gradient = _regularized(node, x, gradient)
        mean = graph.add(graph.mul(mean.value, alpha), graph.mul(gradient, 1 - alpha))
        square = graph.add(graph.mul(square.value, beta), graph.mul(graph.mul(gradient, gradient), 1 - beta))
        move = graph.div(graph.mul(mean, speed), graph.add(graph.sqrt(square), node.attribute("epsilon", 0.0)))
        kept = graph.mul(graph.sub(x.value, move), 1 - node.attribute("norm_coefficient_post", 0.0))
        out.append((kept, mean, square))
    return [value for group in zip(*out) for value in group]


@operator("Momentum", domain=_DOMAIN)
def _momentum(node, rate, step, *operands):
    graph, out = node.graph, []
    alpha, beta = node.attribute("alpha"), node.attribute("beta")
    for x, gradient, momentum in _groups(operands, 3):
        gradient = _regularized(node, x, gradient)
        share = graph.select(graph.gt(step.value, 0), graph.scalar(beta, x.dtype), 1.0)
        moved = graph.add(graph.mul(momentum.value, alpha), graph.mul(gradient, share))
        along = graph.add(gradient, graph.mul(moved, alpha)) if node.attribute("mode") == "nesterov" else moved
        out.append((graph.sub(x.value, graph.mul(along, rate.value)), moved))
    return [value for group in zip(*out) for value in group]
