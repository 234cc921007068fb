"""Draws the points that curves.py has measured: an SVG file for each curve.

    python -m side_by_side.draw FOLDER      reads FOLDER/points.json

Equal points give equal bytes with the versions of tools/requirements-plots.txt. Texts are texts in the SVG, and colours
are told apart by the colour-blind.
"""
import json
import pathlib
import sys

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot, ticker  # noqa: E402 - after the choice of the backend

from .labels import apart  # noqa: E402

STYLES = [("#0072b2", "o", 2.4), ("#d55e00", "s", 1.5), ("#009e73", "^", 1.5)]  # colour (Okabe, Ito), marker, width
GREY = "#555555"
LABEL_GAP = 0.075  # between labels, in heights of the panel
SETTINGS = {"svg.fonttype": "none", "svg.hashsalt": "tailor", "font.family": "sans-serif", "font.size": 10,
            "font.sans-serif": ["DejaVu Sans"], "axes.spines.top": False, "axes.spines.right": False,
            "axes.edgecolor": GREY, "xtick.color": GREY, "ytick.color": GREY, "axes.labelcolor": GREY,
            "axes.grid": True, "grid.color": "#e4e4e4", "grid.linewidth": 0.8, "lines.markersize": 4}


def label_ends(axes, lines, gap):
    """Writes each line's label beside its last point, in its colour."""
    to_axes = axes.transData + axes.transAxes.inverted()
    places = [to_axes.transform((line.get_xdata()[-1], line.get_ydata()[-1]))[1] for line in lines]
    for line, place in zip(lines, apart(places, gap)):
        axes.text(1.015, place, line.get_label(), transform=axes.transAxes, color=line.get_color(), va="center",
                  weight="bold" if line.get_linewidth() == STYLES[0][2] else "normal")


def scale_x(axes, xs):
    axes.set_xscale("log", base=2)
    ticks = [x for x in xs if x & (x - 1) == 0]
    axes.xaxis.set_major_locator(ticker.FixedLocator(ticks if len(ticks) > 3 else xs))
    axes.xaxis.set_major_formatter(ticker.FuncFormatter(lambda x, _: f"{x:g}"))
    axes.xaxis.set_minor_locator(ticker.NullLocator())


def draw_values(axes, curve):
    """Latencies on a logarithmic axis, throughputs from 0."""
    lines = [axes.plot(curve["x"], values, label=name.split()[0], color=colour, marker=marker, linewidth=width)[0]
             for (name, values), (colour, marker, width) in zip(curve["series"].items(), STYLES)]
    if curve["unit"] == "ms":
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter(ticker.FuncFormatter(lambda y, _: f"{y:g}"))
        axes.yaxis.set_minor_locator(ticker.NullLocator())
    else:
        axes.set_ylim(0, 1.08 * max(map(max, curve["series"].values())))
    axes.set_ylabel(curve["unit"])
    label_ends(axes, lines, LABEL_GAP)


def draw_ratios(axes, curve):
    """The speed of the first engine over that of each other."""
    (_, own), *peers = curve["series"].items()
    lines = []
    for (name, theirs), (colour, marker, width) in zip(peers, STYLES[1:]):
        ratios = [b / a if curve["unit"] == "ms" else a / b for a, b in zip(own, theirs)]
        lines.append(axes.plot(curve["x"], ratios, label=f"over {name.split()[0]}", color=colour, marker=marker,
                               linewidth=width)[0])
    axes.axhline(1, color=GREY, linewidth=1)
    low, high = axes.get_ylim()
    axes.set_ylim(min(low, 0.9), max(high, 1.1))
    axes.yaxis.set_major_locator(ticker.MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))
    axes.set_ylabel("speed-up")
    label_ends(axes, lines, 2.5 * LABEL_GAP)


def caption(document, curve):
    machine = document["machine"]
    better = "lower is better" if curve["unit"] == "ms" else "higher is better"
    turns = f"Medians of {document['turns']} turns" if document["turns"] > 1 else "One turn"
    return (f"{curve['workload']}, f32, {document['threads']} threads; {better}.\n"
            f"{machine['cpu']}, {machine['cpus']} CPUs, {machine['date']}; load average at the start "
            f"{machine['load_average']:.1f}. {turns}.\n"
            f"{', '.join(list(curve['series'])[1:])}; one model for all shapes in every engine.")


def draw(document, curve, path):
    figure, (values, ratios) = pyplot.subplots(2, 1, sharex=True, figsize=(7.6, 5.2), height_ratios=(3, 1.2))
    figure.subplots_adjust(left=0.095, right=0.80, top=0.905, bottom=0.235, hspace=0.12)
    figure.text(0.02, 0.95, curve["title"], size=13, weight="bold")
    figure.text(0.02, 0.025, caption(document, curve), size=8.5, color=GREY, linespacing=1.4)
    scale_x(values, curve["x"])
    draw_values(values, curve)
    draw_ratios(ratios, curve)
    ratios.set_xlabel(curve["x_label"])
    figure.align_ylabels()
    figure.savefig(path, metadata={"Date": None, "Creator": None})
    pyplot.close(figure)


def main(folder):
    document = json.loads((folder / "points.json").read_text())
    with matplotlib.rc_context(SETTINGS):
        for curve in document["curves"]:
            draw(document, curve, folder / f"{curve['name']}.svg")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
