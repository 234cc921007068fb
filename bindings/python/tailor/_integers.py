"""Range checks of integers that are passed to C. ctypes silently keeps the low bits of a value that does not fit
(2**64 + 3 becomes 3).

checked() raises an error that names argument and value. Options applies it to the fields of a struct. ARGUMENTS are the
argument types of functions: they refuse a value that does not fit."""
from __future__ import annotations

import ctypes
import operator
from typing import Any, ClassVar, SupportsIndex

LIMITS: dict[Any, tuple[int, int]] = {
    kind: (-2**(bits - 1), 2**(bits - 1) - 1) if signed else (0, 2**bits - 1)
    for kind, bits, signed in ((ctypes.c_int32, 32, True), (ctypes.c_int64, 64, True), (ctypes.c_uint64, 64, False),
                               (ctypes.c_size_t, 64, False), (ctypes.c_void_p, 64, False))}


def checked(value: SupportsIndex, name: str, kind: Any = ctypes.c_int64) -> int:
    """`value` as an int; OverflowError if it does not fit the C type `kind`."""
    value = operator.index(value)
    least, most = LIMITS[kind]
    if not least <= value <= most:
        raise OverflowError(f"{name} is {value}, outside [{least}, {most}]")
    return value


def address(value: Any, name: str) -> Any:
    """`value` as a pointer argument; an integer is checked."""
    return checked(value, name, ctypes.c_void_p) if hasattr(value, "__index__") else value


class Options(ctypes.Structure):
    """A struct whose integer fields raise OverflowError for a value that does not fit."""

    _kinds: ClassVar[dict[str, Any]]

    def __init_subclass__(cls) -> None:
        cls._kinds = {field[0]: field[1] for field in cls._fields_ if field[1] in LIMITS}

    def __setattr__(self, name: str, value: Any) -> None:
        kind = self._kinds.get(name)
        if kind is ctypes.c_void_p:
            value = address(value, name)
        elif kind is not None:
            value = checked(value, name, kind)
        super().__setattr__(name, value)


def _argument(kind: Any) -> Any:
    @classmethod  # type: ignore[misc]
    def from_param(cls: Any, value: SupportsIndex) -> Any:
        return kind(checked(value, "the argument", kind))

    return type(f"Checked_{kind.__name__}", (kind,), {"from_param": from_param})


ARGUMENTS: dict[Any, Any] = {kind: _argument(kind) for kind in LIMITS if kind is not ctypes.c_void_p}
