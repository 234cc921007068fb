"""Compilers that take a model with its symbols, or else once for each shape."""
import pathlib
import tempfile

import onnx
import onnxsim

from .operands import of_model


class Engine:
    """`compiled(path)`: a function of operands that returns arrays; `operand(array)`: one of them.

    One program for all shapes where the model compiles so, else one for each shape, of the model as onnxsim simplifies it for
    the shape, made at the first run.
    """

    def __init__(self, name, model, compiled, operand):
        self.name, self._model, self._compiled, self._operand = name, model, compiled, operand
        try:
            self._program = compiled(model)
        except Exception as error:  # noqa: BLE001 - compilers raise errors of any class; that of a shape is reported
            print(f"{name} compiles {model} for each shape: {error}")
            self._program = None

    def prepare(self, case):
        arrays, program = of_model(case), self._program
        operands = [self._operand(array) for array in arrays.values()]

        def run():
            nonlocal program
            program = program or self._for_shape(arrays)
            return program(*operands)
        return run

    def _for_shape(self, arrays):
        shapes = {name: list(array.shape) for name, array in arrays.items()}
        model, _ = onnxsim.simplify(onnx.load(self._model), overwrite_input_shapes=shapes)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "model.onnx"
            onnx.save(model, path)
            return self._compiled(path)
