"""A module that is imported when something of it is used."""

import importlib.util
import subprocess
import sys

import pytest

from tfport.startup.deferred_module import DeferredModule, defer


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "seldom_used.py").write_text("answer = 42\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield "seldom_used"
    sys.modules.pop("seldom_used", None)


def test_it_is_imported_when_an_attribute_is_read(module):
    defer(module)
    import seldom_used

    assert isinstance(seldom_used, DeferredModule)
    assert seldom_used.answer == 42
    assert not isinstance(sys.modules[module], DeferredModule)
    assert seldom_used.answer == 42  # also of the module that was imported before


def test_the_import_system_and_unknown_attributes(module):
    defer(module)
    import seldom_used

    assert not hasattr(seldom_used, "__path__")
    spec = importlib.util.find_spec(module)
    assert spec is not None
    assert spec.name == module
    assert isinstance(sys.modules[module], DeferredModule)
    with pytest.raises(AttributeError):
        seldom_used.question  # noqa: B018


def test_a_module_that_is_there_stays(module):
    import seldom_used

    defer(module)
    assert sys.modules[module] is seldom_used


SOURCE = """
imports = []
def double(x): return 2 * x
class Base: kind = "base"
kinds = {"a": int}
Either = int
"""
NAMES = ("double", "Base", "kinds", "Either")


@pytest.fixture
def names(module, tmp_path):
    """The stand-ins for what others import from a module, which has more."""
    (tmp_path / "seldom_used.py").write_text(SOURCE)
    defer(module, *NAMES)
    from seldom_used import Base, Either, double, kinds

    assert isinstance(sys.modules[module], DeferredModule)
    return double, Base, kinds, Either


def test_what_others_import_by_name_is_there_when_it_is_used(names, module):
    double, base, kinds, either = names
    item = kinds["a"]
    assert isinstance(sys.modules[module], DeferredModule)  # an annotation needs no module
    assert double(4) == 8
    assert not isinstance(sys.modules[module], DeferredModule)
    real = sys.modules[module]

    class Derived(base):
        pass

    assert Derived.__mro__[1] is real.Base
    assert isinstance(Derived(), base)
    assert not isinstance(3, base)
    assert base.kind == "base"
    assert item("7") == 7
    assert either | None == int | None
    assert None | either == int | None


def test_after_the_import_the_real_names_are_found(names, module):
    deferred = sys.modules[module]
    names[0](1)
    assert deferred.double is sys.modules[module].double


def test_a_stand_in_has_no_names_with_underscores(names, module):
    assert not hasattr(names[0], "__wrapped__")
    assert isinstance(sys.modules[module], DeferredModule)


@pytest.mark.parametrize(("names", "expected"), [("", {"answer", "other"}), ("['other']", {"other"})])
def test_a_star_imports_what_the_module_has(module, tmp_path, names, expected):
    stated = f"__all__ = {names}\n" if names else ""
    (tmp_path / "seldom_used.py").write_text(f"{stated}answer = 42\nother = 1\n_hidden = 2\n")
    defer(module)
    namespace: dict[str, object] = {}
    exec(f"from {module} import *", namespace)
    assert namespace.keys() - {"__builtins__"} == expected


def test_its_package_has_a_deferred_module(tmp_path, monkeypatch):
    (tmp_path / "some_package").mkdir()
    (tmp_path / "some_package/__init__.py").touch()
    (tmp_path / "some_package/part.py").write_text("answer = 42\n")
    monkeypatch.syspath_prepend(tmp_path)
    import some_package

    defer("some_package.part")
    assert some_package.part.answer == 42
    assert not isinstance(some_package.part, DeferredModule)
    for name in ("some_package", "some_package.part"):
        monkeypatch.delitem(sys.modules, name)


@pytest.mark.parametrize("implementation", ["upb", "python"])
@pytest.mark.parametrize("module", ["internal.python_message", "descriptor_database"])
def test_messages_work_with_both_implementations_of_protobuf(implementation, module):
    program = (
        "from tfport.formats.proto.graph_pb2 import NodeDef; import sys;"
        "print(NodeDef.FromString(NodeDef(name='x').SerializeToString()).name,"
        f"type(sys.modules['google.protobuf.{module}']).__name__)"
    )
    environment = {"PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": implementation, "PYTHONPATH": ":".join(sys.path)}
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    assert run.stdout.split() == ["x", "DeferredModule" if implementation == "upb" else "module"]


def test_text_is_parsed_although_its_encoding_is_deferred():
    program = """
from tfport.formats.proto.graph_pb2 import NodeDef
import sys
deferred = type(sys.modules["google.protobuf.text_encoding"]).__name__
from google.protobuf.text_format import Parse
print(Parse("name: 'a\\x62'", NodeDef()).name, deferred)
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["ab", "DeferredModule"]
