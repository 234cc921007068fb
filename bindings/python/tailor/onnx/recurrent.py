"""Recurrent layers: one direction is one layer, two are two side by side."""
import math

from .registry import operator

# By ONNX's name in lower case: ours, and whether it takes an alpha and a beta.
_FUNCTIONS = {
    "relu": ("relu", False, False), "tanh": ("tanh", False, False), "sigmoid": ("sigmoid", False, False),
    "softsign": ("softsign", False, False), "softplus": ("softplus", False, False),
    "leakyrelu": ("leaky_relu", True, False), "thresholdedrelu": ("thresholded_relu", True, False),
    "elu": ("elu", True, False), "affine": ("affine", True, True), "scaledtanh": ("scaled_tanh", True, True),
    "hardsigmoid": ("hard_sigmoid", True, True),
}


def _activations(node, directions, count):
    """[(name, alpha, beta)] of each direction; alphas and betas are for the functions that take them, in order."""
    names = node.attribute("activations", [])
    if not names:
        return [()] * directions
    if len(names) != directions * count:
        node.fail(f"{len(names)} activations for {directions} directions of {count}")
    alphas, betas = iter(node.attribute("activation_alpha", [])), iter(node.attribute("activation_beta", []))
    functions = []
    for name in names:
        name = name.decode() if isinstance(name, bytes) else name
        if name.lower() not in _FUNCTIONS:
            node.fail(f'unknown activation "{name}"')
        ours, alpha, beta = _FUNCTIONS[name.lower()]
        functions.append((ours, next(alphas, None) if alpha else None, next(betas, None) if beta else None))
    return [functions[i * count:(i + 1) * count] for i in range(directions)]


def _part(node, tensor, direction, rows=None):
    """The entry of one direction, in the first dim, or (first, count) of its rows; None where there is no tensor."""
    if tensor is None:
        return None
    first, count = rows or (0, tensor.shape[1])
    if tensor.array is not None:
        part = node.constant(tensor.array[direction, first:first + count])
        part.name = tensor.name and f"{tensor.name}[{direction}, {first}:]"
        return part.value
    graph, rest = node.graph, list(tensor.shape[2:])
    part = graph.slice(tensor.value, [direction, first] + [0] * len(rest), [1, count, *rest])
    return graph.reshape(part, [count, *rest])


def _layer(node, build, gates, functions, x, w, r, bias, lengths, initial, **options):
    """[y, h] or [y, h, c] as ONNX has them; `initial` are the states before the first step."""
    graph, direction = node.graph, node.attribute("direction", "forward")
    if direction not in ("forward", "reverse", "bidirectional"):
        node.fail(f'unknown direction "{direction}"')
    backwards = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}[direction]
    batch_first, count, hidden = node.attribute("layout", 0), len(backwards), r.shape[-1]
    if w.shape[0] != count or r.shape[0] != count:
        node.fail(f"{direction} needs weights of {count} directions, but there are {w.shape[0]} and {r.shape[0]}")
    if node.attribute("hidden_size", hidden) != hidden:
        node.fail(f'hidden_size is {node.attribute("hidden_size")}, but the recurrent weights have {hidden} columns')
    rows = node.extents.mul(hidden, gates)
    steps = graph.transpose(x.value, [1, 0, 2]) if batch_first else x.value
    activations, results = _activations(node, count, functions), []
    for i, reverse in enumerate(backwards):
        results.append(build(
            steps, _part(node, w, i), _part(node, r, i), reverse=reverse, clip=node.attribute("clip", math.inf),
            bias=_part(node, bias, i, (0, rows)), recurrent_bias=_part(node, bias, i, (rows, rows)),
            lengths=None if lengths is None else lengths.value, activations=activations[i],
            **{name: _state(node, state, i, batch_first) for name, state in initial.items()},
            **{name: _part(node, option, i) if name == "peepholes" else option for name, option in options.items()}))
    (length, batch), columns = [x.shape[1 - i] if batch_first else x.shape[i] for i in range(2)], zip(*results)
    y = _joined(graph, next(columns), [length, 1, batch, hidden], 1)
    states = [_joined(graph, parts, [1, batch, hidden], 0) for parts in columns]
    if not batch_first:
        return [y, *states]
    return [graph.transpose(y, [2, 0, 1, 3]), *(graph.transpose(state, [1, 0, 2]) for state in states)]


def _state(node, tensor, direction, batch_first):
    if tensor is None or not batch_first:
        return _part(node, tensor, direction)
    return _part(node, node.tensor(node.graph.transpose(tensor.value, [1, 0, 2])), direction)


def _joined(graph, parts, shape, axis):
    parts = [graph.reshape(part, shape) for part in parts]
    return parts[0] if len(parts) == 1 else graph.concat(parts, axis)


@operator("RNN")
def _rnn(node, x, w, r, bias=None, lengths=None, h=None):
    return _layer(node, node.graph.rnn, 1, 1, x, w, r, bias, lengths, {"initial_h": h})


@operator("GRU")
def _gru(node, x, w, r, bias=None, lengths=None, h=None):
    return _layer(node, node.graph.gru, 3, 2, x, w, r, bias, lengths, {"initial_h": h},
                  linear_before_reset=bool(node.attribute("linear_before_reset", 0)))


@operator("LSTM")
def _lstm(node, x, w, r, bias=None, lengths=None, h=None, c=None, peepholes=None):
    return _layer(node, node.graph.lstm, 4, 3, x, w, r, bias, lengths, {"initial_h": h, "initial_c": c},
                  peepholes=peepholes, input_forget=bool(node.attribute("input_forget", 0)))
