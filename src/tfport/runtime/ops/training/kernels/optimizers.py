"""Steps of optimisers: each rule makes new values of a variable and its slots out of a gradient.

A rule is written once, for arrays. It is declared for TF1's references (`ApplyX`), for resources
(`ResourceApplyX`) and, where TensorFlow has them, for gradients of some rows only
(`SparseApplyX`, `ResourceSparseApplyX`), whose `indices` come behind the gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host

Rule = Callable[..., tuple[Any, ...]]


def rule(name: str, *, slots: int, flag: str = "", sparse: bool = False, refs: bool = True) -> Any:
    """Declare the ops of a rule; its first `slots` parameters are variables, `flag` is an attribute."""

    def declare(function: Rule) -> Rule:
        code = function.__code__
        names = code.co_varnames[: code.co_argcount]
        grad = names.index("delta" if "delta" in names else "grad")
        forms = ["Apply", "SparseApply"] if sparse else ["Apply"]
        for form in forms:
            step = _rows(function, slots, grad) if form == "SparseApply" else _whole(function, slots, grad)
            ops = f"Resource{form}{name}" + (f" {form}{name}" if refs else "")
            host(ops)(_kernel(step, slots, flag))
        return function

    return declare


def _kernel(step: Rule, slots: int, flag: str) -> Any:
    """What the ops of a rule have in common, with the attributes that they have."""

    def run(given: Sequence[Any], *flags: bool) -> Any:
        variables, rest = given[:slots], given[slots:]
        with variables[0].lock:
            made = step([v.read() for v in variables], rest, flags)
            for variable, value in zip(variables, made, strict=True):
                variable.assign(np.asarray(value, variable.read().dtype))

    def plain(*given, use_locking, context):
        run(given)
        return given[0] if context.outputs else None

    def nesterov(*given, use_locking, use_nesterov, context):
        run(given, use_nesterov)
        return given[0] if context.outputs else None

    def update_slots(*given, use_locking, update_slots, context):
        run(given, update_slots)
        return given[0] if context.outputs else None

    def by_lr(*given, use_locking, multiply_linear_by_lr, context):
        run(given, multiply_linear_by_lr)
        return given[0] if context.outputs else None

    return {
        "": plain,
        "use_nesterov": nesterov,
        "update_slots": update_slots,
        "multiply_linear_by_lr": by_lr,
    }[flag]


def _whole(function: Rule, slots: int, grad: int) -> Rule:
    def step(old: Sequence[Any], rest: Sequence[Any], flags: Sequence[bool]) -> tuple[Any, ...]:
        gradient = rest[grad - slots]
        for value in (*old, gradient):
            if value.shape != old[0].shape:
                raise RunFailed(f"the variable has shape {old[0].shape}, its slot or gradient {value.shape}")
        _scalars(rest, [grad - slots])
        return function(*old, *rest, *flags)

    return step


def _rows(function: Rule, slots: int, grad: int) -> Rule:
    def step(old: Sequence[Any], rest: Sequence[Any], flags: Sequence[bool]) -> tuple[Any, ...]:
        at = grad - slots
        gradient, indices = rest[at], rest[at + 1]
        _scalars(rest, [at, at + 1])
        _check_rows(old[0], gradient, indices)
        others = (*rest[:at], None, *rest[at + 2 :])
        new = [value.copy() for value in old]
        for some in _waves(indices):
            rows = indices[some]
            given = [gradient[some] if i == at else value for i, value in enumerate(others)]
            for whole, part in zip(
                new, function(*(value[rows] for value in new), *given, *flags), strict=True
            ):
                whole[rows] = part
        return tuple(new)

    return step


def _check_rows(var: Any, gradient: Any, indices: Any) -> None:
    if indices.ndim != 1 or var.ndim < 1 or gradient.shape != (indices.size, *var.shape[1:]):
        raise RunFailed(
            f"the variable has shape {var.shape}, and the gradient {gradient.shape} for {indices.shape} rows"
        )
    outside = (indices < 0) | (indices >= var.shape[0])
    if np.any(outside):
        raise RunFailed(f"index {indices[outside][0]} is out of range for {var.shape[0]} rows")


def _waves(indices: Any) -> list[Any]:
    """Places of rows, in order, so that no row is twice in one wave: one that comes twice steps twice."""
    if np.unique(indices).size == indices.size:
        return [slice(None)]
    seen: dict[int, int] = {}
    waves: list[list[int]] = []
    for place, row in enumerate(indices.tolist()):
        wave = seen[row] = seen.get(row, -1) + 1
        if wave == len(waves):
            waves.append([])
        waves[wave].append(place)
    return [np.array(wave) for wave in waves]


def _scalars(rest: Sequence[Any], but: Sequence[int]) -> None:
    for i, value in enumerate(rest):
        if i not in but and value.ndim:
            raise RunFailed(f"learning rate and other settings must be scalars, not of shape {value.shape}")


def _rsqrt(x: Any) -> Any:
    return x.dtype.type(1) / np.sqrt(x)


def _shrunk(x: Any, by: Any) -> Any:
    """Nearer to zero by as much, and never beyond."""
    return np.sign(x) * np.maximum(np.abs(x) - by, x.dtype.type(0))


@rule("GradientDescent", slots=1)
def gradient_descent(var, alpha, delta):
    return (var - delta * alpha,)


@rule("ProximalGradientDescent", slots=1, sparse=True)
def proximal_gradient_descent(var, alpha, l1, l2, delta):
    moved = var - delta * alpha
    kept = _shrunk(moved, alpha * l1) if l1 > 0 else moved
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
    moved = var - grad * rate
    kept = _shrunk(moved, rate * l1) if l1 > 0 else moved
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
    """FTRL-proximal; with `multiply_linear_by_lr`, `linear` is kept times the learning rate."""
    one, two = var.dtype.type(1), var.dtype.type(2)
    new = accum + grad * grad
    before, after = (np.sqrt(a) if lr_power == -0.5 else a**-lr_power for a in (accum, new))
    scale, divide = (lr, one) if multiply_linear_by_lr else (one, lr)
    linear = linear + shrunk * scale - (after - before) / divide * var
    kept = (l1 * scale * np.sign(linear) - linear) / (after / divide + two * l2 * scale)
    return np.where(np.abs(linear) > l1 * scale, kept, var.dtype.type(0)), new, linear


@rule("Ftrl", slots=3, flag="multiply_linear_by_lr", sparse=True)
def ftrl(var, accum, linear, grad, lr, l1, l2, lr_power, multiply_linear_by_lr):
    return _ftrl(var, accum, linear, grad, grad, lr, l1, l2, lr_power, multiply_linear_by_lr)


@rule("FtrlV2", slots=3, flag="multiply_linear_by_lr", sparse=True)
def ftrl_v2(var, accum, linear, grad, lr, l1, l2, l2_shrinkage, lr_power, multiply_linear_by_lr):
    shrunk = grad + var.dtype.type(2) * l2_shrinkage * var
    return _ftrl(var, accum, linear, grad, shrunk, lr, l1, l2, lr_power, multiply_linear_by_lr)


@rule("Adam", slots=3, flag="use_nesterov")
def adam(var, m, v, beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad, use_nesterov):
    one = var.dtype.type(1)
    alpha = lr * np.sqrt(one - beta2_power) / (one - beta1_power)
    m = m + (grad - m) * (one - beta1)
    v = v + (grad * grad - v) * (one - beta2)
    direction = grad * (one - beta1) + beta1 * m if use_nesterov else m
    return var - (direction * alpha) / (np.sqrt(v) + epsilon), m, v


@rule("AdamWithAmsgrad", slots=4, refs=False)
def adam_with_amsgrad(var, m, v, vhat, beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad):
    one = var.dtype.type(1)
    alpha = lr * np.sqrt(one - beta2_power) / (one - beta1_power)
    m = m + (grad - m) * (one - beta1)
    v = v + (grad * grad - v) * (one - beta2)
    vhat = np.maximum(vhat, v)
    return var - (m * alpha) / (np.sqrt(vhat) + epsilon), m, v, vhat


@rule("AdaMax", slots=3)
def ada_max(var, m, v, beta1_power, lr, beta1, beta2, epsilon, grad):
    one = var.dtype.type(1)
    m = m + (grad - m) * (one - beta1)
    v = np.maximum(beta2 * v, np.abs(grad))
    return var - lr / (one - beta1_power) * (m / (v + epsilon)), m, v


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
