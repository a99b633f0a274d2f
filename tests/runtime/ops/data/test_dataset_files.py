"""Datasets of files in the model, compared with what TensorFlow 2.21 reads from them."""

import gzip
import zlib

import pytest
from tests.recorded_models import graph
from tests.runtime.ops.data.dataset_programs import program

import tfport
from tfport.formats.files import Folder
from tfport.graph.build import graph_to_def

RECORDS = bytes.fromhex(
    "0500000000000000eab2043e616c7068618adc8501000000000000000029039807d8ea82a2"
    "0500000000000000eab2043e67616d6d618a180c17"
)
"""As TensorFlow wrote `alpha`, nothing and `gamma`."""
STRING = "output_types=[string], output_shapes=[(?)]"
LINES = "TextLineDataset(names, how, 0L)"
TF_RECORDS = "TFRecordDataset(names, how, 0L)"
FROM_THE_SECOND = """TFRecordDatasetV2(names, how, 0L, at)
    at = Const() {dtype=int64, value=int64(1,)[21]}"""
PIECES = "FixedLengthRecordDatasetV2(names, 2L, 3L, 2L, 0L, how)"
OLD_PIECES = "FixedLengthRecordDataset(names, 2L, 3L, 2L, 0L)"
CASES = [  # dataset, compression, files, elements or what the error says
    (LINES, "", [b"one\r\ntwo\n\nth\rree\nlast", b"", b"x\n", b"\r", b"\n\r\n"],
     [b"one", b"two", b"", b"three", b"last", b"x", b"", b""]),
    (LINES, "GZIP", [gzip.compress(b"a\nb\n") + gzip.compress(b"c")], [b"a", b"b", b"c"]),
    (LINES, "ZLIB", [zlib.compress(b"a\nb\n")], [b"a", b"b"]),
    (LINES, "GZIP", [b"plain"], "incorrect header"),
    (LINES, "GZIP", [gzip.compress(b"abc")[:-3]], "compressed data is truncated"),
    (LINES, "LZ4", [b"plain"], "unknown compression 'LZ4'"),
    (TF_RECORDS, "", [RECORDS], [b"alpha", b"", b"gamma"]),
    (TF_RECORDS, "GZIP", [gzip.compress(RECORDS)], [b"alpha", b"", b"gamma"]),
    (TF_RECORDS, "", [RECORDS + b"\x01\x02"], [b"alpha", b"", b"gamma"]),
    (TF_RECORDS, "", [RECORDS[:-3]], "byte 37: the record is truncated"),
    (TF_RECORDS, "", [RECORDS[:13] + b"!" + RECORDS[14:]], "corrupted"),
    (FROM_THE_SECOND, "", [RECORDS],
     [b"", b"gamma"]),
    (PIECES, "", [b"HHabcdefFF", b"HHxyzFF"], [b"abc", b"def", b"xyz"]),
    (PIECES, "GZIP", [gzip.compress(b"HHabcdefFF")], [b"abc", b"def"]),
    (OLD_PIECES, "", [b"HHabcdefFF"], [b"abc", b"def"]),
    (PIECES, "", [b"HHF", b"HHxyzFF"], [b"xyz"]),
    (PIECES, "", [b"HHabcdeFF"], "5 bytes of records, not a multiple of 3"),
]  # fmt: skip


def session_over(folder, text):
    """A session of a graph whose model is in a folder."""
    made = tfport.load(graph_to_def(graph(text)).SerializeToString())
    made.files = Folder(folder)
    return tfport.Session(made)


def elements(folder, op, compression, names):
    listed = ", ".join(f'"{name}"' for name in names)
    text = f"""
    names = Const() {{dtype=string, value=string({len(names)},)[{listed}]}}
    how = Const() {{dtype=string, value=string()["{compression}"]}}
    d = {op}
    all = BatchDatasetV2(d, 100L, false!) {{{STRING}}}
    y = DatasetToSingleElement(all) {{{STRING}}}
"""
    return session_over(folder, program(text)).run("y:0").tolist()


@pytest.mark.parametrize(("op", "compression", "files", "expected"), CASES)
def test_records_of_files(tmp_path, op, compression, files, expected):
    for i, data in enumerate(files):
        (tmp_path / f"f{i}").write_bytes(data)
    names = [f"f{i}" for i in range(len(files))]
    if isinstance(expected, list):
        assert elements(tmp_path, op, compression, names) == expected
        return
    with pytest.raises(tfport.RunFailed, match=expected):
        elements(tmp_path, op, compression, names)


@pytest.mark.parametrize("name", ["/etc/passwd", "../outside", "missing"])
def test_no_other_files_are_read(tmp_path, name):
    with pytest.raises(tfport.RunFailed, match="models may only read their own files"):
        elements(tmp_path, LINES, "", [name])
