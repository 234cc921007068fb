"""Tensors larger than the caches."""
from ..figures import AtLeast, Figure


def chain(bench):
    """Both move 8 bytes per element; the copy uses streaming stores. One thread, in turn in one process."""
    results = bench.tailor.run("^(elementwise_chain|copy_bandwidth)$")
    fused, copy = results["elementwise_chain"], results["copy_bandwidth"]
    bench.note(f"elementwise chain and copy: {fused.counter('megabytes_each_way'):.0f} MB read, as many written")
    share = fused.counter("share_of_copy")
    return [Figure("elementwise chain, share of a copy's speed", share, "share", AtLeast(0.91)),
            Figure("elementwise chain, bytes moved", fused.counter("gigabytes_per_second"), "GB/s"),
            Figure("copy bandwidth, one thread", copy.counter("gigabytes_per_second"), "GB/s")]
