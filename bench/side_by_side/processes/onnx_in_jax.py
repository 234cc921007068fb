"""An ONNX graph as a function to trace by jax.jit, for the ops of row "papers".

Values are numpy arrays where they are known when the function is traced: weights, shapes, and all that is computed of them.
No maintained package does this: jaxonnxruntime, the only one on PyPI, is of 2023 and lacks LSTM, GRU, LayerNormalization,
GatherND, Resize and more.
"""
import functools

import jax
import numpy
import onnx
from jax import lax
from jax import numpy as jnp

OPSET = 18


class Graph:
    def __init__(self, model):
        self._outputs = [output.name for output in model.graph.output]
        self._known = {each.name: onnx.numpy_helper.to_array(each) for each in model.graph.initializer}
        self._nodes = []
        for node in map(Node, model.graph.node):
            if all(name in self._known for name in node.operands):
                self._known.update(node.results(self._known))
            else:
                self._nodes.append(node)

    def __call__(self, inputs):
        values = {**self._known, **inputs}
        for node in self._nodes:
            values.update(node.results(values))
        return [values[name] for name in self._outputs]


class Node:
    """A node with its function of OPS and the attributes that are not at their defaults."""

    def __init__(self, proto):
        self._name, self._inputs, self._outputs = f"{proto.op_type} {proto.name}", list(proto.input), list(proto.output)
        if proto.op_type not in OPS:
            raise NotImplementedError(f"{proto.op_type} is not in OPS of onnx_in_jax.py")
        declared = onnx.defs.get_schema(proto.op_type, OPSET).attributes
        self._function = functools.partial(OPS[proto.op_type], **{
            each.name: value_of(each) for each in proto.attribute
            if each.name not in declared or value_of(declared[each.name].default_value) != value_of(each)})

    @property
    def operands(self):
        return [name for name in self._inputs if name]

    def results(self, values):
        """{name: result}. numpy computes on known operands, jax.numpy on others."""
        operands = [values[name] if name else None for name in self._inputs]
        xp = numpy if all(each is None or isinstance(each, numpy.ndarray) for each in operands) else jnp
        try:
            with numpy.errstate(all="ignore"):  # relative positions take the log of 0 and choose another
                results = self._function(xp, *operands)
        except TypeError as error:  # an attribute that the function lacks, or a shape that is not known
            raise NotImplementedError(f"{self._name}: {error}") from error
        results = results if isinstance(results, (list, tuple)) else [results]
        return {name: each if isinstance(each, jax.core.Tracer) else numpy.asarray(each)
                for name, each in zip(self._outputs, results)}


def value_of(attribute):
    if attribute.type == onnx.AttributeProto.UNDEFINED:
        return None
    value = onnx.helper.get_attribute_value(attribute)
    return value.decode() if isinstance(value, bytes) else value


# ---- Shapes -----------------------------------------------------------------------------------------

def constant(xp, value=None, value_ints=None):
    del xp
    return onnx.numpy_helper.to_array(value) if value is not None else numpy.array(value_ints, numpy.int64)


def expand(xp, x, shape):
    return xp.broadcast_to(x, numpy.broadcast_shapes(x.shape, tuple(shape)))


def gather(xp, x, indices, axis=0):
    return xp.take(x, xp.where(indices < 0, indices + x.shape[axis], indices), axis, mode="clip")


def gather_nd(xp, x, indices):
    return x[tuple(xp.moveaxis(indices, -1, 0))]


def pad(xp, x, pads, value=None, axes=None):
    widths = numpy.zeros((x.ndim, 2), int)
    widths[slice(None) if axes is None else axes] = numpy.asarray(pads).reshape(2, -1).T
    return xp.pad(x, widths.tolist(), constant_values=0 if value is None else value)


def reshape(xp, x, shape, allowzero=0):
    return xp.reshape(x, [size or (0 if allowzero else x.shape[i]) for i, size in enumerate(shape.tolist())])


def slice_(xp, x, starts, ends, axes=None, steps=None):
    del xp
    cuts = [slice(None)] * x.ndim
    for i, axis in enumerate(range(len(starts)) if axes is None else axes):
        cuts[axis] = slice(int(starts[i]), int(ends[i]), 1 if steps is None else int(steps[i]))
    return x[tuple(cuts)]


