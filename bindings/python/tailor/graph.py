"""Building and compiling graphs. Needs libtailor.so; it is loaded with the first Graph."""
import ctypes
import itertools
import json
import numbers
from ctypes import byref, c_char_p, c_int32, c_uint64, sizeof

import numpy

from . import _convert, _handles, _library
from ._convert import i64
from ._integers import checked
from ._library import check
from ._ops import GraphOps, ValueOps
from .dims import Dim, Expression, GraphDim, Symbol
from .layers import Layers
from .runtime import Executable

# Arrays that graphs borrow, by number, until the library releases them.
_borrowed = _handles.immortal({})
_numbers = itertools.count(1)


@_handles.immortal
@_library.ReleaseFn
def _give_back(number):
    _borrowed.pop(number, None)


def modules_emitted():
    """LLVM modules emitted by this process."""
    return _library.compiler().tailor_compiler_modules_emitted()


class Value(ValueOps):
    """A tensor of a graph. Operators follow numpy; the other operand may be a number or an array.

    == and != compare Value objects; use eq() and ne() for elements. A value has no truth value: its elements are known
    only when the graph runs."""

    def __init__(self, graph, handle):
        self.graph, self.handle = graph, handle

    def __bool__(self):
        raise TypeError(f"{self!r} is true or false when the graph runs, not while it is built: choose elements by "
                        "graph.select(condition, a, b), what is computed by graph.if_ or graph.while_; logic of "
                        "elements is & | ^ ~")

    def _type(self):
        dtype, rank, dims = c_int32(), c_int32(), (c_uint64 * _library.MAX_RANK)()
        check(self.graph._library.tailor_graph_value_type(self.graph._handle, self.handle, byref(dtype), byref(rank),
                                                          dims))
        return dtype.value, dims[:rank.value]

    @property
    def dtype(self):
        """"f32" and the like."""
        return _convert.dtype_name(self._type()[0])

    @property
    def shape(self):
        """The dims; they may be used in any shape of the same graph."""
        return tuple(GraphDim(self.graph, dim) for dim in self._type()[1])

    def named(self, name):
        """Names the value, for messages, dumps and traces; returns it."""
        check(self.graph._library.tailor_graph_set_name(self.graph._handle, self.handle, *_convert.utf8(name)))
        return self

    def __repr__(self):
        return f"<tailor.Value {self.dtype}[{', '.join(map(repr, self.shape))}]>"

    def softmax(self, axis=-1):
        return self.graph.softmax(self, axis)

    def log_softmax(self, axis=-1):
        return self.graph.log_softmax(self, axis)

    def layer_norm(self, scale=None, bias=None, epsilon=1e-5):
        return self.graph.layer_norm(self, scale, bias, epsilon)

    def gelu(self):
        return self.graph.gelu(self)

    def gelu_tanh(self):
        return self.graph.gelu_tanh(self)

    def l2_normalize(self, axis=-1, epsilon=1e-12):
        return self.graph.l2_normalize(self, axis, epsilon)

    def conv(self, weights, bias=None, **options):
        return self.graph.conv(self, weights, bias, **options)

    def max_pool(self, sizes, **options):
        return self.graph.max_pool(self, sizes, **options)

    def average_pool(self, sizes, **options):
        return self.graph.average_pool(self, sizes, **options)

    __array_ufunc__ = None  # numpy leaves `array + value` to us

    def __neg__(self):
        return self.neg()

    def __abs__(self):
        return self.abs()

    def __invert__(self):
        return self.not_()


def _binary(name, method):
    def forward(self, other):
        return getattr(self.graph, method)(self, other)

    def reverse(self, other):
        return getattr(self.graph, method)(other, self)

    setattr(Value, f"__{name}__", forward)
    if name not in ("lt", "le", "gt", "ge"):
        setattr(Value, f"__r{name}__", reverse)


for _name, _method in {"add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "pow": "pow", "matmul": "dot",
                       "mod": "mod", "lshift": "shift_left", "rshift": "shift_right", "and": "and_", "or": "or_", "xor": "xor", "lt": "lt", "le": "le", "gt": "gt",
                       "ge": "ge"}.items():
    _binary(_name, _method)


