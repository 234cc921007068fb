"""Programs that tests of the Python wrapper run, and their inputs."""
import numpy as np

import tailor

X, BIAS = np.arange(12, dtype=np.float32).reshape(3, 4), np.ones(4, np.float32)


def scale(dtype="f32"):
    graph = tailor.Graph("scale")
    x = graph.input("x", dtype, ["N", 4])
    graph.output("y", x + graph.input("bias", dtype, [4]))
    return graph


def endless():
    """An executable whose runs end only when they are cancelled."""
    more, turn, graph = tailor.Graph("more"), tailor.Graph("turn"), tailor.Graph("endless")
    more.output("more", more.input("t", "i64", []) < 2**62)
    turn.output("t", turn.input("t", "i64", []) + 1)
    graph.output("t", graph.while_([graph.input("t", "i64", [])], more, turn)[0])
    return graph.compile("host")
