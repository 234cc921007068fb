"""Convolutions and pools: one strided slice of the padded input for each position in the window."""
import itertools

from . import padding
from .registry import operator


class Window:
    """Where a window of static size stands on the spatial dims of x [N, C, D...]."""

    def __init__(self, node, spatial, kernel):
        self.node, self.kernel = node, kernel
        rank = len(kernel)
        self.strides = node.attribute("strides", [1] * rank)
        self.dilations = node.attribute("dilations", [1] * rank)
        if not len(spatial) == rank == len(self.strides) == len(self.dilations):
            node.fail(f"{len(spatial)} spatial dims, but a window of {kernel}")
        if min(self.strides) < 1 or min(self.dilations) < 1:
            node.fail("strides and dilations have to be positive")
        self.reach = [(k - 1) * d + 1 for k, d in zip(kernel, self.dilations)]
        self.before, self.after = self._pads(spatial)
        self.sizes = [self._size(*parts) for parts in zip(spatial, self.before, self.after, self.reach, self.strides)]

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

    def _size(self, extent, before, after, reach, stride):
        """How many positions fit."""
        extents = self.node.extents
        padded = extents.add(extents.add(extent, before), after)
        room = extents.sub(padded, reach)
        if not self.node.attribute("ceil_mode", 0):
            return extents.max(extents.add(extents.floordiv(room, stride), 1), 0)
        size = extents.add(extents.ceildiv(room, stride), 1)
        # the last window has to start inside the input or the padding before it
        last = extents.mul(extents.sub(size, 1), stride)
        starts_outside = extents.compare(extents.add(extent, before), last, "le")
        if starts_outside is None:
            within = extents.floordiv(extents.sub(extents.add(extent, before), 1), stride)
            return extents.min(size, extents.add(within, 1))
        return extents.sub(size, 1) if starts_outside else size

    def pad(self, x, shape, fill):
        """(value, shape) of x with `fill` wherever a window looks outside."""
        extents, missing = self.node.extents, []
        for extent, before, after, size, reach, stride in zip(shape[2:], self.before, self.after, self.sizes,
                                                              self.reach, self.strides):
            end = extents.add(extents.mul(extents.sub(size, 1), stride), reach)
            more = extents.sub(end, extents.add(extent, before))
            missing.append(extents.max(more, after if isinstance(after, int) and after >= 0 else 0))
        return padding.pad(self.node, x, list(shape), [0, 0, *self.before], [0, 0, *missing],
                           self.node.graph.scalar(fill, x.dtype))

    def positions(self):
        """Every offset within the window, in row-major order."""
        return itertools.product(*map(range, self.kernel))

    def view(self, padded, shape, offset):
        """What all windows have at one offset: [N, C, sizes...]."""
        starts = [0, 0] + [o * d for o, d in zip(offset, self.dilations)]
        return self.node.graph.slice(padded, starts, [*shape[:2], *self.sizes], steps=[1, 1, *self.strides])

    def fold(self, padded, shape, combine):
        """combine over the views of all offsets."""
        out = None
        for offset in self.positions():
            view = self.view(padded, shape, offset)
            out = view if out is None else combine(out, view)
        return out


def convolution(node, x, weight, shape, weight_shape, groups):
    """x [N, C, D...] with weight [M, C / groups, K...]: [N, M, sizes...]."""
    graph, extents = node.graph, node.extents
    kernel = list(weight_shape[2:])
    if not all(isinstance(k, int) for k in kernel):
        node.unsupported("a window of dynamic size")
    window = Window(node, shape[2:], kernel)
    padded, padded_shape = window.pad(x, shape, 0)
    views = [window.view(padded, padded_shape, offset) for offset in window.positions()]
    batch, channels, outputs = shape[0], shape[1], weight_shape[0]
    inner, area = extents.floordiv(channels, groups), extents.product(window.sizes)
    taps = len(views)
    # [N, groups, inner * taps, area], the weight's own order of (inner, taps)
    columns = [graph.reshape(view, [batch, groups, inner, 1, area]) for view in views]
    columns = columns[0] if taps == 1 else graph.concat(columns, 3)
    columns = graph.reshape(columns, [batch, groups, extents.mul(inner, taps), area])
    rows = graph.reshape(weight, [groups, extents.floordiv(outputs, groups), extents.mul(inner, taps)])
    return graph.reshape(graph.dot(rows, columns), [batch, outputs, *window.sizes])


@operator("Conv")
def _conv(node, x, weight, bias=None):
    kernel = node.attribute("kernel_shape", list(weight.shape[2:]))
    if list(weight.shape[2:]) != kernel:
        node.fail(f"kernel_shape is {kernel}, but the weight's is {list(weight.shape[2:])}")
    out = convolution(node, x.value, weight.value, x.shape, weight.shape, node.attribute("group", 1))
    return out if bias is None else node.graph.add(out, per_channel(node, bias.value, x.rank))


