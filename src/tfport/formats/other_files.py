"""Files that are not TensorFlow models: how each is recognized, what it is, and what to do instead.

Rows of the table in `recognize`, grouped by what they are recognized by. Nothing here opens a file,
and nothing unpickles.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from tfport.formats.encoding.wire import LENGTH, VARINT
from tfport.formats.files import MemoryFiles
from tfport.formats.format import CONVERTED_FROM, OtherFile, Sample

Matches = Callable[[Sample], bool]

READ_BY_TFPORT = "use a SavedModel, a GraphDef, a MetaGraph, a checkpoint, a Keras or TensorFlow.js model"
UNPACK = "unpack it and use the model in it"
AGAIN = "download or copy it again"
USE_MODEL = "pass the path of the model instead"
ONNX_RUNTIME = "run it with an ONNX runtime"


def starts_with(magic: bytes, at: int = 0) -> Matches:
    return lambda sample: sample.head.startswith(magic, at)


def text_field(*names: bytes) -> Matches:
    """Whether the first field of a message in text format has one of these names."""
    return lambda sample: sample.text_field in names


# --- Files that should have been models: failed downloads and checkouts.


def is_html(sample: Sample) -> bool:
    start = sample.head.lstrip(b"\xef\xbb\xbf \t\r\n")[:512].lower()
    return start.startswith((b"<!doctype html", b"<html", b"<head"))


FAILED_DOWNLOADS = (
    OtherFile(
        "a Git LFS pointer, not the file itself",
        starts_with(b"version https://git-lfs.github.com/spec"),
        instead="fetch it with `git lfs pull`",
        broken=True,
    ),
    OtherFile(
        "a git-annex pointer, not the file itself",
        starts_with(b"/annex/objects/"),
        instead="fetch it with `git annex get`",
        broken=True,
    ),
    OtherFile(
        "a web page, not a model",
        is_html,
        instead="the download returned a login or error page; download it again",
        broken=True,
    ),
    OtherFile("an empty file", lambda sample: not sample.head, instead=AGAIN, broken=True),
    OtherFile(
        "an incomplete copy: it starts with zero bytes",
        lambda sample: not sample.head.strip(b"\0"),
        instead=AGAIN,
        broken=True,
    ),
)

# --- Models and weights of other frameworks.


def is_safetensors(sample: Sample) -> bool:
    """Whether the first eight bytes are the size of the JSON that follows."""
    head = sample.head
    size = int.from_bytes(head[:8], "little")
    return head[8:9] == b"{" and 2 <= size < 2**32 and head[9:10] in b'"} '


def is_xml(sample: Sample) -> bool:
    start = sample.head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    return sample.head.startswith(b"<?xml") or start.startswith((b"<net ", b"<?xml"))


def is_openvino(sample: Sample) -> bool:
    return is_xml(sample) and re.search(rb"<net\s+name=", sample.head) is not None


OTHER_FRAMEWORKS = (
    OtherFile(
        "a JAX checkpoint of Orbax, without a graph",
        in_folder=r"_CHECKPOINT_METADATA|manifest\.ocdbt|_METADATA",
    ),
    OtherFile("a Core ML model", in_folder=r"Manifest\.json"),
    OtherFile(
        "weights in safetensors format, without a graph",
        is_safetensors,
        in_folder=r".*\.safetensors(\.index\.json)?",
    ),
    OtherFile(
        "a TorchScript model, not a TensorFlow one",
        instead="export it to ONNX from PyTorch",
        in_archive=r"(.*/)?constants\.pkl",
    ),
    OtherFile(
        "a PyTorch checkpoint, not a TensorFlow one",
        starts_with(b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."),  # before PyTorch used zip files
        instead="tfport does not open it because it contains a Python pickle",
        in_archive=r"(.*/)?data\.pkl",
        in_folder=r"pytorch_model.*\.bin",
    ),
    OtherFile(
        "a Python pickle, which can run any code when loaded",
        lambda sample: sample.head[:1] == b"\x80" and sample.head[1:2] in (b"\2", b"\3", b"\4", b"\5"),
        instead="tfport does not open it; " + CONVERTED_FROM,
    ),
    OtherFile("a NumPy array, not a model", starts_with(b"\x93NUMPY"), instead=READ_BY_TFPORT),
    OtherFile("MLIR bytecode, such as StableHLO", starts_with(b"ML\xefR")),
    OtherFile(
        "a GGUF language model, not a TensorFlow one",
        starts_with(b"GGUF"),
        instead="run it with llama.cpp or a compatible runtime",
    ),
    OtherFile("NumPy arrays, not a model", instead=READ_BY_TFPORT, in_archive=r".*\.npy"),
    OtherFile("a Core ML model", in_archive=r"Manifest\.json|.*\.mlmodel"),
    OtherFile("a folder of ONNX models, not TensorFlow ones", instead=ONNX_RUNTIME, in_folder=r".*\.onnx"),
    OtherFile(
        "an OpenVINO model, not a TensorFlow one",
        is_openvino,
        instead="run it with OpenVINO, or " + CONVERTED_FROM,
        in_folder=r".*\.xml",
    ),
    OtherFile("an ncnn model, not a TensorFlow one", starts_with(b"7767517\n")),
)

# --- Files of other kinds.

PICTURE = "pass the path of the model, not of its input"
PLAIN_FILES = (
    OtherFile(
        "an ELF library or program, not a model",
        starts_with(b"\x7fELF"),
        instead=USE_MODEL,
    ),
    OtherFile("a Windows library or program", starts_with(b"MZ"), instead=USE_MODEL),
    OtherFile("a PNG image", starts_with(b"\x89PNG"), instead=PICTURE),
    OtherFile("a JPEG image", starts_with(b"\xff\xd8\xff"), instead=PICTURE),
    OtherFile("a GIF image", starts_with(b"GIF8"), instead=PICTURE),
    OtherFile("an audio, image or video file (RIFF)", starts_with(b"RIFF"), instead=PICTURE),
    OtherFile("a PDF document", starts_with(b"%PDF"), instead="use the model that it describes"),
    OtherFile("an SQLite database", starts_with(b"SQLite format 3\0"), instead=USE_MODEL),
    OtherFile("a zip archive", starts_with(b"PK\x03\x04"), instead=UNPACK),
    OtherFile("a tar archive", starts_with(b"ustar", at=257), instead=UNPACK),
    OtherFile("a 7z archive", starts_with(b"7z\xbc\xaf\x27\x1c"), instead=UNPACK),
    OtherFile("a RAR archive", starts_with(b"Rar!"), instead=UNPACK),
    OtherFile("a file compressed with zstandard", starts_with(b"\x28\xb5\x2f\xfd"), instead=UNPACK),
    OtherFile(
        "a single file compressed with gzip, or a damaged archive",
        starts_with(b"\x1f\x8b"),
        instead="unpack it with gunzip",
    ),
    OtherFile(
        "a single file compressed with bzip2, or a damaged archive",
        starts_with(b"BZh"),
        instead="unpack it with bunzip2",
    ),
    OtherFile(
        "a single file compressed with xz, or a damaged archive",
        starts_with(b"\xfd7zXZ\x00"),
        instead="unpack it with unxz",
    ),
    OtherFile(
        "text in UTF-16",
        lambda sample: sample.head.startswith((b"\xff\xfe", b"\xfe\xff")),
        instead="save it again as UTF-8",
    ),
    OtherFile("an XML file, not a model", is_xml, instead=USE_MODEL),
)


def is_tfrecord(sample: Sample) -> bool:
    """Whether the file begins with a length and the checksum of that length."""
    head = sample.head
    if len(head) < 16:
        return False
    from tfport.formats.encoding.crc32c import checksum, masked

    return int.from_bytes(head[8:12], "little") == masked(checksum(head[:8]))


RECORD_FILES = (
    OtherFile(
        "a TensorBoard event file, not a model",
        lambda sample: b"brain.Event:" in sample.head[12:64] and is_tfrecord(sample),
        instead="use the checkpoint, .meta file or SavedModel written with it",
    ),
    OtherFile(
        "a TFRecord file of data, not a model",
        is_tfrecord,
        instead="pass the path of the model that reads it",
    ),
)
JSON_FILES = (
    OtherFile(
        "a JSON file without a graph",
        lambda sample: sample.encoding == "json",
        instead="for a TensorFlow.js graph model, use its model.json",
    ),
)

# --- Protobuf messages that are not models of TensorFlow.

ONNX_FIELDS = {1: VARINT, 5: VARINT, **dict.fromkeys((2, 3, 4, 6, 7, 8, 14, 20, 25), LENGTH)}


def is_onnx(sample: Sample) -> bool:
    wires = sample.message.wire_types()
    return 7 in wires and 1 in wires and sample.message.fits(ONNX_FIELDS)


def is_core_ml(sample: Sample) -> bool:
    wires = sample.message.wire_types()
    return wires.get(1) == VARINT and max(wires) >= 200


def is_caffe(sample: Sample) -> bool:
    if sample.text_field in (b"layer", b"layers", b"input_dim", b"name"):
        return True
    wires = sample.message.wire_types()
    return not sample.is_damaged and wires.get(1) == LENGTH and max(wires) == 100


def is_message(sample: Sample) -> bool:
    wires = sample.message.wire_types()
    return not sample.is_damaged and bool(wires) and max(wires) < 1000


def is_printable(sample: Sample) -> bool:
    return all(byte >= 32 or byte in b"\t\n\r\f" for byte in sample.head)


ONNX = OtherFile("an ONNX model, not a TensorFlow one", is_onnx, instead=ONNX_RUNTIME)
OTHER_MESSAGES = (
    OtherFile("a Core ML model", is_core_ml),
    OtherFile("a Caffe model", is_caffe),
    OtherFile("an ONNX model in text form, not a TensorFlow one", text_field(b"ir_version")),
    OtherFile("a label map, not a model", text_field(b"item"), instead="use the graph that it belongs to"),
    OtherFile(
        "an object detection training configuration",
        text_field(b"model", b"train_config"),
        instead="use the graph exported from it",
    ),
)
ANYTHING_ELSE = (
    OtherFile("a protobuf message, but not of a model that tfport reads", is_message, instead=READ_BY_TFPORT),
    OtherFile(
        "a text file, not a model",
        lambda sample: sample.encoding == "text" or is_printable(sample),
        instead=USE_MODEL,
    ),
    OtherFile("an unknown file format", lambda sample: True, instead=READ_BY_TFPORT),
)
BY_FIRST_BYTES = (*FAILED_DOWNLOADS, *OTHER_FRAMEWORKS, *PLAIN_FILES)


def from_first_bytes(head: bytes) -> OtherFile | None:
    """The row for a file with these first bytes; None if they are not enough to decide."""
    sample = Sample(MemoryFiles("", {"": memoryview(head)}), "")
    return next((row for row in BY_FIRST_BYTES if row.matches and row.matches(sample)), None)
