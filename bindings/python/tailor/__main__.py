"""Command line: python -m tailor compile model.onnx -o model.tlr

compile, import (the graph's text) and facts (what is known of its shapes) read ONNX models; they need libtailor_onnx.so.
Dim sizes: --dim batch=1..64 (a range), --dim batch=8 (fixed), --dim "seq=2*S" (an expression)."""
from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any, Optional, TextIO

import numpy

import tailor
import tailor.onnx


def dims(texts: Iterable[str]) -> dict[str, Any]:
    """{name: dim} of NAME=N, NAME=MIN..MAX and NAME=EXPRESSION."""
    out: dict[str, Any] = {}
    for text in texts:
        name, _, extent = text.partition("=")
        low, dots, high = extent.partition("..")
        if not name or not extent or (dots and not (low.isdigit() and high.isdigit())):
            raise SystemExit(f'--dim "{text}" is neither NAME=N, NAME=MIN..MAX nor NAME=EXPRESSION')
        out[name] = tailor.symbol(name, min=int(low), max=int(high)) if dots else extent
    return out


def fixed(texts: Iterable[str]) -> dict[str, Any]:
    """{name: array} of NAME=@FILE.npy."""
    out = {}
    for text in texts:
        name, mark, path = text.partition("=@")
        if not name or not path:
            raise SystemExit(f'--fixed "{text}" is not NAME=@FILE.npy')
        out[name] = numpy.load(path)
    return out


class Progress:
    """A bar on a terminal; nothing elsewhere."""

    WIDTH = 32

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._shown = stream, False

    def __call__(self, phase: str, done: float) -> None:
        if not self._stream.isatty():
            return
        filled = round(done * self.WIDTH)
        self._stream.write(f"\r\033[K[{'#' * filled}{'.' * (self.WIDTH - filled)}] {done:4.0%} {phase}")
        self._stream.flush()
        self._shown = True

    def close(self) -> None:
        """Removes the bar."""
        if self._shown:
            self._stream.write("\r\033[K")
            self._stream.flush()


def compile_model(graph: tailor.Graph, options: argparse.Namespace) -> None:
    """The command compile."""
    progress = Progress(sys.stderr)
    try:
        executable = graph.compile(options.target, progress=progress, max_versions=options.max_versions,
                                   donated=options.donate)
    finally:
        progress.close()
    path = options.output or os.path.splitext(options.model)[0] + ".tlr"
    executable.save(path)
    print(f"{path}: {os.path.getsize(path):,} bytes")
    for kind, specs in (("in ", executable.inputs), ("out", executable.outputs)):
        for spec in specs:
            print(f"  {kind} {spec.name}: {spec.dtype}[{', '.join(spec.dims)}]")


def parser() -> argparse.ArgumentParser:
    """The parser of the command line."""
    out = argparse.ArgumentParser(prog="python -m tailor", description="Compiles ONNX models for every shape.")
    commands = out.add_subparsers(dest="command", required=True)
    for name, text in (("compile", "writes an artifact"), ("import", "prints the graph"),
                       ("facts", "prints the symbols, ranges and equalities")):
        command = commands.add_parser(name, help=text)
        command.add_argument("model", help="an .onnx file")
        command.add_argument("--dim", action="append", default=[], metavar="NAME=N|NAME=MIN..MAX|NAME=EXPRESSION",
                             help="the size or range of a dim_param, or of <input>_dim<i>")
        command.add_argument("--fixed", action="append", default=[], metavar="NAME=@FILE.npy",
                             help="an input that always has this value; the graph then has no such input")
        command.add_argument("--custom-domain", action="append", default=[], metavar="DOMAIN",
                             help="a domain whose nodes are custom operators")
        if name == "compile":
            command.add_argument("-o", "--output", help="the artifact (default: the model's name with .tlr)")
            command.add_argument("--target", action="append", default=[],
                                 help="x86-64-v2, x86-64-v3, x86-64-v4 or host; several give several variants")
            command.add_argument("--max-versions", type=int, metavar="N", help="most versions of a kernel (default: 8)")
            command.add_argument("--donate", action="append", default=[], metavar="INPUT",
                                 help="an input whose memory runs may write")
        if name == "import":
            command.add_argument("--text", action="store_true", help="the canonical text (the default)")
    return out


def main(arguments: Optional[Sequence[str]] = None) -> None:
    """Runs one command."""
    options = parser().parse_args(arguments)
    try:
        graph = tailor.onnx.load(options.model, dims=dims(options.dim), fixed=fixed(options.fixed),
                                 custom_domains=options.custom_domain)
        if options.command == "compile":
            compile_model(graph, options)
        else:
            print(graph.text if options.command == "import" else graph.facts, end="")
    except (tailor.onnx.ModelError, tailor.Error, OSError) as error:
        raise SystemExit(f"{options.model}: {error}") from None


if __name__ == "__main__":
    main()
