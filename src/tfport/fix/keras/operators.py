"""Operators on tensors: functions of TensorFlow in Keras 2, operations in Keras 3.

`x * 2.0` is a `TFOpLambda` layer that calls `math.multiply` in files of Keras 2, and the operation `Multiply`
in those of Keras 3. An operator that the table does not have, or that is called in another way, stays.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from tfport.atlas.python_names import presence
from tfport.atlas.versions import version_key
from tfport.fix.keras.dialect import Dialect
from tfport.formats.keras.records import Json
from tfport.frontends.keras.config import LayerCall, LayerConfig, ModelConfig, every_ref
from tfport.frontends.keras.indexing import SLICE
from tfport.frontends.keras.layer import FUNCTION_LAYERS, is_operation
from tfport.startup.dataclass import dataclass, field

FUNCTION_LAYER, SLICING_LAYER = FUNCTION_LAYERS
SLICING = "__operators__.getitem"
OPERATORS = """
__operators__.add,math.add         numpy.Add           y
math.subtract                      numpy.Subtract      y
math.multiply                      numpy.Multiply      y
math.truediv,math.divide           numpy.TrueDivide    y
compat.v1.floor_div,math.floordiv  numpy.FloorDivide   y
math.floormod                      numpy.Mod           y
math.pow                           numpy.Power         y
math.maximum                       numpy.Maximum       y
math.minimum                       numpy.Minimum       y
math.greater                       numpy.Greater       y
math.greater_equal                 numpy.GreaterEqual  y
math.less                          numpy.Less          y
math.less_equal                    numpy.LessEqual     y
math.equal,__operators__.eq        numpy.Equal         y
math.not_equal,__operators__.ne    numpy.NotEqual      y
math.logical_and                   numpy.LogicalAnd    y
math.logical_or                    numpy.LogicalOr     y
math.equal                         numpy.Equal         y
math.not_equal                     numpy.NotEqual      y
linalg.matmul                      numpy.Matmul        b
where                              numpy.Where         x y
__operators__.getitem              numpy.GetItem       slice_spec
math.negative                      numpy.Negative
math.abs                           numpy.Absolute
math.exp                           numpy.Exp
math.log                           numpy.Log
math.sqrt                          numpy.Sqrt
math.square                        numpy.Square
math.sin                           numpy.Sin
math.cos                           numpy.Cos
math.tanh                          numpy.Tanh
math.floor                         numpy.Floor
math.ceil                          numpy.Ceil
math.sign                          numpy.Sign
math.logical_not                   numpy.LogicalNot
ones_like                          numpy.OnesLike
zeros_like                         numpy.ZerosLike
math.erf                           math.Erf
math.rsqrt                         math.Rsqrt
math.log1p                         numpy.Log1p
math.expm1                         numpy.Expm1
nn.relu                            nn.Relu
nn.silu,nn.swish                   nn.Silu             beta=1.0
nn.elu                             nn.Elu              >alpha=1.0
nn.selu                            nn.Selu
nn.gelu                            nn.Gelu             approximate>approximate=False
nn.softsign                        nn.Softsign
nn.log_softmax                     nn.LogSoftmax       axis>axis=-1
nn.relu6                           nn.Relu6
math.sigmoid                       nn.Sigmoid
math.softplus                      nn.Softplus
nn.softmax                         nn.Softmax          axis>axis=-1
nn.leaky_relu                      nn.LeakyRelu        alpha>negative_slope=0.2
one_hot                            nn.OneHot           depth>num_classes axis>axis=-1 >dtype="float32"
cast                               core.Cast           dtype>dtype
math.round                         numpy.Round         >decimals=0
clip_by_value                      numpy.Clip          clip_value_min>x_min clip_value_max>x_max
math.reduce_mean                   numpy.Mean          axis>axis=None keepdims>keepdims=False
math.reduce_sum                    numpy.Sum           axis>axis=None keepdims>keepdims=False
math.reduce_prod                   numpy.Prod          axis>axis=None keepdims>keepdims=False
math.reduce_max                    numpy.Max           axis>axis=None keepdims>keepdims=False
math.reduce_min                    numpy.Min           axis>axis=None keepdims>keepdims=False
math.reduce_std                    numpy.Std           axis>axis=None keepdims>keepdims=False
math.reduce_variance               numpy.Var           axis>axis=None keepdims>keepdims=False
math.reduce_any                    numpy.Any           axis>axis=None keepdims>keepdims=False
math.reduce_all                    numpy.All           axis>axis=None keepdims>keepdims=False
reshape                            numpy.Reshape       shape>newshape
compat.v1.transpose,transpose      numpy.Transpose     perm>axes=None conjugate=False
expand_dims                        numpy.ExpandDims    axis>axis
compat.v1.squeeze,squeeze          numpy.Squeeze       axis>axis=None
concat                             numpy.Concatenate   axis>axis
stack                              numpy.Stack         axis>axis=0
unstack                            core.Unstack        num>num=None axis>axis=0
split                              numpy.Split         num_or_size_splits>indices_or_sections axis>axis=0
tile                               numpy.Tile          multiples>repeats
repeat                             numpy.Repeat        repeats>repeats axis>axis=None
math.cumsum                        numpy.Cumsum        axis>axis=0 exclusive=False reverse=False
compat.v1.gather,gather            numpy.Take          indices axis>axis=0 batch_dims=0
"""
"""Functions that mean the same (the first is written), the operation, and the arguments of the function.

