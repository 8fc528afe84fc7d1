"""HIPS/autograd's names over npgrad.

Change ``import autograd.numpy as np`` to ``import npgrad.compat.autograd.numpy as np`` and
``from autograd import grad`` to ``from npgrad.compat.autograd import grad``. What differs is in
``docs/from_autograd.md``; the convention for complex numbers does not: here, and only here, the
gradient of a real function of z = x + iy is du/dx - i du/dy, and rules given to `defvjp` are
transposes without a conjugate.

>>> import npgrad.compat.autograd.numpy as np
>>> from npgrad.compat.autograd import grad
>>> grad(lambda x, y: np.sum(x * y), 1)(np.array([1.0, 2.0]), np.ones(2))
array([1., 2.])
"""

from .builtins import dict as dict
from .builtins import isinstance as isinstance
from .builtins import list as list
from .builtins import tuple as tuple
from .builtins import type as type
from .differential_operators import checkpoint as checkpoint
from .differential_operators import deriv as deriv
from .differential_operators import elementwise_grad as elementwise_grad
from .differential_operators import grad as grad
from .differential_operators import grad_and_aux as grad_and_aux
from .differential_operators import grad_named as grad_named
from .differential_operators import hessian as hessian
from .differential_operators import hessian_tensor_product as hessian_tensor_product
from .differential_operators import hessian_vector_product as hessian_vector_product
from .differential_operators import holomorphic_grad as holomorphic_grad
from .differential_operators import jacobian as jacobian
from .differential_operators import make_ggnvp as make_ggnvp
from .differential_operators import make_hvp as make_hvp
from .differential_operators import make_jvp as make_jvp
from .differential_operators import make_jvp_reversemode as make_jvp_reversemode
from .differential_operators import make_vjp as make_vjp
from .differential_operators import multigrad_dict as multigrad_dict
from .differential_operators import tensor_jacobian_product as tensor_jacobian_product
from .differential_operators import value_and_grad as value_and_grad
from .differential_operators import vector_jacobian_product as vector_jacobian_product
from .extend import defjvp as defjvp
from .extend import defvjp as defvjp
from .extend import primitive as primitive
from .stand_in import install as install
