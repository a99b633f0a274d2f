import io
import os
import zipfile

import pytest
from google.protobuf import text_format
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.error_messages import reads_or_raises_one_line

from tfport.errors import Error, NotAModel, UnreadableFile
from tfport.formats.checkpoint.signature import CHECKPOINT
from tfport.formats.checkpoint.table import MAGIC
from tfport.formats.encoding.message import read_message
from tfport.formats.files import MemoryFiles
from tfport.formats.find import find_model
from tfport.formats.format import ModelFormat, Sample
from tfport.formats.graph_def.signature import GRAPH_DEF, META_GRAPH
from tfport.formats.proto import graph_pb2 as pb
from tfport.formats.proto import saved_model_pb2 as sm
from tfport.formats.recognize import FORMATS, recognize
from tfport.formats.saved_model.signature import SAVED_MODEL
from tfport.formats.tfjs.signature import TFJS

GRAPH = pb.GraphDef(node=[pb.NodeDef(name="x", op="Placeholder")], versions=pb.VersionDef(producer=27))
META = sm.MetaGraphDef(graph_def=GRAPH, meta_info_def={"tensorflow_version": "1.15.5", "tags": ["serve"]})
META.meta_info_def.stripped_op_list.op.add(name="Placeholder")
SAVED = sm.SavedModel(saved_model_schema_version=1, meta_graphs=[META])
TFJS_JSON = b'{"format": "graph-model", "modelTopology": {"node": []}, "weightsManifest": []}'
TABLE = bytes(60) + MAGIC
STATE = b'model_checkpoint_path: "/elsewhere/m-2"\nall_model_checkpoint_paths: "/elsewhere/m-1"\n'

FUNCTIONS = pb.FunctionDefLibrary(function=[pb.FunctionDef(signature=pb.OpDef(name="f"))])
MESSAGES = {
    "a graph": (GRAPH, GRAPH_DEF),
    "a graph of one unnamed version": (pb.GraphDef(version=20), GRAPH_DEF),
    "a graph with no nodes": (pb.GraphDef(versions=pb.VersionDef(producer=3)), GRAPH_DEF),
    "a graph of functions": (pb.GraphDef(library=FUNCTIONS), GRAPH_DEF),
    "a meta graph": (META, META_GRAPH),
    "a meta graph without information": (sm.MetaGraphDef(graph_def=GRAPH), META_GRAPH),
    "a meta graph without a graph": (sm.MetaGraphDef(meta_info_def={"tags": ["serve"]}), META_GRAPH),
    "a saved model": (SAVED, SAVED_MODEL),
    "a saved model of nothing": (sm.SavedModel(saved_model_schema_version=1), SAVED_MODEL),
    "a saved model without a version": (sm.SavedModel(meta_graphs=[META]), SAVED_MODEL),
    "a saved model of two": (
        sm.SavedModel(saved_model_schema_version=1, meta_graphs=[META] * 2),
        SAVED_MODEL,
    ),
}


def binary(message):
    return message.SerializeToString(deterministic=True)


@pytest.mark.parametrize("case", MESSAGES)
def test_a_message_is_recognized_by_its_structure(case):
    message, format_ = MESSAGES[case]
    for data in (binary(message), text_format.MessageToString(message).encode()):
        files = MemoryFiles("file", {"": memoryview(data)})
        assert recognize(Sample(files, "")) is format_


@pytest.mark.parametrize("case", MESSAGES)
def test_bytes_and_open_files_are_recognized(case, tmp_path):
    message, format_ = MESSAGES[case]
    for source in (binary(message), bytearray(binary(message)), io.BytesIO(binary(message))):
        location = find_model(source)
        assert location.format is format_
        assert read_message(type(message), location.files, location.name) == message
    (tmp_path / "any.name").write_bytes(binary(message))
    with open(tmp_path / "any.name", "rb") as file:
        assert find_model(file).where == str(tmp_path / "any.name")


def write(folder, tree):
    for name, data in tree.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


