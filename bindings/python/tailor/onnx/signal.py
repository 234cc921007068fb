"""Fourier transforms as products with matrices of cosines and sines."""
import math

import numpy

from .. import _convert
from . import dtypes
from .folding import MAX_FOLDED
from .registry import operator


def _matrices(node, rows, columns, dtype, inverse):
    """cos and sin of 2 pi i k / rows for i < rows, k < columns; sin with the transform's sign."""
    graph, sign = node.graph, 1 if inverse else -1
    if isinstance(rows, int) and isinstance(columns, int) and rows * columns <= MAX_FOLDED:
        angle = 2 * math.pi * (numpy.outer(numpy.arange(rows), numpy.arange(columns)) % rows) / rows
        kind = _convert.numpy_dtype(_convert.dtype_code(dtype))
        return [graph.constant(matrix.astype(kind)) for matrix in (numpy.cos(angle), sign * numpy.sin(angle))]
    count = node.extents.as_value(rows)
    turns = graph.mod(graph.mul(graph.iota([rows, 1], 0, "i64"), graph.iota([columns], 0, "i64")), count)
    angle = graph.mul(graph.div(graph.cast(turns, "f64"), graph.cast(count, "f64")), 2 * math.pi)
    return [graph.cast(matrix, dtype) for matrix in (graph.cos(angle), graph.mul(graph.sin(angle), float(sign)))]


def transform(node, real, imaginary, shape, length, columns, inverse):
    """The transform along the last axis of `real` (and `imaginary`, or None) [..., length]: two [..., columns]."""
    graph = node.graph
    cosine, sine = _matrices(node, length, columns, real.dtype, inverse)
    rows = graph.reshape(real, [node.extents.product(shape[:-1]), length])
    out = [graph.dot(rows, cosine), graph.dot(rows, sine)]
    if imaginary is not None:
        other = graph.reshape(imaginary, [node.extents.product(shape[:-1]), length])
        out = [graph.sub(out[0], graph.dot(other, sine)), graph.add(out[1], graph.dot(other, cosine))]
    if inverse:
        count = graph.cast(node.extents.as_value(length), real.dtype)
        out = [graph.div(part, count) for part in out]
    return [graph.reshape(part, [*shape[:-1], columns]) for part in out]


@operator("DFT", since=20)
def _dft(node, x, length=None, axis=None):
    return _along(node, x, length, -2 if axis is None else node.known_ints(axis, "the axis")[0])


@operator("DFT", since=17)
def _dft_by_attribute(node, x, length=None):
    return _along(node, x, length, node.attribute("axis", 1))


def _along(node, x, length, axis):
    graph, inverse, onesided = node.graph, node.attribute("inverse", 0), node.attribute("onesided", 0)
    axis, dims = node.axis(axis, x.rank), list(x.shape[:-1])
    size = dims[axis] if length is None else node.dims(length, "the length")[0]
    parts = [_part(node, x, dims, axis, i) for i in range(x.shape[-1])]
    dims[axis], dims[-1] = dims[-1], dims[axis]
    if inverse and onesided:
        return _real_inverse(node, parts, dims, axis, size if length is not None else
                             node.extents.mul(node.extents.sub(size, 1), 2))
    parts = [_fitted(node, part, dims, size) for part in parts]
    columns = _half(node, size) if onesided else size
    out = transform(node, parts[0], parts[1] if len(parts) > 1 else None, [*dims[:-1], size], size, columns, inverse)
    return _joined(node, out, [*dims[:-1], columns], axis)


def _part(node, x, dims, axis, index):
    """The real or imaginary numbers of x, with `axis` and the last one swapped."""
    graph = node.graph
    part = graph.slice(x.value, [0] * (x.rank - 1) + [index], [*x.shape[:-1], 1])
    order = list(range(len(dims)))
    order[axis], order[-1] = order[-1], order[axis]
    return graph.transpose(graph.reshape(part, dims), order)


def _fitted(node, part, dims, size):
    """The last axis cut, or filled with zeros, to `size`."""
    missing = node.extents.sub(size, dims[-1])
    if missing == 0:
        return part
    return node.graph.pad(part, node.graph.scalar(0, part.dtype), [0] * len(dims), [0] * (len(dims) - 1) + [missing])


