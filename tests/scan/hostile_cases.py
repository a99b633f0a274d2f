"""Ways around scanners of models, in groups, and the finding that each must give.

`HOSTILE` has them by where they were reported: numbers are issues and pull requests of the two projects.
Those that were reported one by one are in `reported_cases`.
"""

from __future__ import annotations

import pickle
import tarfile
import webbrowser

import numpy as np
from tests.check.lite.make_files import custom, tensor
from tests.scan import hostile_files as make
from tests.scan.hostile_files import (
    LAMBDA,
    NEW_LAMBDA,
    SYSTEM,
    Maker,
    as_file,
    in_h5,
    in_keras,
    in_zip,
    layer,
    model_of,
)

Case = tuple[Maker, str]
"""What writes the file, and the severity and the codes of which one must be found."""
OS = {"class_name": "function", "module": "os", "config": "system"}
CALL = {"class_name": "function", "module": "subprocess", "config": "call", "registered_name": "call"}
GET_FILE = {
    "class_name": "function",
    "module": "keras.utils",
    "config": "get_file",
    "registered_name": "get_file",
}
UNSAFE = {"class_name": "function", "module": "keras.config", "config": "enable_unsafe_deserialization"}
RAW = make.base64.b64decode(make.CODE).decode("latin-1")
EVAL = {"class_name": "function", "module": "builtins", "config": "eval"}
ATTENTION = {"layer": LAMBDA}


def json_bytes(value, encoding="utf-8"):
    return make.json.dumps(value).encode(encoding)


