"""Inputs for the models of a manifest: random tensors, masks, audio and images."""
import numpy

SEVEN_SEGMENTS = (0x77, 0x24, 0x5D, 0x6D, 0x2E, 0x6B, 0x7B, 0x25, 0x7F, 0x6F)  # digits 0 to 9; bits as in _BARS
_BARS = ((0, 1, 0, 5), (0, 5, 0, 1), (0, 5, 4, 5), (4, 5, 0, 5), (4, 9, 0, 1), (4, 9, 4, 5), (8, 9, 0, 5))  # rows, columns


def sample(entry, sizes, rng):
    """An array for an input of the manifest; masks are runs of 1 from the front, one element at least."""
    shape = [sizes[dim] if isinstance(dim, str) else dim for dim in entry["dims"]]
    values, dtype = entry["values"], entry["dtype"]
    if isinstance(values, dict):
        (kind, argument), = values.items()
        return numpy.asarray(_KINDS[kind](shape, sizes.get(argument, argument) if isinstance(argument, str) else argument, rng),
                             dtype)
    if values == "normal":
        return numpy.asarray(rng.standard_normal(shape), dtype)
    if values == "mask":
        lengths = rng.integers(1, shape[-1], size=shape[:-1], endpoint=True)
        return (numpy.arange(shape[-1]) < lengths[..., None]).astype(dtype)
    if values in ("ones", "zeros"):
        return numpy.full(shape, values == "ones", dtype)
    return rng.integers(0, values, shape).astype(dtype)


def _audio(shape, rate, rng):
    """Notes of a voice's range with four harmonics, in noise 40 dB below, along the longest dim; `rate` samples a second."""
    axis = int(numpy.argmax(shape))
    seconds = numpy.arange(shape[axis]).reshape([-1 if i == axis else 1 for i in range(len(shape))]) / rate
    pitch = rng.uniform(90, 420, [1 if i == axis else size for i, size in enumerate(shape)])
    tone = sum(numpy.sin(2 * numpy.pi * pitch * harmonic * seconds) / harmonic for harmonic in (1, 2, 3, 4))
    return 0.2 * tone + 0.002 * rng.standard_normal(shape)


def _image(shape, limits, rng):
    """Images [batch, channels, height, width] within `limits`: a shaded page with rows of digits and some noise."""
    batch, _, height, width = shape
    page = 0.9 - 0.2 * numpy.linspace(0, 1, height)[:, None] * numpy.linspace(0, 1, width)
    images = numpy.repeat(page[None], batch, axis=0)
    scale = max(1, min(height, 96) // 16)  # pixels a bar is wide
    for image in images:
        for top in range(2 * scale, height - 9 * scale, 16 * scale):
            for left in range(2 * scale, width - 5 * scale, 7 * scale):
                _draw(image[top:, left:], SEVEN_SEGMENTS[rng.integers(10)], scale)
    images = numpy.clip(images[:, None] + 0.02 * rng.standard_normal(shape), 0, 1)
    return limits[0] + (limits[1] - limits[0]) * images


def _draw(image, segments, scale):
    for bit, (top, bottom, left, right) in enumerate(_BARS):
        if segments >> bit & 1:
            image[top * scale:bottom * scale, left * scale:right * scale] = 0.1


_KINDS = {
    "constant": lambda shape, value, rng: numpy.full(shape, value),
    "uniform": lambda shape, limits, rng: rng.uniform(*limits, shape),
    "audio": _audio,
    "image": _image,
}
