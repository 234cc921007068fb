"""Where windows stand, and convolutions: a product of the weight with the windows of the padded input."""
import math

import numpy

from .elementwise import cast
from .registry import operator


class Window:
    """A window of static size over the spatial dims of x [N, C, D...], as a node's attributes place it."""

    def __init__(self, node, spatial, kernel):
        rank = len(kernel)
        if not rank:
            node.fail("a window needs at least one dim")
        self.node, self.kernel = node, kernel
        self.strides = node.attribute("strides", [1] * rank)
        self.dilations = node.attribute("dilations", [1] * rank)
        if not len(spatial) == rank == len(self.strides) == len(self.dilations):
            node.fail(f"{len(spatial)} spatial dims, but a window of {kernel}")
        if min(*self.strides, *self.dilations, *kernel) < 1:
            node.fail("a window's sizes, strides and dilations have to be positive")
        self.reach = [(k - 1) * d + 1 for k, d in zip(kernel, self.dilations)]
        self.low, self.high = self._pads(spatial)
        if node.attribute("ceil_mode", 0):
            self.high = [self._ceil_high(*parts)
                         for parts in zip(spatial, self.low, self.high, self.reach, self.strides)]

        self._spatial = spatial

    def demand_elements(self):
        """A pool has elements along each spatial dim: onnxruntime and PyTorch refuse an empty one too."""
        self._demand(self._spatial, [1] * len(self._spatial), "the input along dim")

    def demand_fit(self):
        """A convolution has at least one window along each spatial dim, as onnxruntime and PyTorch demand too."""
        extents = self.node.extents
        padded = [extents.add(extents.add(*parts), high) for *parts, high in zip(self._spatial, self.low, self.high)]
        self._demand(padded, self.reach, "the padded input along dim")

    def _demand(self, present, least, what):
        for axis, (extent, bound) in enumerate(zip(present, least), 2):
            if not isinstance(extent, int):
                self.node.graph.assume_at_least(extent, bound, f"{self.node.label}, {what} {axis}")
            elif extent < bound:
                self.node.fail(f"{what} {axis} has {extent} elements, but has to have {bound}")

    @property
    def axes(self):
        return list(range(2, 2 + len(self.kernel)))

    def _pads(self, spatial):
        """Padding before and after each dim."""
        mode = self.node.attribute("auto_pad", "NOTSET")
        rank, extents = len(spatial), self.node.extents
        if mode == "VALID":
            return [0] * rank, [0] * rank
        if mode in ("SAME_UPPER", "SAME_LOWER"):
            totals = [self._same(*parts) for parts in zip(spatial, self.reach, self.strides)]
            small = [extents.floordiv(total, 2) for total in totals]
            large = [extents.sub(total, half) for total, half in zip(totals, small)]
            return (small, large) if mode == "SAME_UPPER" else (large, small)
        pads = self.node.attribute("pads", [0] * 2 * rank)
        if len(pads) != 2 * rank:
            self.node.fail(f"{len(pads)} pads for {rank} dims")
        return pads[:rank], pads[rank:]

    def _same(self, extent, reach, stride):
        """The padding that gives ceil(extent / stride) positions."""
        extents = self.node.extents
        steps = extents.mul(extents.sub(extents.ceildiv(extent, stride), 1), stride)
        return extents.max(extents.sub(extents.add(steps, reach), extent), 0)

    def _ceil_high(self, extent, low, high, reach, stride):
        """Padding after a dim that completes the last window which starts inside the input or before it."""
        extents = self.node.extents
        front = extents.add(extent, low)
        room = extents.sub(extents.add(front, high), reach)
        within = extents.floordiv(extents.sub(front, 1), stride)
        last = extents.min(extents.ceildiv(room, stride), within)
        return extents.sub(extents.add(extents.mul(last, stride), reach), front)

    def pad(self, x, fill):
        """x with `fill` wherever a window looks outside."""
        if not any(dim != 0 or not isinstance(dim, int) for dim in (*self.low, *self.high)):
            return x
        return self.node.graph.pad(x, self.node.graph.scalar(fill, x.dtype), [0, 0, *self.low], [0, 0, *self.high])

    def view(self, padded):
        """All windows: [N, C, positions..., window...]."""
        return self.node.graph.window(padded, self.axes, self.kernel, strides=self.strides, dilations=self.dilations)

    @property
    def inner(self):
        """The axes of the view that are the window's."""
        return [axis + len(self.kernel) for axis in self.axes]


def dims(node, value):
    """A value's extents, ints where they are."""
    return [node.extents.fold(dim) for dim in value.shape]


