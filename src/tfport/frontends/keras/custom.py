"""Layers of one's own: `@tfport.layer("MyLayer")` and `tfport.layer_of("MyBlock", …)`.

    @tfport.layer("Scale")
    def scale(b, x, *, factor):
        return b.Mul(b.Mul(x, factor), b.weight("gain", (x.shape[-1],)))

    @tfport.layer(name="lambda_1")                 # one layer of a model, such as a Lambda
    def halve(b, x):
        return b.Mul(x, 0.5)

The declarations count for the whole process and take precedence over the built-in layers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from tfport.errors import BadRegistration
from tfport.formats.keras.records import Json
from tfport.frontends.keras.layer import StateSize, declare_custom, declared_layer
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.startup.dataclass import replace

F = TypeVar("F", bound=Callable[..., Any])
OPTION = "$"
"""`"$units"` in a composition is the option `units` of the custom layer."""


def layer(
    class_name: str | None = None,
    *,
    name: str | None = None,
    keeps_mask: bool = False,
    state_size: Sequence[StateSize] = (),
    output_state: int = 0,
) -> Callable[[F], F]:
    """Declare the decorated function as a Keras layer that tfport does not know.

    The function gets a builder, the tensors of the layer's call, and the options of its configuration as
    keyword-only parameters; it returns a tensor, or a list of tensors.

    Args:
        class_name: The class of the layers to build: `MyLayer`, or `my_package>MyLayer`.
        name: The name of one layer to build, whatever its class; its options are not checked.
        keeps_mask: Whether the mask of the first input is that of the output too.
        state_size: For the cell of an RNN layer, the size of each of its states: a number, the name of the
            option that holds it, or a list of these for a shape. The function gets the input of a step
            and a list of states, and returns its output and a list of new states.
        output_state: For a cell: which of its new states is its output.
    """
    if (class_name is None) == (name is None):
        raise BadRegistration("tfport.layer: expected the name of a class, or `name=` of a layer")

    def declare(function: F) -> F:
        declared = replace(
            declared_layer(function, keeps_mask, casts_inputs=True),
            states=tuple(state_size),
            output_state=output_state,
        )
        if class_name is not None:
            declare_custom(class_name, declared)
        else:
            assert name is not None
            declare_custom(name, declared, by_layer=True)
        return function

    return declare


def layer_of(class_name: str, parts: Mapping[str, Mapping[str, Json]]) -> None:
    """Declare a class of layers as a chain of layers that tfport knows.

    Args:
        class_name: The class, `MyBlock`.
        parts: The layers in the order of their calls, by the attribute that refers to each in the class:
            `{"dense": {"class_name": "Dense", "config": {"units": "$units"}}}`. A string with `$` stands
            for an option of the custom layer.
    """
    if not parts:
        raise BadRegistration(f"tfport.layer_of: `{class_name}` has no parts")

    def composed(b: LayerBuilder, x: Any, **options: Json) -> Any:
        for attribute, part in parts.items():
            x = b.call(b.sublayer(attribute, _filled(b, part, options)), x)
        return x

    declare_custom(class_name, declared_layer(composed, keeps_mask=False, casts_inputs=True))


def _filled(b: LayerBuilder, part: Json, options: Mapping[str, Json]) -> Json:
    """A part with the values of options in place of their names."""
    if isinstance(part, Mapping):
        return {key: _filled(b, value, options) for key, value in part.items()}
    if isinstance(part, list):
        return [_filled(b, value, options) for value in part]
    if isinstance(part, str) and part.startswith(OPTION):
        if part[1:] not in options:
            raise b.refuse(f"the option `{part[1:]}` is missing")
        return options[part[1:]]
    return part
