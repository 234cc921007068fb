"""What launches cost the host: CPU time of the thread that asks for them."""
from ..figures import AtMost, Figure

NAME = "launch/64"


def launches(bench):
    figures = bench.gpu.measure([NAME])[NAME]
    return [Figure("a launch, above the driver's own", figures["above_driver"] * 1e6, "us", AtMost(1)),
            Figure("a launch", figures["seconds"] * 1e6, "us"),
            Figure("the driver's own", figures["driver_seconds"] * 1e6, "us")]
