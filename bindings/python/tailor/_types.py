"""Types in the signatures of the package."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, SupportsIndex, Union

import numpy
import numpy.typing

if TYPE_CHECKING:
    from ._building import GraphValue
    from .dims import Dim

Array = numpy.typing.NDArray[Any]
DTypeLike = Union[str, "numpy.dtype[Any]", type]
Integers = Union[SupportsIndex, Sequence[SupportsIndex]]
DimLike = Union["Dim", SupportsIndex, str]  # a string is the name of a symbol
Operand = Union["GraphValue", Array, numpy.generic, float]


class SupportsDLPack(Protocol):
    """A tensor of another library: PyTorch, JAX, CuPy."""

    def __dlpack__(self, *, stream: Any = ...) -> Any:
        """A capsule with the tensor."""

    def __dlpack_device__(self) -> Any:
        """The kind and number of its device."""


class SupportsCudaArray(Protocol):
    """An array in a GPU's memory."""

    @property
    def __cuda_array_interface__(self) -> Any:
        """Its address, shape and type."""


Tensor = Union[Array, SupportsDLPack, SupportsCudaArray]  # memory that runs read or write in place
Input = Union[Tensor, numpy.generic, float, Sequence[Any]]  # lists and numbers are converted
Inputs = Union[Input, Mapping[str, Input]]  # one positional argument may be a dict of all
