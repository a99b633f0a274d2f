"""Bytes, CSV, JSON and files."""

import gzip
import zlib

import numpy as np
import pytest
from tests.recorded_models import graph
from tests.runtime.cases import case, check, checks, f32, f64, i32, i64, scalar, strings

import tfport
from tfport.formats.files import Folder
from tfport.graph.build import graph_to_def
from tfport.graph.dtypes import DType

T = DType.parse
EIGHT = strings(bytes(range(8)), bytes(range(7, -1, -1)))
RAW = [
    "uint8",
    "int8",
    "int16",
    "uint16",
    "int32",
    "int64",
    "float16",
    "float32",
    "float64",
    "bfloat16",
    "complex64",
    "bool",
]
PADDED = ["uint8", "int8", "int16", "uint16", "int32", "int64", "float32", "float64", "bfloat16"]
PACKED, ANYWHERE = zlib.compress(b"hello" * 3), gzip.compress(b"hello" * 3, mtime=0)
ZIPPED = ANYWHERE[:9] + b"\x03" + ANYWHERE[10:]
"""On Unix, as Python wrote it before 3.13, which does not say on which system."""
PACKED_BY_ZSTD = bytes.fromhex("28b52ffd200f5d00002868656c6c6f0100d88a16")
JSON = [
    '{"features":{"feature":{"a":{"int64List":{"value":["1",2]}},"b":{"floatList":{"value":[1.5,"NaN"]}},'
    '"c":{"bytesList":{"value":["YWJj"]}}}}}',
    "{}",
    '{"features":{}}',
    '{"features":null}',
    '{"features":{"feature":{"z":{},"a":{"int64_list":{"value":[-1]}}}}}',
    '{"features":{"feature":{"a":{"int64List":{"value":[]}}}}}',
    '{"features":{"feature":{"a":{"int64List":{}}}}}',
    '{"features":{"feature":{"a":{"bytesList":{"value":["_-8="]}}}}}',
    '{"features":{"feature":{"a":{"int64List":{"value":[9223372036854775807,"-9223372036854775808",1e3]}}}}}',
]
NO_JSON = [
    "",
    "[]",
    '{"x":1}',
    '{"features":{"feature":{"a":{"int64List":{"value":[1.5]}}}}}',
    '{"features":{"feature":{"a":{"floatList":{"value":[1e39]}}}}}',
    '{"features":{"feature":{"a":{"int64List":{"value":[1]},"floatList":{"value":[1]}}}}}',
    '{"features":{"feature":{"a":{"int64List":{"value":[1]}},"a":{"int64List":{"value":[2]}}}}}',
]


def raw(texts, kind, little=True, **attrs):
    return case("DecodeRaw", texts, out_type=T(kind), little_endian=little, **attrs)


def padded(texts, size, kind, little=True, **attrs):
    return case("DecodePaddedRaw", texts, scalar(size), out_type=T(kind), little_endian=little, **attrs)


def csv(records, *defaults, **attrs):
    return case(
        "DecodeCSV", strings(*records) if isinstance(records, list) else records, list(defaults), **attrs
    )


def one(text):
    return strings(text).reshape(())


