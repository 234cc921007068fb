"""Operators that read between elements: Resize and Upsample."""
import fractions
import functools
import itertools
import math

from .dtypes import FLOATS
from .indexing import extent_value, flat_gather, position
from .registry import operator


class Axis:
    """One resized dim: its extents, its scale (number or f64 value), and where each output element reads."""

    def __init__(self, node, axis, size, out, scale, roi):
        self.node, self.axis, self.size, self.out, self.scale, self.roi = node, axis, size, out, scale, roi

    def coordinates(self):
        """Each output index as a place on the input's axis, f64 [out]."""
        graph, mode = self.node.graph, self.node.attribute("coordinate_transformation_mode", "half_pixel")
        index = graph.iota([self.out], 0, "f64")
        half = graph.sub(graph.div(graph.add(index, 0.5), self.scale), 0.5)
        if mode == "half_pixel":
            return half
        if mode == "asymmetric":
            return graph.div(index, self.scale)
        if mode == "tf_half_pixel_for_nn":
            return graph.add(half, 0.5)
        if mode == "half_pixel_symmetric":
            return graph.add(half, self._symmetric_offset())
        if mode == "pytorch_half_pixel":
            return self._unless_single(half, 0.0)
        last = self._number(self.node.extents.sub(self.size, 1))
        gaps = graph.sub(graph.mul(self._number(self.size), self.scale), 1.0)  # the output's exact extent, less 1
        if mode == "align_corners":
            return self._unless_single(graph.div(graph.mul(index, last), gaps), 0.0)
        if mode == "tf_crop_and_resize":
            start, end = (graph.scalar(edge, "f64") if isinstance(edge, float) else edge for edge in self.roi)
            many = graph.add(graph.div(graph.mul(index, graph.mul(last, graph.sub(end, start))), gaps),
                             graph.mul(last, start))
            return self._unless_single(many, graph.mul(last, graph.mul(graph.add(start, end), 0.5)))
        return self.node.fail(f'unknown coordinate_transformation_mode "{mode}"')

    def clamped(self, index):
        """An f64 index as i64 within the axis."""
        graph = self.node.graph
        index = graph.cast(graph.max(index, 0.0), "i64")
        return graph.min(index, extent_value(self.node, self.node.extents.sub(self.size, 1)))

    def outside(self, place):
        graph = self.node.graph
        return graph.or_(graph.lt(place, 0.0), graph.gt(place, self._number(self.node.extents.sub(self.size, 1))))

    def _number(self, extent):
        """An extent as an f64 scalar."""
        return self.node.graph.cast(extent_value(self.node, extent), "f64")

    def _unless_single(self, many, single):
        """`many`, but `single` where the output has one element."""
        if isinstance(self.out, int) and self.out > 1:
            return many
        graph = self.node.graph
        return graph.select(graph.gt(extent_value(self.node, self.out), 1), many, single)

    def _symmetric_offset(self):
        """in / 2 * (1 - out / (scale * in))."""
        graph = self.node.graph
        size = self._number(self.size)
        share = graph.div(self._number(self.out), graph.mul(size, self.scale))
        return graph.mul(graph.mul(size, 0.5), graph.sub(1.0, share))


def _nearest(node, axis, place):
    graph, mode = node.graph, node.attribute("nearest_mode", "round_prefer_floor")
    rounded = {"round_prefer_floor": lambda: graph.ceil(graph.sub(place, 0.5)),
               "round_prefer_ceil": lambda: graph.floor(graph.add(place, 0.5)),
               "floor": lambda: graph.floor(place), "ceil": lambda: graph.ceil(place)}
    if mode not in rounded:
        node.fail(f'unknown nearest_mode "{mode}"')
    return rounded[mode]()


def cubic(graph, distance, a):
    """The cubic convolution kernel at |distance|, 0 from 2 on."""
    x = graph.abs(distance)
    near = graph.add(graph.mul(graph.mul(graph.sub(graph.mul(x, a + 2), a + 3), x), x), 1.0)
    far = graph.mul(graph.sub(graph.mul(graph.add(graph.mul(graph.sub(x, 5.0), x), 8.0), x), 4.0), a)
    return graph.select(graph.le(x, 1.0), near, graph.select(graph.lt(x, 2.0), far, 0.0))


def _linear(graph, distance, _):
    return graph.max(graph.sub(1.0, graph.abs(distance)), 0.0)


