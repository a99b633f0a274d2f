"""How a layer is declared: `@layer("Dense")` on a function that adds its nodes.

    @layer("Dense", keeps_mask=True)
    def dense(b, x, *, units, activation="linear", use_bias=True):
        y = matmul(b, x, b.weight("kernel", (x.shape[-1], units)))
        ...

The positional parameters are those of the layer's call, the keyword-only ones the options of its
configuration. A default is what the layer does when a file does not state the option. An option that
the function does not name is refused, not ignored, unless it is None or has no effect on answers
(`NO_EFFECT`). Options that several layers share are the fields of a dataclass, the default of a parameter.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from tfport.discovery import Catalog
from tfport.formats.keras.records import Json
from tfport.frontends.keras.config import BARE_OPERATION, LayerConfig
from tfport.startup.dataclass import dataclass, field, replace

if TYPE_CHECKING:
    pass

F = TypeVar("F", bound=Callable[..., Any])
NO_EFFECT = re.compile(
    r"name|trainable|dtype|autocast|build_config|batch_input_shape|batch_shape|input_shape|input_dim|input_dtype"
    r"|input_length|batch_size|\w*_?initializer|\w*_?regularizer|\w*_?constraint|registered_name|module|function"
    r"|has_input_vocabulary"  # whether the vocabulary was given to the layer, or learned by it
    r"|dropout_[UW]"  # Keras 1
)
"""Options that only say how a layer was built or is trained."""
OPERATION, TF_FUNCTION = "ops.", "tf."
"""Prefixes of names that are no layers."""
FUNCTION_LAYERS = ("TFOpLambda", "SlicingOpLambda")
OPERATIONS = re.compile(r"keras(\.src|_core\.src|_core)?\.ops\b")


@dataclass(frozen=True, slots=True)
class DeclaredLayer:
    """A layer that tfport builds."""

    function: Callable[..., Any]
    keeps_mask: bool
    """Whether the mask of its first input is that of its output too."""
    inputs: tuple[str, ...]
    options: Mapping[str, Any]
    """The options and their defaults; `REQUIRED` for an option without a default."""
    takes_any_option: bool
    """Whether the function gets options that it does not name."""
    takes_any_argument: bool
    """Whether its call may have arguments that it does not name: they are in `b.keywords`."""
    casts_inputs: bool
    """Whether floating-point inputs are cast to the type that the layer computes in."""
    groups: Mapping[str, type[Any]] = field(default_factory=dict)
    """Parameters that get several options as one object of a dataclass."""
    checks_options: bool = True
    """Whether an option that the function does not name is refused."""
    wraps: tuple[str, ...] = ()
    """The options that hold layers, or lists of layers, that are built like any other."""
    states: tuple[StateSize, ...] = ()
    """For the cell of a recurrent layer: the size of each state."""
    output_state: int = 0
    """For a cell: which of its new states is its output."""


StateSize = str | int | Sequence[str | int]
"""The size of a state without the batch: a number, an option that holds it, or several for a shape."""
REQUIRED = inspect.Parameter.empty
CUSTOM_CLASSES: dict[str, DeclaredLayer] = {}
"""The layers that users declare, by class; they take precedence."""
CUSTOM_LAYERS: dict[str, DeclaredLayer] = {}
"""Single layers that users replace, by the name of the layer."""
LAYERS = Catalog[DeclaredLayer]("keras layers", "tfport.frontends.keras.layers")


def layer(
    names: str,
    *,
    keeps_mask: bool = False,
    casts_inputs: bool = True,
    wraps: str = "",
    states: Sequence[StateSize] = (),
) -> Callable[[F], F]:
    """Declare the function that builds the layers of these class names, separated by spaces.

    `wraps` are its options that hold other layers, separated by spaces; `states` the sizes of the states
    of a cell.
    Names with the prefix `ops.` are operations of Keras 3, those with `tf.` functions of TensorFlow;
    both do not cast their inputs.
    """

    def declare(function: F) -> F:
        for name in names.split():
            casts = casts_inputs and not name.startswith((OPERATION, TF_FUNCTION))
            declared = declared_layer(function, keeps_mask, casts)
            LAYERS.add(name, replace(declared, wraps=tuple(wraps.split()), states=tuple(states)))
        return function

    return declare


def declared_layer(function: Callable[..., Any], keeps_mask: bool, casts_inputs: bool) -> DeclaredLayer:
    _, *parameters = inspect.signature(function).parameters.values()
    inputs = tuple(p.name for p in parameters if p.kind == p.POSITIONAL_OR_KEYWORD)
    options = {p.name: p.default for p in parameters if p.kind == p.KEYWORD_ONLY}
    groups = {n: value for n, value in options.items() if isinstance(value, type) and is_dataclass(value)}
    for name, group in groups.items():
        del options[name]
        options.update((f.name, REQUIRED if f.default is MISSING else f.default) for f in fields(group))
    kinds = {p.kind for p in parameters}
    return DeclaredLayer(
        function,
        keeps_mask,
        inputs,
        options,
        takes_any_option=inspect.Parameter.VAR_KEYWORD in kinds,
        takes_any_argument=inspect.Parameter.VAR_POSITIONAL in kinds,
        casts_inputs=casts_inputs,
        groups=groups,
    )


def declare_custom(name: str, declared: DeclaredLayer, *, by_layer: bool = False) -> None:
    """Declare a layer of the user by its class, or one layer by its own name."""
    if by_layer:
        CUSTOM_LAYERS[name] = replace(declared, checks_options=False)
    else:
        CUSTOM_CLASSES[name] = declared


def find_layer(config: LayerConfig) -> DeclaredLayer | None:
    """The declaration for the class of a layer; None if tfport does not build it."""
    if config.name in CUSTOM_LAYERS:
        return CUSTOM_LAYERS[config.name]
    for name in (config.registered_name, config.class_name):
        if name in CUSTOM_CLASSES and not is_operation(config):
            return CUSTOM_CLASSES[name]
    declared = LAYERS.of(catalog_name(config))
    return declared[-1] if declared else None


def is_operation(config: LayerConfig) -> bool:
    """Whether it is an operation of Keras 3, which is a node of a model but not a layer."""
    if config.module == BARE_OPERATION:  # a guess, as some layers lack what all layers should store
        return bool(LAYERS.of(f"{OPERATION}{config.class_name}"))
    return OPERATIONS.match(config.module) is not None


def catalog_name(config: LayerConfig) -> str:
    """The name that a class, or the function that a layer calls, is declared by."""
    if is_operation(config):
        return f"{OPERATION}{config.class_name}"
    if config.class_name in FUNCTION_LAYERS and isinstance(config.config.get("function"), str):
        return f"{TF_FUNCTION}{config.config['function']}"
    return config.registered_name or config.class_name if ">" in config.registered_name else config.class_name


def options_of(declared: DeclaredLayer, config: Mapping[str, Json]) -> tuple[dict[str, Json], list[str]]:
    """The options for the function, and what is wrong with them."""
    options, problems = {}, []
    for name, default in declared.options.items():
        if name in config:
            options[name] = config[name]
        elif default is REQUIRED:
            problems.append(f"the option `{name}` is missing")
    others = {n: value for n, value in config.items() if n not in declared.options and value is not None}
    for parameter, group in declared.groups.items() if not problems else ():
        names = [field.name for field in fields(group) if field.name in options]
        options[parameter] = group(**{name: options.pop(name) for name in names})
    if declared.takes_any_option:
        return {**options, **others}, problems
    if declared.checks_options:
        problems += [f"the option `{name}` is unknown" for name in others if not NO_EFFECT.fullmatch(name)]
    return options, problems