`y` is an operand; `perm>axes=None` is the option `axes` of the operation and what counts in TensorFlow
without it; `batch_dims=0` has no counterpart and may have this value only, and so has `>decimals=0` of the
operation.
"""
_ARGUMENT = re.compile(r"(\w*)(>(\w+))?(=(.+))?")
_REQUIRED = object()


@dataclass(frozen=True, slots=True)
class Operator:
    """A function of TensorFlow and the operation of Keras 3 that computes the same."""

    functions: tuple[str, ...]
    module: str
    class_name: str
    operands: list[str] = field(default_factory=list)
    """The names of the operands after the first, in TensorFlow."""
    options: dict[str, tuple[str, Any]] = field(default_factory=dict)
    """Arguments of the function, each with the option of the operation and its default in TensorFlow."""
    only_in_2: dict[str, Any] = field(default_factory=dict)
    only_in_3: dict[str, Any] = field(default_factory=dict)


@cache
def table() -> list[Operator]:
    return [_operator(*line.split()) for line in OPERATORS.strip().splitlines()]


def _operator(functions: str, operation: str, *arguments: str) -> Operator:
    module, _, class_name = operation.partition(".")
    operator = Operator(tuple(functions.split(",")), f"keras.src.ops.{module}", class_name)
    for name, _, option, _, value in (_ARGUMENT.fullmatch(text).groups() for text in arguments):  # type: ignore[union-attr]
        default = _REQUIRED if value is None else ast.literal_eval(value)
        if option and name:
            operator.options[name] = (option, default)
        elif option:
            operator.only_in_3[option] = default
        elif default is _REQUIRED:
            operator.operands.append(name)
        else:
            operator.only_in_2[name] = default
    return operator


def with_operators_of(model: ModelConfig, dialect: Dialect) -> list[str]:
    """Write operators in the words of a release; returns the layers that changed."""
    changed = []
    for layer in model.layers:
        if layer.model is not None:
            changed += with_operators_of(layer.model, dialect)
        translate = _to_3 if dialect.is_3 else _to_2
        for operator in table():
            if translate(operator, layer):
                changed.append(layer.name)
                break
    return changed


def with_functions_of(model: ModelConfig, dialect: Dialect) -> list[str]:
    """Use names of functions that the TensorFlow of a release has; returns what it does not have at all."""
    missing = []
    for layer in model.layers:
        if layer.model is not None:
            missing += with_functions_of(layer.model, dialect)
        function = layer.config.get("function") if layer.class_name == FUNCTION_LAYER else None
        if not isinstance(function, str) or _has_function(function, dialect):
            continue
        others = next((known.functions for known in table() if function in known.functions), ())
        other = next((name for name in others if _has_function(name, dialect)), None)
        if other is None:
            missing.append(f"layer `{layer.name}`: {dialect.release.name} has no function tf.{function}")
        else:
            layer.config = {**layer.config, "function": other}
    return missing


def _has_function(function: str, dialect: Dialect) -> bool:
    """Whether TensorFlow has a function, as far as its names are recorded."""
    module, _, name = f"tensorflow.{function}".rpartition(".")
    recorded = presence(module, name)
    release = version_key(".".join(dialect.release.version.split(".")[:2]))
    return recorded is None or any(
        version_key(first) <= release <= version_key(last) for first, last in recorded.spans
    )


def _to_3(operator: Operator, layer: LayerConfig) -> bool:
    """Make an operation of a function; returns whether that was possible."""
    if layer.class_name not in FUNCTION_LAYERS or layer.config.get("function") not in operator.functions:
        return False
    stated: list[dict[str, Json]] = []
    calls = []
    for call in layer.calls:
        rest = {name: value for name, value in call.kwargs.items() if value is not None and name != "name"}
        operands = [rest.pop(name, None) for name in operator.operands]
        options = {option: rest.pop(name, default) for name, (option, default) in operator.options.items()}
        fixed = [rest.pop(name, value) == value for name, value in operator.only_in_2.items()]
        if rest or not all(fixed) or _REQUIRED in options.values() or any(every_ref(options)):
            return False
        stated.append(options)
        calls.append(LayerCall((*call.args, *(_slices(value, _new_slice) for value in operands))))
    options = stated[0] if stated else {}
    if any(other != options for other in stated) or isinstance(options.get("indices_or_sections"), list):
        return False
    layer.class_name, layer.module, layer.calls = operator.class_name, operator.module, calls
    layer.registered_name = operator.class_name
    layer.config = {"name": layer.name, **options, **operator.only_in_3}
    return True


def _to_2(operator: Operator, layer: LayerConfig) -> bool:
    """Make a function of an operation; returns whether that was possible."""
    if (layer.class_name, is_operation(layer)) != (operator.class_name, True):
        return False
    rest = {name: value for name, value in layer.config.items() if value is not None and name != "name"}
    kwargs = {
        name: rest.pop(option)
        for name, (option, default) in operator.options.items()
        if option in rest and rest[option] != default
    }
    rest = {name: value for name, value in rest.items() if name not in _names(operator)}
    sections = kwargs.get("num_or_size_splits")
    if any(value is not False and value != operator.only_in_3.get(n) for n, value in rest.items()):
        return False
    if isinstance(sections, list) or any(_is_other_call(operator, call) for call in layer.calls):
        return False
    layer.calls = [_old_call(operator, call, kwargs) for call in layer.calls]
    function = operator.functions[0]
    layer.stands_for = f"layer `{layer.name}` ({layer.class_name}): it must be a function layer, and"
    layer.class_name = SLICING_LAYER if function == SLICING else FUNCTION_LAYER
    layer.module = layer.registered_name = ""
    layer.config = {"name": layer.name, "function": function}
    return True


def _old_call(operator: Operator, call: LayerCall, options: Mapping[str, Json]) -> LayerCall:
    operands = [_slices(value, _old_slice) for value in call.args[1:]]
    return LayerCall(call.args[:1], {**options, **dict(zip(operator.operands, operands, strict=True))})


def _names(operator: Operator) -> set[str]:
    return {option for option, _ in operator.options.values()}


def _is_other_call(operator: Operator, call: LayerCall) -> bool:
    named = any(value is not None for value in call.kwargs.values())
    return named or len(call.args) != 1 + len(operator.operands)


def _slices(value: Json, write: Callable[[Mapping[str, Json]], Json]) -> Json:
    """An index with its ranges in the form of a version; any other value as it is."""
    if isinstance(value, list | tuple):
        return [_slices(item, write) for item in value]
    return write(value) if isinstance(value, Mapping) else value


def _new_slice(stored: Mapping[str, Json]) -> Json:
    return {"class_name": SLICE, "config": dict(stored)} if "start" in stored else stored


def _old_slice(stored: Mapping[str, Json]) -> Json:
    return dict(stored["config"]) if stored.get("class_name") == SLICE else stored
