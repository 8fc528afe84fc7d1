"""What NumPy has no name for: activations, norms, softmax, convolution, pooling, scatter, losses.

Every operation takes and returns plain arrays, or recorded ones, and is differentiable to any order
in both modes. Large float32 and float64 arrays go through the Numba kernels of `npgrad.kernels`;
float16 is computed in float32, integers in float64.
"""

from npgrad.nn.activations import affine as affine
from npgrad.nn.activations import cast as cast
from npgrad.nn.activations import clamp as clamp
from npgrad.nn.activations import erf as erf
from npgrad.nn.activations import gelu as gelu
from npgrad.nn.activations import gelu_erf as gelu_erf
from npgrad.nn.activations import leaky_relu as leaky_relu
from npgrad.nn.activations import pick as pick
from npgrad.nn.activations import recip as recip
from npgrad.nn.activations import relu as relu
from npgrad.nn.activations import scale as scale
from npgrad.nn.activations import sigmoid as sigmoid
from npgrad.nn.activations import silu as silu
from npgrad.nn.activations import softplus as softplus
from npgrad.nn.activations import sqr as sqr
from npgrad.nn.activations import swish as swish
from npgrad.nn.convolution import conv1d as conv1d
from npgrad.nn.convolution import conv2d as conv2d
from npgrad.nn.convolution import conv2d_grad_bias as conv2d_grad_bias
from npgrad.nn.convolution import conv2d_grad_input as conv2d_grad_input
from npgrad.nn.convolution import conv2d_grad_weight as conv2d_grad_weight
from npgrad.nn.convolution import conv_transpose2d as conv_transpose2d
from npgrad.nn.indexing import cat as cat
from npgrad.nn.indexing import gather as gather
from npgrad.nn.indexing import index_add as index_add
from npgrad.nn.indexing import index_select as index_select
from npgrad.nn.indexing import narrow as narrow
from npgrad.nn.indexing import scatter_add as scatter_add
from npgrad.nn.norms import batch_norm as batch_norm
from npgrad.nn.norms import group_norm as group_norm
from npgrad.nn.norms import layer_norm as layer_norm
from npgrad.nn.norms import rms_norm as rms_norm
from npgrad.nn.pooling import avg_pool2d as avg_pool2d
from npgrad.nn.pooling import max_pool2d as max_pool2d
from npgrad.nn.softmax import cross_entropy as cross_entropy
from npgrad.nn.softmax import log_softmax as log_softmax
from npgrad.nn.softmax import logsumexp as logsumexp
from npgrad.nn.softmax import mse_loss as mse_loss
from npgrad.nn.softmax import softmax as softmax

__all__ = [
    "affine",
    "avg_pool2d",
    "batch_norm",
    "cast",
    "cat",
    "clamp",
    "conv1d",
    "conv2d",
    "conv2d_grad_bias",
    "conv2d_grad_input",
    "conv2d_grad_weight",
    "conv_transpose2d",
    "cross_entropy",
    "erf",
    "gather",
    "gelu",
    "gelu_erf",
    "group_norm",
    "index_add",
    "index_select",
    "layer_norm",
    "leaky_relu",
    "log_softmax",
    "logsumexp",
    "max_pool2d",
    "mse_loss",
    "narrow",
    "pick",
    "recip",
    "relu",
    "rms_norm",
    "scale",
    "scatter_add",
    "sigmoid",
    "silu",
    "softmax",
    "softplus",
    "sqr",
    "swish",
]
