"""The models that the published cases ask: folders with versions, for a server's configuration."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
from tests.frontends.lite.cases import case, const, out
from tests.recorded_models import MODELS
from tests.serve.signature_models import Ends, signed

from tfport.formats.proto import saved_model_pb2

RECORDED = ("half_plus_two", "half_plus_three", "half_plus_two_tf2", "counter", "classifier", "regressor")
VERSION = "00000123"
TYPES = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    **{
        name: name
        for name in (
            "int64",
            "int16",
            "int8",
            "uint8",
            "uint16",
            "uint32",
            "uint64",
            "bool",
            "string",
            "complex64",
        )
    },
}
GROUPS = {  # signature of `echo`: inputs, and their types
    "four": {
        "int_tensor": "int32",
        "str_tensor": "string",
        "float_tensor": "float32",
        "dbl_tensor": "float64",
    },
    "three": {"int_tensor": "int32", "str_tensor": "string", "bin_tensor": "string"},
    "pair": {"int_tensor": "int32", "str_tensor": "string"},
    "one": {"int_tensor": "int32"},
    "text": {"str_tensor": "string"},
    **{name: {"default": kind} for name, kind in TYPES.items()},
    **{name: {"default": "int32"} for name in ("serving_default", "predict_images")},
}
TWELVE = "1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2"
CONSTANTS = {  # signature of `outputs`: outputs, and their values in the notation of nodes
    "int": {"int_tensor": f"int32(2, 3, 2)[{TWELVE}]"},
    "five": {"int_tensor": "int32(5)[1, 2, 3, 4, 5]"},
    "bytes": {"str_tensor_bytes": 'string(2, 2)["hello", "world", "tf", "serving"]'},
    "six_digits": {"float_tensor": "float32(2, 3)[9000000, 999999, 0.5, 0.0003, 0.00003, 555557.5]"},
    "non_finite": {"float_tensor": "float32(2, 2)[nan, inf, 3, -inf]"},
    "nothing": {},
    "complex": {"tensor": "complex64(2)[1, 2]"},
    "scalar": {"tensor": "int32()[1]"},
    "several": {
        "int_tensor": f"int32(2, 3, 2)[{TWELVE}]",
        "str_tensor": 'string(2, 2)["foo", "bar", "baz", "bat"]',
        "float_tensor": "float32(2, 1)[1, 2]",
        "double_scalar_tensor": "float64(2)[8, 9]",
        "str_tensor_bytes": 'string(2, 2)["hello", "world", "tf", "serving"]',
    },
    "different_rows": {
        "int_tensor": "int32(2, 3)[1, 2, 3, 4, 5, 6]",
        "str_tensor": 'string(1, 3)["foo", "bar", "baz"]',
    },
    "no_rows": {"int_tensor": "int32(0, 2)[]"},
    "no_rows_of_two": {"str_tensor": "string(0, 1, 2)[]", "float_tensor": "float32(0, 3, 4)[]"},
    "no_rows_of_one": {"int_tensor": "int32(0, 2)[]", "str_tensor": 'string(1, 2)["foo", "bar"]'},
}
# labels are serialized Examples in base64, numbers are their lengths
EXAMPLES = """
    inputs = Placeholder() {dtype=string, shape=(?)}
    one = Const() {dtype=int32, value=int32()[1]}
    encoded = EncodeBase64(inputs) {pad=true}
    classes = ExpandDims(encoded, one) {T=string, Tdim=int32}
    length = StringLength(inputs)
    outputs = Cast(length) {SrcT=int32, DstT=float32}
"""


def write_models(base: Path) -> dict[str, Path]:
    """Write all models below a folder; return the folder of each."""
    for name in RECORDED:
        shutil.copytree(MODELS / name, base / name / VERSION)
    for version in (VERSION, "00000124"):
        shutil.copytree(MODELS / "half_plus_two", base / "two_versions" / version)
    _write(base / "echo", *_echo())
    _write(base / "outputs", *_outputs())
    label, number = (
        ({"inputs": "inputs:0"}, {"classes": "classes:0"}),
        ({"inputs": "inputs:0"}, {"outputs": "outputs:0"}),
    )
    for name, ends in (("examples_to_classify", label), ("examples_to_regress", number)):
        _write(base / name, EXAMPLES, {"serving_default": ends, "custom_signture": ends})
    (base / "damaged" / VERSION).mkdir(parents=True)
    (base / "damaged" / VERSION / "saved_model.pb").write_bytes(b"not a model")
    (base / "lite" / VERSION).mkdir(parents=True)
    (base / "lite" / VERSION / "model.tflite").write_bytes(lite_add_two())
    return {folder.name: folder for folder in base.iterdir()}


def _write(folder: Path, graph: str, signatures: dict[str, Ends]) -> None:
    (folder / VERSION).mkdir(parents=True)
    model = saved_model_pb2.SavedModel(
        saved_model_schema_version=1, meta_graphs=[signed(graph, signatures).meta]
    )
    (folder / VERSION / "saved_model.pb").write_bytes(model.SerializeToString())


def _echo() -> tuple[str, dict[str, Ends]]:
    lines, signatures = [], {}
    for signature, inputs in GROUPS.items():
        ends: Ends = {}, {}
        for name, kind in inputs.items():
            node = f"{signature}_{name}"
            lines += [
                f"{node} = Placeholder() {{dtype={kind}}}",
                f"{node}_out = Identity({node}) {{T={kind}}}",
            ]
            ends[0][name], ends[1][name] = f"{node}:0", f"{node}_out:0"
        signatures[signature] = ends
    signatures["no_inputs"] = {}, signatures["one"][1]
    return "\n".join(lines), signatures


def _outputs() -> tuple[str, dict[str, Ends]]:
    lines, signatures = ["x = Placeholder() {dtype=int32}"], {}
    for signature, values in CONSTANTS.items():
        ends: Ends = {"x": "x:0"}, {}
        for name, value in values.items():
            node = f"{signature}_{name}"
            lines.append(f"{node} = Const() {{dtype={value.partition('(')[0]}, value={value}}}")
            ends[1][name] = f"{node}:0"
        signatures[signature] = ends
    return "\n".join(lines), signatures


def lite_add_two() -> bytes:
    """A TensorFlow Lite model that adds 2 to its input."""
    x = np.float32([1])
    return case("ADD", x, const(np.float32([2])), outputs=[out("FLOAT32", shape=(1,))]).model
