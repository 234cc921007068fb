"""A CRNN for lines of text, and a DIEN-like recommender: recurrent layers over axes of any length."""
import numpy as np
from onnx import TensorProto

from blocks import mask_bias
from writer import Writer

HEIGHT = 16  # of a line of text
ITEMS, CATEGORIES, USERS = 40, 9, 15


def _initial(w, x, axis, directions, hidden):
    """Zeros [directions, batch, hidden], as exporters write them; the batch is x's dim `axis`."""
    return w.op("ConstantOfShape", w.listed(directions, w.size(x, axis), hidden))


def _gates(w, name, directions, gates, inputs, hidden):
    """The three weights of a recurrent layer."""
    scale = hidden ** -0.5
    return (w.weight(f"{name}.input", directions, gates * hidden, inputs, scale=scale),
            w.weight(f"{name}.state", directions, gates * hidden, hidden, scale=scale),
            w.weight(f"{name}.bias", directions, 2 * gates * hidden, scale=scale))


def _conv(w, x, name, inputs, outputs, size, **attributes):
    kernel = w.weight(f"{name}.weight", outputs, inputs, *size, scale=(inputs * size[0] * size[1]) ** -0.5)
    bias = w.weight(f"{name}.bias", outputs, scale=0.1)
    return w.op("Relu", w.op("Conv", x, kernel, bias, kernel_shape=list(size), **attributes))


def _columns(w, image, channels):
    """[B, 1, HEIGHT, W] -> [W / 4, B, channels]"""
    x, inputs = image, 1
    for i, (outputs, window) in enumerate(((8, [2, 2]), (12, [2, 2]), (channels, [4, 1]))):
        w.scope = f"/features/layer.{i}"
        x = _conv(w, x, f"features.{i}", inputs, outputs, (3, 3), pads=[1, 1, 1, 1])
        x = w.op("MaxPool", x, kernel_shape=window, strides=window)
        inputs = outputs
    return w.op("Transpose", w.op("Squeeze", x, w.ints(2)), perm=[2, 0, 1])


def _both_ways(w, x, name, inputs, hidden):
    """A bidirectional LSTM over the first axis: [T, B, inputs] -> [T, B, 2 * hidden]."""
    state, cell = (_initial(w, x, 1, 2, hidden) for _ in range(2))
    y, _, _ = w.op("LSTM", x, *_gates(w, name, 2, 4, inputs, hidden), "", state, cell, outputs=3,
                   direction="bidirectional", hidden_size=hidden)
    return w.op("Reshape", w.op("Transpose", y, perm=[0, 2, 1, 3]), w.ints(0, 0, -1))


def crnn(layers=2, channels=16, hidden=10, characters=11):
    """Log-probabilities of characters and the blank at every fourth column, for a CTC decoder."""
    w = Writer("crnn", seed=9, opset=14)
    x, inputs = _columns(w, w.input("image", ["batch", 1, HEIGHT, "width"]), channels), channels
    for i in range(layers):
        w.scope = f"/sequence/layer.{i}"
        x, inputs = _both_ways(w, x, f"sequence.{i}", inputs, hidden), 2 * hidden
    logits = w.linear(x, "head", inputs, characters + 1)
    w.output("log_probabilities", w.op("LogSoftmax", logits, axis=2), ["columns", "batch", characters + 1])
    return w.model()


