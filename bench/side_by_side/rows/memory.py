"""Memory of a session that sees many shapes."""
from .. import engines
from ..figures import AtMost, Figure
from ..lists import encoder_stream

COUNT = 1000
LARGEST = 4  # shapes with the largest workspaces, each run in a process of its own


def stream(bench):
    """The resident memory that running adds to a process that has loaded the encoder.

    The peak of the largest shape is taken from the shapes with the largest planned workspaces. A quick run has an
    encoder of one layer."""
    model = "minilm" if bench.full else "one_layer"
    shapes = encoder_stream(COUNT, most_length=512 if bench.full else 256)
    artifact, threads = bench.models.artifact(model), max(bench.threads)

    def opened():
        return engines.all_open(lambda: engines.python_engine("tailor", threads, artifact))
    with opened() as (engine,):
        planned = engine.ask(workspace=shapes)["bytes"]
        together = added_by(engine, shapes)
    largest = sorted(zip(planned, shapes), reverse=True)[:LARGEST]
    alone = []
    for _, shape in largest:
        with opened() as (engine,):
            alone.append(added_by(engine, [shape]))
    return [Figure("peak memory of 1,000 shapes over the largest one's", together / max(alone), "x", AtMost(1.01)),
            Figure("peak memory of 1,000 shapes", together / 2**20, "MiB")]


def added_by(engine, shapes):
    before = engine.ask(memory=True)["now"]
    for shape in shapes:
        engine.prepare(encoder=shape)
    return engine.ask(memory=True)["peak"] - before
