"""A module that is imported when something of it is used."""

import subprocess
import sys

import pytest

from tfport.deferred_module import DeferredModule, defer


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
    assert isinstance(sys.modules[module], DeferredModule)
    with pytest.raises(AttributeError):
        seldom_used.question  # noqa: B018


def test_a_module_that_is_there_stays(module):
    import seldom_used

    defer(module)
    assert sys.modules[module] is seldom_used


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
