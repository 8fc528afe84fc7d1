"""``autograd.numpy.numpy_boxes``: the type of recorded arrays."""

from npgrad.graph.array import GradArray as ArrayBox

__all__ = ["ArrayBox"]