class Graph(GraphOps, Layers):
    """A tensor graph over symbolic shapes. One call at a time may change it; another raises Error."""

    def __init__(self, name="main"):
        self._create("tailor_graph_create", name)

    @classmethod
    def parse(cls, text):
        """A graph from its canonical text. Constants whose bytes the text leaves out are zeros."""
        graph = cls.__new__(cls)
        graph._create("tailor_graph_parse", text)
        return graph

    @classmethod
    def of_handle(cls, handle):
        """The graph of a _handles.Handle that a front end's library made; it is released with the graph."""
        graph = cls.__new__(cls)
        graph._own(handle)
        return graph

    def input(self, name, dtype, shape):
        """Adds an input. `shape` has dims, integers, and names of symbols with default options."""
        dims, rank = self._dims(shape)
        return self._new("tailor_graph_input", *_convert.utf8(name), _convert.dtype_code(dtype), dims, rank)

    def output(self, name, value):
        """Makes `value` an output."""
        handle, = self._values(value)
        check(self._library.tailor_graph_output(self._handle, *_convert.utf8(name), handle))

    def constant(self, array, name="", dtype=None):
        """Adds a constant over the array's memory, which must not change; arrays that are not dense are copied.

        dtype "bf16" takes a uint16 array as bits."""
        array = numpy.asarray(array)
        code = _convert.array_code(array, dtype and _convert.dtype_code(dtype))
        array = numpy.require(array, requirements=["C", "A"])
        number = next(_numbers)
        _borrowed[number] = array
        dims, rank = _convert.i64s(array.shape, "shape")
        out = c_uint64()
        check(self._awaited.tailor_graph_constant(self._handle, *_convert.utf8(name), code, dims, rank,
                                                  array.__array_interface__["data"][0], array.nbytes, _give_back,
                                                  number, byref(out)))
        return self._value(out.value)

    def scalar(self, value, dtype):
        """Adds a constant of no dims, rounded to `dtype`."""
        return self._new("tailor_graph_scalar", _convert.dtype_code(dtype), value)

    def assume_equal(self, lhs, rhs):
        """States that two dims are equal: compilation uses it, every run checks it."""
        check(self._library.tailor_graph_assume_equal(self._handle, self._dim(lhs), self._dim(rhs)))

    def assume_at_least(self, lhs, rhs, what=""):
        """States that dim lhs >= dim rhs: compilation uses it, every run checks it.

        what: the reason, for messages: "{what}: height + 2 is 2, but must be at least 3".
        """
        check(self._library.tailor_graph_assume_at_least(self._handle, self._dim(lhs), self._dim(rhs),
                                                         *_convert.utf8(what)))

    def softmax(self, x, axis=-1):
        """e^x / sum(e^x) along `axis`."""
        return self._append("tailor_graph_softmax", *self._values(x), i64(axis, "axis"))

    def log_softmax(self, x, axis=-1):
        """The logarithm of softmax."""
        return self._append("tailor_graph_log_softmax", *self._values(x), i64(axis, "axis"))

    def layer_norm(self, x, scale=None, bias=None, epsilon=1e-5):
        """(x - mean) / sqrt(variance + epsilon) * scale + bias over the last axis."""
        handles = [*self._values(x), self._optional(scale), self._optional(bias)]
        return self._append("tailor_graph_layer_norm", *handles, epsilon)

    def gelu(self, x):
        """x / 2 * (1 + erf(x / sqrt(2)))."""
        return self._append("tailor_graph_gelu", *self._values(x))

    def gelu_tanh(self, x):
        """The tanh approximation of gelu."""
        return self._append("tailor_graph_gelu_tanh", *self._values(x))

    def l2_normalize(self, x, axis=-1, epsilon=1e-12):
        """x / max(||x||, epsilon) along `axis`."""
        return self._append("tailor_graph_l2_normalize", *self._values(x), i64(axis, "axis"), epsilon)

    def attention(self, query, key, value, mask=None, scale=0.0):
        """softmax(query key^T * scale + mask) value; scale 0 means 1 / sqrt(the last dim size of query)."""
        handles = [*self._values(query, key, value), self._optional(mask)]
        return self._append("tailor_graph_attention", *handles, scale)

    def conv(self, x, weights, bias=None, *, strides=(), dilations=(), pads=(), groups=1):
        """The convolution of x [N, C, D...] with weights [M, C / groups, K...]; bias is [M]. Any number of spatial dims.

        pads: for each spatial dim (before, after), or one number for both."""
        options = self._spatial(len(weights.shape) - 2, strides, dilations, pads)
        handles = [*self._values(x, weights), self._optional(bias)]
        return self._append("tailor_graph_conv", *handles, i64(groups, "groups"), byref(options))

    def max_pool(self, x, sizes, *, strides=(), dilations=(), pads=()):
        """The largest element of each window of `sizes` over the spatial dims of x [N, C, D...]."""
        options = self._spatial(len(sizes), strides, dilations, pads)
        return self._append("tailor_graph_max_pool", *self._values(x), *self._dims(sizes, "sizes"), byref(options))

    def average_pool(self, x, sizes, *, strides=(), dilations=(), pads=(), count_include_pad=False):
        """The mean of each window of `sizes` over the spatial dims of x [N, C, D...]."""
        options = self._spatial(len(sizes), strides, dilations, pads)
        return self._append("tailor_graph_average_pool", *self._values(x), *self._dims(sizes, "sizes"),
                            int(bool(count_include_pad)),
                            byref(options))

    def while_(self, values, condition, body, shapes=()):
        """The values after running `body` on them as long as `condition` of them is true: a list.

        condition, body: graphs (values -> one bool[], values -> values) with symbols of their own, bound from the dim
            sizes of their inputs; they are copied.
        shapes: the dim sizes of all results, one after the other; needed if the body changes dim sizes, which are then
            new symbols. () infers them."""
        results = (c_uint64 * len(values))()
        check(self._library.tailor_graph_while(self._handle, *self._handles(values), condition._handle, body._handle,
                                               *self._dims(shapes, "shapes"), results))
        return [Value(self, result) for result in results]

    def if_(self, condition, values, then_branch, else_branch, shapes=()):
        """The results of the branch that `condition`, a bool[], chooses: a list. Branches are graphs as for while_."""
        results = (c_uint64 * self._library.tailor_graph_output_count(then_branch._handle))()
        check(self._library.tailor_graph_if(self._handle, *self._values(condition), *self._handles(values),
                                            then_branch._handle, else_branch._handle, *self._dims(shapes, "shapes"), results,
                                            len(results)))
        return [Value(self, result) for result in results]

    def custom(self, name, operands, results, *, attributes="", impure=False):
        """A call of a custom operator, which Runtime.register makes known at run time: a list of its results.

        results: for each result (dtype, shape) or (dtype, shape, counted_dim). The size of a counted dim is a bound: the
            operator tells how much of it is used, and the result here has that size, a new symbol.
        attributes: text for the operator, or a dict, which becomes JSON.
        impure: calls have effects, or results that differ within a run: they are never merged or dropped."""
        if not isinstance(attributes, str):
            attributes = json.dumps(attributes)
        c_results, kept = (_library.CustomResult * len(results))(), []
        for i, (dtype, shape, *counted) in enumerate(results):
            dims, rank = self._dims(shape, f"results[{i}]")
            kept.append(dims)
            counted_dim = checked(counted[0], f"results[{i}]'s counted dim", c_int32) if counted else -1
            c_results[i] = _library.CustomResult(dims, rank, _convert.dtype_code(dtype), counted_dim)
        options = _library.CustomOptions(sizeof(_library.CustomOptions), *_convert.utf8(attributes), bool(impure))
        out = (c_uint64 * len(results))()
        check(self._library.tailor_graph_custom(self._handle, *_convert.utf8(name), *self._handles(operands), c_results,
                                                len(results), byref(options), out))
        return [Value(self, value) for value in out]

    def compile(self, targets=(), *, progress=None, threads=0, secret_key=None, max_versions=None, max_code_bytes=None,
                donated=(), offer_products=False, allow_tf32=False, direct_convolutions=False, memory_limit=0,
                isolated=False, runtime=None, device="cpu"):
        """Compiles for all shapes at once and loads the result.

        targets: "x86-64-v2", "x86-64-v3", "x86-64-v4", each also with more features ("x86-64-v4+avx512bf16"), "host";
            none: the three levels, and those with instructions for bf16 if the graph has matmuls in bf16. GPUs are
            further targets (docs/gpu.md).
        progress: called with (phase, share done): "analyse facts", "fuse stitch", ..., "emit", "done". False or 0 cancels.
        secret_key: 64 bytes (Ed25519) that sign the artifact.
        max_versions, max_code_bytes: bounds on the versions of a kernel (8) and on the code of a target (64 MiB).
        donated: names of inputs whose memory runs may write; memory_of in executable.outputs names the outputs there.
        offer_products: a runtime's matmul provider may compute plain matmuls.
        allow_tf32: on GPUs, operands of matmuls in f32 are rounded to tf32 (docs/gpu.md).
        direct_convolutions: on CPUs, no convolution uses Winograd's algorithm
            (docs/decisions/convolutions-are-windows.md).
        memory_limit: bytes that compiling may take beyond the graph's constants; 0: no limit. Beyond it raises
            RESOURCE_EXHAUSTED: by an estimate, or exactly if isolated.
        isolated: compile in a process of its own, so that exhausted memory and crashes of the compiler are errors, and
            `progress` cancels at once.
        device: "cpu", or "cuda" or "cuda:1" if `targets` has one that runs there ("sm_80", "sm_90", "sm_90a"; "cuda":
            all of them)."""
        with _CompileOptions(targets, progress, threads, secret_key, max_versions, max_code_bytes, donated,
                             offer_products, allow_tf32, direct_convolutions, memory_limit, isolated, device) as options:
            handle = _handles.Handle()
            options.check(self._awaited.tailor_graph_compile(self._handle, runtime and runtime._handle,
                                                             byref(options.c), byref(handle)))
        return Executable(handle, runtime, device)

    def compile_artifact(self, targets=(), *, progress=None, threads=0, secret_key=None, max_versions=None,
                         max_code_bytes=None, donated=(), offer_products=False, allow_tf32=False,
                         direct_convolutions=False, memory_limit=0, isolated=False):
        """Compiles without loading, for other machines too: the artifact's bytes."""
        taken = []
        take = _library.TakeFn(lambda user, data, size: taken.append(ctypes.string_at(data, size)))
        with _CompileOptions(targets, progress, threads, secret_key, max_versions, max_code_bytes, donated,
                             offer_products, allow_tf32, direct_convolutions, memory_limit, isolated, "cpu") as options:
            options.check(self._awaited.tailor_graph_compile_artifact(self._handle, byref(options.c), take, None))
        return taken[0]

    @property
    def text(self):
        """The canonical text."""
        return self._text("tailor_graph_text")

    @property
    def facts(self):
        """The facts known of the shapes, as text."""
        return self._text("tailor_graph_facts_text")

    def dim_text(self, dim):
        return self._text("tailor_dim_text", self._dim(dim))

    def _create(self, function, text):
        handle = _handles.Handle()
        check(getattr(_library.compiler(), function)(*_convert.utf8(text), byref(handle)))
        self._own(handle)

    def _own(self, handle):
        self._library = _library.compiler()
        self._awaited = _handles.Awaited(self._library)  # for what calls back
        self._handle = handle.own(self._library.tailor_graph_release)
        self._symbols = {}

    def _text(self, function, *arguments):
        text = c_char_p()
        check(getattr(self._library, function)(self._handle, *arguments, byref(text)))
        return _library.text(text.value)

    def _new(self, function, *arguments):
        handle = c_uint64()
        check(getattr(self._library, function)(self._handle, *arguments, byref(handle)))
        return self._value(handle.value)

    def _value(self, handle):
        return Value(self, handle)

    _append = _new  # what the generated methods call

    def _optional(self, value):
        return 0 if value is None else self._values(value)[0]

    def _values(self, *values):
        """Handles of the values. Arrays become constants; numbers become scalars of the first value's type."""
        typed = [self.constant(v) if isinstance(v, (numpy.ndarray, numpy.generic)) else v for v in values]
        first = next((v for v in typed if isinstance(v, Value)), None)
        for i, value in enumerate(typed):
            if isinstance(value, numbers.Real) and first is not None:
                typed[i] = self.scalar(value, first.dtype)
            elif not isinstance(value, Value):
                raise TypeError(f"{value!r} is no tailor.Value, array or number beside one")
        return [value.handle for value in typed]

    def _spatial(self, rank, strides, dilations, pads):
        """The options of convolutions and pools; each list is empty or has `rank` entries."""
        for name, given in (("strides", strides), ("dilations", dilations), ("pads", pads)):
            if len(given) not in (0, rank):
                raise ValueError(f"{name} has {len(given)} entries for {rank} spatial dims")
        pairs = [pad if isinstance(pad, (tuple, list)) else (pad, pad) for pad in pads]
        options = _library.SpatialOptions(ctypes.sizeof(_library.SpatialOptions), rank)
        if strides:
            options.strides = _convert.i64s(strides, "strides")[0]
        if dilations:
            options.dilations = _convert.i64s(dilations, "dilations")[0]
        if pairs:
            options.low = self._dims([low for low, _ in pairs], "pads")[0]
            options.high = self._dims([high for _, high in pairs], "pads")[0]
        return options

    def _handles(self, values):
        handles = self._values(*values)
        return (c_uint64 * len(handles))(*handles), len(handles)

    def _dims(self, shape, name="shape"):
        shape = [self._dim(dim, f"{name}[{i}]") for i, dim in enumerate(shape)]
        return (c_uint64 * len(shape))(*shape), len(shape)

    def _dim(self, dim, name="dim"):
        """The handle of a dim, an integer, or the name of a symbol; symbols are declared when first used.

        name: what the caller calls it."""
        out = c_uint64()
        if isinstance(dim, GraphDim):
            return dim.handle
        if isinstance(dim, str):
            dim = self._symbols.get(dim, (Symbol(dim, 0, 2**31 - 1, 1, ()),))[0]
        if isinstance(dim, Symbol):
            known = self._symbols.get(dim.name)
            if known is None or known[0] is not dim:
                self._declare(dim, out)
                self._symbols[dim.name] = dim, out.value
            return self._symbols[dim.name][1]
        if isinstance(dim, Expression):
            function = getattr(self._library, f"tailor_dim_{dim.operation}")
            check(function(self._handle, *(self._dim(each, name) for each in dim.operands), byref(out)))
        elif isinstance(dim, Dim):
            raise TypeError(f"{dim!r} is no dim")
        else:
            check(self._library.tailor_graph_dim(self._handle, i64(dim, name), byref(out)))
        return out.value

    def _declare(self, symbol, out):
        try:
            likely, count = _convert.i64s(symbol.likely, "likely")
            options = _library.SymbolOptions(sizeof(_library.SymbolOptions), symbol.min, symbol.max,
                                             symbol.multiple_of, likely, count)
        except OverflowError as error:
            raise OverflowError(f'symbol "{symbol.name}": {error}') from None
        check(self._library.tailor_graph_symbol(self._handle, *_convert.utf8(symbol.name), byref(options), byref(out)))