def split(xp, x, sizes=None, axis=0, num_outputs=None):
    if sizes is None:
        size = -(-x.shape[axis] // num_outputs)
        return xp.split(x, list(range(size, x.shape[axis], size)), axis)
    return xp.split(x, numpy.cumsum(sizes)[:-1].tolist(), axis)


def cubic_weights(size, result, a):
    """[result, size]: what each element of an axis adds to each of the resized axis."""
    at = (numpy.arange(result) + 0.5) * size / result - 0.5
    weights = numpy.zeros((result, size), numpy.float32)
    for step in range(-1, 3):
        neighbour = numpy.floor(at) + step
        d = abs(at - neighbour)
        near, far = (a + 2) * d**3 - (a + 3) * d**2 + 1, a * (d**3 - 5 * d**2 + 8 * d - 4)
        numpy.add.at(weights, (range(result), neighbour.clip(0, size - 1).astype(int)), numpy.where(d <= 1, near, far))
    return weights


def resize(xp, x, roi, scales, sizes, mode="nearest", cubic_coeff_a=-0.75, nearest_mode=None):
    del xp, roi, scales, nearest_mode
    if mode != "cubic":
        raise TypeError(f"mode {mode}")
    for axis, size in enumerate(sizes.tolist()):
        if size != x.shape[axis]:
            x = jnp.moveaxis(jnp.tensordot(x, cubic_weights(x.shape[axis], size, cubic_coeff_a), (axis, 1)), -1, axis)
    return x


# ---- Arithmetic -------------------------------------------------------------------------------------

def elementwise(name):
    return lambda xp, *operands: getattr(xp, name)(*operands)


def reduced(name):
    return lambda xp, *operands: functools.reduce(getattr(xp, name), operands)


def divide(xp, a, b):
    return a / b if a.dtype.kind == "f" else xp.trunc(a / b).astype(a.dtype)


def reduction(name):
    return lambda xp, x, axes=None, keepdims=1: getattr(xp, name)(
        x, axis=None if axes is None else tuple(axes.tolist()), keepdims=bool(keepdims))


def layer_norm(xp, x, scale, shift=None, axis=-1, epsilon=1e-5):
    axes = tuple(range(axis % x.ndim, x.ndim))
    centred = x - xp.mean(x, axes, keepdims=True)
    scaled = centred * lax.rsqrt(xp.mean(centred * centred, axes, keepdims=True) + epsilon) * scale
    return scaled if shift is None else scaled + shift


def gemm(xp, a, b, c=None, alpha=1.0, beta=1.0, transA=0, transB=0):  # noqa: N803 - as ONNX names them
    product = alpha * xp.matmul(a.T if transA else a, b.T if transB else b)
    return product if c is None else product + beta * c


def window_pads(pads, rank):
    return list(zip(pads[:rank], pads[rank:])) if pads else [(0, 0)] * rank


def conv(xp, x, weights, bias=None, kernel_shape=None, strides=None, pads=None, dilations=None, group=1):
    del xp, kernel_shape
    rank = x.ndim - 2
    y = lax.conv_general_dilated(x, weights, strides or [1] * rank, window_pads(pads, rank), rhs_dilation=dilations,
                                 feature_group_count=group)
    return y if bias is None else y + bias.reshape(-1, *[1] * rank)


def max_pool(xp, x, kernel_shape, strides=None, pads=None, dilations=None):
    del xp
    rank = x.ndim - 2
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, *kernel_shape), (1, 1, *(strides or [1] * rank)),
                             [(0, 0), (0, 0), *window_pads(pads, rank)], window_dilation=dilations and (1, 1, *dilations))


def recurrent(step, gates):
    """A function of an ONNX node whose `step(projected, hidden, recurrent weights, their bias) -> hidden` scans a sequence;
    `hidden` is one array, or more, of which the first is a result."""
    def layer(xp, x, weights, recurrences, bias, lengths=None, *initial, hidden_size, direction="forward", **attributes):
        del xp
        if lengths is not None or direction == "reverse":
            raise TypeError(f"lengths or direction {direction}")
        width = gates * hidden_size
        ways = [scan(functools.partial(step, weights=recurrences[way].T, bias=bias[way, width:], **attributes),
                     tuple(each[way] for each in initial), x @ weights[way].T + bias[way, :width], backward=way == 1)
                for way in range(len(weights))]
        return jnp.stack([steps for _, steps in ways], 1), *(jnp.stack(states) for states in zip(*(ends for ends, _ in ways)))
    return layer


