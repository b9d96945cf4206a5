"""`tf.autodiff`: gradients of ops that have run."""

from nbtf._public import public_names as _public_names
from nbtf.autodiff.custom import custom_gradient as custom_gradient
from nbtf.autodiff.custom import grad_pass_through as grad_pass_through
from nbtf.autodiff.custom import recompute_grad as recompute_grad
from nbtf.autodiff.ends import UnconnectedGradients as UnconnectedGradients
from nbtf.autodiff.forward import ForwardAccumulator as ForwardAccumulator
from nbtf.autodiff.graphs import AggregationMethod as AggregationMethod
from nbtf.autodiff.graphs import gradients as gradients
from nbtf.autodiff.graphs import hessians as hessians
from nbtf.autodiff.tape import GradientTape as GradientTape


def __dir__() -> list[str]:
    return _public_names(__name__)
