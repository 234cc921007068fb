"""Outcomes as a table on a terminal, as Markdown, and as JSON."""

HEADINGS = ("", "value", "peer", "ratio", "target", "met")


def number(value, unit=""):
    """Three decimals below ten, fewer above."""
    digits = 3 if abs(value) < 10 else 2 if abs(value) < 100 else 1 if abs(value) < 1000 else 0
    return f"{value:.{digits}f} {unit}".rstrip()


def verdict(met):
    return {True: "met", False: "MISSED", None: ""}[met]


def cells(figure, title, met):
    """The cells of a figure under HEADINGS; a figure that was not measured has two, title and reason."""
    if figure.value is None:
        return [title, figure.reason or "not measured"]
    peer = "" if figure.peer is None else figure.peer
    if figure.peer_value is not None:
        peer += f" {number(figure.peer_value)}"
    ratio = "" if figure.ratio is None else f"{figure.ratio:.2f}"
    target = "" if figure.bar is None else f"{figure.bar.sign} {figure.bar.target:g}"
    return [title, number(figure.value, figure.unit), peer, ratio, target, verdict(met)]


def lines(outcomes):
    """For every row its head and, if there are several, its figures."""
    for outcome in outcomes:
        yield cells(outcome.head, f"{outcome.row.name}  {outcome.row.title}", outcome.met)
        if len(outcome.parts) > 1:
            for part in outcome.parts:
                yield cells(part, f"    {part.name}", part.met)


def table(outcomes):
    rows = [list(HEADINGS), *lines(outcomes)]
    full = [row for row in rows if len(row) == len(HEADINGS)]
    widths = [max(len(row[column]) for row in (rows if column == 0 else full)) for column in range(len(HEADINGS))]
    out = []
    for row in rows:
        first, *rest = row
        out.append("  ".join([first.ljust(widths[0]),
                              *(cell.rjust(width) for cell, width in zip(rest, widths[1:]))]).rstrip()
                   if len(row) == len(HEADINGS) else f"{first.ljust(widths[0])}  {row[1]}")
    return "\n".join(out)


def markdown(outcomes):
    out = [" | ".join(("| row", *HEADINGS[1:])) + " |", "|---" * len(HEADINGS) + "|"]
    for row in lines(outcomes):
        row = [cell.strip().replace("|", "\\|") for cell in row]
        out.append("| " + " | ".join(row + [""] * (len(HEADINGS) - len(row))) + " |")
    return "\n".join(out)


def as_json(outcomes, machine, notes, tables=()):
    """{"metrics": [...], "machine": {...}, "notes": [...], "tables": [...]}. A name that is taken is prefixed by the
    row's."""
    metrics = {}
    for outcome in outcomes:
        for metric in outcome.as_json():
            if metric["name"] in metrics:
                metric["name"] = f"{outcome.row.name}: {metric['name']}"
            metrics[metric["name"]] = metric
    return {"metrics": list(metrics.values()), "machine": machine, "notes": notes,
            "tables": [table.as_json() for table in tables]}