def _half(node, size):
    return node.extents.add(node.extents.floordiv(size, 2), 1)


def _real_inverse(node, parts, dims, axis, size):
    """The real signal of a one-sided spectrum: the other side is its mirrored conjugate."""
    graph, half = node.graph, _half(node, size)
    rest = node.extents.sub(size, half)
    parts = [_fitted(node, part, dims, half) for part in parts]
    mirrored = [graph.slice(part, [0] * (len(dims) - 1) + [rest], [*dims[:-1], rest],
                            steps=[1] * (len(dims) - 1) + [-1]) for part in parts]
    real = graph.concat([parts[0], mirrored[0]], -1)
    imaginary = graph.concat([parts[1], graph.neg(mirrored[1])], -1)
    out, _ = transform(node, real, imaginary, [*dims[:-1], size], size, size, True)
    return _joined(node, [out], [*dims[:-1], size], axis)


def _joined(node, parts, dims, axis):
    """The parts side by side in a new last axis, with `axis` back in its place."""
    graph, order = node.graph, list(range(len(dims)))
    order[axis], order[-1] = order[-1], order[axis]
    swapped = [dims[i] for i in order]
    parts = [graph.reshape(graph.transpose(part, order), [*swapped, 1]) for part in parts]
    return parts[0] if len(parts) == 1 else graph.concat(parts, -1)


@operator("STFT")
def _stft(node, x, step, window=None, frame=None):
    """Frames of the signal [N, length, 1], one every `step` elements, each transformed."""
    graph, extents = node.graph, node.extents
    hop = node.dim(node.parts(step, "the step")[0], 1)
    size = window.shape[0] if window is not None else node.dims(frame, "the length of a frame")[0]
    if x.rank == 3 and node.extents.equal(x.shape[2], 1) is False:
        node.unsupported("a transform of complex numbers is not supported yet")
    batch, length = x.shape[:2]
    count = extents.add(extents.floordiv(extents.sub(length, size), hop), 1)
    signal = graph.reshape(x.value, [batch, length])
    starts = graph.mul(graph.iota([count, 1], 0, "i64"), extents.as_value(hop))
    frames = graph.gather(signal, graph.add(starts, graph.iota([size], 0, "i64")), axis=1)
    frames = frames if window is None else graph.mul(frames, window.value)
    columns = _half(node, size) if node.attribute("onesided", 1) else size
    out = transform(node, frames, None, [batch, count, size], size, columns, False)
    return graph.concat([graph.reshape(part, [batch, count, columns, 1]) for part in out], -1)


@operator("MelWeightMatrix")
def _mel_weights(node, bins, length, rate, low, high):
    """Triangles over the spectrum, even on the mel scale: [length / 2 + 1, bins]."""
    graph, extents = node.graph, node.extents
    bins, size = node.dims(bins, "the number of bands")[0], node.dims(length, "the length")[0]
    length, rate, low, high = (graph.cast(node.scalar(tensor), "f64") for tensor in (length, rate, low, high))
    first, last = (graph.mul(graph.log(graph.add(graph.div(edge, 700.0), 1.0)), 2595 / math.log(10))
                   for edge in (low, high))
    count = graph.cast(extents.as_value(extents.add(bins, 2)), "f64")
    mels = graph.add(graph.mul(graph.iota([extents.add(bins, 2)], 0, "f64"),
                               graph.div(graph.sub(last, first), count)), first)
    edges = graph.mul(graph.sub(graph.exp(graph.mul(mels, math.log(10) / 2595)), 1.0), 700.0)
    points = graph.floor(graph.div(graph.mul(graph.add(length, 1.0), edges), rate))
    left, center, right = (graph.slice(points, [i], [bins]) for i in range(3))
    place = graph.iota([_half(node, size), 1], 0, "f64")
    rising = graph.div(graph.sub(place, left), graph.sub(center, left))
    falling = graph.div(graph.sub(right, place), graph.sub(right, center))
    out = graph.select(graph.and_(graph.ge(place, left), graph.lt(place, center)), rising, 0.0)
    out = graph.select(graph.and_(graph.ge(place, center), graph.lt(place, right)), falling, out)
    out = graph.select(graph.eq(place, center), 1.0, out)
    return graph.cast(out, dtypes.from_onnx(node.attribute("output_datatype", dtypes.to_onnx("f32"))))
