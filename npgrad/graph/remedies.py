"""What to write in place of a call that takes plain numbers, by the words of the user's line."""

from __future__ import annotations

import re

# np.random's generators draw in C from plain parameters. A family of location and scale is the
# standard draw, stretched and shifted, whose derivative by its parameters is the sample's own.
DRAWS = {
    "normal": "loc + scale * rng.standard_normal(size)",
    "uniform": "low + (high - low) * rng.random(size)",
    "exponential": "scale * rng.standard_exponential(size)",
    "gamma": "scale * rng.standard_gamma(shape, size), with a plain shape",
    "laplace": "loc + scale * rng.laplace(size=size)",
    "logistic": "loc + scale * rng.logistic(size=size)",
    "gumbel": "loc + scale * rng.gumbel(size=size)",
    "lognormal": "np.exp(loc + scale * rng.standard_normal(size))",
    "multivariate_normal": "mean + rng.standard_normal((size, n)) @ np.linalg.cholesky(cov).T",
    "permutation": "x[rng.permutation(len(x))]",
    "permuted": "x[rng.permutation(len(x))]",
    "choice": "x[rng.choice(len(x), size)]",
}
_OTHERS = "beta binomial chisquare dirichlet multinomial pareto poisson rayleigh standard_t weibull"
_MAKERS = r"\w*(?:random|rng|gen|state|rs)\w*(?:\([^()]*\))?"  # what draws, as it is usually called
_DRAW = re.compile(rf"(?i:{_MAKERS})\.({'|'.join(DRAWS)}|{'|'.join(_OTHERS.split())})\(")


def remedy(asked: str) -> str | None:
    """What to write in place of the call in `asked`; None if nothing better is known."""
    if ".dot(" in asked or "@ [" in asked:
        return "np.dot(a, x), or a @ x: what a plain array does itself is not seen"
    if "_sympy_(" in asked:
        return "sympy.lambdify(symbols, expression), whose function takes x"
    drawn = _DRAW.search(asked)
    if drawn is None:
        return None
    name = drawn.group(1)
    if name in DRAWS:
        return f"{DRAWS[name]}; np.random draws with plain numbers"
    return "a sample that is written with its parameters outside of np.random, which takes numbers"
