"""Host time of launches: CPU time of the launching thread, kernel by kernel and as a CUDA graph."""
from ..figures import AtMost, Figure

NAME = "launch/64"


def launches(bench):
    figures = {name: value * 1e6 for name, value in bench.gpu.measure([NAME])[NAME].items() if name != "peer"}

    def graph(name, way):
        plain, own = figures[f"{way}seconds"], figures[f"graph_{way}seconds"]
        return Figure(name, own, "us", None, "launch by launch", plain, plain / own)

    return [Figure("a launch, above the driver's own", figures["above_driver"], "us", AtMost(1)),
            Figure("a launch", figures["seconds"], "us", None, "the driver's own", figures["driver_seconds"],
                   figures["driver_seconds"] / figures["seconds"]),
            Figure("a launch, shapes differ from run to run", figures["other_shape_seconds"], "us"),
            graph("a launch in a graph", ""),
            graph("a launch in a graph, shapes differ from run to run", "other_shape_")]