def _taps(node, axis, place, kernel, support):
    """[(index, weight)] of the elements that each output reads, weights f64 [out] that add up to 1."""
    graph, a = node.graph, node.attribute("cubic_coeff_a", -0.75)
    shrink = 1.0
    if node.attribute("antialias", 0):
        shrink = min(axis.scale, 1.0)
    first = math.floor(-support / shrink) + 1
    base = graph.floor(place)
    taps, total = [], None
    for offset in range(first, 2 - first):
        index = graph.add(base, float(offset))
        weight = kernel(graph, graph.mul(graph.sub(index, place), shrink), a)
        if node.attribute("exclude_outside", 0):
            weight = graph.select(axis.outside(index), 0.0, weight)
        taps.append((axis.clamped(index), weight))
        total = weight if total is None else graph.add(total, weight)
    return [(index, graph.div(weight, total)) for index, weight in taps]


def _resized(node, x, axis, place, rank):
    """x with one axis read at `place`."""
    graph, mode = node.graph, node.attribute("mode", "nearest")
    if mode == "nearest":
        return graph.gather(x, axis.clamped(_nearest(node, axis, place)), axis=axis.axis)
    kernel, support = (cubic, 2) if mode == "cubic" else (_linear, 1)
    if node.attribute("antialias", 0) and not isinstance(axis.scale, (int, float)):
        return _mixed(node, x, axis, place, kernel, support)
    out = None
    for index, weight in _taps(node, axis, place, kernel, support):
        spread = graph.reshape(graph.cast(weight, x.dtype), [axis.out] + [1] * (rank - 1 - axis.axis))
        part = graph.mul(graph.gather(x, index, axis=axis.axis), spread)
        out = part if out is None else graph.add(out, part)
    return out


def _mixed(node, x, axis, place, kernel, support):
    """x with one axis read at `place`, where the graph computes how far it reads: a product with all weights."""
    graph, extents, shape = node.graph, node.extents, list(map(node.extents.fold, x.shape))
    shrink = graph.min(axis.scale, 1.0)
    reach = extents.bind(graph.cast(graph.ceil(graph.div(float(support), shrink)), "i64"))
    around = extents.add(axis.size, extents.mul(reach, 2))
    index = graph.sub(graph.iota([around], 0, "f64"), graph.cast(extent_value(node, reach), "f64"))
    distance = graph.sub(index, graph.reshape(place, [axis.out, 1]))
    weights = kernel(graph, graph.mul(distance, shrink), node.attribute("cubic_coeff_a", -0.75))
    if node.attribute("exclude_outside", 0):
        weights = graph.select(axis.outside(index), 0.0, weights)
    weights = graph.cast(graph.div(weights, graph.reduce_sum(weights, [1], keep_dims=True)), x.dtype)
    order = [i for i in range(len(shape)) if i != axis.axis]
    rows = graph.transpose(graph.gather(x, axis.clamped(index), axis=axis.axis), [*order, axis.axis])
    others = [shape[i] for i in order]
    out = graph.dot(graph.reshape(rows, [extents.product(others), around]), weights, transpose_rhs=True)
    back = [i if i < axis.axis else len(shape) - 1 if i == axis.axis else i - 1 for i in range(len(shape))]
    return graph.transpose(graph.reshape(out, [*others, axis.out]), back)


_MOST_DIMS = 8  # of a tensor of Tailor's

_PLACES = {"half_pixel": lambda i, scale: (i + 0.5) / scale - 0.5,
           "half_pixel_symmetric": lambda i, scale: (i + 0.5) / scale - 0.5,
           "pytorch_half_pixel": lambda i, scale: (i + 0.5) / scale - 0.5,
           "tf_half_pixel_for_nn": lambda i, scale: (i + 0.5) / scale, "asymmetric": lambda i, scale: i / scale}
_ROUNDED = {"round_prefer_floor": lambda place: math.ceil(place - 0.5),
            "round_prefer_ceil": lambda place: math.floor(place + 0.5), "floor": math.floor, "ceil": math.ceil}


def _times(node, axis):
    """How often the node repeats every element of `axis`, one after the other; 1 where it does anything else."""
    place = _PLACES.get(node.attribute("coordinate_transformation_mode", "half_pixel"))
    rounded = _ROUNDED.get(node.attribute("nearest_mode", "round_prefer_floor"))
    if node.attribute("mode", "nearest") != "nearest" or place is None or rounded is None:
        return 1
    if not isinstance(axis.scale, float) or axis.scale < 2 or not axis.scale.is_integer():
        return 1
    times = int(axis.scale)
    if node.extents.equal(axis.out, node.extents.mul(axis.size, times)) is not True:
        return 1
    # So the first element is read as often, and the next ones as it is.
    return times if rounded(place(0, times)) == rounded(place(times - 1, times)) == 0 else 1


