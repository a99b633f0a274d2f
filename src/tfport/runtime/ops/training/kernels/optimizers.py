"""Optimizer steps: each rule computes new values of a variable and its slots from a gradient.

A rule is written once, for arrays. It is declared for reference variables (`ApplyX`), for resource
variables (`ResourceApplyX`) and, where TensorFlow has them, for gradients of some rows
(`SparseApplyX`, `ResourceSparseApplyX`), whose input `indices` follows the gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host

Rule = Callable[..., tuple[Any, ...]]


def rule(name: str, *, slots: int, flag: str = "", sparse: bool = False, refs: bool = True) -> Any:
    """Declare the ops of a rule.

    The first `slots` parameters are variables, `flag` is an attribute, `sparse` adds the sparse ops
    and `refs` the ops for reference variables.
    """

    def declare(function: Rule) -> Rule:
        code = function.__code__
        names = code.co_varnames[: code.co_argcount]
        grad = names.index("delta" if "delta" in names else "grad")
        steps = {"Apply": _dense_step(function, slots, grad)}
        if sparse:
            steps["SparseApply"] = _sparse_step(function, slots, grad)
        for prefix, step in steps.items():
            ops = f"Resource{prefix}{name}" + (f" {prefix}{name}" if refs else "")
            host(ops)(_kernel(step, slots, flag))
        return function

    return declare


def _kernel(step: Rule, slots: int, flag: str) -> Any:
    """The host kernel of a rule whose ops have attribute `flag`."""

    def run(inputs: Sequence[Any], context: Any, *flags: bool) -> Any:
        variables, rest = inputs[:slots], inputs[slots:]
        with variables[0].lock:
            values = step([v.read() for v in variables], rest, flags)
            for variable, value in zip(variables, values, strict=True):
                variable.assign(np.asarray(value, variable.read().dtype))
        return inputs[0] if context.outputs else None

    def plain(*inputs, use_locking, context):
        return run(inputs, context)

    def nesterov(*inputs, use_locking, use_nesterov, context):
        return run(inputs, context, use_nesterov)

    def update_slots(*inputs, use_locking, update_slots, context):
        return run(inputs, context, update_slots)

    def multiply_linear(*inputs, use_locking, multiply_linear_by_lr, context):
        return run(inputs, context, multiply_linear_by_lr)

    return {
        "": plain,
        "use_nesterov": nesterov,
        "update_slots": update_slots,
        "multiply_linear_by_lr": multiply_linear,
    }[flag]


def _dense_step(function: Rule, slots: int, grad: int) -> Rule:
    def step(old: Sequence[Any], rest: Sequence[Any], flags: Sequence[bool]) -> tuple[Any, ...]:
        gradient = rest[grad - slots]
        for value in (*old, gradient):
            if value.shape != old[0].shape:
                raise RunFailed(f"slots and gradient must have the shape {old[0].shape}, found {value.shape}")
        _check_scalars(rest, [grad - slots])
        return function(*old, *rest, *flags)

    return step


def _sparse_step(function: Rule, slots: int, grad: int) -> Rule:
    def step(old: Sequence[Any], rest: Sequence[Any], flags: Sequence[bool]) -> tuple[Any, ...]:
        i = grad - slots
        gradient, indices = rest[i], rest[i + 1]
        _check_scalars(rest, [i, i + 1])
        _check_rows(old[0], gradient, indices)
        new = [value.copy() for value in old]
        for positions in _distinct_rows(indices):
            rows = indices[positions]
            inputs = (*rest[:i], gradient[positions], *rest[i + 2 :])
            updated = function(*(value[rows] for value in new), *inputs, *flags)
            for value, part in zip(new, updated, strict=True):
                value[rows] = part
        return tuple(new)

    return step


def _check_rows(var: Any, gradient: Any, indices: Any) -> None:
    if indices.ndim != 1 or var.ndim < 1 or gradient.shape != (indices.size, *var.shape[1:]):
        raise RunFailed(
            f"indices must be a vector and the gradient must have one row for each, found shapes "
            f"{indices.shape} and {gradient.shape} for a variable of shape {var.shape}"
        )
    outside = (indices < 0) | (indices >= var.shape[0])
    if np.any(outside):
        raise RunFailed(f"indices must be in [0, {var.shape[0]}), found {indices[outside][0]}")


def _distinct_rows(indices: Any) -> list[Any]:
    """Groups of positions in `indices` without repeated rows; a repeated row takes several steps."""
    if np.unique(indices).size == indices.size:
        return [slice(None)]
    last_group: dict[int, int] = {}
    groups: list[list[int]] = []
    for position, row in enumerate(indices.tolist()):
        group = last_group[row] = last_group.get(row, -1) + 1
        if group == len(groups):
            groups.append([])
        groups[group].append(position)
    return [np.array(group) for group in groups]


def _check_scalars(inputs: Sequence[Any], exceptions: Sequence[int]) -> None:
    for i, value in enumerate(inputs):
        if i not in exceptions and value.ndim:
            raise RunFailed(f"hyperparameters must be scalars, found shape {value.shape}")


def _rsqrt(x: Any) -> Any:
    return x.dtype.type(1) / np.sqrt(x)


def _shrunk(x: Any, by: Any) -> Any:
    """Soft thresholding: `x` moved towards zero by at most `by`."""
    return np.sign(x) * np.maximum(np.abs(x) - by, x.dtype.type(0))


@rule("GradientDescent", slots=1)
def gradient_descent(var, alpha, delta):
    return (var - delta * alpha,)


@rule("ProximalGradientDescent", slots=1, sparse=True)
def proximal_gradient_descent(var, alpha, l1, l2, delta):
    stepped = var - delta * alpha
    kept = _shrunk(stepped, alpha * l1) if l1 > 0 else stepped
    return (kept / (var.dtype.type(1) + l2 * alpha),)


@rule("Momentum", slots=2, flag="use_nesterov", sparse=True)
def momentum(var, accum, lr, grad, momentum, use_nesterov):
    accum = accum * momentum + grad
    step = grad * lr + accum * momentum * lr if use_nesterov else accum * lr
    return var - step, accum


@rule("KerasMomentum", slots=2, flag="use_nesterov", sparse=True, refs=False)
def keras_momentum(var, accum, lr, grad, momentum, use_nesterov):
    accum = accum * momentum - grad * lr
    return var + (accum * momentum - grad * lr if use_nesterov else accum), accum


@rule("Adagrad", slots=2, flag="update_slots", sparse=True)
def adagrad(var, accum, lr, grad, update_slots):
    accum = accum + grad * grad if update_slots else accum
    return var - grad * lr * _rsqrt(accum), accum


@rule("AdagradV2", slots=2, flag="update_slots", sparse=True)
def adagrad_v2(var, accum, lr, epsilon, grad, update_slots):
    accum = accum + grad * grad if update_slots else accum
    return var - grad * lr / (np.sqrt(accum) + epsilon), accum


@rule("ProximalAdagrad", slots=2, sparse=True)
def proximal_adagrad(var, accum, lr, l1, l2, grad):
    accum = accum + grad * grad
    rate = lr * _rsqrt(accum)
    stepped = var - grad * rate
    kept = _shrunk(stepped, rate * l1) if l1 > 0 else stepped
    return kept / (var.dtype.type(1) + l2 * rate), accum


@rule("AdagradDA", slots=3, sparse=True)
def adagrad_da(var, gradients, squares, grad, lr, l1, l2, global_step):
    steps = global_step.astype(var.dtype)
    gradients, squares = gradients + grad, squares + grad * grad
    kept = _shrunk(gradients, steps * l1) if l1 > 0 else gradients
    return -lr * kept / (l2 * steps * lr + np.sqrt(squares)), gradients, squares


@rule("Adadelta", slots=3, sparse=True)
def adadelta(var, accum, accum_update, lr, rho, epsilon, grad):
    rest = var.dtype.type(1) - rho
    accum = accum * rho + grad * grad * rest
    update = np.sqrt(accum_update + epsilon) * _rsqrt(accum + epsilon) * grad
    return var - update * lr, accum, accum_update * rho + update * update * rest


def _ftrl(var, accum, linear, grad, shrunk, lr, l1, l2, lr_power, multiply_linear_by_lr):
    """FTRL-proximal; with `multiply_linear_by_lr`, `linear` is stored multiplied by the learning rate."""
    dtype = var.dtype.type
    new = accum + grad * grad
    before, after = (np.sqrt(a) if lr_power == -0.5 else a**-lr_power for a in (accum, new))
    scale, divide = (lr, dtype(1)) if multiply_linear_by_lr else (dtype(1), lr)
    linear = linear + shrunk * scale - (after - before) / divide * var
    kept = (l1 * scale * np.sign(linear) - linear) / (after / divide + dtype(2) * l2 * scale)
    return np.where(np.abs(linear) > l1 * scale, kept, dtype(0)), new, linear


@rule("Ftrl", slots=3, flag="multiply_linear_by_lr", sparse=True)
def ftrl(var, accum, linear, grad, lr, l1, l2, lr_power, multiply_linear_by_lr):
    return _ftrl(var, accum, linear, grad, grad, lr, l1, l2, lr_power, multiply_linear_by_lr)


@rule("FtrlV2", slots=3, flag="multiply_linear_by_lr", sparse=True)
def ftrl_v2(var, accum, linear, grad, lr, l1, l2, l2_shrinkage, lr_power, multiply_linear_by_lr):
    shrunk = grad + var.dtype.type(2) * l2_shrinkage * var
    return _ftrl(var, accum, linear, grad, shrunk, lr, l1, l2, lr_power, multiply_linear_by_lr)


@rule("Adam", slots=3, flag="use_nesterov")
def adam(var, m, v, beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad, use_nesterov):
    unit = var.dtype.type(1)
    alpha = lr * np.sqrt(unit - beta2_power) / (unit - beta1_power)
    m = m + (grad - m) * (unit - beta1)
    v = v + (grad * grad - v) * (unit - beta2)
    direction = grad * (unit - beta1) + beta1 * m if use_nesterov else m
    return var - (direction * alpha) / (np.sqrt(v) + epsilon), m, v


@rule("AdamWithAmsgrad", slots=4, refs=False)
def adam_with_amsgrad(var, m, v, vhat, beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad):
    unit = var.dtype.type(1)
    alpha = lr * np.sqrt(unit - beta2_power) / (unit - beta1_power)
    m = m + (grad - m) * (unit - beta1)
    v = v + (grad * grad - v) * (unit - beta2)
    vhat = np.maximum(vhat, v)
    return var - (m * alpha) / (np.sqrt(vhat) + epsilon), m, v, vhat


@rule("AdaMax", slots=3)
def ada_max(var, m, v, beta1_power, lr, beta1, beta2, epsilon, grad):
    unit = var.dtype.type(1)
    m = m + (grad - m) * (unit - beta1)
    v = np.maximum(beta2 * v, np.abs(grad))
    return var - lr / (unit - beta1_power) * (m / (v + epsilon)), m, v


@rule("RMSProp", slots=3, sparse=True)
def rms_prop(var, ms, mom, lr, rho, momentum, epsilon, grad):
    ms = ms + (grad * grad - ms) * (var.dtype.type(1) - rho)
    mom = mom * momentum + (grad * lr) / np.sqrt(ms + epsilon)
    return var - mom, ms, mom


@rule("CenteredRMSProp", slots=4, sparse=True)
def centered_rms_prop(var, mg, ms, mom, lr, rho, momentum, epsilon, grad):
    rest = var.dtype.type(1) - rho
    ms = ms + (grad * grad - ms) * rest
    mg = mg + (grad - mg) * rest
    mom = mom * momentum + (grad * lr) / np.sqrt((ms - mg * mg) + epsilon)
    return var - mom, mg, ms, mom


@rule("AddSign", slots=2)
def add_sign(var, m, lr, alpha, sign_decay, beta, grad):
    m = m * beta + grad * (var.dtype.type(1) - beta)
    agree = np.sign(grad) * np.sign(m)
    return var - lr * (alpha + sign_decay * agree) * grad, m


@rule("PowerSign", slots=2)
def power_sign(var, m, lr, logbase, sign_decay, beta, grad):
    m = m * beta + grad * (var.dtype.type(1) - beta)
    agree = np.sign(grad) * np.sign(m)
    return var - lr * np.exp(logbase * sign_decay * agree) * grad, m