def convolution(node, x, weight, shape, weight_shape, groups, bias=None):
    """x [N, C, D...] with weight [M, C / groups, K...] and bias [M]: [N, M, positions...]."""
    graph, rank = node.graph, len(shape) - 2
    kernel = list(weight_shape[2:])
    if not all(isinstance(k, int) for k in kernel):
        node.unsupported("a window of dynamic size")
    window = Window(node, shape[2:], kernel)
    window.demand_fit()
    outputs = weight_shape[0]
    depthwise = groups > 1 and weight_shape[1] == 1 and outputs == groups
    if not depthwise or x.dtype not in ("f16", "bf16"):
        return graph.conv(x, weight, bias, strides=window.strides, dilations=window.dilations,
                          pads=list(zip(window.low, window.high)), groups=groups)
    # graph.conv would round each product to 16 bits before it is summed.
    taps = cast(node, graph.reshape(weight, [outputs, *[1] * rank, *kernel]), "f32")
    products = graph.mul(cast(node, window.view(window.pad(x, 0)), "f32"), taps)
    total = cast(node, graph.reduce_sum(products, window.inner), x.dtype)
    return total if bias is None else graph.add(total, per_channel(node, bias, rank + 2))


@operator("Conv")
def _conv(node, x, weight, bias=None):
    kernel = node.attribute("kernel_shape", list(weight.shape[2:]))
    if list(weight.shape[2:]) != kernel:
        node.fail(f"kernel_shape is {kernel}, but the weight's is {list(weight.shape[2:])}")
    return convolution(node, x.value, weight.value, x.shape, weight.shape, node.attribute("group", 1),
                       None if bias is None else bias.value)


def per_channel(node, value, rank):
    """[C] as [C, 1...], which broadcasts over [N, C, D...]."""
    return node.graph.reshape(value, dims(node, value) + [1] * (rank - 2))


class _Weight:
    """A weight whose elements change places, while importing if it is a constant: then products find it in panels."""

    def __init__(self, node, tensor):
        self._node, self._tensor = node, tensor

    def padded(self, high):
        """With zeros after its last dims."""
        if self._array is not None:
            return self._with(array=numpy.pad(self._array, [(0, 0), (0, 0), *((0, count) for count in high)]))
        graph = self._node.graph
        zero = graph.scalar(0, self._tensor.dtype)
        return self._with(value=graph.pad(self._tensor.value, zero, [0] * self._tensor.rank, [0, 0, *high]))

    def reshaped(self, shape):
        if self._array is not None:
            return self._with(array=self._array.reshape(shape))
        return self._with(value=self._node.graph.reshape(self._tensor.value, shape))

    def backwards(self, axes):
        if self._array is not None:
            return self._with(array=numpy.flip(self._array, axes))
        shape = self._tensor.shape
        starts = [shape[axis] - 1 if axis in axes else 0 for axis in range(len(shape))]
        steps = [-1 if axis in axes else 1 for axis in range(len(shape))]
        return self._with(value=self._node.graph.slice(self._tensor.value, starts, list(shape), steps=steps))

    def transposed(self, permutation):
        if self._array is not None:
            return self._with(array=self._array.transpose(permutation))
        return self._with(value=self._node.graph.transpose(self._tensor.value, permutation))

    @property
    def value(self):
        return self._tensor.value

    @property
    def _array(self):
        return self._tensor.array

    def _with(self, array=None, value=None):
        tensor = self._node.tensor(value) if array is None else self._node.constant(array)
        tensor.name = self._tensor.name
        return _Weight(self._node, tensor)


@operator("ConvTranspose")
def _conv_transpose(node, x, weight, bias=None):
    graph, rank = node.graph, x.rank - 2
    groups, kernel = node.attribute("group", 1), list(weight.shape[2:])
    strides = node.attribute("strides", [1] * rank)
    dilations = node.attribute("dilations", [1] * rank)
    pads = _transpose_pads(node, x.shape[2:], kernel, strides, dilations)
    splits = rank <= 2 and all(isinstance(e, int) for e in (*kernel, *pads[1]))  # of eight dims at most
    in_phases = splits and max(strides) > 1 and max(dilations) == 1
    form = _conv_in_phases if in_phases else _conv_between_zeros
    out = form(node, x, weight, groups, kernel, strides, dilations, *pads)
    return out if bias is None else graph.add(out, per_channel(node, bias.value, x.rank))


