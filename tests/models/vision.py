"""ViT with its position embeddings resized to the image, and a ResNet."""
import numpy as np

from blocks import layer_norm, pre_norm_layer
from writer import Writer

PATCH, GRID = 4, 4  # a position embedding for GRID x GRID patches


def _patches(w, image, width):
    """[B, rows * columns, width], and the patch grid's two extents."""
    kernel = w.weight("patch.weight", width, 3, PATCH, PATCH, scale=0.15)
    x = w.op("Conv", image, kernel, w.weight("patch.bias", width, scale=0.1), kernel_shape=[PATCH, PATCH],
             strides=[PATCH, PATCH])
    flat = w.reshape(x, w.size(x, 0), w.size(x, 1), -1)
    rows, columns = (w.op("Div", w.size(image, axis), w.constant(PATCH, np.int64)) for axis in (2, 3))
    return w.op("Transpose", flat, perm=[0, 2, 1]), rows, columns


def _positions(w, rows, columns, width):
    """[1, 1 + rows * columns, width]"""
    table = w.weight("position_embeddings", 1, 1 + GRID * GRID, width)
    grid = w.op("Reshape", w.sliced(table, 1, 1, np.iinfo(np.int64).max), w.ints(1, GRID, GRID, width))
    grid = w.op("Transpose", grid, perm=[0, 3, 1, 2])
    grid = w.op("Resize", grid, "", "", w.listed(1, width, rows, columns), mode="cubic", cubic_coeff_a=-0.75,
                coordinate_transformation_mode="pytorch_half_pixel", nearest_mode="floor")
    grid = w.op("Reshape", w.op("Transpose", grid, perm=[0, 2, 3, 1]), w.ints(1, -1, width))
    return w.op("Concat", w.sliced(table, 1, 0, 1), grid, axis=1)


def vit(layers=2, heads=2, width=12, classes=7):
    w, total = Writer("vit", seed=6), heads * width
    image = w.input("pixel_values", ["batch", 3, "height", "width"])
    patches, rows, columns = _patches(w, image, total)
    token = w.expand(w.weight("cls_token", 1, 1, total), w.size(patches, 0), -1, -1)
    x = w.op("Add", w.op("Concat", token, patches, axis=1), _positions(w, rows, columns, total))
    for i in range(layers):
        w.scope = f"/encoder/layer.{i}"
        x = pre_norm_layer(w, x, f"layer.{i}", heads, width)
    first = w.op("Gather", layer_norm(w, x, "norm", total), w.constant(0, np.int64), axis=1)
    w.output("logits", w.linear(first, "classifier", total, classes), ["batch", classes])
    return w.model()


def _conv(w, x, name, inputs, outputs, size, stride):
    kernel = w.weight(f"{name}.weight", outputs, inputs, size, size, scale=(inputs * size * size) ** -0.5)
    x = w.op("Conv", x, kernel, kernel_shape=[size, size], strides=[stride, stride], pads=[size // 2] * 4)
    variance = w.initializer(f"{name}.variance", 0.5 + w.rng.random(outputs, np.float32))
    return w.op("BatchNormalization", x, w.norm_scale(f"{name}.scale", outputs),
                w.weight(f"{name}.bias", outputs, scale=0.1), w.weight(f"{name}.mean", outputs, scale=0.1), variance,
                epsilon=1e-5)


def _residual(w, x, name, inputs, outputs, stride):
    w.scope = f"/{name}"
    out = w.op("Relu", _conv(w, x, f"{name}.conv1", inputs, outputs, 3, stride))
    out = _conv(w, out, f"{name}.conv2", outputs, outputs, 3, 1)
    if stride > 1 or inputs != outputs:
        x = _conv(w, x, f"{name}.downsample", inputs, outputs, 1, stride)
    return w.op("Relu", w.op("Add", out, x))


def resnet(classes=7):
    w = Writer("resnet", seed=7, opset=11)
    x = w.input("image", ["batch", 3, "height", "width"])
    x = w.op("Relu", _conv(w, x, "stem", 3, 8, 7, 2))
    x = w.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    for i, (inputs, outputs, stride) in enumerate(((8, 8, 1), (8, 12, 2), (12, 20, 2))):
        x = _residual(w, x, f"layer{i}", inputs, outputs, stride)
    x = w.op("Flatten", w.op("GlobalAveragePool", x), axis=1)
    w.output("logits", w.op("Gemm", x, w.weight("fc.weight", classes, 20, scale=0.3),
                            w.weight("fc.bias", classes, scale=0.1), transB=1), ["batch", classes])
    return w.model()