HOSTILE: dict[str, dict[str, Case]] = {
    "ModelScan 44, 340, 351; modelaudit 250, 251, 687, 1020, 1425, 1434": {
        "lambda in h5": (in_h5(model_of(LAMBDA)), "error TFP911"),
        "lambda in keras": (in_keras(model_of(NEW_LAMBDA)), "error TFP911"),
        "lambda of keras 2 in keras": (in_keras(model_of(LAMBDA)), "error TFP911"),
        "lambda in a nested model, h5": (in_h5(model_of(make.nested(LAMBDA))), "error TFP911"),
        "lambda in a nested model, keras": (
            in_keras(model_of(make.nested(make.nested(NEW_LAMBDA)))),
            "error TFP911",
        ),
        "lambda in a wrapper": (in_keras(model_of(layer("TimeDistributed", ATTENTION))), "error TFP911"),
        "lambda with a qualified class name": (
            in_h5(model_of({**LAMBDA, "class_name": "keras.layers.Lambda"})),
            "error TFP911",
        ),
        "lambda with a custom name": (
            in_keras(model_of({**LAMBDA, "class_name": "Custom>Lambda"})),
            "error TFP911",
        ),
        "lambda by its registered name": (
            in_keras(model_of({**LAMBDA, "class_name": "Dense", "registered_name": "pkg>Lambda"})),
            "error TFP911",
        ),
        "lambda as plain text": (
            in_h5(model_of(layer("Lambda", {"function": RAW, "function_type": "lambda"}))),
            "error TFP911",
        ),
        "lambda as the output shape": (
            in_h5(model_of(layer("Lambda", {"output_shape": [make.CODE], "output_shape_type": "lambda"}))),
            "error TFP911",
        ),
        "lambda as an activation": (
            in_keras(model_of(layer("Dense", {"activation": NEW_LAMBDA["config"]["function"]}))),
            "error TFP911",
        ),
        "lambda as the loss, keras": (
            in_keras({**make.MODEL, "compile_config": {"loss": NEW_LAMBDA["config"]["function"]}}),
            "error TFP911",
        ),
        "lambda as the loss, h5": (
            in_h5(make.MODEL, {"loss": NEW_LAMBDA["config"]["function"]}),
            "error TFP911",
        ),
        "lambda that names a module": (
            in_h5(
                model_of(layer("Lambda", {"function": "system", "function_type": "function", "module": "os"}))
            ),
            "error TFP913",
        ),
        "lambda that is text, not code": (
            in_h5(model_of(layer("Lambda", {"function": ["exec('id')", None, None]}))),
            "error TFP911",
        ),
        "lambda in the metadata of a SavedModel": (
            make.saved_model_with("keras_metadata.pb", make.keras_metadata(model_of(LAMBDA))),
            "error TFP911",
        ),
        "lambda in a layer of a subclassed SavedModel": (
            make.saved_model_with("keras_metadata.pb", make.keras_metadata({"class_name": "Mine"}, LAMBDA)),
            "error TFP911",
        ),
        "lambda in a TF.js layers model": (
            as_file("model.json", make.tfjs(["w.bin"], LAMBDA, is_layers=True)),
            "error TFP911",
        ),
        "lambda in an architecture": (
            as_file("model.json", make.json.dumps(model_of(LAMBDA)).encode()),
            "error TFP911",
        ),
    },
    "CVE-2025-1550, CVE-2025-8747, CVE-2025-9906; modelaudit 602, 1558": {
        "os in a layer": (in_keras(model_of(layer("Dense", {"activation": OS}))), "error TFP913"),
        "subprocess as a loss": (in_keras({**make.MODEL, "compile_config": {"loss": CALL}}), "error TFP913"),
        "subprocess as a metric in h5": (in_h5(make.MODEL, {"metrics": [CALL]}), "error TFP913"),
        "subprocess as fn_module": (
            in_keras(model_of(layer("Dense", {"fn_module": "subprocess"}))),
            "error TFP913",
        ),
        "eval of builtins": (in_keras(model_of(layer("Dense", {"activation": EVAL}))), "error TFP914"),
        "builtins.eval as a module": (
            in_keras(model_of(layer("Dense", module="builtins.eval"))),
            "error TFP914",
        ),
        "a package whose name begins like Keras": (
            in_keras(model_of(layer("evil_layer", module="keras_evil.layers"))),
            "warning TFP913",
        ),
        "get_file": (in_keras(model_of(layer("Dense", {"activation": GET_FILE}))), "error TFP914"),
        "get_file under a description": (
            in_keras({**make.MODEL, "description": {"notes": GET_FILE}}),
            "error TFP914",
        ),
        "enable_unsafe_deserialization": (
            in_keras(model_of(layer("Dense", {"activation": UNSAFE}))),
            "error TFP914",
        ),
        "a custom class": (
            in_keras(model_of(layer("Custom>Mine", registered_name="Custom>Mine"))),
            "note TFP918",
        ),
        "a vocabulary outside": (
            in_keras(model_of(layer("StringLookup", {"vocabulary": "/etc/passwd"}))),
            "warning TFP915",
        ),
        "a SavedModel outside": (
            in_keras(model_of(layer("TFSMLayer", {"filepath": "/srv/x"}))),
            "warning TFP915",
        ),
        "a pickled PyTorch module": (
            in_keras(model_of(layer("TorchModuleWrapper", {"module": "gAR9lC4="}))),
            "error TFP912",
        ),
        "a nested PyTorch module": (
            in_keras(model_of(make.nested(layer("TorchModuleWrapper", {"module": "gAR9lC4="})))),
            "error TFP912",
        ),
        "weights in a pickle": (in_keras(**{"model.weights.npz": SYSTEM}), "error TFP921"),
    },
    "CVE-2026-1669; modelaudit 1421, 1478, 1663": {
        "an external link": (as_file("m.h5", make.h5(make.external_link)), "warning TFP915"),
        "an external link instead of all weights": (
            as_file("m.h5", make.h5(make.linked_group)),
            "warning TFP915",
        ),
        "elements in another file": (
            in_keras(**{"model.weights.h5": make.h5(make.external_storage)}),
            "warning TFP915",
        ),
        "a virtual dataset": (as_file("m.h5", make.h5(make.virtual_dataset)), "warning TFP915"),
        "a virtual dataset in an archive": (
            in_keras(**{"model.weights.h5": make.h5(make.virtual_in_weights)}),
            "warning TFP915",
        ),
        "a shape that no file has": (
            in_keras(**{"model.weights.h5": make.h5(make.shape_bomb)}),
            "warning TFP917",
        ),
        "a script before an HDF5 file": (
            as_file("m.h5", make.user_block(make.HDF5_BEHIND, make.MODEL)),
            "warning TFP924",
        ),
        "a lambda behind a script": (
            as_file("m.h5", make.user_block(make.HDF5_BEHIND, model_of(LAMBDA))),
            "error TFP911",
        ),
    },
    "ModelScan 262, 338; modelaudit 518": {
        "a pickle": (as_file("model.pkl", SYSTEM), "error TFP921"),
        "a pickle named keras": (as_file("model.keras", SYSTEM), "error TFP921"),
        "a pickle named h5": (as_file("model.h5", SYSTEM), "error TFP921"),
        "a pickle named pb": (as_file("model.pb", SYSTEM), "error TFP921"),
        "a pickle without a suffix": (as_file("model", SYSTEM), "error TFP921"),
        "a pickle as text": (as_file("vocabulary.txt", make.TEXT_PICKLE), "error TFP921"),
        "a pickle with names on the stack": (as_file("model.bin", make.INDIRECT), "error TFP921"),
        "a pickle with damage after the call": (as_file("model.pkl", make.CUT_OFF), "error TFP921"),
        "a pickle of an unusual function": (
            as_file("m.pkl", pickle.dumps(make.Payload(webbrowser.open, "x"))),
            "error TFP921",
        ),
        "a pickle compressed by joblib": (as_file("model.joblib", make.JOBLIB), "error TFP921"),
        "a pickle in gzip": (as_file("model.pkl.gz", make.GZIPPED), "error TFP921"),
        "a pickle in xz": (as_file("model.pkl.xz", make.XZ), "error TFP921"),
        "a pickle in a SavedModel's assets": (
            make.saved_model_with("assets/tokenizer.pkl", SYSTEM),
            "error TFP921",
        ),
        "a pickle named as text in a SavedModel": (
            make.saved_model_with("assets/vocab.txt", SYSTEM),
            "warning TFP923",
        ),
        "a pickle in a keras file": (in_keras(**{"assets/tokenizer.bin": SYSTEM}), "error TFP921"),
        "a pickle in a checkpoint's folder": (
            make.saved_model_with("variables/state.pickle", SYSTEM),
            "error TFP921",
        ),
        "a PyTorch archive": (in_zip("model.pt", [("archive/data.pkl", SYSTEM)]), "error TFP921"),
        "NumPy objects": (
            as_file("w.npz", make.npz(w=np.array([make.Payload(make.os.system, "id")], object))),
            "error TFP921",
        ),
    },
    "modelaudit 1028, 1328": {
        "a library in assets": (
            make.saved_model_with("assets.extra/op.so", b"\x7fELF" + bytes(200)),
            "warning TFP920",
        ),
        "a library named pb": (as_file("saved_model.pb", b"\x7fELF" + bytes(200)), "warning TFP923"),
        "a Windows program in a keras file": (
            in_keras(**{"assets/Setup.EXE": make.WINDOWS}),
            "warning TFP920",
        ),
        "a macOS program": (make.saved_model_with("assets/run", make.MACOS), "warning TFP920"),
        "Python in a keras file": (in_keras(**{"assets/Payload.PY": b"import os"}), "warning TFP922"),
        "compiled Python in a keras file": (in_keras(**{"assets/payload.bin": make.PYC}), "warning TFP922"),
        "a shell script without a suffix": (
            make.saved_model_with("assets/run", b"#!/bin/sh\nid\n"),
            "warning TFP922",
        ),
        "Python beside a model": (make.saved_model_with("loader.py", b"import os"), "note TFP922"),
    },
    "modelaudit 137, 1462, 1575, 1578, 1605, 1775, 1780; Keras 23010, 23015": {
        "a name that leads up": (
            in_zip("model.keras", [*make.usual_members(), ("../../.bashrc", b"x")]),
            "error TFP925",
        ),
        "an absolute name": (
            in_zip("model.keras", [*make.usual_members(), ("/etc/cron.d/x", b"x")]),
            "error TFP925",
        ),
        "a name that leads up on Windows": (
            in_zip("model.keras", [*make.usual_members(), ("..\\..\\x", b"x")]),
            "error TFP925",
        ),
        "a drive": (in_zip("model.keras", [*make.usual_members(), ("C:/x", b"x")]), "error TFP925"),
        "a name that leads up in tar": (as_file("m.tar", make.in_tar([("../x", b"x")])), "error TFP925"),
        "a name that leads up in tar.gz": (
            as_file("m.tar.gz", make.in_tar([("a/../../x", b"x")], mode="w:gz")),
            "error TFP925",
        ),
        "a symbolic link in zip": (make.linked_zip("/etc/passwd"), "error TFP926"),
        "a symbolic link that leads up": (make.linked_zip("../../../etc/passwd"), "error TFP926"),
        "a symbolic link in tar": (
            as_file("m.tar", make.in_tar([("a", b"x")], (("l", tarfile.SYMTYPE, "/etc/passwd"),))),
            "error TFP926",
        ),
        "a hard link in tar": (
            as_file("m.tar", make.in_tar([("a", b"x")], (("l", tarfile.LNKTYPE, "../../x"),))),
            "error TFP926",
        ),
        "a symbolic link in a folder": (make.linked_folder("/etc/passwd"), "warning TFP926"),
        "a relative symbolic link in a folder": (
            make.linked_folder("../" * 30 + "etc/passwd"),
            "warning TFP926",
        ),
        "a member twice": (
            in_zip("model.keras", [*make.usual_members(), *make.usual_members(model_of(LAMBDA))]),
            "warning TFP927",
        ),
        "a member twice, the second by another spelling": (
            in_zip("model.keras", [*make.usual_members(), ("./config.json", b"{}")]),
            "warning TFP927",
        ),
        "a member with two names": (as_file("model.keras", make.renamed_in_local_header()), "warning TFP927"),
        "a second archive behind the first": (as_file("model.keras", make.CONCATENATED), "error TFP911"),
        "a bomb in a keras file": (as_file("model.keras", make.big_member()), "warning TFP928"),
        "members that share bytes": (as_file("m.zip", make.overlapping_members()), "warning TFP928"),
        "a pickle three archives deep": (
            as_file("m.zip", make.nested_zip(3, SYSTEM, "x.pkl")),
            "error TFP921",
        ),
        "a lambda in an archive in an archive": (
            as_file("m.zip", make.nested_zip(2, make.keras(model_of(LAMBDA)), "m.keras")),
            "error TFP911",
        ),
        "archives without end": (as_file("m.zip", make.nested_zip(9, SYSTEM, "x.pkl")), "warning TFP929"),
        "a tar in a tar": (
            as_file("m.tar", make.in_tar([("a.tar.gz", make.in_tar([("x.pkl", SYSTEM)], mode="w:gz"))])),
            "error TFP921",
        ),
        "an encrypted member": (as_file("model.keras", make.encrypted()), "warning TFP929"),
        "a 7z archive in a keras file": (
            in_keras(**{"assets/x.7z": b"7z\xbc\xaf\x27\x1c" + bytes(50)}),
            "warning TFP929",
        ),
        "a zip behind a GraphDef": (
            as_file("graph.pb", b"\x0a\x05\x0a\x01x\x12\x00" + make.zipped([("x.pkl", SYSTEM)])),
            "error TFP921",
        ),
        "a zip behind an image": (
            make.saved_model_with("assets/logo.png", b"\x89PNG" + bytes(99) + make.zipped([("x.txt", b"x")])),
            "warning TFP924",
        ),
        "a zip named h5": (in_keras(model_of(LAMBDA), name="model.h5"), "error TFP911"),
    },
    "modelaudit 103, 165": {
        "a custom op": (as_file("m.tflite", make.lite(custom("MyEvilOp"))), "warning TFP907 TFP930"),
        "a Flex op that writes": (
            as_file("m.tflite", make.lite(custom("FlexWriteFile"))),
            "error TFP902 TFP931",
        ),
        "a tensor that no device holds": (
            as_file(
                "m.tflite",
                make.lite(make.builtin("RELU"), tensor((1 << 20, 1 << 20)), tensor((1 << 20, 1 << 20))),
            ),
            "warning TFP933",
        ),
        "buffers that overlap": (make.overlapping_buffers, "warning TFP932"),
        "a pickle behind a TensorFlow Lite model": (
            as_file("m.tflite", make.lite(make.builtin("RELU")) + make.zipped([("labels.pkl", SYSTEM)])),
            "error TFP921",
        ),
        "weights at another server": (
            as_file("model.json", make.tfjs(["https://evil.example/w.bin"])),
            "warning TFP934",
        ),
        "weights in another folder": (
            as_file("model.json", make.tfjs(["../../../etc/passwd"])),
            "warning TFP934",
        ),
        "weights of a layers model elsewhere": (
            as_file("model.json", make.tfjs(["//evil/w.bin"], is_layers=True)),
            "warning TFP934",
        ),
    },
    "variants that others wrote after the rules": {
        "an archive with a configuration alone": (
            in_zip("m.keras", [("config.json", json_bytes(model_of(LAMBDA)))]),
            "error TFP911",
        ),
        "a registered name of a package": (
            in_keras(model_of(layer("Dense", registered_name="pkg.Dense"))),
            "note TFP918",
        ),
        "a subclassed model": (
            in_keras({"class_name": "Mine", "config": {"name": "x", "layers": []}}),
            "note TFP918",
        ),
        "a keras file named docx": (in_keras(model_of(LAMBDA), name="report.docx"), "error TFP911"),
        "external weights beside a broken configuration": (
            in_zip("m.keras", [("config.json", b"[]"), ("model.weights.h5", make.h5(make.external_storage))]),
            "warning TFP915",
        ),
        "an end record without members": (as_file("m.keras", make.EMPTY_END), "error TFP911"),
        "names that are taken off the stack": (as_file("m.bin", make.DECOY), "error TFP921"),
        "a name from the memo": (as_file("m.bin", make.MEMOIZED), "error TFP921"),
        "a text pickle behind a list": (as_file("m.txt", b"(lp0\n0" + make.TEXT_PICKLE), "error TFP921"),
        "a path in a pax header": (as_file("m.tar", make.pax_path()), "error TFP925"),
        "a link to nothing": (
            as_file("m.tar", make.in_tar([("a", b"x")], (("l", tarfile.SYMTYPE, ""),))),
            "warning TFP929",
        ),
        "an array that declares too much": (
            in_keras(**{"assets/w.npz": make.zipped([("w.npy", make.LARGE_ARRAY)])}),
            "warning TFP928",
        ),
        "a zip behind an HDF5 file": (
            as_file("m.h5", make.h5(make.put_model) + make.zipped([("x.pkl", SYSTEM)])),
            "error TFP921",
        ),
        "a configuration in UTF-16": (
            in_zip(
                "m.keras",
                [("config.json", json_bytes(model_of(LAMBDA), "utf-16")), *make.usual_members()[2:]],
            ),
            "warning TFP927",
        ),
        "a configuration with a byte order mark": (
            in_zip(
                "m.keras",
                [("config.json", json_bytes(model_of(LAMBDA), "utf-8-sig")), *make.usual_members()[2:]],
            ),
            "error TFP911",
        ),
        "a keras file in assets": (
            make.saved_model_with("assets/m.keras", make.keras(model_of(LAMBDA))),
            "error TFP911",
        ),
        "a keras file in assets, as text": (
            make.saved_model_with("assets/m.txt", make.keras(model_of(LAMBDA))),
            "error TFP911",
        ),
        "a name with a null byte": (
            in_zip("m.keras", [*make.usual_members(), ("a\0/../x", b"x")]),
            "warning TFP927",
        ),
        "a lambda with its code under another key": (
            in_keras(
                model_of(layer("Lambda", {"function": {"class_name": "__lambda__", "config": {"code": "x"}}}))
            ),
            "error TFP911",
        ),
        "a lambda in the backward layer": (
            in_keras(model_of(layer("Bidirectional", {"layer": make.DENSE, "backward_layer": LAMBDA}))),
            "error TFP911",
        ),
        "a metric in a list of lists": (
            in_keras({**make.MODEL, "compile_config": {"metrics": [[OS]]}}),
            "error TFP913",
        ),
        "torch.hub.load": (
            in_keras(
                model_of(layer("Dense", {"activation": {**OS, "module": "torch.hub", "config": "load"}}))
            ),
            "warning TFP913",
        ),
        "a function of NumPy that evaluates text": (
            in_keras(model_of(layer("Dense", {"activation": {**OS, "module": "numpy.f2py.crackfortran"}}))),
            "warning TFP913",
        ),
        "pip in a pickle": (as_file("m.pkl", make.text_pickle("pip._internal", "main")), "error TFP921"),
        "collect_env in a pickle": (
            as_file("m.pkl", make.text_pickle("torch.utils.collect_env", "run")),
            "error TFP921",
        ),
        "multiprocessing in a pickle": (
            as_file("m.pkl", make.text_pickle("multiprocessing.util", "spawnv_passfds")),
            "error TFP921",
        ),
        "timeit in a pickle": (as_file("m.pkl", make.text_pickle("timeit", "timeit")), "error TFP921"),
        "a pickle behind many others": (
            as_file("m.pkl", b"\x80\x04" + b"N0" * 70000 + SYSTEM[2:]),
            "error TFP921",
        ),
        "a library in the labels of a TensorFlow Lite model": (
            as_file(
                "m.tflite", make.lite(make.builtin("RELU")) + make.zipped([("op.so", b"\x7fELF" + bytes(99))])
            ),
            "warning TFP920",
        ),
        "a library in gzip": (
            make.saved_model_with("assets/x.gz", make.gzip.compress(b"\x7fELF" + bytes(99))),
            "warning TFP920",
        ),
    },
}
