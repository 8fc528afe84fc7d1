"""chain of 10^6 operations, 10 elements."""

from benchmarks.harness import Bar
from benchmarks.workloads.deep import chain, jax_chain, torch_chain

BAR = Bar(1024.0, "bytes an item")
ITEMS = 10**6


def make(rng):
    return rng.normal(size=10), ITEMS


loss, torch_loss, jax_loss = chain, torch_chain, jax_chain
