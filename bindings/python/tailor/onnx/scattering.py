"""Operators that write where other tensors say."""
from .indexing import as_index, extent_value, position
from .registry import operator

_COMBINERS = {"none": "set", "add": "add", "mul": "mul", "max": "max", "min": "min"}


def _combiner(node):
    reduction = node.attribute("reduction", "none")
    if reduction not in _COMBINERS:
        node.fail(f'unknown reduction "{reduction}"')
    return _COMBINERS[reduction]


def _places(node, indices, shape):
    """One index for each dim (broadcast to `shape`), side by side: [shape..., count]."""
    graph = node.graph
    columns = [graph.reshape(graph.broadcast(index, shape), [*shape, 1]) for index in indices]
    return columns[0] if len(columns) == 1 else graph.concat(columns, len(shape))


@operator("ScatterElements", "Scatter")
def _scatter_elements(node, x, indices, updates):
    axis = node.axis(node.attribute("axis", 0), x.rank)
    if not indices.rank == updates.rank == x.rank:
        node.fail(f"indices have rank {indices.rank}, updates {updates.rank}, the data {x.rank}")
    index = node.graph.cast(indices.value, "i64")
    every = [index if i == axis else position(node, indices.shape, i) for i in range(x.rank)]
    return node.graph.scatter(x.value, _places(node, every, indices.shape), updates.value, _combiner(node))


@operator("ScatterND")
def _scatter_nd(node, x, indices, updates):
    if indices.rank and not isinstance(indices.shape[-1], int):
        node.unsupported("indices of a dynamic number of entries")
    return node.graph.scatter(x.value, as_index(node, indices), updates.value, _combiner(node))


@operator("TensorScatter")
def _tensor_scatter(node, cache, update, start=None):
    """update written into the cache along one axis, from each batch's own start on."""
    graph, axis, mode = node.graph, node.axis(node.attribute("axis", -2), cache.rank), node.attribute("mode", "linear")
    if axis == 0 or update.rank != cache.rank:
        node.fail(f"axis {axis}, ranks {cache.rank} and {update.rank}")
    if mode not in ("linear", "circular"):
        node.fail(f'unknown mode "{mode}"')
    dims = list(update.shape[:axis + 1])
    step = position(node, dims, axis)
    if start is not None:
        first = graph.reshape(graph.cast(start.value, "i64"), [start.shape[0]] + [1] * axis)
        step = graph.add(first, step)
    if mode == "circular":
        step = graph.mod(step, extent_value(node, cache.shape[axis]))
    every = [position(node, dims, i) for i in range(axis)] + [step]
    return graph.scatter(cache.value, _places(node, every, dims), update.value, "set")


@operator("MaxUnpool")
def _max_unpool(node, x, indices, wanted=None):
    """Zeros, but x where its pool found it; a wanted shape adds more zeros behind each dim."""
    graph, extents = node.graph, node.extents
    kernel = node.attribute("kernel_shape")
    rank = len(kernel)
    strides, pads = node.attribute("strides", [1] * rank), node.attribute("pads", [0] * 2 * rank)
    if not x.rank - 2 == rank == len(strides) == len(pads) // 2:
        node.fail(f"{x.rank - 2} spatial dims, but a window of {kernel}")
    shape = list(x.shape[:2])
    for i, (extent, k, stride) in enumerate(zip(x.shape[2:], kernel, strides)):
        steps = extents.mul(extents.sub(extent, 1), stride)
        shape.append(extents.add(steps, k - pads[i] - pads[i + rank]))
    zero = graph.scalar(0, x.dtype)
    flat = graph.broadcast(zero, [extents.product(shape)])
    count = extents.product(x.shape)
    places = graph.reshape(graph.cast(indices.value, "i64"), [count, 1])
    out = graph.reshape(graph.scatter(flat, places, graph.reshape(x.value, [count]), "set"), shape)
    if wanted is None:
        return out
    sizes = node.dims(wanted, "the output's shape")
    if len(sizes) != x.rank:
        node.fail(f"an output's shape of {len(sizes)} extents for rank {x.rank}")
    return graph.pad(out, zero, [0] * x.rank, [extents.sub(size, extent) for size, extent in zip(sizes, shape)])


@operator("Col2Im")
def _col2im(node, x, image, block):
    """Each tap of each window added to its own place in the padded planes, whose padding is cut off."""
    graph, extents = node.graph, node.extents
    kernel, sizes = node.dims(block, "the block"), node.dims(image, "the image's shape")
    rank = len(kernel)
    strides, dilations = node.attribute("strides", [1] * rank), node.attribute("dilations", [1] * rank)
    pads = node.attribute("pads", [0] * 2 * rank)
    padded = [extents.add(size, pads[i] + pads[i + rank]) for i, size in enumerate(sizes)]
    spans = [extents.add(extents.mul(extents.sub(k, 1), d), 1) for k, d in zip(kernel, dilations)]
    counts = [extents.add(extents.floordiv(extents.sub(size, span), stride), 1)
              for size, span, stride in zip(padded, spans, strides)]
    place = None  # in a flat plane, [kernel..., counts...]
    for i in range(rank):
        tap = graph.mul(graph.iota([kernel[i]] + [1] * (2 * rank - 1 - i), 0, "i64"), dilations[i])
        start = graph.mul(graph.iota([counts[i]] + [1] * (rank - 1 - i), 0, "i64"), strides[i])
        index = graph.add(tap, start)
        place = index if place is None else graph.add(graph.mul(place, extent_value(node, padded[i])), index)
    taps, positions = extents.product(kernel), extents.product(counts)
    updates, plane = extents.mul(taps, positions), extents.product(padded)
    batch, channels = x.shape[0], extents.floordiv(x.shape[1], taps)
    planes = extents.mul(batch, channels)
    columns = graph.transpose(graph.reshape(x.value, [planes, updates]), [1, 0])
    places = graph.reshape(graph.broadcast(place, [*kernel, *counts]), [updates, 1])
    zeros = graph.broadcast(graph.scalar(0, x.dtype), [plane, planes])
    total = graph.transpose(graph.scatter(zeros, places, columns, "add"), [1, 0])
    return graph.slice(graph.reshape(total, [batch, channels, *padded]), [0, 0, *pads[:rank]],
                       [batch, channels, *sizes])
