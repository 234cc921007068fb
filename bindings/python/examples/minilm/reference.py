"""The encoder in float64 NumPy, written from the model's definition alone."""
from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy
import numpy.typing

from .weights import EPSILON, HEADS, HIDDEN, LAYERS

Array = numpy.typing.NDArray[Any]

_erf = numpy.frompyfunc(math.erf, 1, 1)


class Reference:
    """The encoder, of parameters by name."""

    def __init__(self, parameters: Mapping[str, Array]) -> None:
        self._p = {name: numpy.asarray(array, numpy.float64) for name, array in parameters.items()}

    def __call__(self, ids: Array, mask: Array) -> Array:
        """Embeddings [B, 384] in float64."""
        p: dict[str, Any] = self._p
        batch, length = ids.shape
        x = (p["embeddings.word_embeddings.weight"][ids] + p["embeddings.position_embeddings.weight"][:length]
             + p["embeddings.token_type_embeddings.weight"][0])
        x = self._norm(x, "embeddings.LayerNorm")
        present = mask.astype(bool)
        for i in range(LAYERS):
            layer = f"encoder.layer.{i}"
            q, k, v = (self._dense(x, f"{layer}.attention.self.{part}")
                       .reshape(batch, length, HEADS, HIDDEN // HEADS).swapaxes(1, 2)
                       for part in ("query", "key", "value"))
            scores = q @ k.swapaxes(2, 3) / math.sqrt(HIDDEN // HEADS)
            scores = numpy.where(present[:, None, None, :], scores, -1e9)
            scores = numpy.exp(scores - scores.max(-1, keepdims=True))
            scores /= scores.sum(-1, keepdims=True)
            context = (scores @ v).swapaxes(1, 2).reshape(batch, length, HIDDEN)
            x = self._norm(x + self._dense(context, f"{layer}.attention.output.dense"),
                           f"{layer}.attention.output.LayerNorm")
            inner = self._dense(x, f"{layer}.intermediate.dense")
            inner = inner / 2 * (1 + _erf(inner / math.sqrt(2)).astype(numpy.float64))
            x = self._norm(x + self._dense(inner, f"{layer}.output.dense"), f"{layer}.output.LayerNorm")
        weight = mask[:, :, None].astype(numpy.float64)
        mean = (x * weight).sum(1) / numpy.maximum(weight.sum(1), 1e-9)
        embedding: Array = mean / numpy.maximum(numpy.linalg.norm(mean, axis=-1, keepdims=True), 1e-12)
        return embedding

    def _dense(self, x: Any, name: str) -> Any:
        return x @ self._p[f"{name}.weight"].T + self._p[f"{name}.bias"]

    def _norm(self, x: Any, name: str) -> Any:
        mean = x.mean(-1, keepdims=True)
        variance = ((x - mean) ** 2).mean(-1, keepdims=True)
        return (x - mean) / numpy.sqrt(variance + EPSILON) * self._p[f"{name}.weight"] + self._p[f"{name}.bias"]