def _conv_in_phases(node, x, weight, groups, kernel, strides, _dilations, before, after, extra):
    """A convolution with a channel for each phase: outputs a stride apart have the same taps. Phases then take turns."""
    graph, extents, rank = node.graph, node.extents, x.rank - 2
    inputs, outputs = weight.shape[:2]
    inner = extents.floordiv(inputs, groups)
    taps = [-(-k // s) for k, s in zip(kernel, strides)]
    rest = [t * s - k for t, s, k in zip(taps, strides, kernel)]
    channels = extents.mul(extents.mul(groups, outputs), math.prod(strides))
    shape = [channels, inner, *taps]
    split = [groups, inner, outputs, *(e for pair in zip(taps, strides) for e in pair)]
    of_taps, of_phases = list(range(3, 2 * rank + 3, 2)), list(range(4, 2 * rank + 3, 2))
    moved = _Weight(node, weight).padded(rest).reshaped(split).backwards(of_taps)
    moved = moved.transposed([0, 2, *of_phases, 1, *of_taps]).reshaped(shape)
    plain = node.as_if(auto_pad="NOTSET", pads=[t - 1 for t in taps] * 2, strides=[1] * rank, dilations=[1] * rank)
    phases = convolution(plain, x.value, moved.value, x.shape, shape, groups)
    sizes = [extents.add(d, t - 1) for d, t in zip(x.shape[2:], taps)]
    turns = graph.transpose(graph.reshape(phases, [x.shape[0], extents.mul(groups, outputs), *strides, *sizes]),
                            [0, 1, *(axis for i in range(rank) for axis in (rank + 2 + i, 2 + i))])
    full = graph.reshape(turns, [x.shape[0], extents.mul(groups, outputs),
                                 *(extents.mul(size, s) for size, s in zip(sizes, strides))])
    missing = [max(e - a - r, 0) for e, a, r in zip(extra, after, rest)]
    if any(missing):
        full = graph.pad(full, graph.scalar(0, x.dtype), [0] * (rank + 2), [0, 0, *missing])
    wanted = [extents.sub(extents.add(extents.mul(extents.sub(d, 1), s), k + e - a), b)
              for d, s, k, e, a, b in zip(x.shape[2:], strides, kernel, extra, after, before)]
    return graph.slice(full, [0, 0, *before], [*dims(node, full)[:2], *wanted])


def _conv_between_zeros(node, x, weight, groups, kernel, strides, dilations, before, after, extra):
    """Zeros between the inputs, then a convolution with the weight backwards."""
    graph, extents, rank = node.graph, node.extents, x.rank - 2
    reach = [(k - 1) * d for k, d in zip(kernel, dilations)]
    low = [0, 0] + [extents.sub(r, b) for r, b in zip(reach, before)]
    high = [0, 0] + [extents.add(extents.sub(r, a), e) for r, a, e in zip(reach, after, extra)]
    spread = graph.pad(x.value, graph.scalar(0, x.dtype), low, high, interior=[0, 0] + [s - 1 for s in strides])
    inputs, outputs = weight.shape[:2]
    inner = extents.floordiv(inputs, groups)
    swapped = [extents.mul(groups, outputs), inner, *kernel]
    flipped = _Weight(node, weight).backwards(list(range(2, rank + 2))).reshaped([groups, inner, outputs, *kernel])
    moved = flipped.transposed([0, 2, 1, *range(3, rank + 3)]).reshaped(swapped)
    plain = node.as_if(auto_pad="NOTSET", pads=[0] * 2 * rank, strides=[1] * rank, dilations=dilations)
    return convolution(plain, spread, moved.value, dims(node, spread), swapped, groups)


def _transpose_pads(node, spatial, kernel, strides, dilations):
    """(before, after, extra) cut off, and added, at each dim of a full transposed convolution."""
    rank, extents = len(kernel), node.extents
    extra = node.attribute("output_padding", [0] * rank)
    mode, wanted = node.attribute("auto_pad", "NOTSET"), node.attribute("output_shape")
    if wanted is None and mode in ("NOTSET", "VALID"):
        pads = node.attribute("pads", [0] * 2 * rank)
        return pads[:rank], pads[rank:], extra
    if wanted is None:
        wanted = [extents.mul(dim, stride) for dim, stride in zip(spatial, strides)]
    before, after = [], []
    for i, size in enumerate(wanted[-rank:]):
        full = extents.add(extents.mul(extents.sub(spatial[i], 1), strides[i]),
                           (kernel[i] - 1) * dilations[i] + 1 + extra[i])
        total = extents.sub(full, size)
        cut = extents.max(total, 0)  # what is missing, not cut, is added behind
        half = extents.floordiv(cut, 2)
        before.append(half if mode == "SAME_UPPER" else extents.sub(cut, half))
        after.append(extents.sub(total, before[-1]))
    return before, after, extra
