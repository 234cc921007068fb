"""BERT (embeddings, post-norm layers, pooler) and ALBERT (one layer's weights used by all)."""
import numpy as np
from onnx import TensorProto

from blocks import gelu, gelu_tanh, layer_norm, mask_bias, mlp, self_attention
from writer import Writer

VOCABULARY, POSITIONS = 50, 64


def _embeddings(w, ids, types, width):
    positions = w.initializer("embeddings.position_ids", np.arange(POSITIONS)[np.newaxis])
    positions = w.sliced(positions, 1, 0, w.size(ids, 1))
    words = w.op("Gather", w.weight("embeddings.word", VOCABULARY, width, scale=1), ids)
    kinds = w.op("Gather", w.weight("embeddings.type", 2, width, scale=1), types)
    places = w.op("Gather", w.weight("embeddings.position", POSITIONS, width, scale=1), positions)
    return layer_norm(w, w.op("Add", w.op("Add", words, kinds), places), "embeddings.norm", width)


def _layer(w, x, name, heads, width, bias, activation):
    total = heads * width
    x = layer_norm(w, w.op("Add", self_attention(w, x, name, heads, width, bias), x), f"{name}.norm1", total)
    return layer_norm(w, w.op("Add", mlp(w, x, name, total, 4 * total, activation), x), f"{name}.norm2", total)


def _inputs(w):
    dims = ["batch_size", "sequence_length"]
    return [w.input(name, dims, TensorProto.INT64) for name in ("input_ids", "attention_mask", "token_type_ids")]


def _outputs(w, x, width):
    first = w.op("Gather", x, w.constant(0, np.int64), axis=1)
    pooled = w.op("Gemm", first, w.weight("pooler.weight", width, width), w.weight("pooler.bias", width, scale=0.1),
                  transB=1)
    w.output("last_hidden_state", x, ["batch_size", "Addlast_hidden_state_dim_1", width])
    w.output("pooler_output", w.op("Tanh", pooled), ["batch_size", width])
    return w.model()


def bert(layers, heads=2, width=16):
    w, total = Writer(f"bert_{layers}", seed=1, opset=13), heads * width
    ids, mask, types = _inputs(w)
    x, bias = _embeddings(w, ids, types, total), mask_bias(w, mask)
    for i in range(layers):
        w.scope = f"/encoder/layer.{i}"
        x = _layer(w, x, f"layer.{i}", heads, width, bias, gelu)
    return _outputs(w, x, total)


def albert(layers=3, heads=3, width=8, embedding=20):
    """The embeddings are narrower than the layers."""
    w, total = Writer("albert", seed=2), heads * width
    ids, mask, types = _inputs(w)
    x, bias = _embeddings(w, ids, types, embedding), mask_bias(w, mask)
    x = w.linear(x, "embedding_projection", embedding, total)
    for i in range(layers):
        w.scope = f"/encoder/albert_layers.{i}"
        x = _layer(w, x, "shared", heads, width, bias, gelu_tanh)
    return _outputs(w, x, total)
