import pytest
from google.protobuf import text_format
from hypothesis import example, given
from hypothesis import strategies as st
from tests.error_messages import assert_one_line

from tfport.errors import Error, UnreadableFile
from tfport.formats.encoding.message import is_text, parse_message, read_message
from tfport.formats.files import Folder
from tfport.formats.proto import graph_pb2 as pb
from tfport.formats.proto import saved_model_pb2 as sm

GRAPH = pb.GraphDef(
    node=[pb.NodeDef(name="x", op="Placeholder"), pb.NodeDef(name="y", op="Identity", input=["x"])],
    versions=pb.VersionDef(producer=27),
)
GRAPH.node[0].attr["shape"].shape.dim.add(size=-1)
GRAPH.node[0].attr["dtype"].type = pb.DT_FLOAT
BINARY = GRAPH.SerializeToString(deterministic=True)
TEXT = text_format.MessageToString(GRAPH).encode()

FORMS = {
    "binary": BINARY,
    "text": TEXT,
    "text with a byte order mark": b"\xef\xbb\xbf" + TEXT,
    "text after comments": b"# made by hand\n\n   # twice\n" + TEXT,
    "OpenCV's dialect": TEXT.replace(b"{", b": {").replace(b"\n", b"\r\n"),
}

MESSAGES = [  # a text GraphDef, part of the error
    (b"node {", 'line 1, column 6: Expected "}"'),
    (b'node { name: "x }', "line 1, column 14: String missing ending quote: '\"x }'"),
    (b"node { names: 3 }", 'line 1, column 8: Message type "NodeDef" has no field named "names"'),
    (b"version: 1e3", "line 1, column 10: Couldn't parse integer: 1e3"),
    (b"version: 1 version: 2", 'Message type "GraphDef" should not have multiple "version" fields'),
]


@pytest.mark.parametrize("form", FORMS)
def test_binary_and_text_are_recognized_by_the_content(form):
    assert parse_message(pb.GraphDef, FORMS[form], "graph") == GRAPH
    assert is_text(FORMS[form]) == (form != "binary")


def test_a_message_is_read_from_a_file(tmp_path):
    (tmp_path / "graph.pb").write_bytes(BINARY)
    assert read_message(pb.GraphDef, Folder(tmp_path), "graph.pb") == GRAPH


@pytest.mark.parametrize(("text", "message"), MESSAGES, ids=[message for _, message in MESSAGES])
def test_malformed_text_is_refused(text, message):
    with pytest.raises(UnreadableFile) as raised:
        parse_message(pb.GraphDef, text, "graph.pbtxt")
    assert str(raised.value).startswith("graph.pbtxt")
    assert message in str(raised.value)


def test_the_innermost_field_is_named():
    data = bytearray(BINARY)
    data[data.index(b"dtype") + 6] = 200  # the length of its value
    with pytest.raises(UnreadableFile, match=r"^g, byte \d+, in node\[0\]\.attr\[\d\]: the message ends"):
        parse_message(pb.GraphDef, bytes(data), "g")


def test_a_line_of_a_megabyte_is_not_repeated():
    with pytest.raises(UnreadableFile) as raised:
        parse_message(pb.GraphDef, b'node { name: "' + b"x" * 2**20 + b'" nam }', "g")
    assert len(str(raised.value)) < 300


class Huge(bytes):
    def __len__(self):
        return 2**31


def test_a_message_that_is_too_large_for_protobuf_is_refused():
    with pytest.raises(UnreadableFile, match="can have at most 2 GiB, found 2147483648 bytes"):
        parse_message(pb.GraphDef, Huge(b"\x0a\x00"), "graph.pb")


@given(st.integers(0, len(BINARY) - 1))
def test_a_truncated_message_parses_or_is_reported_as_truncated(size):
    error = error_of(pb.GraphDef, BINARY[:size])
    assert not error or ("cut short" in error) == bool(size)


@given(st.integers(0, len(BINARY) - 1), st.integers(0, 255))
def test_a_changed_byte_gives_a_message_or_an_error(at, byte):
    error_of(pb.GraphDef, BINARY[:at] + bytes([byte]) + BINARY[at + 1 :])


@given(st.integers(0, len(TEXT) - 1), st.integers(0, 255))
@example(26, ord("\\"))  # an invalid escape
def test_a_changed_character_gives_a_message_or_an_error(at, byte):
    error_of(pb.GraphDef, TEXT[:at] + bytes([byte]) + TEXT[at + 1 :])


@given(st.binary(max_size=100) | st.text(alphabet='node{}:<>"\\xu0 1-e[/]#;,\n', max_size=60).map(str.encode))
def test_any_bytes_give_a_message_or_an_error(data):
    for kind in (pb.GraphDef, sm.SavedModel, sm.MetaGraphDef):
        assert "\n" not in error_of(kind, data)


def error_of(kind, data):
    """The error for these bytes; empty if they parse. Anything but an Error is a failure."""
    try:
        parse_message(kind, data, "file")
    except Error as error:
        return assert_one_line(error)
    return ""
