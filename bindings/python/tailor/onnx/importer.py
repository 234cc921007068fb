"""Walks a model's nodes and appends to a graph what they compute."""
import copy
import itertools

import numpy
from onnx import AttributeProto, TensorProto, helper

from .. import _convert
from .. import errors as _errors
from ..dims import GraphDim, names_of, symbol
from ..graph import Graph
from . import constants, dtypes, folding, functions, narrow, precomputing, registry, validation
from .errors import DependsOnData, ModelError, Unsupported
from .extents import Extents
from .missing import MissingOperators
from .tensors import Tensor

MAX_NESTING = 64
# Bodies of loops are imported until the extents that they change are known, which multiplies where they nest.
MAX_REGIONS = 6
MAX_REGION_GRAPHS = 2000


class Node:
    """One ONNX node and what its operator function may ask and make."""

    def __init__(self, importer, proto, opsets, scope, depth):
        self.importer, self.proto, self.opsets, self.scope, self.depth = importer, proto, opsets, scope, depth
        self.domain = "" if proto.domain == "ai.onnx" else proto.domain
        self.opset = opsets.get(self.domain, 0)
        self.graph, self.extents = importer.graph, importer.extents
        self._attributes = {attribute.name: attribute for attribute in proto.attribute}
        self._overrides = {}

    @property
    def label(self):
        name = self.proto.name or next((output for output in self.proto.output if output), "")
        return f'{self.proto.op_type} node "{name}"'

    def attribute(self, name, default=None):
        """An attribute's value; tensors as Tensor, texts as str."""
        if name in self._overrides:
            return self._overrides[name]
        if name not in self._attributes:
            return default
        value = self._attributes[name]
        if value.type == AttributeProto.TENSOR:
            return self.importer.constant(value.t)
        value = helper.get_attribute_value(value)
        return value.decode() if isinstance(value, bytes) else value

    def as_if(self, **attributes):
        """This node with other values for some attributes."""
        node = copy.copy(self)
        node._overrides = {**self._overrides, **attributes}
        return node

    def has(self, name):
        return name in self._attributes

    def fail(self, reason):
        raise ModelError(reason, self.label)

    def unsupported(self, reason):
        raise Unsupported(reason, self.label)

    def depends_on_data(self, tensor, what):
        raise DependsOnData(f"{what} depends on data", self.label, tensor.sources)

    def constant(self, array):
        return Tensor(self.extents, self.graph, array=array)

    def tensor(self, value, narrow=None):
        tensor = Tensor(self.extents, self.graph, value=value)
        tensor.narrow = narrow
        return tensor

    def entries(self, entries, dtype="i64", rank=1, shape=None):
        """A Tensor of ints, bools, dims, and i64 values of rank 0: one entry, a list, or in row-major order of `shape`."""
        entries = list(entries)
        if shape is None:
            shape = (len(entries),) if rank else ()
        if all(isinstance(entry, int) for entry in entries):
            array = numpy.asarray(entries, _convert.numpy_dtype(_convert.dtype_code(dtype)))
            return self.constant(array.reshape(shape))
        return Tensor(self.extents, self.graph, entries=entries, shape=tuple(shape), dtype=dtype)

    def known(self, tensor, what):
        """The entries of an operand that has to be known while importing."""
        if tensor.entries is None:
            self.depends_on_data(tensor, what)
        return tensor.entries

    def parts(self, tensor, what):
        """The entries of a list whose length is known, with values for those that data gives."""
        if tensor.parts is None:
            self.depends_on_data(tensor, f"the length of {what}")
        return tensor.parts

    def dims(self, tensor, what):
        """The entries of a list of extents; data gives those that have to be known when the graph runs."""
        return [self.dim(part) for part in self.parts(tensor, what)]

    def dim(self, part, low=0):
        """One of parts() as an extent; a run where it is below `low` fails."""
        return part if isinstance(part, (int, GraphDim)) else self.extents.bind(part, low)

    def part_value(self, part):
        """One of parts() as an i64 value of rank 0."""
        if isinstance(part, (int, GraphDim)):
            return self.extents.as_value(part)
        return part if part.dtype == "i64" else self.graph.cast(part, "i64")

    def scalar(self, tensor):
        """The value of a tensor of one element, in rank 0."""
        return tensor.value if tensor.rank == 0 else self.graph.reshape(tensor.value, [])

    def known_ints(self, tensor, what):
        entries = self.known(tensor, what)
        if not all(isinstance(entry, int) for entry in entries):
            self.unsupported(f"{what} depends on the shape")
        return entries

    def axis(self, axis, rank):
        """The axis counted from the front."""
        if not -rank <= axis < rank:
            self.fail(f"axis {axis} is out of range for rank {rank}")
        return axis % rank if rank else 0

    def call(self, op_type, *inputs, **attributes):
        """What another operator gives for these Tensors."""
        names = [f"{i}" if tensor is not None else "" for i, tensor in enumerate(inputs)]
        proto = helper.make_node(op_type, names, ["out"], self.proto.name or self.label, **attributes)
        scope = {name: tensor for name, tensor in zip(names, inputs) if name}
        self.importer.run_node(proto, self.opsets, scope, self.depth + 1)
        return scope["out"]