def per_channel(node, value, rank):
    """[C] as [C, 1...], which broadcasts over [N, C, D...]."""
    dims = [node.extents.fold(dim) for dim in value.shape]
    return node.graph.reshape(value, dims + [1] * (rank - 2))


@operator("ConvTranspose")
def _conv_transpose(node, x, weight, bias=None):
    """Each tap's product lands at its own place: zeros between inputs, then a convolution with the flipped weight."""
    graph, extents, rank = node.graph, node.extents, x.rank - 2
    groups, kernel = node.attribute("group", 1), list(weight.shape[2:])
    strides = node.attribute("strides", [1] * rank)
    dilations = node.attribute("dilations", [1] * rank)
    before, after, extra = _transpose_pads(node, x.shape[2:], kernel, strides, dilations)
    value, shape = x.value, list(x.shape)
    for i in range(rank):
        value, shape = _spread(node, value, shape, i + 2, strides[i])
    reach = [(k - 1) * d for k, d in zip(kernel, dilations)]
    front = [extents.sub(r, b) for r, b in zip(reach, before)]
    back = [extents.add(extents.sub(r, a), e) for r, a, e in zip(reach, after, extra)]
    value, shape = padding.pad(node, value, shape, [0, 0, *front], [0, 0, *back], graph.scalar(0, x.dtype))
    inputs, outputs = weight.shape[:2]
    flipped = graph.slice(weight.value, [0, 0, *(k - 1 for k in kernel)], list(weight.shape),
                          steps=[1, 1] + [-1] * rank)
    split = graph.reshape(flipped, [groups, extents.floordiv(inputs, groups), outputs, *kernel])
    swapped = graph.transpose(split, [0, 2, 1, *range(3, rank + 3)])
    swapped_shape = [extents.mul(groups, outputs), extents.floordiv(inputs, groups), *kernel]
    plain = _Plain(node, dilations)
    out = convolution(plain, value, graph.reshape(swapped, swapped_shape), shape, swapped_shape, groups)
    return out if bias is None else graph.add(out, per_channel(node, bias.value, x.rank))


class _Plain:
    """A node whose padding and strides have been applied already."""

    def __init__(self, node, dilations):
        self._node, self._dilations = node, dilations

    def __getattr__(self, name):
        return getattr(self._node, name)

    def attribute(self, name, default=None):
        return self._dilations if name == "dilations" else default


def _transpose_pads(node, spatial, kernel, strides, dilations):
    """(before, after, extra) cut off, and added, at each dim of a full transposed convolution."""
    rank = len(kernel)
    extra = node.attribute("output_padding", [0] * rank)
    mode, wanted = node.attribute("auto_pad", "NOTSET"), node.attribute("output_shape")
    pads = node.attribute("pads", [0] * 2 * rank)
    if wanted is None and mode in ("NOTSET", "VALID"):
        return pads[:rank], pads[rank:], extra
    extents = node.extents
    if wanted is None:
        wanted = [extents.mul(dim, stride) for dim, stride in zip(spatial, strides)]
    before, after = [], []
    for i, size in enumerate(wanted[-rank:]):
        full = extents.add(extents.mul(extents.sub(spatial[i], 1), strides[i]),
                           (kernel[i] - 1) * dilations[i] + 1 + extra[i])
        total = extents.sub(full, size)
        half = extents.floordiv(extents.max(total, 0), 2)  # what is missing, not cut, is added behind
        rest = extents.sub(total, half)
        upper = mode == "SAME_UPPER" or extents.compare(total, 0, "le")
        before.append(half if upper else rest)
        after.append(rest if upper else half)
    return before, after, extra


def _spread(node, x, shape, axis, stride):
    """x with stride - 1 zeros between its elements along an axis."""
    if stride == 1:
        return x, shape
    graph, extents = node.graph, node.extents
    pair = graph.reshape(x, [*shape[:axis + 1], 1, *shape[axis + 1:]])
    zeros = graph.broadcast(graph.scalar(0, x.dtype), [*shape[:axis + 1], stride - 1, *shape[axis + 1:]])
    wide = graph.reshape(graph.concat([pair, zeros], axis + 1),
                         [*shape[:axis], extents.mul(shape[axis], stride), *shape[axis + 1:]])
    size = extents.sub(extents.mul(shape[axis], stride), stride - 1)
    shape = [*shape[:axis], size, *shape[axis + 1:]]
    return graph.slice(wide, [0] * len(shape), shape), shape
