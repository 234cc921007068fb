"""A speech encoder: convolutions over the waveform, a convolutional position embedding, transformer layers."""
import numpy as np

from blocks import gelu, layer_norm, pre_norm_layer
from writer import Writer


def _conv(w, x, name, inputs, outputs, size, **attributes):
    kernel = w.weight(f"{name}.weight", outputs, inputs, size, scale=(inputs * size) ** -0.5)
    return w.op("Conv", x, kernel, w.weight(f"{name}.bias", outputs, scale=0.1), kernel_shape=[size], **attributes)


def _group_norm(w, x, name, channels):
    """One group a channel, as exporters write GroupNorm: InstanceNormalization of a reshaped tensor."""
    flat = w.op("Reshape", x, w.ints(0, channels, -1))
    ones, zeros = (w.initializer(f"{name}.{kind}", np.full(channels, value, np.float32))
                   for kind, value in (("ones", 1), ("zeros", 0)))
    normal = w.op("Reshape", w.op("InstanceNormalization", flat, ones, zeros, epsilon=1e-5), w.op("Shape", x))
    scale = w.op("Unsqueeze", w.norm_scale(f"{name}.weight", channels), w.ints(1))
    return w.op("Add", w.op("Mul", normal, scale), w.op("Unsqueeze", w.weight(f"{name}.bias", channels, scale=0.1),
                                                        w.ints(1)))


def _features(w, waveform, channels):
    """[B, samples] -> [B, frames, channels]"""
    x = w.op("Unsqueeze", waveform, w.ints(1))
    x = gelu(w, _group_norm(w, _conv(w, x, "conv0", 1, channels, 10, strides=[5]), "norm0", channels))
    for i, size in enumerate((3, 2), 1):
        x = gelu(w, _conv(w, x, f"conv{i}", channels, channels, size, strides=[2]))
    return layer_norm(w, w.op("Transpose", x, perm=[0, 2, 1]), "feature_norm", channels)


def _positions(w, x, width):
    """A grouped convolution of even size, whose last frame is dropped."""
    y = _conv(w, w.op("Transpose", x, perm=[0, 2, 1]), "position", width // 4, width, 8, pads=[4, 4], group=4)
    return w.op("Transpose", gelu(w, w.sliced(y, 2, 0, -1)), perm=[0, 2, 1])


def speech_encoder(layers=2, heads=2, width=12, channels=16, characters=11):
    w, total = Writer("speech", seed=8), heads * width
    x = _features(w, w.input("input_values", ["batch", "samples"]), channels)
    x = w.linear(x, "projection", channels, total)
    x = w.op("Add", x, _positions(w, x, total))
    for i in range(layers):
        w.scope = f"/encoder/layer.{i}"
        x = pre_norm_layer(w, x, f"layer.{i}", heads, width)
    x = layer_norm(w, x, "norm", total)
    w.output("logits", w.linear(x, "head", total, characters), ["batch", "frames", characters])
    return w.model()
