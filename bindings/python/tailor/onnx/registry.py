"""The one table of ONNX operators: (domain, name) -> functions by the opset they hold from.

An operator is a function `f(node, *inputs)` of a Node and its Tensors (None where an optional input is absent)
that returns a tailor.Value, a Tensor, or a list of them, one for each output."""

_operators = {}
_glue = {}


def operator(*names, since=1, domain=""):
    """Registers a function for the operators `names` from opset `since` on, until a later registration's."""
    def register(function):
        for name in names:
            _operators.setdefault((domain, name), {})[since] = function
        return function
    return register


def glue(*names):
    """Registers a function of the same form that computes on extents; it returns None where it cannot."""
    def register(function):
        for name in names:
            _glue[name] = function
        return function
    return register


def find_operator(domain, name, opset):
    """The function for an operator at an opset, or None."""
    versions = _operators.get((domain, name), {})
    since = max((since for since in versions if since <= opset), default=None)
    return versions.get(since)


def find_glue(domain, name):
    return _glue.get(name) if domain == "" else None


def names():
    """All registered (domain, name)."""
    return sorted(_operators)
