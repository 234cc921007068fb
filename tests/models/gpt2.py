"""GPT-2 with the keys and values of earlier tokens as inputs and outputs."""
import math

import numpy as np
from onnx import TensorProto

from blocks import gelu_tanh, join_heads, layer_norm, mask_bias, mlp, split_heads
from writer import Writer

VOCABULARY, POSITIONS = 40, 64


def _cached(w, name, part, new, heads, width):
    """The earlier keys or values, then the new ones."""
    past = w.input(f"past_key_values.{name}.{part}", ["batch_size", heads, "past_sequence_length", width])
    joined = w.op("Concat", past, new, axis=2)
    w.output(f"present.{name}.{part}", joined,
             ["batch_size", heads, "past_sequence_length + sequence_length", width])
    return joined


def _causal(w, past, end):
    """Whether row past + i may see a column: bool [1, 1, S, P + S]."""
    seen = w.initializer("bias", np.tril(np.ones((POSITIONS, POSITIONS), bool))[np.newaxis, np.newaxis])
    return w.sliced(w.sliced(seen, 2, past, end), 3, 0, end)


def _layer(w, x, i, heads, width, places, bias):
    total, name = heads * width, f"h.{i}"
    w.scope = f"/transformer/h.{i}"
    joined = w.op("Gemm", w.op("Reshape", layer_norm(w, x, f"{name}.ln_1", total), w.ints(-1, total)),
                  w.weight(f"{name}.c_attn.weight", total, 3 * total), w.weight(f"{name}.c_attn.bias", 3 * total,
                                                                                scale=0.1))
    joined = w.reshape(joined, w.size(x, 0), w.size(x, 1), 3 * total)
    q, k, v = (split_heads(w, part, heads, width)
               for part in w.op("Split", joined, w.ints(total, total, total), outputs=3, axis=2))
    k, v = _cached(w, i, "key", k, heads, width), _cached(w, i, "value", v, heads, width)
    seen = _causal(w, *places)
    scores = w.op("Div", w.op("MatMul", q, w.op("Transpose", k, perm=[0, 1, 3, 2])), w.constant(math.sqrt(width)))
    scores = w.op("Add", w.op("Where", seen, scores, w.constant(-3e38)), bias)
    mixed = join_heads(w, w.op("MatMul", w.op("Softmax", scores, axis=-1), v), heads, width)
    x = w.op("Add", w.linear(mixed, f"{name}.c_proj", total, total), x)
    return w.op("Add", x, mlp(w, layer_norm(w, x, f"{name}.ln_2", total), name, total, 4 * total, gelu_tanh))


def gpt2(layers=2, heads=2, width=12):
    w, total = Writer("gpt2", seed=3, opset=14), heads * width
    ids = w.input("input_ids", ["batch_size", "sequence_length"], TensorProto.INT64)
    mask = w.input("attention_mask", ["batch_size", "total_sequence_length"], TensorProto.INT64)
    past = w.size("past_key_values.0.key", 2)
    end = w.op("Add", past, w.size(ids, 1))
    embedding = w.weight("wte", VOCABULARY, total, scale=1)
    places = w.op("Gather", w.weight("wpe", POSITIONS, total, scale=1), w.positions(past, end))
    x = w.op("Add", w.op("Gather", embedding, ids), w.op("Unsqueeze", places, w.ints(0)))
    bias = mask_bias(w, mask, -1e9)
    for i in range(layers):
        x = _layer(w, x, i, heads, width, (past, end), bias)
    x = layer_norm(w, x, "ln_f", total)
    w.output("logits", w.op("MatMul", x, w.op("Transpose", embedding, perm=[1, 0])),
             ["batch_size", "sequence_length", VOCABULARY])
    return w.model()
