"""The ONNX backend node suite: its cases, their data, and how results are compared."""
import os
import pathlib

import numpy
import onnx
from onnx import numpy_helper
from onnx.backend.test.loader import load_model_tests

# The least number of cases that a wheel has to bring; a runner that finds none passes nothing.
FLOOR = 1700

# Cases whose expected zeros are the noise of a transform in f32: atol.
_NOISY = {"test_dft_inverse": 1e-5, "test_dft_inverse_opset19": 1e-5}

# Families that Tailor does not aim at, by operator.
FAMILIES = {
    "optional": "Optional",
    "strings": "StringConcat StringNormalizer StringSplit RegexFullMatch TfIdfVectorizer LabelEncoder",
    "image decoding": "ImageDecoder",
}
_FAMILY_OF = {op: family for family, ops in FAMILIES.items() for op in ops.split()}


def find():
    """{name: (directory, rtol, atol)} of the suite's node cases."""
    tests = sorted(load_model_tests(kind="node"), key=lambda case: case.name)
    return {case.name: (case.model_dir, case.rtol, _NOISY.get(case.name, case.atol)) for case in tests}


def draws(name):
    """Whether a case's values are random numbers, which each implementation has its own of. random_operators_test.py tests
    Tailor's."""
    return name.startswith(("test_bernoulli", "test_training_dropout")) and "zero_ratio" not in name


def family(model):
    """The family that makes a case no aim of Tailor, or None."""
    values = [*model.graph.input, *model.graph.output]
    kinds = {value.type.WhichOneof("value") for value in values}
    for kind, name in (("sequence_type", "sequences"), ("optional_type", "optional"), ("map_type", "maps")):
        if kind in kinds:
            return name
    if any(value.type.tensor_type.elem_type == onnx.TensorProto.STRING for value in values):
        return "strings"
    ops = [node.op_type for node in model.graph.node]
    return next((_FAMILY_OF[op] for op in ops if op in _FAMILY_OF), None)


def data(directory, model):
    """(inputs by name, expected outputs by name) of a case's first data set."""
    folder = pathlib.Path(directory, "test_data_set_0")
    return _arrays(folder, "input", model.graph.input), _arrays(folder, "output", model.graph.output)


def _arrays(folder, kind, values):
    arrays = {}
    for i, value in enumerate(values):
        path = folder / f"{kind}_{i}.pb"
        if not path.exists():
            break
        arrays[value.name] = numpy_helper.to_array(onnx.load_tensor(os.fspath(path)))
    return arrays


def travelling(array):
    """The array as Tailor takes and gives it: types below 8 bits and 8-bit floats travel in u8 and i8."""
    name = array.dtype.name
    if name in ("int4", "int2"):
        return array.astype("int8")
    if name in ("uint4", "uint2"):
        return array.astype("uint8")
    return array.view("uint8") if name.startswith(("float8", "float4")) else array


def difference(name, got, wanted, rtol, atol, values=True):
    """Why `got` is not `wanted`, or None. Without `values` only types and shapes are compared."""
    wanted = travelling(wanted)
    if got.shape != wanted.shape:
        return f'"{name}" has shape {list(got.shape)}, not {list(wanted.shape)}'
    if got.dtype != wanted.dtype:
        return f'"{name}" has type {got.dtype}, not {wanted.dtype}'
    if not values:
        return None
    if got.dtype.kind not in "fV" and got.dtype.name != "bfloat16":
        wrong = got != wanted
    else:
        got, wanted = got.astype("float64"), wanted.astype("float64")
        wrong = ~numpy.isclose(got, wanted, rtol=rtol, atol=atol, equal_nan=True)
    if not wrong.any():
        return None
    index = tuple(int(i) for i in numpy.argwhere(wrong)[0])
    return f'{int(wrong.sum())} of {wrong.size} elements of "{name}" differ, first {index}: {got[index]}, not ' \
           f"{wanted[index]}"