G, M, S = binary(GRAPH), binary(META), binary(SAVED)
PB, PBTXT, TEXT = "saved_model.pb", "saved_model.pbtxt", text_format.MessageToString(SAVED).encode()
OLD_TFJS = {"tensorflowjs_model.pb": G, "weights_manifest.json": b'[{"paths": [], "weights": []}]'}
LAYOUTS = [  # files, path, the model: format, folder, name
    ({PB: S}, "", SAVED_MODEL, "", PB),
    ({PBTXT: TEXT}, "", SAVED_MODEL, "", PBTXT),
    ({PB: S, PBTXT: b"old", "1/" + PB: S}, "", SAVED_MODEL, "", PB),
    ({"e/" + PB: S}, "e/" + PB, SAVED_MODEL, "e", PB),
    ({"foo.pb": S}, "foo.pb", SAVED_MODEL, "", "foo.pb"),
    ({"foo.pb": S}, "", SAVED_MODEL, "", "foo.pb"),
    ({"2/" + PB: S, "10/" + PB: S, "11/notes.txt": b""}, "", SAVED_MODEL, "10", PB),
    ({"model.json": TFJS_JSON, "package.json": b"{}"}, "", TFJS, "", "model.json"),
    ({"age.json": TFJS_JSON, "package.json": b"{}"}, "", TFJS, "", "age.json"),
    ({"model.json": TFJS_JSON}, "model.json", TFJS, "", "model.json"),
    (OLD_TFJS, "", TFJS, "", "tensorflowjs_model.pb"),
    (OLD_TFJS, "tensorflowjs_model.pb", TFJS, "", "tensorflowjs_model.pb"),
    (OLD_TFJS, "weights_manifest.json", TFJS, "", "tensorflowjs_model.pb"),
    (OLD_TFJS | {"model.json": TFJS_JSON}, "", TFJS, "", "model.json"),
    ({"m/" + name: data for name, data in OLD_TFJS.items()}, "m/weights_manifest.json", TFJS, "m",
     "tensorflowjs_model.pb"),
    ({"checkpoint": STATE, "m-1.meta": M, "m-2.meta": M, "m-2.index": TABLE}, "", META_GRAPH, "", "m-2.meta"),
    ({"checkpoint": STATE, "m-1.index": TABLE, "m-2.index": TABLE}, "", CHECKPOINT, "", "m-2"),
    ({"checkpoint": STATE, "m-2": TABLE}, "checkpoint", CHECKPOINT, "", "m-2"),
    ({"checkpoint": b"\x93msgpack", "m.index": TABLE}, "", CHECKPOINT, "", "m"),
    ({"m.meta": M, "m.index": TABLE, "m.data-00000-of-00001": b"x"}, "", META_GRAPH, "", "m.meta"),
    ({"m.meta": M, "m.index": TABLE}, "m", CHECKPOINT, "", "m"),
    ({"m.meta": M}, "m", META_GRAPH, "", "m.meta"),
    ({"m.index": TABLE}, "m.index", CHECKPOINT, "", "m"),
    ({"m.index": TABLE, "m.data-00000-of-00001": b"x"}, "m.data-00000-of-00001", CHECKPOINT, "", "m"),
    ({"v/variables.index": TABLE}, "v", CHECKPOINT, "v", "variables"),
    ({"v/variables.index": TABLE}, "v/variables", CHECKPOINT, "v", "variables"),
    ({"old.ckpt": TABLE}, "old.ckpt", CHECKPOINT, "", "old.ckpt"),
    ({"c-00000-of-00002": TABLE, "c-00001-of-00002": TABLE}, "c-00001-of-00002", CHECKPOINT, "", "c"),
    ({"c-00000-of-00002": TABLE, "c-00001-of-00002": TABLE}, "c", CHECKPOINT, "", "c"),
    ({"frozen.pb": G, "frozen.pbtxt": b"node {}", "labels.txt": b"a"}, "", GRAPH_DEF, "", "frozen.pb"),
    ({"graph.pbtxt": b"node {}"}, "", GRAPH_DEF, "", "graph.pbtxt"),
    ({"weird.h5": G}, "weird.h5", GRAPH_DEF, "", "weird.h5"),
    ({"export.meta": G}, "export.meta", GRAPH_DEF, "", "export.meta"),
]  # fmt: skip


@pytest.mark.parametrize(("tree", "path", "format_", "folder", "name"), LAYOUTS)
@pytest.mark.parametrize("place", ["folder", "zip"])
def test_the_model_is_found(place, tree, path, format_, folder, name, tmp_path):
    if place == "folder":
        write(tmp_path / "x", tree)
    else:
        with zipfile.ZipFile(tmp_path / "x", "w", zipfile.ZIP_DEFLATED) as file:
            for member, data in tree.items():
                file.writestr(member, data)
    location = find_model(tmp_path / "x" / path)
    where = os.path.join(tmp_path, "x", folder).rstrip("/")
    assert (location.format, location.name, location.files.where) == (format_, name, where)
    assert location.where == (where if name in (PB, PBTXT) else location.files.label(name))


