"""Records of a stream: however it is cut into reads, and wherever it ends or is damaged."""

import io

import pytest

from tfport.errors import UnreadableFile
from tfport.formats.encoding import tfrecord
from tfport.formats.encoding.tfrecord import record, stream_records

RECORDS = [b"", b"one", bytes(300), b"\0" * 5000, b"last"]
FILE = b"".join(map(record, RECORDS))


def read(data, most=1 << 30):
    stream = io.BytesIO(data)
    return list(stream_records(lambda size: stream.read(min(size, most)), "f"))


@pytest.mark.parametrize("most", [1, 7, 12, 100, 1 << 20])
def test_reads_of_any_size(most):
    assert read(FILE, most) == RECORDS


@pytest.mark.parametrize("block", [1, 13, 319, 5000])
def test_blocks_of_any_size(monkeypatch, block):
    monkeypatch.setattr(tfrecord, "BLOCK", block)
    monkeypatch.setattr(tfrecord, "MOST", 4 * block)
    assert read(FILE) == RECORDS


def test_a_truncated_stream_is_an_error_at_the_record():
    starts = [0]
    for data in RECORDS:
        starts.append(starts[-1] + len(record(data)))
    for end in {*range(400), *range(starts[-2] - 20, len(FILE))}:
        start = max(each for each in starts if each <= end)
        if end == start:
            assert read(FILE[:end]) == RECORDS[: starts.index(start)]
        else:
            with pytest.raises(UnreadableFile, match=f"f, byte {start}: the record is truncated"):
                read(FILE[:end])


def test_damage_to_a_record_is_its_own_error():
    at = len(record(RECORDS[0])) + tfrecord.HEAD + 1
    damaged = bytearray(FILE)
    damaged[at] ^= 1
    found = read(bytes(damaged))
    assert str(found[1]) == f"f, byte {at - 13}: the record is corrupt: its checksum does not match"
    assert [*found[:1], *found[2:]] == [*RECORDS[:1], *RECORDS[2:]]


def test_damage_to_a_length_ends_the_stream():
    damaged = bytearray(FILE)
    damaged[len(record(RECORDS[0]))] ^= 1
    with pytest.raises(UnreadableFile, match=r"byte 16: the record is corrupt"):
        read(bytes(damaged))
