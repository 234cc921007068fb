"""ONNX element types as Tailor's."""
from onnx import TensorProto

from .errors import Unsupported

_NAMES = {
    TensorProto.FLOAT: "f32", TensorProto.DOUBLE: "f64", TensorProto.FLOAT16: "f16", TensorProto.BFLOAT16: "bf16",
    TensorProto.INT8: "i8", TensorProto.INT16: "i16", TensorProto.INT32: "i32", TensorProto.INT64: "i64",
    TensorProto.UINT8: "u8", TensorProto.UINT16: "u16", TensorProto.UINT32: "u32", TensorProto.UINT64: "u64",
    TensorProto.BOOL: "bool",
}
_CODES = {name: code for code, name in _NAMES.items()}
FLOATS = ("f16", "bf16", "f32", "f64")
SIGNED = ("i8", "i16", "i32", "i64")
UNSIGNED = ("u8", "u16", "u32", "u64")


def from_onnx(code):
    """"f32" for TensorProto.FLOAT and so on."""
    if code not in _NAMES:
        name = TensorProto.DataType.Name(code) if code in TensorProto.DataType.values() else f"number {code}"
        raise Unsupported(f"element type {name} is not supported")
    return _NAMES[code]


def to_onnx(name):
    return _CODES[name]


def bits(name):
    """The width of an element."""
    return 8 if name == "bool" else int(name.lstrip("bfiu"))


def through_f32(graph, values, function):
    """function(*values), of f16 and bf16 values as f32 and rounded once: formulas of several ops lose digits else."""
    dtype = values[0].dtype
    if dtype not in ("f16", "bf16"):
        return function(*values)
    return graph.cast(function(*[graph.cast(value, "f32") for value in values]), dtype)