def test_the_header_of_a_decision_forest_is_no_fingerprint(tmp_path):
    header = tmp_path / "random_forest_header.pb"
    header.write_bytes(bytes.fromhex("080110ac02180122030801 12"))
    with pytest.raises(NotAModel, match="a protobuf message, but not of a model"):
        find_model(header)


def test_a_relative_path_stays_short(tmp_path, monkeypatch):
    write(tmp_path, {"frozen.pb": G, "saved_model.pb": S})
    monkeypatch.chdir(tmp_path)
    assert find_model("frozen.pb").where == "frozen.pb"
    assert find_model("saved_model.pb").where == "saved_model.pb"
    assert find_model(".").where == "."


def test_the_only_model_of_an_archive_is_found_anywhere_in_it(tmp_path):
    tree = {
        "pkg/a/b/c/d/model/1/saved_model.pb": S,
        "pkg/a/b/c/d/model/2/saved_model.pb": S,
        "pkg/a/x.py": b"",
    }
    with zipfile.ZipFile(tmp_path / "m.whl", "w") as file:
        for name, data in tree.items():
            file.writestr(name, data)
    assert find_model(tmp_path / "m.whl").where == str(tmp_path / "m.whl/pkg/a/b/c/d/model/2")
    assert find_model(tmp_path / "m.whl/pkg/a/").where == str(tmp_path / "m.whl/pkg/a/b/c/d/model/2")
    assert find_model(tmp_path / "m.whl/pkg/a/b/c/d/model/1").format is SAVED_MODEL


ERRORS = [  # files, path, the start of the error
    ({"a.pb": G, "b.pb": G}, "x", "x: contains 2 models: a.pb, b.pb; pass the path of one, such as x/a.pb"),
    ({"a.meta": M, "b.meta": M}, "x",
     "x: contains 2 models: a.meta, b.meta; pass the path of one, such as x/a.meta"),
    ({"a/saved_model.pb": S, "b/c/d/saved_model.pb": S}, "x",
     "x: no model in this folder itself, but below it: a, b/c/d; pass the path of one, such as x/a"),
    ({"a/b/c/d/saved_model.pb": S}, "x", "x: no TensorFlow model; it contains a/"),
    ({"saved_model.cpb": b"x"}, "x", "x/saved_model.cpb: a SavedModel in the split format"),
    ({"saved_model.pb": b""}, "x", "x/saved_model.pb: an empty file; download or copy it again"),
    ({"readme.md": b"hello", "run.py": b"1"}, "x", "x: no TensorFlow model; it contains readme.md, run.py"),
    ({"model.onnx": b"\x08\x08\x3a\x00"}, "x", "x/model.onnx: an ONNX model"),
    ({"m.safetensors": b"x", "config.json": b"{}"}, "x", "x: weights in safetensors format, without a graph"),
    ({"_METADATA": b"x", "d/1": b"x"}, "x", "x: a JAX checkpoint of Orbax, without a graph"),
    ({"net.xml": b"<net>", "net.bin": b"x"}, "x", "x: an OpenVINO model"),
    ({"m.zip": b"x", "readme.md": b"x"}, "x", "x: no model, only an archive, m.zip; pass its path"),
    ({"checkpoint": STATE}, "x", "x/checkpoint: lists the checkpoint `m-2`, which is not next to it"),
    ({"m.data-00000-of-00001": b"x"}, "x/m", "x/m: checkpoint data without its index; m.index is missing"),
    ({"frozen.pb": G}, "x/frozn.pb", "x/frozn.pb: no such file or folder; similar names: frozen.pb"),
    ({"a": b"x"}, "x/nothing/here", "x/nothing/here: no such file or folder; x has no `nothing/here`"),
    ({"a.pb": G}, "x/a.pb/here", "x/a.pb/here: x/a.pb is a file, not an archive, so it has no `here`"),
    ({}, "https://example.org/model.zip", "https://example.org/model.zip: a URL, not a path"),
    ({}, "nul\0l", "'nul\\x00l': a path cannot contain a null byte"),
    ({}, "x" * 300, "x" * 300 + ": file name too long"),
    ({}, "", ": no such file or folder"),
]  # fmt: skip


@pytest.mark.parametrize(("tree", "path", "message"), ERRORS, ids=[message for _, _, message in ERRORS])
def test_a_missing_model_gives_an_error(tree, path, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "x", tree)
    with pytest.raises(Error) as raised:
        find_model(path)
    assert str(raised.value).startswith(message)