def _repeated(node, x, shape, times):
    """x with elements repeated along the axes of `times`: views alone."""
    graph, extents = node.graph, node.extents
    apart, spread, joined = [], [], []
    for axis, extent in enumerate(shape):
        count = times.get(axis, 1)
        apart += [extent] if count == 1 else [extent, 1]
        spread += [extent] if count == 1 else [extent, count]
        joined.append(extents.mul(extent, count))
    return graph.reshape(graph.broadcast(graph.reshape(x, apart), spread), joined)


def _apply(node, x, axes):
    graph, out, outside = node.graph, x.value, None
    crop = node.attribute("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize"
    if x.dtype not in FLOATS and node.attribute("mode", "nearest") != "nearest":
        out = graph.cast(out, "f32")
    repeated = {axis.axis: times for axis in axes if (times := _times(node, axis)) > 1}
    repeated = dict(list(repeated.items())[:_MOST_DIMS - x.rank])  # each is a dim more
    if repeated:
        out = _repeated(node, out, x.shape, repeated)
    for axis in axes:
        if axis.axis in repeated:
            continue
        if not crop and node.extents.equal(axis.size, axis.out) and axis.scale == 1.0:
            continue
        place = axis.coordinates()
        out = _resized(node, out, axis, place, x.rank)
        if crop:
            wrong = graph.reshape(axis.outside(place), [axis.out] + [1] * (x.rank - 1 - axis.axis))
            outside = wrong if outside is None else graph.or_(outside, wrong)
    out = out if outside is None else graph.select(outside, node.attribute("extrapolation_value", 0.0), out)
    return out if out.dtype == x.dtype else graph.cast(out, x.dtype)


def _scaled(node, extent, scale):
    """floor(extent * scale)."""
    if not isinstance(scale, float):
        graph = node.graph
        size = graph.cast(extent_value(node, extent), "f64")
        return node.extents.bind(graph.cast(graph.floor(graph.mul(size, scale)), "i64"))
    if isinstance(extent, int):
        return math.floor(extent * scale)
    ratio = fractions.Fraction(scale).limit_denominator(1000)
    return node.extents.floordiv(node.extents.mul(extent, ratio.numerator), ratio.denominator)


def _sizes(node, x, axes, sizes):
    """(sizes, scales) with the aspect ratio kept where the node asks for it."""
    graph, policy = node.graph, node.attribute("keep_aspect_ratio_policy", "stretch")
    dims = [x.shape[axis] for axis in axes]
    scales = [size / dim if isinstance(size, int) and isinstance(dim, int) else
              graph.div(graph.cast(extent_value(node, size), "f64"), graph.cast(extent_value(node, dim), "f64"))
              for size, dim in zip(sizes, dims)]
    if policy == "stretch":
        return sizes, scales
    if all(isinstance(scale, float) for scale in scales):
        scale = (min if policy == "not_larger" else max)(scales)
        return [_rounded(node, dim, scale) for dim in dims], [scale] * len(dims)
    combine = graph.min if policy == "not_larger" else graph.max
    scale = functools.reduce(combine, (graph.scalar(scale, "f64") if isinstance(scale, float) else scale
                                       for scale in scales))
    return [_rounded(node, dim, scale) for dim in dims], [scale] * len(dims)


def _rounded(node, extent, scale):
    """extent * scale to the nearest integer."""
    if isinstance(extent, int) and isinstance(scale, float):
        return math.floor(extent * scale + 0.5)
    graph = node.graph
    size = graph.mul(graph.cast(extent_value(node, extent), "f64"), scale)
    return node.extents.bind(graph.cast(graph.floor(graph.add(size, 0.5)), "i64"))


@operator("Resize", since=11)
def _resize(node, x, roi=None, scales=None, sizes=None):
    axes = [node.axis(axis, x.rank) for axis in node.attribute("axes", range(x.rank))]
    if sizes is not None and sizes.shape != (0,):
        outs, factors = _sizes(node, x, axes, node.dims(sizes, "the sizes"))
    else:
        factors = _floats(node, scales, "the scales", len(axes))
        outs = [_scaled(node, x.shape[axis], factor) for axis, factor in zip(axes, factors)]
    boxes = [(0.0, 1.0)] * len(axes)
    if node.attribute("coordinate_transformation_mode") == "tf_crop_and_resize":
        box = _floats(node, roi, "the region", 2 * len(axes))
        boxes = list(zip(box[:len(axes)], box[len(axes):]))
    return _apply(node, x, [Axis(node, axis, x.shape[axis], out, factor, box)
                            for axis, out, factor, box in zip(axes, outs, factors, boxes)])


@operator("Upsample", since=9)
def _upsample(node, x, scales):
    factors = _floats(node, scales, "the scales", x.rank)
    node = node.as_if(coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    return _apply(node, x, [Axis(node, axis, x.shape[axis], _scaled(node, x.shape[axis], factor), factor, None)
                            for axis, factor in enumerate(factors)])


def _floats(node, tensor, what, count):
    """`count` numbers: floats, or f64 values of rank 0 where data gives them."""
    if tensor is None:
        node.fail(f"{what} are missing")
    if node.extents.equal(tensor.shape[0], count) is False:
        node.fail(f"{what} have {tensor.shape[0]} entries, not {count}")
    if tensor.array is not None:
        return [float(value) for value in tensor.array.reshape(-1)]
    graph = node.graph
    return [graph.cast(graph.reshape(graph.slice(tensor.value, [i], [1]), []), "f64") for i in range(count)]


@operator("GridSample")
def _grid_sample(node, x, grid):
    """x [N, C, D...] read at the places that grid [N, E..., rank] gives, last axis first."""
    graph, extents = node.graph, node.extents
    spatial, out_dims = x.shape[2:], grid.shape[1:-1]
    mode = node.attribute("mode", "linear").removeprefix("bi")
    places = []
    for i, size in enumerate(spatial):
        column = len(spatial) - 1 - i
        part = graph.slice(grid.value, [0] * (grid.rank - 1) + [column], [*grid.shape[:-1], 1])
        places.append(_denormalized(node, graph.reshape(part, grid.shape[:-1]), size))
    last = graph.transpose(x.value, [0, *range(2, x.rank), 1])
    if mode == "nearest":
        out = _sample(node, last, x.shape, [(graph.round(place), None) for place in places], out_dims)
    else:
        kernel, support = (cubic, 2) if mode == "cubic" else (_linear, 1)
        out = None
        for offsets in itertools.product(range(1 - support, 1 + support), repeat=len(spatial)):
            taps = []
            for place, offset in zip(places, offsets):
                index = graph.add(graph.floor(place), float(offset))
                taps.append((index, kernel(graph, graph.sub(index, place), -0.75)))
            part = _sample(node, last, x.shape, taps, out_dims)
            out = part if out is None else graph.add(out, part)
    return graph.transpose(out, [0, x.rank - 1, *range(1, x.rank - 1)])


def _denormalized(node, place, size):
    """[-1, 1] as a place on an axis; what lies outside is reflected or clamped by the padding mode."""
    graph, corners = node.graph, node.attribute("align_corners", 0)
    extent = graph.cast(extent_value(node, size), place.dtype)
    if corners:
        place = graph.mul(graph.add(place, 1.0), graph.mul(graph.sub(extent, 1.0), 0.5))
    else:
        place = graph.mul(graph.sub(graph.mul(graph.add(place, 1.0), extent), 1.0), 0.5)
    return place


def _reflected(node, index, size):
    """An index beyond the border mirrored back, as often as it takes."""
    graph = node.graph
    extent = graph.cast(extent_value(node, size), index.dtype)
    low, span = (0.0, graph.sub(extent, 1.0)) if node.attribute("align_corners", 0) else (-0.5, extent)
    span = graph.max(span, 1e-30)
    distance = graph.abs(graph.sub(index, low))
    flips = graph.floor(graph.div(distance, span))
    rest = graph.sub(distance, graph.mul(flips, span))
    odd = graph.ne(graph.sub(flips, graph.mul(graph.floor(graph.mul(flips, 0.5)), 2.0)), 0.0)
    return graph.add(graph.select(odd, graph.sub(span, rest), rest), low)


def _sample(node, last, shape, taps, out_dims):
    """x (channels last) at one index for each spatial dim, times the weights: [N, E..., C]."""
    graph, mode = node.graph, node.attribute("padding_mode", "zeros")
    dims = [shape[0], *out_dims]
    indices, weight, inside = [position(node, dims, 0)], None, None
    for (index, factor), size in zip(taps, shape[2:]):
        top = graph.cast(extent_value(node, node.extents.sub(size, 1)), index.dtype)
        if mode == "reflection":
            index = _reflected(node, index, size)
        held = graph.max(graph.min(index, top), 0.0)
        if mode == "zeros":
            hit = graph.eq(held, index)
            inside = hit if inside is None else graph.and_(inside, hit)
        indices.append(graph.cast(held, "i64"))
        if factor is not None:
            weight = factor if weight is None else graph.mul(weight, factor)
    values = flat_gather(node, last, [shape[0], *shape[2:], shape[1]], indices, dims)
    if weight is not None:
        values = graph.mul(values, graph.cast(graph.reshape(weight, [*dims, 1]), values.dtype))
    return values if inside is None else graph.select(graph.reshape(inside, [*dims, 1]), values, 0.0)
