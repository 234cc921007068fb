"""ONNX models as Tailor graphs. Needs the `onnx` package.

    batch = tailor.symbol("batch", max=64, likely=[1, 8])
    graph = tailor.onnx.load("model.onnx", dims={"batch": batch})
    executable = graph.compile()

Every dim_param of the inputs becomes a symbol of its name, every unnamed dim one called <input>_dim<i>.
"""
import os

import onnx

from . import importer as _importer
from . import (compaction, control, elementwise, indexing, nms, normalization, padding, pools, products, quantization,
               recurrent, reductions, regions, resampling, scattering, shapes, signal, sorting, training, trees,
               windows)
from .errors import DependsOnData, ModelError, Unsupported

__all__ = ["DependsOnData", "ModelError", "Unsupported", "load"]


def load(model, dims=None, fixed=None):
    """The graph of a model: a path, the file's bytes, or an onnx.ModelProto.

    dims: for a dim_param (or <input>_dim<i>) the tailor.Dim or integer to use.
    fixed: for an input the array that it always has: shapes, axes and the like that compilation has to know; it is
    then no input of the graph.
    External data is read from below the folder of a model given by path. Raises ModelError, naming the node, and its
    subclass Unsupported for what is valid but beyond Tailor."""
    directory = None
    if isinstance(model, (str, os.PathLike)):
        directory = os.path.dirname(os.path.abspath(model))
        with open(model, "rb") as file:
            model = file.read()
    if isinstance(model, (bytes, bytearray, memoryview)):
        model = _parsed(bytes(model))
    return _importer.Importer(model, directory, dims or {}, fixed or {}).run()


def _parsed(data):
    proto = onnx.ModelProto()
    try:
        proto.ParseFromString(data)
    except Exception as error:  # protobuf's implementations raise different classes
        raise ModelError(f"not an ONNX model: {error}") from error
    if not proto.HasField("graph"):
        raise ModelError("not an ONNX model: it has no graph")
    return proto