def test_empty_folders_and_broken_links_are_reported(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkdir("empty")
    os.symlink("gone.pb", "link.pb")
    os.symlink(".git/annex/objects/x", "saved_model.pb")
    os.mkfifo("pipe")
    messages = {
        "empty": "empty: an empty folder",
        "link.pb": "link.pb: a link to gone.pb, which does not exist",
        "pipe": "pipe: neither a file nor a folder, but a device, pipe or socket",
        ".": "./saved_model.pb: a link to .git/annex/objects/x, which does not exist; "
        "fetch it with `git annex get`",
    }
    for path, sentence in messages.items():
        with pytest.raises(UnreadableFile) as raised:
            find_model(path)
        assert str(raised.value) == sentence


def test_a_folder_without_permission_is_reported(tmp_path, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(UnreadableFile, match=r"permission denied$"):
        find_model(tmp_path)


def test_the_error_for_many_models_names_some(tmp_path):
    with zipfile.ZipFile(tmp_path / "m.zip", "w") as file:
        for number in range(20):
            file.writestr(f"m{number:02}/saved_model.pb", S)
        file.writestr("inner.zip", b"PK\x03\x04")
    with pytest.raises(
        UnreadableFile, match=r"m\.zip: contains 20 models: m00, m01, .*m07 and 12 more; pass the path"
    ):
        find_model(tmp_path / "m.zip")
    with pytest.raises(NotAModel, match=r"m\.zip/inner\.zip: a zip archive; unpack it"):
        find_model(tmp_path / "m.zip/inner.zip")
    with pytest.raises(UnreadableFile, match=r"m\.zip: no `m0/x` in this archive"):
        find_model(tmp_path / "m.zip/m0/x")


def test_invalid_sources_are_refused():
    for source, message in [
        (3, "expected the path of a model, its bytes or an open file, found int"),
        (io.StringIO("node {}"), "the open file: opened as text; open it with mode 'rb'"),
        (
            TFJS_JSON,
            "the bytes given: one of several files of a TensorFlow.js graph model; pass its path instead",
        ),
        (TABLE, "the bytes given: one of several files of a checkpoint; pass its path instead"),
        (b"", "the bytes given: an empty file; download or copy it again"),
    ]:
        with pytest.raises(Error) as raised:
            find_model(source)
        assert str(raised.value) == message


ANY = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
SEEDS = [
    G,
    M,
    S,
    TFJS_JSON,
    TABLE,
    STATE,
    b"PK\x03\x04",
    b"\x1f\x8b\x08",
    b"\x93NUMPY",
    b"<?xml",
    b"\x80\x04",
]


@ANY
@given(st.sampled_from(SEEDS), st.binary(max_size=60), st.integers(0, 40))
def test_any_bytes_are_a_model_or_an_error(tmp_path, seed, noise, at):
    data = seed[:at] + noise + seed[at:]
    (tmp_path / "file").write_bytes(data)
    for source in (data, tmp_path / "file"):
        with reads_or_raises_one_line():
            assert isinstance(find_model(source).format, ModelFormat)


def test_recognition_reads_only_the_start_of_a_large_file(tmp_path):
    with open(tmp_path / "large.pb", "wb") as file:
        node = b"\x0a\x01w\x12\x05Const\x2a\x80\x80\x80\x80\x04"  # an attribute of a gigabyte
        file.write(
            b"\x0a" + bytes([(2**30 + len(node)) >> s & 127 | 128 * (s < 28) for s in (0, 7, 14, 21, 28)])
        )
        file.write(node)
        file.truncate(file.tell() + 2**30)  # a hole, which takes no disk and would take time
    assert find_model(tmp_path / "large.pb").format is GRAPH_DEF


def test_the_table_of_formats_is_consistent():
    models = [row for row in FORMATS if isinstance(row, ModelFormat)]
    keys = [row.key for row in models]
    ranks = [row.folder_rank for row in models if row.folder_rank]
    assert all(keys)
    assert len(set(keys)) == len(keys)
    assert len(set(ranks)) == len(ranks)
    assert {key for row in models for key in row.accepts} <= set(keys)
    assert len({id(row) for row in FORMATS}) == len(FORMATS)


def test_a_list_of_checkpoints_that_refers_to_itself_is_refused(tmp_path):
    (tmp_path / "checkpoint").write_bytes(b'model_checkpoint_path: "checkpoint"\n')
    with pytest.raises(
        UnreadableFile, match=r"checkpoint: a list of checkpoints that refers to another one$"
    ):
        find_model(tmp_path)
