"""Places of labels beside lines that end close to each other."""


def apart(places, gap):
    """The places, moved as little as possible (least squares) so that no two are closer than `gap`."""
    order = sorted(range(len(places)), key=places.__getitem__)
    groups = []  # [the lowest place, size] of neighbours that touch
    for rank, index in enumerate(order):
        groups.append([places[index] - rank * gap, 1])
        while len(groups) > 1 and groups[-2][0] > groups[-1][0]:
            (low, size), (own, count) = groups[-2:]
            groups[-2:] = [[(low * size + own * count) / (size + count), size + count]]
    moved = [low for low, size in groups for _ in range(size)]
    out = list(places)
    for rank, index in enumerate(order):
        out[index] = moved[rank] + rank * gap
    return out
