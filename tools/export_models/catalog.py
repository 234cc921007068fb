"""The catalog: how each model is built, its inputs, and the shapes at which it is exported and checked."""
import dataclasses
import typing

import torch

WIDTHS = ("real", "narrow")  # the published configuration; the same structure with few channels, layers and tokens


@dataclasses.dataclass(frozen=True)
class Input:
    """A model input. `dims` holds sizes and symbols; `values` is "normal", "mask" (ones, then zeros, along the last dim),
    "ones", "zeros" or an exclusive upper bound of random integers."""
    name: str
    dtype: str
    dims: tuple
    values: object = "normal"

    def sample(self, sizes, generator):
        shape = [sizes[dim] if isinstance(dim, str) else dim for dim in self.dims]
        if self.values == "normal":
            return torch.randn(shape, generator=generator)
        dtype = getattr(torch, self.dtype)
        if self.values in ("mask", "ones"):
            return torch.ones(shape, dtype=dtype)
        if self.values == "zeros":
            return torch.zeros(shape, dtype=dtype)
        return torch.randint(0, self.values, shape, generator=generator).to(dtype)


@dataclasses.dataclass(frozen=True)
class Model:
    """`build(width)` returns the module and its inputs; `traced` is the shape of the export, `shapes` those of checks.
    `unordered`: the outputs are rows of one table, in an order that rounding may change."""
    build: typing.Callable
    traced: dict
    shapes: tuple
    exporters: tuple
    unordered: bool


MODELS = {}


def model(name, symbols, traced, shapes, exporters=("dynamo", "legacy"), unordered=False):
    """Registers the decorated build function; sizes are in the order of `symbols`."""
    names = symbols.split()

    def register(build):
        def seeded(width):
            torch.manual_seed(0)  # of parameters that weights.py leaves to the libraries
            return build(width)
        MODELS[name] = Model(seeded, dict(zip(names, traced)), tuple(dict(zip(names, shape)) for shape in shapes),
                             exporters, unordered)
        return build

    return register


def image(channels=3, name="image"):
    return Input(name, "float32", ("batch", channels, "height", "width"))


def image_shapes(least):
    """Eight (batch, height, width) from `least` on: odd sizes, one image and several, small and large."""
    return ((1, least, least), (1, least + 1, least + 34), (2, least + 31, least), (3, least + 7, least + 13),
            (5, least + 2, least + 3), (1, least, least + 160), (2, least + 97, least + 65),
            (1, least + 193, least + 160))


def token_shapes(least=1):
    """Eight (batch, sequence) from `least` on."""
    return tuple((batch, max(least, sequence)) for batch, sequence in
                 ((1, 1), (1, 7), (2, 2), (2, 16), (3, 5), (1, 33), (5, 17), (4, 64)))