class _CompileOptions:
    """The C options of one compilation; an exception in `progress` cancels it and is raised at the end."""

    def __init__(self, targets, progress, threads, secret_key, max_versions, max_code_bytes, donated,
                 offer_products, allow_tf32, direct_convolutions, memory_limit, isolated, device):
        if secret_key is not None and len(secret_key) != 64:
            raise ValueError("secret_key has 64 bytes")
        targets = [targets] if isinstance(targets, str) else list(targets)
        names = (c_char_p * len(targets))(*(target.encode() for target in targets))
        donated = [donated] if isinstance(donated, str) else list(donated)
        inputs = (c_char_p * len(donated))(*(name.encode() for name in donated))
        self._raised = None
        self._progress = progress
        callback = _library.ProgressFn(self._call)
        self.c = _library.CompileOptions(sizeof(_library.CompileOptions), names, len(targets), callback, None, threads,
                                         secret_key, 8 if max_versions is None else max_versions,
                                         1 << 26 if max_code_bytes is None else max_code_bytes, inputs, len(donated),
                                         *_convert.device(device), offer_products,
                                         direct_convolutions, allow_tf32, memory_limit, bool(isolated), None)

    def _call(self, user, phase, done):
        if _handles.ended():
            return 0
        try:
            wanted = None if self._progress is None else self._progress(_library.text(phase), done)
            return 1 if wanted is None or wanted else 0
        except BaseException as raised:
            self._raised = raised
            return 0

    def check(self, status):
        try:
            check(status)
        except Exception:
            if self._raised is not None:
                raise self._raised from None
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.c.progress = _library.ProgressFn()  # breaks the cycle through the callback