def _embedded(w, item, category, width):
    """An item's embedding and its category's, side by side in the last axis."""
    parts = [w.op("Gather", w.weight("embeddings.item", ITEMS, width, scale=1), item),
             w.op("Gather", w.weight("embeddings.category", CATEGORIES, width // 2, scale=1), category)]
    return w.op("Concat", *parts, axis=-1)


def _interests(w, behaviours, lengths, width, hidden):
    """A GRU over the behaviours of each user, as many as there are: [S, B, width] -> [S, B, hidden]."""
    w.scope = "/interest_extractor"
    y, _ = w.op("GRU", behaviours, *_gates(w, "extractor", 1, 3, width, hidden), lengths,
                _initial(w, behaviours, 1, 1, hidden), outputs=2, hidden_size=hidden, linear_before_reset=1)
    return w.op("Squeeze", y, w.ints(1))


def _relevance(w, interests, target, mask, width, hidden):
    """How much each interest matters for the target: softmax over the sequence, [S, B, 1]."""
    w.scope = "/attention"
    query = w.op("Unsqueeze", w.linear(target, "attention.query", width, hidden, bias=False), w.ints(2))
    keys = w.op("Transpose", interests, perm=[1, 0, 2])
    scores = w.op("Squeeze", w.op("MatMul", keys, query), w.ints(2))
    bias = w.op("Squeeze", mask_bias(w, mask, -1e9), w.ints(1, 2))
    weights = w.op("Softmax", w.op("Add", scores, bias), axis=-1)
    return w.op("Unsqueeze", w.op("Transpose", weights, perm=[1, 0]), w.ints(2))


def _gate(w, x, state, name, hidden):
    """x times a weight plus the state times another, and a bias."""
    return w.op("Add", w.linear(x, f"{name}.x", hidden, hidden), w.linear(state, f"{name}.h", hidden, hidden, False))


def _evolution_step(w, hidden):
    """One step of a GRU whose update gate is scaled by the relevance."""
    b = w.body("evolution_step", "/interest_evolution/step")
    state, interest = (b.input(f"step.{name}", ["batch", hidden]) for name in ("state", "interest"))
    relevance = b.input("step.relevance", ["batch", 1])
    update = b.op("Mul", relevance, b.op("Sigmoid", _gate(b, interest, state, "evolution.update", hidden)))
    reset = b.op("Sigmoid", _gate(b, interest, state, "evolution.reset", hidden))
    candidate = b.op("Tanh", _gate(b, interest, b.op("Mul", reset, state), "evolution.candidate", hidden))
    kept = b.op("Mul", b.op("Sub", b.constant(1.0), update), state)
    b.output("step.next", b.op("Add", kept, b.op("Mul", update, candidate)), ["batch", hidden])
    return b.graph()


def _evolved(w, interests, relevance, hidden):
    """The state after the last interest: [B, hidden]."""
    w.scope = "/interest_evolution"
    zeros = w.op("ConstantOfShape", w.listed(w.size(interests, 1), hidden))
    return w.op("Scan", zeros, interests, relevance, body=_evolution_step(w, hidden), num_scan_inputs=2)


def dien(width=8, hidden=12):
    """How likely a user takes an item, given what the user took before."""
    w, each = Writer("dien", seed=10, opset=14), width + width // 2
    user, item, category = (w.input(name, ["batch"], TensorProto.INT64) for name in ("user", "item", "category"))
    past = ["batch", "behaviours"]
    items, categories, mask = (w.input(f"past_{name}", past, TensorProto.INT64)
                               for name in ("items", "categories", "attention_mask"))
    w.scope = "/embeddings"
    target = _embedded(w, item, category, width)
    behaviours = w.op("Transpose", _embedded(w, items, categories, width), perm=[1, 0, 2])
    lengths = w.op("Cast", w.op("ReduceSum", mask, w.ints(1), keepdims=0), to=TensorProto.INT32)
    interests = _interests(w, behaviours, lengths, each, hidden)
    relevance = _relevance(w, interests, target, mask, each, hidden)
    evolved = _evolved(w, interests, relevance, hidden)
    w.scope = "/head"
    person = w.op("Gather", w.weight("embeddings.user", USERS, width, scale=1), user)
    pooled = w.op("ReduceSum", behaviours, w.ints(0), keepdims=0)
    x, inputs = w.op("Concat", person, target, pooled, evolved, axis=1), width + 2 * each + hidden
    for i, outputs in enumerate((20, 10)):
        w.scope = f"/head/layer.{i}"
        x = w.op("PRelu", w.linear(x, f"head.{i}", inputs, outputs), w.initializer(f"head.{i}.slope",
                                                                                  np.full(outputs, 0.25, np.float32)))
        inputs = outputs
    w.output("probability", w.op("Sigmoid", w.linear(x, "head.out", inputs, 1)), ["batch", 1])
    return w.model()