class Importer:
    """Appends one model to one graph."""

    def __init__(self, model, directory, dims, fixed):
        self.model, self.graph = model, Graph(model.graph.name or "main")
        self.extents = Extents(self.graph)
        self.constants = constants.Constants(directory)
        self.functions = {(f.domain, f.name): f for f in model.functions}
        self.missing = MissingOperators(model, self.functions)
        self._symbols, self._fixed = dict(dims), fixed
        self._labelled = set()  # handles of values that have their name
        self._regions, self._made = 0, itertools.count()  # graphs around this one; all that loops and branches made

    def within(self, name):
        """What appends the same model's subgraphs to the graph of a region."""
        if self._regions == MAX_REGIONS:
            raise Unsupported(f"loops and branches nest deeper than {MAX_REGIONS}")
        if next(self._made) == MAX_REGION_GRAPHS:
            raise Unsupported(f"loops and branches that nest take more than {MAX_REGION_GRAPHS} graphs to import")
        inner = self.beside(name)
        inner._regions += 1
        return inner

    def run(self):
        """The finished graph."""
        opsets = functions.opsets(self.model)
        validation.check_opsets(opsets)
        self.missing.check()
        proto, scope = self.model.graph, {}
        for initializer in proto.initializer:
            scope[initializer.name] = self.initializer(initializer)
        for value in proto.input:
            if value.name not in scope:
                scope[value.name] = self._named("input", self._input, value)
        self.run_nodes(proto, opsets, scope, 0)
        for value in proto.output:
            if value.name not in scope:
                raise ModelError(f'no node computes the output "{value.name}"')
            self.graph.output(value.name, scope[value.name].value)
        return self.graph

    def sizes_inputs(self, name):
        """Whether the extents of inputs, not data, give a symbol its value."""
        return any(name in names_of(dim) for dim in self._symbols.values())

    def beside(self, name):
        """What appends the same model's nodes to a new graph."""
        other = copy.copy(self)
        other.graph = Graph(name)
        other.extents, other._labelled = Extents(other.graph), set()
        return other

    def initializer(self, proto):
        """A TensorProto of a graph as a Tensor; errors name it."""
        return self._named("initializer", self.constant, proto)

    def constant(self, proto):
        """A TensorProto as a Tensor."""
        tensor = Tensor(self.extents, self.graph, array=self.constants.array(proto))
        tensor.name = proto.name
        tensor.narrow = proto.data_type if narrow.is_narrow(proto.data_type) else None
        return tensor

    def run_nodes(self, proto, opsets, scope, depth):
        """Imports the nodes of a graph or function body into `scope`, in an order that its data allows."""
        if depth > MAX_NESTING:
            raise ModelError(f"graphs and functions nest deeper than {MAX_NESTING}", proto.name)
        nodes = functions.ordered(proto.node, scope)
        for node in precomputing.precompute(self, proto, nodes, opsets, scope, depth):
            self.run_node(node, opsets, scope, depth)

    def run_node(self, proto, opsets, scope, depth):
        node = Node(self, proto, opsets, scope, depth)
        inputs = [scope[name] if name else None for name in proto.input]
        try:
            outputs = self._outputs(node, inputs)
        except _errors.Error as error:
            kind = Unsupported if error.code == "UNIMPLEMENTED" else ModelError
            raise kind(error.message, node.label) from error
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise ModelError(f"its operands do not fit: {error}", node.label) from error
        except ModelError as error:
            raise error if error.node else type(error)(error.reason, node.label) from error
        sources = frozenset().union(*(tensor.sources for tensor in inputs if tensor is not None))
        for name, output in zip(proto.output, outputs):
            if name:
                scope[name] = output if isinstance(output, Tensor) else node.tensor(output)
                self._label(scope[name], name, sources)

    def _outputs(self, node, inputs):
        proto, domain = node.proto, node.domain
        if (domain, proto.op_type) in self.functions:
            return functions.call(node, self.functions[domain, proto.op_type], inputs)
        self.missing.check_node(node)
        validation.check_node(node)
        kinds = [tensor.narrow for tensor in inputs if tensor is not None and tensor.narrow]
        function = registry.find_operator(domain, proto.op_type, node.opset)
        if kinds and function and proto.op_type not in narrow.MOVES | narrow.READS:
            name = next(name for name, tensor in zip(proto.input, inputs) if tensor is not None and tensor.narrow)
            node.unsupported(f'its input "{name}" of type {TensorProto.DataType.Name(kinds[0])} is not supported')
        computed = folding.fold(node, inputs)
        if computed is None:
            computed = function(node, *inputs) if function else functions.expand(node, inputs)
        outputs = computed if isinstance(computed, (list, tuple)) else [computed]
        if kinds and proto.op_type in narrow.MOVES:
            outputs = [output if isinstance(output, Tensor) else node.tensor(output) for output in outputs]
            for output in outputs:
                output.narrow = kinds[0]
        return outputs

    def _input(self, proto):
        kind = proto.type.WhichOneof("value")
        if kind != "tensor_type":
            raise Unsupported(f"an input of {(kind or 'no type').replace('_type', '')} kind is not supported")
        tensor = proto.type.tensor_type
        code = tensor.elem_type
        dtype = narrow.storage(code) if narrow.is_narrow(code) else dtypes.from_onnx(code)
        if not tensor.HasField("shape"):
            raise Unsupported("an input without a rank is not supported")
        if proto.name in self._fixed:
            return self._fixed_input(proto.name, dtype, len(tensor.shape.dim))
        shape = [self._input_dim(proto.name, i, dim) for i, dim in enumerate(tensor.shape.dim)]
        validation.check_size(shape)
        value = self.graph.input(proto.name, dtype, shape)
        self._labelled.add(value.handle)
        tensor = Tensor(self.extents, self.graph, value=value)
        tensor.sources = frozenset([proto.name])
        tensor.narrow = code if narrow.is_narrow(code) else None
        return tensor

    def _fixed_input(self, name, dtype, rank):
        array = numpy.asarray(self._fixed[name])
        if _convert.array_code(array) != _convert.dtype_code(dtype) or array.ndim != rank:
            raise ModelError(f"fixed to {array.dtype} of rank {array.ndim}, but is {dtype} of rank {rank}")
        return Tensor(self.extents, self.graph, array=array)

    def _input_dim(self, name, index, dim):
        if dim.WhichOneof("value") == "dim_value":
            if dim.dim_value < 0:
                raise ModelError(f"dim {index} is {dim.dim_value}")
            return dim.dim_value
        key = dim.dim_param or f"{name}_dim{index}"
        if key not in self._symbols:
            self._symbols[key] = symbol(key)
        return self.extents.symbol(self._symbols[key])

    @staticmethod
    def _named(kind, function, proto):
        """function(proto), whose errors name the input or initializer in place of a node."""
        label = f'{kind} "{proto.name}"'
        try:
            return function(proto)
        except ModelError as error:
            raise type(error)(error.reason, error.node or label) from error
        except _errors.Error as error:
            raise ModelError(error.message, label) from error
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise ModelError(str(error), label) from error

    def _label(self, tensor, name, sources):
        """Names a computed value after its first ONNX name, and notes what it comes from."""
        if tensor.computed and not tensor.sources:
            tensor.sources = sources
        if tensor.computed and tensor.appended and tensor.value.handle not in self._labelled:
            self._labelled.add(tensor.value.handle)
            tensor.value.named(name)
