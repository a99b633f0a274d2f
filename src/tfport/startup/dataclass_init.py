"""The `__init__` of a dataclass: compiled from its fields once the class has more than a few instances."""

from __future__ import annotations

from collections.abc import Callable
from types import MemberDescriptorType
from typing import Any

NOTHING: Any = object()
"""No default; or an argument that was left out."""
FEW = 16
"""Compiling takes as long as creating this many instances without."""
FIELDS = "__tfport_fields__"
"""The attribute of a dataclass that has its fields by name."""


class DataclassField:
    """One field: its name and type, and the options of `field`."""

    __slots__ = ("compare", "default", "default_factory", "hash", "init", "kw_only", "name", "repr", "type")

    def __init__(
        self, *, default: Any = NOTHING, default_factory: Any = NOTHING, init: bool = True, repr: bool = True,
        hash: bool | None = None, compare: bool = True, kw_only: bool = False,
    ) -> None:  # fmt: skip
        self.name = self.type = ""
        self.default = default
        self.default_factory = default_factory
        self.init = init
        self.repr = repr
        self.hash = compare if hash is None else hash
        self.compare = compare
        self.kw_only = kw_only

    def initial_value(self, slots: bool) -> tuple[str, str, dict[str, Any]]:
        """The default of the parameter, the value to assign if any, and the objects that both name."""
        if self.default_factory is not NOTHING:
            make = f"_make_{self.name}"
            value = f"{make}() if {self.name} is _omitted else {self.name}" if self.init else f"{make}()"
            return "=_omitted", value, {make: self.default_factory}
        if self.default is NOTHING:
            return "", self.name if self.init else "", {}  # otherwise `__post_init__` assigns it
        default = f"_default_{self.name}"
        unstated = default if slots else ""  # without slots, the class has it
        return f"={default}", self.name if self.init else unstated, {default: self.default}


def compiled_later(cls: Any, *, frozen: bool, slots: bool) -> Callable[..., None]:
    """An `__init__` for a few instances, which is then replaced by a compiled one."""
    left = FEW

    def __init__(self: Any, /, *args: Any, **kwargs: Any) -> None:
        nonlocal left
        left -= 1
        if left < 0 or not _assign(self, getattr(cls, FIELDS), args, kwargs, slots):
            init = cls.__init__ = _compile(cls, frozen, slots)
            init(self, *args, **kwargs)
        elif hasattr(cls, "__post_init__"):
            self.__post_init__()

    return __init__


def _assign(
    instance: Any,
    fields: dict[str, DataclassField],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    slots: bool,
) -> bool:
    """Assign the fields; False for wrong arguments, which the compiled `__init__` reports."""
    parameters = [name for name, field in fields.items() if field.init and not field.kw_only]
    values = dict(zip(parameters, args, strict=False)) | kwargs
    if len(values) < len(args) + len(kwargs):
        return False
    for name, field in fields.items():
        if field.init and name in values:
            value = values.pop(name)
        elif field.default_factory is not NOTHING:
            value = field.default_factory()
        elif field.default is not NOTHING:
            value = field.default
        elif field.init:
            return False
        else:
            continue  # `__post_init__` assigns it
        if field.init or field.default is NOTHING or slots:  # otherwise the class has it
            object.__setattr__(instance, name, value)
    return not values


def _compile(cls: Any, frozen: bool, slots: bool) -> Callable[..., None]:
    names: dict[str, Any] = {"_omitted": NOTHING, "_set": object.__setattr__}
    positional, keyword, body = ["self"], ["*"], []
    for name, field in getattr(cls, FIELDS).items():
        default, value, objects = field.initial_value(slots)
        names |= objects
        if field.init:
            (keyword if field.kw_only else positional).append(name + default)
        if value:
            member = getattr(cls, name, None)
            if not frozen:
                body.append(f"self.{name} = {value}")
            elif isinstance(member, MemberDescriptorType):  # a slot
                names[f"_set_{name}"] = member.__set__
                body.append(f"_set_{name}(self, {value})")
            else:
                body.append(f"_set(self, {name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    parameters = ", ".join(positional + keyword * (len(keyword) > 1))
    exec(f"def __init__({parameters}):\n " + "\n ".join(body or ["pass"]), names)
    init: Callable[..., None] = names["__init__"]
    init.__qualname__, init.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    return init
