"""Prints one table: every figure, its target, and other engines' figures.

    ./dev bench [--only NAME] [--full] [--rounds N] [--threads 1,2] [--json FILE] [--markdown] [--torch] [--compilers]
                [--cpu avx2]
    ./dev bench --only models [--models NAME,NAME]    whole models, for ten minutes and more; PyTorch exports them (6 GB)
    ./dev bench --plots [FOLDER]    no table: draws latency and throughput against dims

A quick run measures a part of every list, in about five minutes; --full measures whole lists, in hours. Engines run in
processes of their own and take turns, A B A B; figures are medians. The exit status is 1 if measuring a row failed; a
missed target is no failure.
"""
import argparse
import json
import os
import pathlib
import sys
import tempfile

from . import cpu, curves, engines, figures, report
from .bench import Bench
from .rows import ROWS


ROOT = engines.BENCH.parent
PLOTS_PYTHON = ROOT / ".venv-plots" / "bin" / "python"  # ./dev installs matplotlib there


def parsed(arguments):
    parser = argparse.ArgumentParser(prog="./dev bench", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build-dir", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--only", action="append", choices=[name for row in ROWS for name in row.names],
                        help="measure only this row; may be given several times")
    parser.add_argument("--models", type=lambda text: text.split(","), default=[], metavar="NAME,NAME",
                        help="row models: only these of bench/data/models.csv")
    parser.add_argument("--peers", type=lambda text: text.split(","), default=[], metavar="NAME,NAME",
                        help="row papers: beside these alone (XLA, IREE, ...), and not without one mechanism each")
    parser.add_argument("--cpu", choices=cpu.NAMES, default=cpu.NAMES[0],
                        help="avx2: Tailor, IREE and TVM compiled for x86-64-v3, oneDNN, OpenBLAS, MKL and XLA held to AVX2; "
                             "onnxruntime and OpenVINO cannot be held on a machine with AVX-512, and are left out there")
    parser.add_argument("--full", action="store_true", help="the whole lists of shapes")
    parser.add_argument("--rounds", type=int, help="turns of each engine in each case (default 2; --full, --plots: 5)")
    parser.add_argument("--threads", default="1,2", help="thread counts of rows of models")
    parser.add_argument("--json", type=pathlib.Path, help="write the figures to this file")
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    parser.add_argument("--torch", action="store_true", help="install PyTorch first (./dev does, 5 GB in .venv-torch)")
    parser.add_argument("--compilers", action="store_true",
                        help="install XLA, IREE and TVM first, for row papers (./dev does, 1.5 GB in .venv-compilers)")
    parser.add_argument("--plots", nargs="?", type=pathlib.Path, const=ROOT / "docs" / "plots", metavar="FOLDER",
                        help="measure and draw plots instead, into this folder (default docs/plots)")
    options = parser.parse_args(arguments)
    options.threads = [int(count) for count in options.threads.split(",")]
    options.rounds = options.rounds or (5 if options.full or options.plots else 2)
    return options


def measure_rows(rows, bench, file):
    """The outcomes. After each row `file`, if any, has all outcomes so far, so that a stopped run loses little."""
    outcomes = []
    for row in rows:
        print(f"-- {row.name}: {row.title}", file=sys.stderr, flush=True)
        outcomes.append(figures.measure(row, bench))
        if file:
            document = report.as_json(outcomes, bench.machine, bench.notes, bench.tables)
            file.write_text(json.dumps(document, indent=1) + "\n")
    return outcomes


def main(arguments=None):
    options = parsed(arguments)
    level = cpu.chosen(options.cpu, cpu.has_avx512())
    environment = level.environment(os.environ)  # which all processes inherit
    os.environ.clear()
    os.environ.update(environment, TAILOR_LIBRARY_DIR=str(options.build_dir / "lib"))
    rows = [row for row in ROWS if not options.only or set(row.names) & set(options.only)]
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options.build_dir, pathlib.Path(folder), options.rounds, options.full, options.threads, level,
                      options.models, [row.name for row in rows] if options.only else [], options.peers)
        if options.plots:
            curves.plot(bench, options.plots, PLOTS_PYTHON)
            return 0
        outcomes = measure_rows(rows, bench, options.json)
    described = bench.machine
    print(f"{described['cpu']}, {described['cpus']} CPUs, load average {described['load_average']:.2f} at the start"
          + ", all held to AVX2" * level.held + "\n")
    print((report.markdown if options.markdown else report.table)(outcomes))
    for table in bench.tables:
        print("\n" + (table.markdown() if options.markdown else table.text()))
    print(*(f"\n- {note}" for note in bench.notes), sep="")
    return 1 if any(outcome.failed for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
