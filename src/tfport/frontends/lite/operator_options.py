"""The options of an operator that its function takes: those of the file, and defaults."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import fields
from inspect import Parameter
from typing import Any

from tfport.formats.lite.records import CUSTOM
from tfport.formats.lite.schema import lite_schema
from tfport.frontends.lite.builder import OperatorBuilder
from tfport.frontends.lite.operator import DeclaredOperator


def operator_options(b: OperatorBuilder, declared: DeclaredOperator) -> dict[str, Any]:
    """The options that a function takes; CannotRun if the operator has another one that matters."""
    operator = b.operator
    if operator.code.op == CUSTOM:
        if not declared.options:  # they may be of any format
            return {}
        from tfport.formats.lite.flexbuffer import custom_options

        stored = {**declared.options, **custom_options(operator.custom_options)}
        if missing := [name for name in declared.options if stored[name] is Parameter.empty]:
            raise b.refuse(f"it has no option {' and no '.join(missing)}")
        return {name: stored[name] for name in declared.options}
    defaults = {field.name: field.default for field in lite_schema().tables.get(operator.options_type, ())}
    for name, value in operator.options.items():
        if name not in declared.options and value != defaults.get(name):
            raise b.refuse(f"its option {name}={value} is not supported")
    stated = {name: value for name, value in declared.options.items() if value is not Parameter.empty}
    options = {**_usual_defaults(), **stated, **defaults, **operator.options}
    return _grouped({name: options[name] for name in declared.options}, declared.groups)


def _grouped(options: dict[str, Any], groups: Mapping[str, type[Any]]) -> dict[str, Any]:
    """Options that belong to a group become one object."""
    made = {name: group(**{f.name: options[f.name] for f in fields(group)}) for name, group in groups.items()}
    inside = {f.name for group in groups.values() for f in fields(group)}
    return {name: value for name, value in options.items() if name not in inside} | made


@functools.cache
def _usual_defaults() -> Mapping[str, Any]:
    """The defaults of options by name, for a file that leaves out the table: they agree between tables."""
    tables = lite_schema().tables.items()
    return {
        field.name: field.default for name, table in tables if name.endswith("Options") for field in table
    }
