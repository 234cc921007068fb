"""The sentence encoder built once for all shapes, with all versions of each kernel and with one version, beside builds
for one shape each, in turn, on one thread."""
from .. import engines
from ..figures import AtLeast, AtMost, Figure, geomean

SHAPES = [(1, 16), (4, 64), (1, 128), (8, 128), (2, 384)]
QUICK = 3
SECONDS = 0.15
TOLERANCE = 1e-5
NOISE = 1.02  # two runs of one build differ by this factor


def static_build(bench):
    ratios, one_version = [], []
    for batch, length in bench.pick(SHAPES, QUICK):
        bench.progress(f"minilm, built for B={batch} S={length} only")
        builds = [bench.models.artifact("minilm"), bench.models.artifact("minilm", f"B={batch}", f"S={length}"),
                  bench.models.artifact("minilm", versions=1)]
        with engines.all_open(*(lambda build=build: engines.python_engine("tailor", 1, build)
                                for build in builds)) as opened:
            for engine in opened:
                engine.prepare(encoder=[batch, length])
            engines.require_agreement(opened, TOLERANCE, f"builds for all shapes and one for {batch} x {length}")
            dynamic, static, single = engines.take_turns(opened, bench.rounds, SECONDS)
        ratios.append(static / dynamic)
        one_version.append(static / single)
    return [Figure("speed of the build for all shapes over builds for one", geomean(ratios), "x", AtLeast(0.95)),
            Figure("time of builds for one shape over the build for all", geomean(ratios), "x", AtMost(NOISE)),
            Figure("one version of each kernel: speed over builds for one", geomean(one_version), "x")]
