"""Optionals: a tuple of tensors, or nothing."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.graph.shapes import Shape
from tfport.runtime.lower import host


class Optional:
    """Some tensors, or None."""

    __slots__ = ("components",)

    def __init__(self, components: list[Any] | None) -> None:
        self.components = components


@host("OptionalFromValue")
def from_value(components):
    return Optional(components)


@host("OptionalNone")
def none():
    return Optional(None)


@host("OptionalHasValue")
def has_value(optional):
    return np.array(optional.components is not None)


@host("OptionalGetValue")
def get_value(optional, *, output_types, output_shapes):
    if optional.components is None:
        raise RunFailed("the optional has no value")
    if len(optional.components) != len(output_types):
        raise RunFailed(
            f"the optional must have {len(output_types)} tensors, found {len(optional.components)}"
        )
    for component, shape in zip(optional.components, output_shapes, strict=True):
        if isinstance(component, np.ndarray) and not shape.fits(Shape(component.shape)):
            raise RunFailed(f"a component must have shape {shape}, found {component.shape}")
    return list(optional.components)