def scan(step, initial, projected, backward):
    """The states after the last step, and the first state of all steps."""
    def body(state, part):
        state = step(part, state)
        return state, state[0]
    return lax.scan(body, initial, projected, reverse=backward)


def lstm_step(projected, state, weights, bias):
    hidden, cell = state
    i, o, f, c = jnp.split(projected + hidden @ weights + bias, 4, -1)
    cell = jax.nn.sigmoid(f) * cell + jax.nn.sigmoid(i) * jnp.tanh(c)
    return jax.nn.sigmoid(o) * jnp.tanh(cell), cell


def gru_step(projected, state, weights, bias, linear_before_reset=0):
    if not linear_before_reset:
        raise TypeError("linear_before_reset is 0")
    hidden, = state
    (z, r, h), (own_z, own_r, own_h) = jnp.split(projected, 3, -1), jnp.split(hidden @ weights + bias, 3, -1)
    z = jax.nn.sigmoid(z + own_z)
    return (1 - z) * jnp.tanh(h + jax.nn.sigmoid(r + own_r) * own_h) + z * hidden,


# {op: function of numpy or jax.numpy, of the operands, None for those left out, and of attributes by name}
OPS = {
    "Abs": elementwise("abs"),
    "Add": elementwise("add"),
    "And": elementwise("logical_and"),
    "Cast": lambda xp, x, to: x.astype(onnx.helper.tensor_dtype_to_np_dtype(to)),
    "Concat": lambda xp, *parts, axis: xp.concatenate(parts, axis),
    "Constant": constant,
    "Conv": conv,
    "Div": divide,
    "Erf": lambda xp, x: lax.erf(x),
    "Expand": expand,
    "GRU": recurrent(gru_step, 3),
    "Gather": gather,
    "GatherElements": lambda xp, x, indices, axis=0: xp.take_along_axis(x, indices, axis),
    "GatherND": gather_nd,
    "Gemm": gemm,
    "Greater": elementwise("greater"),
    "GreaterOrEqual": elementwise("greater_equal"),
    "IsNaN": elementwise("isnan"),
    "LSTM": recurrent(lstm_step, 4),
    "LayerNormalization": layer_norm,
    "Less": elementwise("less"),
    "LessOrEqual": elementwise("less_equal"),
    "Log": elementwise("log"),
    "LogSoftmax": lambda xp, x, axis=-1: jax.nn.log_softmax(x, axis),
    "MatMul": elementwise("matmul"),
    "Max": reduced("maximum"),
    "MaxPool": max_pool,
    "Min": reduced("minimum"),
    "Mul": elementwise("multiply"),
    "Neg": elementwise("negative"),
    "Pad": pad,
    "Pow": lambda xp, x, exponent: xp.power(x, exponent).astype(x.dtype),
    "Range": lambda xp, start, limit, delta: numpy.arange(start.item(), limit.item(), delta.item(), start.dtype),
    "Reciprocal": lambda xp, x: 1 / x,
    "ReduceMean": reduction("mean"),
    "ReduceSum": reduction("sum"),
    "Relu": lambda xp, x: xp.maximum(x, 0),
    "Reshape": reshape,
    "Resize": resize,
    "Shape": lambda xp, x, start=0, end=None: numpy.array(x.shape[start:end], numpy.int64),
    "Sigmoid": lambda xp, x: jax.nn.sigmoid(x),
    "Slice": slice_,
    "Softmax": lambda xp, x, axis=-1: jax.nn.softmax(x, axis),
    "Split": split,
    "Sqrt": elementwise("sqrt"),
    "Squeeze": lambda xp, x, axes=None: xp.squeeze(x, None if axes is None else tuple(axes.tolist())),
    "Sub": elementwise("subtract"),
    "Tanh": elementwise("tanh"),
    "Transpose": lambda xp, x, perm=None: xp.transpose(x, perm),
    "Unsqueeze": lambda xp, x, axes: xp.expand_dims(x, tuple(axes.tolist())),
    "Where": elementwise("where"),
}
