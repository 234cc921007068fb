"""Parts that several models are made of."""
import math


def layer_norm(w, x, name, width):
    """One LayerNormalization node from opset 17 on, before that what it was exported as."""
    scale = w.norm_scale(f"{name}.weight", width)
    bias = w.weight(f"{name}.bias", width, scale=0.1)
    if w.opset >= 17:
        return w.op("LayerNormalization", x, scale, bias, axis=-1, epsilon=1e-5)
    centred = w.op("Sub", x, w.op("ReduceMean", x, axes=[-1]))
    variance = w.op("ReduceMean", w.op("Pow", centred, w.constant(2.0)), axes=[-1])
    deviation = w.op("Sqrt", w.op("Add", variance, w.constant(1e-5)))
    return w.op("Add", w.op("Mul", w.op("Div", centred, deviation), scale), bias)


def rms_norm(w, x, name, width):
    scale = w.norm_scale(f"{name}.weight", width)
    mean = w.op("ReduceMean", w.op("Pow", x, w.constant(2.0)), axes=[-1])
    root = w.op("Sqrt", w.op("Add", mean, w.constant(1e-6)))
    return w.op("Mul", scale, w.op("Mul", x, w.op("Div", w.constant(1.0), root)))


def gelu(w, x):
    half = w.op("Mul", x, w.op("Add", w.op("Erf", w.op("Div", x, w.constant(math.sqrt(2)))), w.constant(1.0)))
    return w.op("Mul", half, w.constant(0.5))


def gelu_tanh(w, x):
    cube = w.op("Mul", w.op("Pow", x, w.constant(3.0)), w.constant(0.044715))
    inner = w.op("Tanh", w.op("Mul", w.op("Add", x, cube), w.constant(math.sqrt(2 / math.pi))))
    return w.op("Mul", w.op("Mul", x, w.constant(0.5)), w.op("Add", inner, w.constant(1.0)))


def split_heads(w, x, heads, width):
    """[B, S, heads * width] -> [B, heads, S, width]"""
    split = w.reshape(x, w.size(x, 0), w.size(x, 1), heads, width)
    return w.op("Transpose", split, perm=[0, 2, 1, 3])


def join_heads(w, x, heads, width):
    """[B, heads, S, width] -> [B, S, heads * width]"""
    back = w.op("Transpose", x, perm=[0, 2, 1, 3])
    return w.reshape(back, w.size(back, 0), w.size(back, 1), heads * width)


def attend(w, q, k, v, bias=None, scale=None):
    """softmax(q k' * scale + bias) v, over [B, heads, S, width]."""
    scores = w.op("MatMul", q, w.op("Transpose", k, perm=[0, 1, 3, 2]))
    if scale is not None:
        scores = w.op("Div", scores, w.constant(1 / scale))
    if bias is not None:
        scores = w.op("Add", scores, bias)
    return w.op("MatMul", w.op("Softmax", scores, axis=-1), v)


def mask_bias(w, mask, lowest=-3.4028234663852886e38):
    """[B, K] of ones and zeros -> [B, 1, 1, K] of 0 and `lowest`."""
    wide = w.op("Cast", w.op("Unsqueeze", w.op("Unsqueeze", mask, w.ints(1)), w.ints(2)), to=1)
    return w.op("Mul", w.op("Sub", w.constant(1.0), wide), w.constant(lowest))


def self_attention(w, x, name, heads, width, bias=None):
    """Multi-head attention of x with itself, without the residual."""
    total = heads * width
    q, k, v = (split_heads(w, w.linear(x, f"{name}.{part}", total, total), heads, width)
               for part in ("query", "key", "value"))
    joined = join_heads(w, attend(w, q, k, v, bias, 1 / math.sqrt(width)), heads, width)
    return w.linear(joined, f"{name}.output", total, total)


def mlp(w, x, name, width, inner, activation=gelu):
    return w.linear(activation(w, w.linear(x, f"{name}.fc1", width, inner)), f"{name}.fc2", inner, width)


def pre_norm_layer(w, x, name, heads, width, bias=None, activation=gelu):
    """A transformer layer that normalizes before each half."""
    total = heads * width
    x = w.op("Add", self_attention(w, layer_norm(w, x, f"{name}.ln1", total), name, heads, width, bias), x)
    return w.op("Add", x, mlp(w, layer_norm(w, x, f"{name}.ln2", total), name, total, 2 * total, activation))
