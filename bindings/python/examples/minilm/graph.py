"""The encoder as a Tailor graph over the symbols B (batch) and S (sequence)."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy
import numpy.typing

import tailor

from .weights import EPSILON, HEADS, HIDDEN, LAYERS, POSITIONS

Array = numpy.typing.NDArray[Any]

MASKED = -1e9  # added to the score of a padding token


def build(parameters: Mapping[str, Array]) -> tailor.Graph:
    """ids i64[B, S], mask i64[B, S] (1 for tokens, 0 for padding) -> embedding f32[B, 384], of length 1."""
    graph = tailor.Graph("minilm")
    batch = tailor.symbol("B", min=1, max=64)
    length = tailor.symbol("S", min=1, max=POSITIONS)
    parameter = {name: graph.constant(array, name) for name, array in parameters.items()}
    ids = graph.input("ids", "i64", [batch, length])
    mask = graph.input("mask", "i64", [batch, length]).cast("f32")

    def norm(x: tailor.Value, name: str) -> tailor.Value:
        return x.layer_norm(parameter[f"{name}.weight"], parameter[f"{name}.bias"], EPSILON)

    def dense(x: tailor.Value, name: str) -> tailor.Value:
        return graph.dot(x, parameter[f"{name}.weight"], transpose_rhs=1) + parameter[f"{name}.bias"]

    def heads(x: tailor.Value) -> tailor.Value:  # [B, S, 384] -> [B, 12, S, 32]
        return x.reshape([batch, length, HEADS, HIDDEN // HEADS]).transpose([0, 2, 1, 3])

    words = parameter["embeddings.word_embeddings.weight"].gather(ids)
    positions = parameter["embeddings.position_embeddings.weight"].slice([0, 0], [length, HIDDEN])
    types = parameter["embeddings.token_type_embeddings.weight"].slice([0, 0], [1, HIDDEN])
    x = norm(words + positions + types, "embeddings.LayerNorm").named("embeddings")

    bias = ((1.0 - mask) * MASKED).reshape([batch, 1, 1, length])
    for i in range(LAYERS):
        layer = f"encoder.layer.{i}"
        query, key, value = (heads(dense(x, f"{layer}.attention.self.{part}")) for part in ("query", "key", "value"))
        context = graph.attention(query, key, value, bias).transpose([0, 2, 1, 3]).reshape([batch, length, HIDDEN])
        attended = dense(context, f"{layer}.attention.output.dense")
        x = norm(attended + x, f"{layer}.attention.output.LayerNorm").named(f"layer{i}.attention")
        inner = dense(x, f"{layer}.intermediate.dense").gelu()
        x = norm(dense(inner, f"{layer}.output.dense") + x, f"{layer}.output.LayerNorm").named(f"layer{i}")

    weight = mask.reshape([batch, length, 1])
    total = (x * weight).reduce_sum([1])
    count = graph.max(mask.reduce_sum([1], keep_dims=1), 1e-9)
    graph.output("embedding", (total / count).l2_normalize(-1))
    return graph


def pad(sequences: Sequence[Sequence[int]], batch: int, length: int, padding: int = 0) -> tuple[Array, Array]:
    """ids and mask of shape (batch, length); sequences are repeated to fill the batch and cut to the length."""
    ids = numpy.full((batch, length), padding, numpy.int64)
    mask = numpy.zeros((batch, length), numpy.int64)
    for row in range(batch):
        tokens = sequences[row % len(sequences)][:length]
        ids[row, :len(tokens)] = tokens
        mask[row, :len(tokens)] = 1
    return ids, mask