CASES = [
    *(case("EncodeBase64", strings("", "a", "ab", "abc", b"\xff\xfe\xfb"), pad=pad) for pad in (True, False)),
    case("DecodeBase64", strings(["", "YQ", "YQ=="], ["YWI", "YWI=", "YWJj"], ["__77", "YR==", "YWJ"])),
    *(
        case("DecodeBase64", strings(text), fails=True)
        for text in (
            "//77",
            "++++",
            "YQ=",
            "Y",
            "YQ===",
            "Y Q=",
            "YQ\n",
            "=",
            "====",
            "YQ==YQ==",
            "YWJj====",
            "YW=j",
        )
    ),
    *(raw(EIGHT, kind, little) for kind in RAW for little in (True, False)),
    raw(strings("ab", "a"), "uint8", fails=True),
    raw(strings("abc"), "int16", fails=True),
    raw(one("ab"), "uint8"),
    raw(strings("", ""), "int16"),
    raw(np.zeros((0,), object), "int16"),
    raw(np.zeros((2, 0), object), "int16"),
    raw(EIGHT.reshape(1, 2), "int32"),
    *(padded(strings("abcde", "x"), 16, kind, little) for kind in PADDED for little in (True, False)),
    padded(strings("abcde", "x"), 2, "uint8"),
    padded(one("abc"), 2, "uint8"),
    padded(np.zeros((0,), object), 2, "uint8"),
    *(padded(strings("a"), size, "int16", fails=True) for size in (3, 0, -2)),
    case("DecodeCompressed", strings("abc", ""), compression_type=""),
    case("DecodeCompressed", strings(PACKED, b"", PACKED[:-6], zlib.compress(b"")), compression_type="ZLIB"),
    case("DecodeCompressed", strings(ZIPPED, b"", ZIPPED + ZIPPED), compression_type="GZIP"),
    case("DecodeCompressed", strings(PACKED_BY_ZSTD, PACKED_BY_ZSTD), compression_type="ZSTD"),
    *(
        case("DecodeCompressed", strings(data), compression_type="ZSTD", fails=True)
        for data in (b"abcdefgh", b"", PACKED_BY_ZSTD[:-3])
    ),
    case("DecodeCompressed", strings("abc"), compression_type="ZLIB", fails=True),
    case("DecodeCompressed", strings(PACKED), compression_type="GZIP", fails=True),
    case("DecodeCompressed", strings("abc"), compression_type="zlib", fails=True),
    csv(["1,a,2.5", "3,,", " 4 ,b c,1e3", '"5","x,""y""","6"'], i32(7), strings("d"), f32(0.5)),
    csv(["1,2,3", "4,5,6"], i64(0), f64(0), i32(0)),
    csv(["1,2", ",3"], i32(), i32(0), fails=True),
    csv(["1,2", "4,"], i32(), i32(9)),
    csv(["1,2", "4"], i32(0), i32(0), fails=True),
    csv(["1,2", "4,5,6"], i32(0), i32(0), fails=True),
    csv(["a"], i32(0), fails=True),
    csv(["1.5"], i32(0), fails=True),
    csv(["nan,NA,inf", "NA,x,NA"], f32(1), strings("?"), f32(2), na_value="NA"),
    csv(["a|b", 'c|"d|e"'], strings(""), strings(""), field_delim="|"),
    csv(['a,"b', 'c",d'], strings(""), strings(""), use_quote_delim=False),
    csv(["0,1,2,3", "4,5,,7"], i32(9), i32(9), select_cols=[1, 2]),
    csv(["0,1,2,", "4,5,6,7"], i32(9), i32(8), select_cols=[0, 3]),
    csv(["0,1"], i32(9), select_cols=[2], fails=True),
    csv(['a"b,c'], strings(""), strings(""), fails=True),
    csv(['"a"b",c'], strings(""), strings(""), fails=True),
    csv(['"a,c'], strings(""), strings(""), fails=True),
    csv(['"', "a"], strings(""), fails=True),
    csv(['""', "a", '"\n"', '"a""b"'], strings("d")),
    csv(["a\r\n", "\nb", "c"], strings("d"), fails=True),
    csv(["\r\na", "\n\nb", '"c"'], strings("d")),
    csv(['"a"\n'], strings("d"), fails=True),
    csv(["a\nb"], strings("d"), fails=True),
    csv([""], strings("d"), fails=True),
    csv(["\n"], strings("d"), fails=True),
    csv([",", ",,"[:1]], strings("d"), strings("e")),
    csv(strings(["1", "2"], ["3", "NA"]), i32(5), na_value="NA"),
    csv(np.zeros((0,), object), i32(5), strings("")),
    csv(one("1,2"), i32(5), f32(1)),
    csv(["1,2"], i32(1, 2), i32(0), fails=True),
    csv(['"1","2"'], i32(0), f64(0)),
    csv(["a b", "é"], strings("")),
    csv([" 1 , 2"], i32(0), f32(0)),
    case("DecodeJSONExample", strings(*JSON)),
    *(case("DecodeJSONExample", strings(text), fails=True) for text in NO_JSON),
    case("ShardedFilename", one("a/b"), scalar(1), scalar(10)),
    case("ShardedFilename", one("a/b"), scalar(123456), scalar(10)),
    case("ShardedFilename", one("a/b"), scalar(-1), scalar(10)),
    case("ShardedFilename", strings("a"), scalar(1), scalar(10), fails=True),
    case("ShardedFilespec", one("a/b"), scalar(10)),
]


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_decoding(c, ways):
    check("decoding", c, ways)


FILES = """
    name = Placeholder() {dtype=string, shape=[]}
    text = ReadFile(name)
    found = MatchingFiles(name)
    names = Placeholder() {dtype=string, shape=(1)}
    written = WriteFile(name, name)
    saved = Save(name, names, names) {T=[string]}
    slices = SaveSlices(name, names, names, names) {T=[string]}
    second = SaveV2(name, names, names, names) {dtypes=[string]}
    merged = MergeV2Checkpoints(names, name)
"""


@pytest.fixture
def files(tmp_path):
    """A session whose model has one file."""
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets" / "words.txt").write_bytes(b"one\ntwo\n")
    model = tfport.load(graph_to_def(graph(FILES)).SerializeToString())
    model.files = Folder(tmp_path)
    return tfport.Session(model)


def test_a_model_reads_its_own_files(files):
    assert files.run("text:0", {"name": b"assets/words.txt"}).item() == b"one\ntwo\n"
    for pattern in (b"assets/*.txt", b"assets/word?.txt", b"*/[vw]ords.txt"):
        assert files.run("found:0", {"name": pattern}).tolist() == [b"assets/words.txt"]
    for pattern in (b"*.txt", b"assets/[!w]ords.txt", b"assets/\\*.txt"):
        assert files.run("found:0", {"name": pattern}).tolist() == []


@pytest.mark.parametrize("name", [b"/etc/passwd", b"../secret", b"assets/../../secret", b"none"])
def test_a_model_reads_no_other_file(files, name):
    with pytest.raises(tfport.Error, match="models may only read their own files"):
        files.run("text:0", {"name": name})


@pytest.mark.parametrize("op", ["written", "saved", "slices", "second", "merged"])
def test_a_model_writes_no_file(files, tmp_path, op):
    with pytest.raises(tfport.Error, match="models may not write files"):
        files.run(op, {"name": str(tmp_path / "new").encode(), "names": [b"a"]})
    assert not (tmp_path / "new").exists()
