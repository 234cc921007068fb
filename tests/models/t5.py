"""T5: the encoder, and one step of the decoder with cached keys and values; positions enter as a bias by distance."""
import math

import numpy as np
from onnx import TensorProto, helper

from blocks import attend, join_heads, mask_bias, rms_norm, split_heads
from writer import Writer

VOCABULARY, BUCKETS, FARTHEST = 40, 8, 20


def _buckets(w, distance, buckets):
    """Near distances have a bucket each, farther ones share in logarithmic steps; i64 like `distance`, which is >= 0."""
    exact = buckets // 2
    far = w.op("Log", w.op("Div", w.op("Cast", distance, to=TensorProto.FLOAT), w.constant(float(exact))))
    far = w.op("Mul", w.op("Div", far, w.constant(math.log(FARTHEST / exact))), w.constant(float(buckets - exact)))
    far = w.op("Add", w.op("Cast", far, to=TensorProto.INT64), w.constant(exact, np.int64))
    last = helper.make_tensor("value", TensorProto.INT64, [1], [buckets - 1])
    far = w.op("Min", far, w.op("ConstantOfShape", w.op("Shape", far), value=last))
    return w.op("Where", w.op("Less", distance, w.constant(exact, np.int64)), distance, far)


def _position_bias(w, rows, columns, heads, both_ways):
    """[1, heads, rows, columns] for positions given as i64 lists."""
    relative = w.op("Sub", w.op("Unsqueeze", columns, w.ints(0)), w.op("Unsqueeze", rows, w.ints(1)))
    if both_ways:
        later = w.op("Cast", w.op("Greater", relative, w.constant(0, np.int64)), to=TensorProto.INT64)
        later = w.op("Mul", later, w.constant(BUCKETS // 2, np.int64))
        bucket = w.op("Add", later, _buckets(w, w.op("Abs", relative), BUCKETS // 2))
    else:
        behind = w.op("Neg", w.op("Min", relative, w.constant(0, np.int64)))
        bucket = _buckets(w, behind, BUCKETS)
    values = w.op("Gather", w.weight("relative_attention_bias", BUCKETS, heads, scale=1), bucket)
    return w.op("Unsqueeze", w.op("Transpose", values, perm=[2, 0, 1]), w.ints(0))


def _project(w, x, name, heads, width):
    return split_heads(w, w.linear(x, name, heads * width, heads * width, bias=False), heads, width)


def _joined(w, mixed, name, heads, width):
    return w.linear(join_heads(w, mixed, heads, width), name, heads * width, heads * width, bias=False)


def _feed_forward(w, x, name, width):
    inner = w.op("Relu", w.linear(rms_norm(w, x, f"{name}.norm", width), f"{name}.wi", width, 2 * width, bias=False))
    return w.op("Add", x, w.linear(inner, f"{name}.wo", 2 * width, width, bias=False))


def encoder(layers=2, heads=2, width=12):
    w, total = Writer("t5_encoder", seed=4, opset=14), heads * width
    ids, mask = (w.input(name, ["batch", "encoder_sequence"], TensorProto.INT64)
                 for name in ("input_ids", "attention_mask"))
    x = w.op("Gather", w.weight("shared", VOCABULARY, total, scale=1), ids)
    places = w.positions(0, w.size(x, 1))
    bias = w.op("Add", _position_bias(w, places, places, heads, True), mask_bias(w, mask))
    for i in range(layers):
        w.scope, name = f"/encoder/block.{i}", f"block.{i}"
        inner = rms_norm(w, x, f"{name}.norm", total)
        q, k, v = (_project(w, inner, f"{name}.{part}", heads, width) for part in "qkv")
        x = w.op("Add", x, _joined(w, attend(w, q, k, v, bias), f"{name}.o", heads, width))
        x = _feed_forward(w, x, f"{name}.ff", total)
    w.output("last_hidden_state", rms_norm(w, x, "final_norm", total), ["batch", "sequence", total])
    return w.model()


def _cache(w, i, kind, part, length, heads, width):
    return w.input(f"past_key_values.{i}.{kind}.{part}", ["batch", heads, length, width])


def _decoder_layer(w, x, i, heads, width, bias, cross_bias):
    total, name = heads * width, f"block.{i}"
    w.scope = f"/decoder/block.{i}"
    inner = rms_norm(w, x, f"{name}.norm", total)
    q, k, v = (_project(w, inner, f"{name}.{part}", heads, width) for part in "qkv")
    k = w.op("Concat", _cache(w, i, "decoder", "key", "past_decoder_sequence", heads, width), k, axis=2)
    v = w.op("Concat", _cache(w, i, "decoder", "value", "past_decoder_sequence", heads, width), v, axis=2)
    for part, value in (("key", k), ("value", v)):
        w.output(f"present.{i}.decoder.{part}", value, ["batch", heads, "past_decoder_sequence + 1", width])
    x = w.op("Add", x, _joined(w, attend(w, q, k, v, bias), f"{name}.o", heads, width))
    q = _project(w, rms_norm(w, x, f"{name}.cross_norm", total), f"{name}.cross_q", heads, width)
    k, v = (_cache(w, i, "encoder", part, "encoder_sequence", heads, width) for part in ("key", "value"))
    x = w.op("Add", x, _joined(w, attend(w, q, k, v, cross_bias), f"{name}.cross_o", heads, width))
    return _feed_forward(w, x, f"{name}.ff", total)


def decoder_step(layers=2, heads=2, width=12):
    """The bias is computed for all rows and its last one kept, as exporters write it."""
    w, total = Writer("t5_decoder_step", seed=5, opset=14), heads * width
    ids = w.input("input_ids", ["batch", 1], TensorProto.INT64)
    mask = w.input("encoder_attention_mask", ["batch", "encoder_sequence"], TensorProto.INT64)
    x = w.op("Gather", w.weight("shared", VOCABULARY, total, scale=1), ids)
    past = w.size("past_key_values.0.decoder.key", 2)
    places = w.positions(0, w.op("Add", past, w.size(ids, 1)))
    bias = _position_bias(w, places, places, heads, False)
    bias = w.sliced(bias, 2, w.op("Neg", w.size(ids, 1)), np.iinfo(np.int64).max)
    cross_bias = mask_bias(w, mask)
    for i in range(layers):
        x = _decoder_layer(w, x, i, heads, width, bias, cross_bias)
    x = w.op("Mul", rms_norm(w, x, "final_norm", total), w.constant(total ** -0.5))
    w.output("logits", w.op("MatMul", x, w.op("Transpose", "shared", perm=[1, 0])), ["batch", 1, VOCABULARY])
    return w.model()
