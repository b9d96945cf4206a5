"""The update formulas of the TensorFlow 1 optimizers.

Source: core/kernels/training_ops.cc of TensorFlow 2.21, and the op descriptions in training_ops.cc of core/ops.
"""

from __future__ import annotations

from typing import Any

from nbtf.compat._v1._training.apply_op import Update


def _gradient_descent(xp: Any, var: Any, alpha: Any, grad: Any) -> Any:
    return var - alpha * grad


def _momentum(xp: Any, var: Any, accum: Any, lr: Any, momentum: Any, grad: Any, use_nesterov: bool) -> Any:
    accum = accum * momentum + grad
    step = grad * lr + accum * momentum * lr if use_nesterov else lr * accum
    return var - step, accum


def _adam(
    xp: Any,
    var: Any,
    m: Any,
    v: Any,
    beta1_power: Any,
    beta2_power: Any,
    lr: Any,
    beta1: Any,
    beta2: Any,
    epsilon: Any,
    grad: Any,
) -> Any:
    alpha = lr * xp.sqrt(1 - beta2_power) / (1 - beta1_power)
    m = m + (grad - m) * (1 - beta1)
    v = v + (grad * grad - v) * (1 - beta2)
    return var - m * alpha / (xp.sqrt(v) + epsilon), m, v


def _adagrad(xp: Any, var: Any, accum: Any, lr: Any, grad: Any) -> Any:
    accum = accum + grad * grad
    return var - lr * grad / xp.sqrt(accum), accum


def _rms_prop(xp: Any, var: Any, ms: Any, mom: Any, lr: Any, rho: Any, momentum: Any, epsilon: Any, grad: Any) -> Any:
    ms = ms + (grad * grad - ms) * (1 - rho)
    mom = mom * momentum + grad * lr / xp.sqrt(ms + epsilon)
    return var - mom, ms, mom


def _centered_rms_prop(
    xp: Any, var: Any, mg: Any, ms: Any, mom: Any, lr: Any, rho: Any, momentum: Any, epsilon: Any, grad: Any
) -> Any:
    ms = ms + (grad * grad - ms) * (1 - rho)
    mg = mg + (grad - mg) * (1 - rho)
    mom = mom * momentum + lr * grad / xp.sqrt(ms - mg * mg + epsilon)
    return var - mom, mg, ms, mom


GRADIENT_DESCENT = Update("ApplyGradientDescent", _gradient_descent, 1, in_rows=False)
MOMENTUM = Update("ApplyMomentum", _momentum, 2)
ADAM = Update("ApplyAdam", _adam, 3, in_rows=False)
"""Always dense, because TensorFlow decays the moments of all rows even if the gradient has only some of them."""
ADAGRAD = Update("ApplyAdagrad", _adagrad, 2)
RMS_PROP = Update("ApplyRMSProp", _rms_prop, 3)
CENTERED_RMS_PROP = Update("ApplyCenteredRMSProp", _centered_rms_prop, 4)
