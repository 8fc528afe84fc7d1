"""fill a buffer in a loop, n = 100."""

from benchmarks.harness import Bar
from benchmarks.workloads.filling import fill, jax_fill, torch_fill

BAR = Bar(15.0, "us an item")
ITEMS = 100


def make(rng):
    return (rng.normal(size=ITEMS),)


loss, torch_loss, jax_loss = fill, torch_fill, jax_fill
