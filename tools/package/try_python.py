"""Uses an installed package tailor: try_python.py compile|run FILE."""
import sys

import numpy as np
import tailor

assert "site-packages" in tailor.__file__ or "dist-packages" in tailor.__file__, tailor.__file__
verb, file = sys.argv[1:]
if verb == "compile":
    import tailor.onnx
    assert "Gemm" in tailor.onnx.operators()
    graph = tailor.Graph("scale")
    graph.output("y", graph.input("x", "f32", ["N", 4]) * 2.0)
    graph.compile(isolated=True).save(file)  # the worker is found
y, = tailor.load(file).run(np.ones((3, 4), np.float32))
assert (y == 2).all()
print(f"{verb}: tailor {tailor.__version__}, {tailor.__file__}")
