"""Inputs of cases, the same in every engine."""
import numpy


def numbers(shape, seed):
    """f32 in [-1, 1) that depend only on index and seed; bench/peers/peer.cc has the same."""
    count = int(numpy.prod(shape, dtype=numpy.int64))
    mixed = (numpy.arange(count, dtype=numpy.uint32) + numpy.uint32(seed * 7919)) * numpy.uint32(2654435761)
    return ((mixed >> numpy.uint32(8)).astype(numpy.float32) * numpy.float32(2.0**-23) - 1).reshape(shape)


def of_model(case):
    """The inputs of a model, by name: of an encoder, of one for images, of one that reads lines of text, or of any by its
    description."""
    if "inputs" in case:
        from samples import sample  # of tools/export_models
        random = numpy.random.default_rng(0)
        return {entry["name"]: sample(entry, case["sizes"], random) for entry in case["inputs"]}
    if "encoder" in case:
        return dict(zip(("ids", "mask"), tokens(*case["encoder"])))
    if "text_line" in case:
        batch, width = case["text_line"]
        return {"image": numbers((batch, 1, 32, width), 1)}
    batch, height, width = case["image"]
    return {"x": numbers((batch, 3, height, width), 1)}


def fixed_of(case):
    """The inputs with a fixed value, which Tailor compiles in."""
    return {name: numpy.asarray(value) for name, value in case.get("fixed", {}).items()}


def tokens(batch, length):
    """ids and mask of sentences of differing lengths, padded."""
    random = numpy.random.default_rng(batch * 1000 + length)
    ids = random.integers(1000, 30000, (batch, length))
    lengths = random.integers((length + 1) // 2, length + 1, (batch, 1))
    return ids, (numpy.arange(length) < lengths).astype(numpy.int64)
