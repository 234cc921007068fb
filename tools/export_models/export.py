"""Exports models of torchvision and transformers with random weights to ONNX, and describes them in manifest.json.

    python export.py --list
    python export.py [--width real|narrow] [--exporter dynamo|legacy] [--out FOLDER] [NAME...]

README.md tells how to make the environment."""
import argparse
import inspect
import pathlib
import sys
import time
import warnings

import onnx
import torch

import catalog
import manifest
import classifiers, clip, decoders, dense, detection, recurrent, speech, text  # noqa: F401  (they fill the catalog)

ROOT = pathlib.Path(__file__).resolve().parents[2]
OPSETS = {"dynamo": 18, "legacy": 17}


def by_parameter(module, axes):
    """The dynamic axes by parameter of forward; the last of these may be `*parameter`."""
    parameters = inspect.signature(module.forward).parameters.values()
    return {parameter.name: tuple(axes[i:]) if parameter.kind is parameter.VAR_POSITIONAL else axes[i]
            for i, parameter in enumerate(parameters)}


def export(module, inputs, traced, exporter, path):
    """Writes the model with every symbolic dim of `inputs` dynamic."""
    generator = torch.Generator().manual_seed(0)
    arguments = tuple(entry.sample(traced, generator) for entry in inputs)
    axes = {entry.name: {axis: dim for axis, dim in enumerate(entry.dims) if isinstance(dim, str)} for entry in inputs}
    names = list(axes)
    with torch.no_grad():
        if exporter == "dynamo":
            dynamic = by_parameter(module, list(axes.values()))
            torch.onnx.export(module, arguments, path, dynamo=True, dynamic_shapes=dynamic, input_names=names,
                              opset_version=OPSETS[exporter], external_data=False, verbose=False)
        else:
            torch.onnx.export(module, arguments, path, dynamo=False, dynamic_axes=axes, input_names=names,
                              opset_version=OPSETS[exporter])


def graphs_of(proto):
    """The graph, its functions, and all their subgraphs."""
    graphs = [proto.graph, *proto.functions]
    for graph in graphs:  # which grows
        for node in graph.node:
            for attribute in node.attribute:
                graphs += [attribute.g] if attribute.HasField("g") else list(attribute.graphs)
    return graphs


def strip(path):
    """Removes source lines, names of nodes and long names of constants: most of the bytes of a narrow model."""
    proto = onnx.load(path)
    del proto.metadata_props[:], proto.graph.metadata_props[:], proto.graph.value_info[:]
    for value in (*proto.graph.input, *proto.graph.output):
        del value.metadata_props[:]
    kept = {output.name for output in proto.graph.output}
    short = {}
    for node in proto.graph.node:
        if node.op_type == "Constant" and node.output[0] not in kept:
            short[node.output[0]] = f"constant{len(short)}"
    for graph in graphs_of(proto):
        for node in graph.node:
            del node.metadata_props[:]
            node.doc_string = ""
            node.name = ""
            for names in (node.input, node.output):
                names[:] = [short.get(name, name) for name in names]
        for output in getattr(graph, "output", ()):
            if not isinstance(output, str):
                output.name = short.get(output.name, output.name)
    onnx.save(proto, path)


def describe(path, inputs, entry):
    """What the manifest says of a file: the inputs as they are in it, and the shapes to check."""
    written = {value.name: value for value in onnx.load(path).graph.input}
    entries = []
    for each in inputs:
        if each.name not in written:
            continue  # the exporter found that it does not count
        dims = [dim.dim_param or dim.dim_value for dim in written[each.name].type.tensor_type.shape.dim]
        entries.append({"name": each.name, "dtype": each.dtype, "values": each.values, "dims": list(each.dims),
                        "file_dims": dims})
    return {"unordered": entry.unordered, "inputs": entries, "shapes": list(entry.shapes)}


def export_one(name, width, exporter, folder):
    entry, path = catalog.MODELS[name], folder / f"{name}_{exporter}.onnx"
    started = time.monotonic()
    try:
        torch.manual_seed(0)
        module, inputs = entry.build(width)
        export(module, inputs, entry.traced, exporter, str(path))
        strip(path)
    except Exception as error:  # exporters raise anything
        path.unlink(missing_ok=True)
        while error.__cause__:
            error = error.__cause__
        reason = " ".join(str(error).split())[:600]
        print(f"{path.name}: NOT EXPORTED {type(error).__name__}: {reason}", flush=True)
        return False
    manifest.add(folder, path.name, {"width": width, **describe(path, inputs, entry)})
    seconds = time.monotonic() - started
    print(f"{path.name}: {path.stat().st_size} bytes, {seconds:.1f} s", flush=True)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--list", action="store_true", help="print the names of the models")
    parser.add_argument("--width", choices=catalog.WIDTHS, default="narrow")
    parser.add_argument("--exporter", choices=OPSETS, help="default: both")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "tests" / "models" / "exported")
    arguments = parser.parse_args()
    if arguments.list:
        print("\n".join(catalog.MODELS))
        return 0
    if unknown := [name for name in arguments.names if name not in catalog.MODELS]:
        parser.error(f"no such model: {', '.join(unknown)}")
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    arguments.out.mkdir(parents=True, exist_ok=True)
    exporters = [arguments.exporter] if arguments.exporter else list(OPSETS)
    results = [export_one(name, arguments.width, exporter, arguments.out)
               for name in arguments.names or catalog.MODELS
               for exporter in exporters if exporter in catalog.MODELS[name].exporters]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
