"""PyTorch with a model of tools/export_models, the module that the ONNX file was exported from.

`model` is MODE:NAME. Modes: eager; compiled, torch.compile(dynamic=True); aot, an AOTInductor package with dynamic dims.
"""
import importlib
import pathlib
import tempfile

import torch

from .operands import of_model

MODULES = ("classifiers", "clip", "decoders", "dense", "detection", "recurrent", "speech", "text")
# Operators that return their operand, a view of it, or memory; the others run a kernel.
NO_KERNELS = frozenset("aten::" + name for name in """
    _local_scalar_dense _reshape_alias _unsafe_view alias as_strided chunk contiguous detach dropout empty empty_like
    empty_strided expand expand_as item lift_fresh narrow new_empty permute reshape resize_ resolve_conj resolve_neg
    result_type scalar_tensor select set_ slice split split_with_sizes squeeze t to transpose unbind unsqueeze
    view""".split())


def catalog():
    for name in MODULES:
        importlib.import_module(name)  # which fill it
    return importlib.import_module("catalog").MODELS


class Engine:
    def __init__(self, model, threads):
        mode, _, name = model.partition(":")
        torch.set_num_threads(threads)
        self._entry = catalog()[name]
        self._module, self._inputs = self._entry.build("real")
        self.name = f"PyTorch {torch.__version__.split('+')[0]} {mode}"
        self._run = {"eager": lambda: self._module, "compiled": lambda: torch.compile(self._module, dynamic=True),
                     "aot": self._package}[mode]()

    def prepare(self, case):
        given = of_model(case)
        arguments = [torch.from_numpy(given[entry.name]) for entry in self._inputs]
        self._case = arguments

        @torch.inference_mode()
        def run():
            return [result.numpy() for result in leaves(self._run(*arguments))]
        return run

    def answer(self, request):
        """{"launches": true}: the innermost operators of a run that compute."""
        del request
        with torch.inference_mode(), torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
            self._run(*self._case)
        return {"launches": sum(kernels(event) for event in profile.events() if event.cpu_parent is None)}

    def _package(self):
        from export import by_parameter
        generator = torch.Generator().manual_seed(0)
        arguments = tuple(entry.sample(self._entry.traced, generator) for entry in self._inputs)
        dims = [{axis: torch.export.Dim.AUTO for axis, dim in enumerate(entry.dims) if isinstance(dim, str)}
                for entry in self._inputs]
        with torch.no_grad():
            program = torch.export.export(self._module, arguments, dynamic_shapes=by_parameter(self._module, dims))
            self._folder = tempfile.TemporaryDirectory()
            path = str(pathlib.Path(self._folder.name) / "model.pt2")
            return torch._inductor.aoti_load_package(torch._inductor.aoti_compile_and_package(program, package_path=path))


def kernels(event):
    within = sum(kernels(child) for child in event.cpu_children)
    computes = ("::" in event.name or event.name.startswith(("graph_", "cpp_"))) and event.name not in NO_KERNELS
    return within or int(computes)


def leaves(result):
    return [leaf for leaf in torch.utils._pytree.tree_leaves(result) if isinstance(leaf, torch.Tensor)]
