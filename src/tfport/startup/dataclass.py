"""Dataclasses whose `__init__` is compiled once they have more than a few instances.

The standard library compiles the methods of every dataclass when its module is imported, and imports
`inspect` to do so: a quarter of the time of a short command, mostly for classes that the command never
instantiates. Classes made here behave the same; `InitVar`, `KW_ONLY` and `unsafe_hash`, which tfport
does not use, are not supported. `dataclasses.fields`, `asdict` and `is_dataclass` accept them.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from reprlib import recursive_repr
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any

NOTHING: Any = object()
"""No default; or an argument that was left out."""
FEW = 16
"""Compiling takes as long as creating this many instances without."""
FIELDS = "__tfport_fields__"
"""The attribute of a dataclass that has its fields by name."""
Members = dict[str, Any]


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
            compile_now()(self, *args, **kwargs)
        elif hasattr(cls, "__post_init__"):
            self.__post_init__()

    def compile_now() -> Callable[..., None]:
        init = cls.__init__ = _compile(cls, frozen, slots)
        return init

    __init__.compile_now = compile_now  # type: ignore[attr-defined]
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
    types = {name: field.type for name, field in getattr(cls, FIELDS).items() if field.init}
    init.__annotations__ = {**types, "return": "None"}
    return init


def _dataclass(cls: Any = None, /, **options: bool) -> Any:
    """As `dataclasses.dataclass`."""
    return _completed(cls, **options) if cls is not None else lambda cls: _completed(cls, **options)


def _replace(instance: Any, /, **changes: Any) -> Any:
    """As `dataclasses.replace`."""
    for field in getattr(instance, FIELDS).values():
        if field.init:
            if field.name not in changes:
                changes[field.name] = getattr(instance, field.name)
        elif field.name in changes:
            raise ValueError(f"field {field.name} is declared with init=False and cannot be replaced")
    return type(instance)(**changes)


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
    from dataclasses import field as field
    from dataclasses import replace as replace
else:
    dataclass, field, replace = _dataclass, DataclassField, _replace


def _completed(
    cls: type,
    *,
    frozen: bool = False,
    slots: bool = False,
    eq: bool = True,
    order: bool = False,
    repr: bool = True,
) -> type:
    fields: dict[str, DataclassField] = {}
    for base in cls.__mro__[:0:-1]:
        fields |= base.__dict__.get(FIELDS, {})
    declared = {field.name: field for field in _declared(cls)}
    fields |= declared
    members = {
        FIELDS: fields,
        "__dataclass_fields__": _STANDARD_FIELDS,
        "__signature__": _SIGNATURE,
        **_methods(fields, frozen, eq, order),
    }
    if frozen and slots:
        members |= {"__getstate__": _state, "__setstate__": _set_state}
    if not repr:  # the class inherits one
        del members["__repr__"]
    members = {name: member for name, member in members.items() if cls.__dict__.get(name) is None}
    created: Any = _with_slots(cls, fields, members) if slots else _with_members(cls, declared, members)
    if "__init__" not in created.__dict__:
        created.__init__ = compiled_later(created, frozen=frozen, slots=slots)
    return created  # type: ignore[no-any-return]


def _declared(cls: type) -> Iterator[DataclassField]:
    """The fields in the body of a class; annotations are strings (PEP 563)."""
    for name, annotation in cls.__annotations__.items():
        if not annotation.startswith("ClassVar"):
            default = cls.__dict__.get(name, NOTHING)
            field = default if isinstance(default, DataclassField) else DataclassField(default=default)
            if type(field.default).__hash__ is None:
                raise ValueError(f"the default of {name} is mutable; use default_factory")
            field.name, field.type = name, annotation
            yield field


def _with_members(cls: type, declared: Mapping[str, DataclassField], members: Members) -> type:
    for name, field in declared.items():
        if field.default is not NOTHING:
            setattr(cls, name, field.default)
        elif name in cls.__dict__:
            delattr(cls, name)
    for name, member in members.items():
        setattr(cls, name, member)
    return cls


def _with_slots(cls: type, fields: Mapping[str, DataclassField], members: Members) -> type:
    """The class made again, as a class must have `__slots__` from the start."""
    inherited = {name for base in cls.__mro__[1:] for name in base.__dict__.get("__slots__", ())}
    removed = {"__dict__", "__weakref__", *fields}
    namespace = {name: member for name, member in cls.__dict__.items() if name not in removed}
    slots = tuple(name for name in fields if name not in inherited)
    created = type(cls)(cls.__name__, cls.__bases__, {**namespace, **members, "__slots__": slots})
    created.__qualname__ = cls.__qualname__
    return created


def _methods(fields: Mapping[str, DataclassField], frozen: bool, eq: bool, order: bool) -> Members:
    """What the class has, unless its body defines it."""
    members: Members = {
        "__match_args__": tuple(name for name, field in fields.items() if field.init and not field.kw_only),
        "__repr__": _repr,
    }
    compared = _values([name for name, field in fields.items() if field.compare])
    if eq:
        members |= {"__eq__": _comparison(compared, operator.eq), "__hash__": None}
    if eq and frozen:
        members["__hash__"] = _hash(_values([name for name, field in fields.items() if field.hash]))
    if order:
        orders = {"__lt__": operator.lt, "__le__": operator.le, "__gt__": operator.gt, "__ge__": operator.ge}
        members |= {name: _comparison(compared, compare) for name, compare in orders.items()}
    if frozen:
        members |= {"__setattr__": _set, "__delattr__": _delete}
    return members


def _values(names: list[str]) -> Callable[[Any], Any]:
    """A function that returns the values of these fields as a tuple."""
    if len(names) > 1:
        return operator.attrgetter(*names)
    return lambda instance: tuple(getattr(instance, name) for name in names)


def _comparison(values: Callable[[Any], Any], compare: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def compare_fields(self: Any, other: Any) -> Any:
        return compare(values(self), values(other)) if other.__class__ is self.__class__ else NotImplemented

    return compare_fields


def _hash(values: Callable[[Any], Any]) -> Callable[[Any], int]:
    return lambda self: hash(values(self))


@recursive_repr()
def _repr(self: Any) -> str:
    shown = [name for name, field in getattr(self, FIELDS).items() if field.repr]
    return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"


def _set(self: Any, name: str, value: Any) -> None:
    _refuse_field(self, name, "assign to")
    object.__setattr__(self, name, value)


def _delete(self: Any, name: str) -> None:
    _refuse_field(self, name, "delete")
    object.__delattr__(self, name)


def _refuse_field(instance: Any, name: str, change: str) -> None:
    """A frozen instance cannot change; a subclass that is no dataclass may have further attributes."""
    if FIELDS in type(instance).__dict__ or name in getattr(instance, FIELDS):
        from dataclasses import FrozenInstanceError

        raise FrozenInstanceError(f"cannot {change} field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, name) for name in getattr(self, FIELDS)]


def _set_state(self: Any, state: list[Any]) -> None:
    for name, value in zip(getattr(self, FIELDS), state, strict=True):
        object.__setattr__(self, name, value)


class _StandardFields:
    """`__dataclass_fields__`, by which the standard library knows a dataclass; made when first read."""

    def __get__(self, _: object, owner: type) -> dict[str, Any]:
        import dataclasses

        standard = []
        for name, field in getattr(owner, FIELDS).items():
            options = {
                option: getattr(field, option) for option in field.__slots__ if option not in ("name", "type")
            }
            stated = {option: value for option, value in options.items() if value is not NOTHING}
            standard.append((name, field.type, dataclasses.field(**stated)))
        created: Any = dataclasses.make_dataclass(owner.__name__, standard)
        owner.__dataclass_fields__ = created.__dataclass_fields__  # type: ignore[attr-defined]
        return created.__dataclass_fields__  # type: ignore[no-any-return]


_STANDARD_FIELDS = _StandardFields()


class _Signature:
    """`__signature__`, which `inspect` reads first: the `__init__` that it finds next has the fields."""

    def __get__(self, _: object, owner: Any) -> None:
        if compile_now := getattr(owner.__init__, "compile_now", None):
            compile_now()


_SIGNATURE = _Signature()
