"""Dataclasses of tfport behave as those of the standard library, which answers each question first."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import subprocess
import sys
import threading
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from tfport.startup import dataclass as lazy


def declare(library: Any) -> SimpleNamespace:
    """The same classes, made by one of the two libraries."""
    dataclass, field = library.dataclass, library.field

    @dataclass
    class Plain:
        a: int
        b: str = "b"
        c: list[int] = field(default_factory=list)
        kind: ClassVar[str] = "plain"

    @dataclass(frozen=True, slots=True)
    class Frozen:
        a: int
        b: Any = None
        c: dict[str, int] = field(default_factory=dict, hash=False)
        hidden: int = field(default=1, repr=False, compare=False)

        def __post_init__(self) -> None:
            if self.a < 0:
                raise ValueError("negative")

    @dataclass(frozen=True)
    class FrozenWithDict:
        a: int
        made: int = field(init=False, default=7)

    @dataclass(eq=False, slots=True)
    class Identity:
        a: int = 0
        later: str = field(init=False, default="x")
        listed: list[int] = field(init=False, default_factory=list)

    @dataclass(frozen=True, slots=True, order=True)
    class Ordered:
        a: int
        b: int = 0

    @dataclass(slots=True)
    class Sub(Identity):
        b: int = field(default=2, kw_only=True)
        c: int = 3

        def __repr__(self) -> str:
            return f"sub {self.a} {self.b}"

    @dataclass(frozen=True)
    class OwnHash:
        a: int

        def __hash__(self) -> int:
            return 5

    @dataclass
    class Empty:
        pass

    @dataclass(slots=True)
    class Single:
        a: Any

    class Extended(FrozenWithDict):
        def __init__(self) -> None:
            super().__init__(4)
            self.more = 1

    return SimpleNamespace(**{cls.__name__: cls for cls in locals().values() if isinstance(cls, type)})


OURS, STANDARD = declare(lazy), declare(dataclasses)
NAN = float("nan")
QUESTIONS = {
    "repr": lambda m: repr(m.Plain(1)),
    "repr without a field": lambda m: repr(m.Frozen(1, hidden=2)),
    "repr of its own": lambda m: repr(m.Sub(1)),
    "repr of a cycle": lambda m: repr(_cycle(m.Plain(1))),
    "repr of nothing": lambda m: repr(m.Empty()),
    "fields assigned": lambda m: vars(m.Plain(1, c=[2])),
    "factories called": lambda m: m.Plain(1).c is m.Plain(1).c,
    "class variables": lambda m: (m.Plain.kind, m.Plain.b, hasattr(m.Plain, "c")),
    "equal": lambda m: (m.Plain(1) == m.Plain(1), m.Plain(1) == m.Plain(2), m.Plain(1) == 1),
    "equal to a subclass": lambda m: m.FrozenWithDict(4) == m.Extended(),
    "equal but for ignored": lambda m: m.Frozen(1, hidden=1) == m.Frozen(1, hidden=2),
    "equal by identity": lambda m: m.Identity() == m.Identity(),
    "equal NaN": lambda m: m.Single(NAN) == m.Single(NAN),
    "equal if empty": lambda m: m.Empty() == m.Empty(),
    "hashes": lambda m: hash(m.Frozen(1)) == hash(m.Frozen(1, c={"x": 1})),
    "own hash": lambda m: hash(m.OwnHash(1)),
    "no hash": lambda m: hash(m.Plain(1)),
    "unhashable value": lambda m: hash(m.Frozen(1, b=[])),
    "order": lambda m: sorted([m.Ordered(2, 1), m.Ordered(1, 2), m.Ordered(1, 1)])[0].b,
    "order among others": lambda m: m.Ordered(1) < 2,
    "at most": lambda m: (m.Ordered(1) <= m.Ordered(1), m.Ordered(1) > m.Ordered(0)),
    "at least": lambda m: m.Ordered(1) >= m.Ordered(2),
    "frozen": lambda m: setattr(m.Frozen(1), "a", 2),
    "frozen, new attribute": lambda m: setattr(m.FrozenWithDict(1), "new", 2),
    "frozen, deleted": lambda m: delattr(m.FrozenWithDict(1), "a"),
    "a subclass of a frozen class": lambda m: vars(m.Extended()),
    "a field of a frozen base": lambda m: setattr(m.Extended(), "a", 2),
    "no such slot": lambda m: setattr(m.Identity(), "new", 2),
    "has no dict": lambda m: (hasattr(m.Identity(), "__dict__"), hasattr(m.Plain(1), "__dict__")),
    "slots": lambda m: (m.Frozen.__slots__, m.Sub.__slots__),
    "set after": lambda m: (m.Identity().later, m.FrozenWithDict(1).made, m.Identity().listed),
    "inherited": lambda m: (m.Sub(1, 5, b=3).c, m.Sub(a=1).a),
    "keyword only": lambda m: m.Sub(1, 5, 6),
    "missing": lambda m: m.Plain(),
    "unknown": lambda m: m.Plain(1, x=2),
    "too many": lambda m: m.Ordered(1, 2, 3),
    "not initialised": lambda m: m.FrozenWithDict(1, made=2),
    "after": lambda m: m.Frozen(-1),
    "match": lambda m: (m.Frozen.__match_args__, m.Sub.__match_args__, m.FrozenWithDict.__match_args__),
    "copied": lambda m: [repr(copy.copy(x)) for x in (m.Plain(1), m.Frozen(1), m.Identity(), m.Extended())],
    "copied deeply": lambda m: copy.deepcopy(m.Frozen(1, c={"x": 1})).c,
    "standard fields": lambda m: [(f.name, f.type, f.init, f.repr) for f in dataclasses.fields(m.Sub)],
    "standard defaults": lambda m: [f.default is dataclasses.MISSING for f in dataclasses.fields(m.Plain)],
    "standard dictionary": lambda m: dataclasses.asdict(m.Frozen(1, m.Plain(2))),
    "a dataclass": lambda m: [dataclasses.is_dataclass(x) for x in (m.Plain, m.Plain(1), m.Extended, int)],
    "signatures": lambda m: [parameters(c) for c in (m.Plain, m.Frozen, m.Sub, m.Extended, m.FrozenWithDict)],
    "names": lambda m: (m.Frozen.__name__, m.Frozen.__qualname__, m.Frozen.__module__),
}  # fmt: skip


def parameters(cls):
    found = inspect.signature(cls).parameters.values()
    return [(p.name, p.kind, p.annotation, p.default is p.empty) for p in found]


def _cycle(instance):
    instance.c.append(instance)
    return instance


def answer(question, module):
    try:
        return question(module)
    except Exception as error:
        return type(error), str(error)


CHANGED = ("equal NaN", "a field not initialised")
"""What the standard library answers otherwise since Python 3.13; ours answers as in 3.12 everywhere."""


def asked(questions):
    changed = CHANGED if sys.version_info >= (3, 13) else ()
    return [pytest.param(question, id=name) for name, question in questions.items() if name not in changed]


def test_changed_answers_are_those_of_python_3_12():
    assert OURS.Single(NAN) == OURS.Single(NAN)
    with pytest.raises(ValueError, match="field made is declared with init=False"):
        lazy.replace(OURS.FrozenWithDict(1), made=2)


@pytest.mark.parametrize("few", [0, 1000], ids=["compiled", "few instances"])
@pytest.mark.parametrize("question", asked(QUESTIONS))
def test_a_class_behaves_as_in_the_standard_library(question, few, monkeypatch):
    monkeypatch.setattr("tfport.startup.dataclass.FEW", few)
    assert answer(question, declare(lazy)) == answer(question, STANDARD)


REPLACED = {
    "one field": lambda m, replace: repr(replace(m.Frozen(1), a=2)),
    "nothing": lambda m, replace: repr(replace(m.Plain(1, c=[3]))),
    "an unknown field": lambda m, replace: replace(m.Plain(1), x=2),
    "a field not initialised": lambda m, replace: replace(m.FrozenWithDict(1), made=2),
}


@pytest.mark.parametrize("question", asked(REPLACED))
def test_fields_are_replaced_as_in_the_standard_library(question):
    ours, standard = (
        answer(lambda m, of=of: question(m, of.replace), classes)
        for classes, of in ((OURS, lazy), (STANDARD, dataclasses))
    )
    assert ours == standard if isinstance(standard, str) else ours[0] is standard[0]


def test_a_mutable_default_is_refused():
    with pytest.raises(ValueError, match="default of listed is mutable"):

        @lazy.dataclass
        class Shared:
            listed: list[int] = []  # noqa: RUF012


def test_threads_may_make_instances_together_while_the_class_is_compiled(monkeypatch):
    monkeypatch.setattr("tfport.startup.dataclass.FEW", 2)
    for _ in range(20):
        made, classes = [], declare(lazy)
        start = threading.Barrier(4)

        def make(classes=classes, start=start, made=made):
            start.wait()
            made.append(classes.Frozen(1, b=2))

        threads = [threading.Thread(target=make) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert made == [classes.Frozen(1, b=2)] * 4


@lazy.dataclass(frozen=True, slots=True)
class Pickled:
    """At the top of a module, where pickle looks."""

    a: int
    b: str = "b"


def test_instances_are_pickled():
    assert pickle.loads(pickle.dumps(Pickled(1, "c"))) == Pickled(1, "c")


def test_declaring_imports_neither_dataclasses_nor_inspect():
    program = """
import sys
from tfport.startup.dataclass import dataclass, field
@dataclass(frozen=True)
class A:
    a: "int" = field(default=1)
A(2), repr(A()), hash(A())
print(*sys.modules)
"""
    modules = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout
    assert not {"dataclasses", "inspect"} & set(modules.split())
