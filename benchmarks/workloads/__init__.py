"""The workloads, one module each; `benchmarks.harness.load` reads them by name.

A workload module holds

* its docstring, whose first line is the title in the tables;
* ``make(rng)``: the arguments, plain arrays;
* ``loss(*arguments)``: plain NumPy through the module's ``np``, a scalar. NumPy and npgrad run this
  text as it stands; autograd runs it with ``np`` rebound to ``autograd.numpy``, mygrad on its
  tensors;
* ``torch_loss(torch, *arguments)`` and ``jax_loss(jax, *arguments)``: what somebody at home in that
  library would write. ``autograd_loss(np, ...)`` or ``mygrad_loss(mygrad, ...)`` where the rebound
  text is not what they would write;
* ``BAR``: what npgrad must reach (`benchmarks.harness.Bar`);
* optionally ``ARGNUMS`` (default ``(0,)``), ``ITEMS`` (operations or elements in one call, for bars
  that count by item), ``FORWARD_ONLY`` (time the recording alone), ``LEFT_OUT`` (library ->
  reason) and ``DIFFERENCE_STEP`` (of the reference gradient).
"""

ORDER = (
    "operator",
    "function_call",
    "chain_200",
    "rosenbrock",
    "mlp_small",
    "kalman",
    "logistic",
    "elementwise",
    "black_scholes",
    "mlp_large",
    "gaussian_process",
    "heat",
    "attention",
    "embedding",
    "fill_100",
    "fill_1000",
    "fill_10000",
    "chain_1e5",
    "chain_1e6",
)
