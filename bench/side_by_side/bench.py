"""State that rows share in one run: options, calibration, models, notes."""
import datetime
import math
import os
import pathlib
import platform
import sys

from .corpus import Corpus
from .models import Models
from .tailor_bench import TailorBench


def last_level_cache():
    """In bytes; 32 MiB if the system does not report it."""
    caches = sorted(pathlib.Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size"))
    sizes = [int(path.read_text().strip().removesuffix("K")) << 10 for path in caches]
    return max(sizes, default=32 << 20)


def free_memory():
    for line in open("/proc/meminfo"):
        if line.startswith("MemAvailable"):
            return int(line.split()[1]) << 10
    raise OSError("/proc/meminfo has no MemAvailable")


def machine():
    model = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")),
                 platform.machine())
    return {"cpu": model, "cpus": len(os.sched_getaffinity(0)), "kernel": platform.release(),
            "load_average": os.getloadavg()[0], "python": platform.python_version(),
            "last_level_cache": last_level_cache(), "date": datetime.date.today().isoformat()}


class Bench:
    """`full`: whole lists, else a part of each. `threads`: the thread counts of rows of models. `cpu`: a cpu.Cpu.
    `named`: the models of row "models" that are asked for; `asked`: the rows; `peers`: the peers of row "papers"."""

    def __init__(self, build_dir, folder, rounds, full, threads, cpu, named=(), asked=(), peers=()):
        self.build_dir, self.folder, self.rounds, self.full, self.threads = build_dir, folder, rounds, full, threads
        self.cpu, self.named, self.asked, self.peers = cpu, named, asked, peers
        self.tailor = TailorBench(build_dir / "bin" / "tailor-bench", rounds)
        self.models = Models(folder, build_dir)
        self.corpus = Corpus(build_dir)
        self.dots = {}  # rows.dots: the measurements of each shape
        self.notes = []
        self.tables = []  # tables.Table: printed below that of the rows
        self.machine = machine()

    def note(self, text):
        """A remark for readers of the table; kept once."""
        if text not in self.notes:
            self.notes.append(text)

    def progress(self, text):
        print(f"   {text}", file=sys.stderr, flush=True)

    def pick(self, cases, count):
        """All cases, or `count` of them in a quick run, evenly spread."""
        if self.full or len(cases) <= count:
            return list(cases)
        return [cases[round(i * (len(cases) - 1) / max(count - 1, 1))] for i in range(count)]

    def weight_copies(self, weight_bytes):
        """The number of copies of weights that exceed four last-level caches, as far as memory allows."""
        wanted, most = 4 * self.machine["last_level_cache"], free_memory() // 8
        if wanted > most:
            self.note(f"weights are cycled through {most >> 20} MiB, an eighth of the free memory, not four "
                      f"last-level caches ({wanted >> 20} MiB)")
        return max(1, math.ceil(min(wanted, most) / weight_bytes))
