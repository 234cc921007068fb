"""What importing a model may raise."""


class ModelError(Exception):
    """A model that cannot be imported: the node at fault (may be "") and the reason."""

    def __init__(self, reason, node=""):
        super().__init__(f"{node}: {reason}" if node else reason)
        self.reason = reason
        self.node = node

    def __reduce__(self):  # Exception's own would call this with the joined text
        return type(self), (self.reason, self.node), self.__dict__


class Unsupported(ModelError):
    """A valid model that needs what Tailor does not have."""


class DependsOnData(Unsupported):
    """A shape, axis or the like that only running gives; `inputs` are the model's inputs that it comes from."""

    def __init__(self, reason, node="", inputs=frozenset()):
        super().__init__(reason, node)
        self.inputs = inputs
