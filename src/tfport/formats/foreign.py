"""What is not a TensorFlow model: how it is known, what it is called, what to do about it.

A table with its few tests. Nothing here opens a file, and nothing unpickles.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Foreign:
    """Something else: what a person calls it, and what to do instead."""

    what: str
    instead: str = (
        "give the SavedModel, GraphDef, checkpoint or TensorFlow.js graph model that it was made from"
    )
    broken: bool = False
    """Whether this should have been a model and is what a failed download or checkout leaves."""

    def sentence(self, where: str) -> str:
        return f"{where}: {self.what}; {self.instead}"


KERAS = "open it in Keras and write a SavedModel with model.export('folder')"
KNOWN = "give a SavedModel, a GraphDef, a MetaGraph, a checkpoint or a TensorFlow.js graph model"
ORIGIN = Foreign("").instead
UNPACK = "unpack it, and give what is in it"
AGAIN = "download or copy it again"
LAYERS = "its layers are Keras code, not a graph; convert the Keras model with model.export('folder')"

LFS = Foreign("a Git LFS pointer, not the file itself", "fetch it with `git lfs pull`", broken=True)
ANNEX = Foreign("a git-annex pointer, not the file itself", "fetch it with `git annex get`", broken=True)
HTML = Foreign(
    "a web page, not a model", "the download gave a login or error page; download it again", broken=True
)
EMPTY = Foreign("an empty file", AGAIN, broken=True)
ONNX = Foreign("an ONNX model, not a TensorFlow one", "an ONNX runtime runs it as it is")
CORE_ML = Foreign("a Core ML model")
CAFFE = Foreign("a Caffe model")
PICKLE = Foreign("a Python pickle, which can run any code when loaded", "it is not opened; " + ORIGIN)
PYTORCH = Foreign(
    "a PyTorch checkpoint, not a TensorFlow one", "it is not opened, as it holds a Python pickle"
)
TORCHSCRIPT = Foreign("a TorchScript model, not a TensorFlow one", "export it to ONNX from PyTorch")
TFRECORD = Foreign("a TFRecord file of data, not a model", "give the model that reads it")
EVENTS = Foreign(
    "a TensorBoard event file, not a model", "give the checkpoint, .meta or SavedModel written beside it"
)
SAFETENSORS = Foreign("weights in safetensors format, without a graph")
XML = Foreign("an XML file, not a model", "give the model")
OPENVINO = Foreign("an OpenVINO model, not a TensorFlow one", "OpenVINO runs it as it is; or " + ORIGIN)
LAYERS_MODEL = Foreign("a TensorFlow.js layers model", LAYERS)
MANIFEST = Foreign(
    "a TensorFlow.js weights manifest, without a graph", "give the model.json with a `modelTopology`"
)
TFJS_SHARD = Foreign("some weights of a TensorFlow.js model", "give the model.json beside it")
KERAS_JSON = Foreign("a Keras architecture in JSON, without a graph", KERAS)
JSON = Foreign("a JSON file without a graph", "of a TensorFlow.js graph model, give the model.json")
KERAS_METADATA = Foreign("Keras's notes on a SavedModel", "give the folder it lies in")
FINGERPRINT = Foreign("the fingerprint of a SavedModel", "give the folder it lies in")
PIPELINE = Foreign("an object detection training configuration", "give the graph exported from it")
LABELS = Foreign("a label map, not a model", "give the graph it lies beside")
ONNX_TEXT = Foreign("an ONNX model in text form, not a TensorFlow one")
SPLIT = Foreign(
    "a SavedModel in the split format of TensorFlow 2.16 and later, which tfport cannot read yet",
    "save it again without `experimental_image_format`",
)
STATE = Foreign("a list of checkpoints", "give the folder it lies in")
UTF16 = Foreign("text in UTF-16", "save it again as UTF-8")
TEXT = Foreign("a text file, not a model", "give the model")
MESSAGE = Foreign("a protobuf message, but not of a model that tfport knows", KNOWN)
UNKNOWN = Foreign("no kind of file that tfport knows", KNOWN)

MAGIC: list[tuple[int, bytes, Foreign]] = [  # offset, bytes there, what it is
    (4, b"TFL3", Foreign("a TensorFlow Lite model, made for another runtime")),
    (0, b"\x89HDF\r\n\x1a\n", Foreign("an HDF5 file, as Keras writes .h5 models", KERAS)),
    (0, b"version https://git-lfs.github.com/spec", LFS),
    (0, b"/annex/objects/", ANNEX),
    (0, b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.", PYTORCH),  # torch's number, before it took to zip
    *((0, bytes([0x80, protocol]), PICKLE) for protocol in range(2, 6)),
    (0, b"\x93NUMPY", Foreign("a numpy array, not a model", KNOWN)),
    (0, b"ML\xefR", Foreign("MLIR bytecode, such as StableHLO")),
    (0, b"\x83\xafp\xd1\r\x88J?", SPLIT),
    (0, b"GGUF", Foreign("a GGUF language model, not a TensorFlow one", "llama.cpp and its kin run it")),
    (0, b"\x7fELF", Foreign("an ELF library or program, not a model", "give the model that uses it")),
    (0, b"MZ", Foreign("a Windows library or program", "give the model")),
    (0, b"\x89PNG", Foreign("a PNG image", "give the model that it is meant for")),
    (0, b"\xff\xd8\xff", Foreign("a JPEG image", "give the model that it is meant for")),
    (0, b"GIF8", Foreign("a GIF image", "give the model that it is meant for")),
    (0, b"RIFF", Foreign("a sound, picture or film", "give the model that it is meant for")),
    (0, b"%PDF", Foreign("a PDF document", "give the model that it describes")),
    (0, b"SQLite format 3\0", Foreign("an SQLite database", "give the model")),
    (0, b"PK\x03\x04", Foreign("a zip archive", UNPACK)),
    (257, b"ustar", Foreign("a tar archive", UNPACK)),
    (0, b"7z\xbc\xaf\x27\x1c", Foreign("a 7z archive", UNPACK)),
    (0, b"Rar!", Foreign("a RAR archive", UNPACK)),
    (0, b"\x28\xb5\x2f\xfd", Foreign("a file packed by zstandard", UNPACK)),
    (0, b"\x1f\x8b", Foreign("a single file packed by gzip, or a damaged one", "unpack it with gunzip")),
    (0, b"BZh", Foreign("a single file packed by bzip2, or a damaged one", "unpack it with bunzip2")),
    (0, b"\xfd7zXZ\x00", Foreign("a single file packed by xz, or a damaged one", "unpack it with unxz")),
    (0, b"\xff\xfe", UTF16),
    (0, b"\xfe\xff", UTF16),
    (0, b"<?xml", XML),
    (0, b"7767517\n", Foreign("an ncnn model, not a TensorFlow one")),
]

TEXT_FIELDS: dict[bytes, Foreign] = {  # the first field of a message in text form
    b"ir_version": ONNX_TEXT,
    b"item": LABELS,
    b"model": PIPELINE,
    b"train_config": PIPELINE,
    b"layer": CAFFE,
    b"layers": CAFFE,
    b"input_dim": CAFFE,
    b"name": CAFFE,
}

ZIP_MEMBERS: list[tuple[str, Foreign]] = [  # a pattern of member names, the first that fits
    (r"(.*/)?constants\.pkl", TORCHSCRIPT),
    (r"(.*/)?data\.pkl", PYTORCH),
    (r"model\.weights\.h5", Foreign("a Keras .keras file", KERAS)),
    (r".*\.npy", Foreign("numpy arrays, not a model", KNOWN)),
    (r"Manifest\.json|.*\.mlmodel", CORE_ML),
    (r".*\.tflite", Foreign("an archive of TensorFlow Lite models, made for another runtime")),
]

FOLDER_MEMBERS: list[tuple[str, Foreign]] = [
    (
        r"_CHECKPOINT_METADATA|manifest\.ocdbt|_METADATA",
        Foreign("a JAX checkpoint of Orbax, without a graph"),
    ),
    (r"Manifest\.json", CORE_ML),
    (r".*\.safetensors(\.index\.json)?", SAFETENSORS),
    (r"pytorch_model.*\.bin", PYTORCH),
    (r".*\.h5", Foreign("a folder of Keras .h5 files", KERAS)),
    (r".*\.keras", Foreign("a folder of Keras files", KERAS)),
    (r".*\.tflite", Foreign("a folder of TensorFlow Lite models, made for another runtime")),
    (r".*\.onnx", Foreign("a folder of ONNX models, not TensorFlow ones", ONNX.instead)),
    (r".*\.xml", OPENVINO),
]


def by_magic(head: bytes) -> Foreign | None:
    """What a file is that begins so."""
    for at, magic, found in MAGIC:
        if head.startswith(magic, at):
            return openvino(head) if found is XML else found
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")[:512].lower()
    if start.startswith((b"<!doctype html", b"<html", b"<head")):
        return HTML
    if start.startswith((b"<net ", b"<?xml")):
        return openvino(head)
    if not head.strip(b"\0"):
        zeros = f"{len(head)} zero bytes" if head else ""
        return (
            Foreign(f"it begins with {zeros}, as a copy that did not finish does", AGAIN, True)
            if zeros
            else EMPTY
        )
    return safetensors(head)


def openvino(head: bytes) -> Foreign:
    return OPENVINO if re.search(rb"<net\s+name=", head) else XML


def safetensors(head: bytes) -> Foreign | None:
    """Eight bytes that say how long the JSON after them is."""
    size = int.from_bytes(head[:8], "little")
    return SAFETENSORS if head[8:9] == b"{" and 2 <= size < 2**32 and head[9:10] in b'"} ' else None


def by_members(names: Iterable[str], table: list[tuple[str, Foreign]]) -> Foreign | None:
    """What an archive or folder is that holds these names."""
    known = list(names)
    return next((found for pattern, found in table if any(re.fullmatch(pattern, n) for n in known)), None)
