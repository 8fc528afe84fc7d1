"""``autograd.misc``: flattening of nested containers, and optimizers on top of it."""

from . import optimizers as optimizers
from .flatten import flatten as flatten
from .flatten import flatten_func as flatten_func
from .tracers import const_graph as const_graph
