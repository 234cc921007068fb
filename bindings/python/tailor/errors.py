"""The exception of failed C API calls."""
from __future__ import annotations

from typing import Any

_CODES = {
    1: "CANCELLED", 3: "INVALID_ARGUMENT", 4: "DEADLINE_EXCEEDED", 5: "NOT_FOUND", 8: "RESOURCE_EXHAUSTED",
    9: "FAILED_PRECONDITION", 11: "OUT_OF_RANGE", 12: "UNIMPLEMENTED", 13: "INTERNAL", 15: "DATA_LOSS",
}


class Error(Exception):
    """A failed call: `code` ("INVALID_ARGUMENT"), `message`, and the graph node at fault (`node`, may be "")."""

    code: str
    message: str
    node: str

    def __init__(self, code: str, message: str, node: str = "") -> None:
        super().__init__(f"{code}: {message}" + (f" (node {node})" if node else ""))
        self.code = code
        self.message = message
        self.node = node

    def __reduce__(self) -> Any:  # Exception's own would call Error(text)
        """All attributes, so that errors pass between processes."""
        return type(self), (self.code, self.message, self.node), self.__dict__


def code_name(code: int) -> str:
    """The name of a status code."""
    return _CODES.get(code, str(code))
