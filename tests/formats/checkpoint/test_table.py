import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.error_messages import reads_or_raises_one_line

from tfport.errors import UnreadableFile
from tfport.formats.checkpoint.table import FOOTER, MAGIC, SNAPPY, Handle, SortedTable
from tfport.formats.checkpoint.table_writer import (
    BlockBuilder,
    packed,
    separator,
    successor,
    write_block,
    write_table,
)
from tfport.formats.encoding.crc32c import checksum, masked

ITEMS = st.dictionaries(st.binary(max_size=20), st.binary(max_size=50), max_size=80)


def written(items: dict[bytes, bytes]) -> memoryview:
    file = io.BytesIO()
    write_table(file, sorted(items.items()))
    return memoryview(file.getvalue()).toreadonly()


def opened(data: bytes) -> SortedTable:
    return SortedTable(memoryview(data), "t")


@given(ITEMS)
def test_written_keys_are_found(items):
    table = SortedTable(written(items), "t")
    assert {key: bytes(value) for key, value in table.items()} == items
    assert all(table.get(key) == value for key, value in items.items())


@given(ITEMS, st.binary(max_size=20))
def test_other_keys_are_not_found(items, key):
    if key not in items:
        assert SortedTable(written(items), "t").get(key) is None


def test_a_table_of_many_blocks_is_searched_and_listed():
    items = {b"key%06d" % n: bytes(n % 500) for n in range(5000)}
    table = SortedTable(written(items), "t")
    assert [key for key, _ in table.items()] == sorted(items)
    assert all(table.get(key) == items[key] for key in items)
    assert table.get(b"key000000x") is None
    assert table.get(b"zzz") is None


def test_a_block_is_read_only_when_it_is_needed():
    data = bytearray(written({b"key%06d" % n: bytes(500) for n in range(2000)}))
    data[600_000] ^= 1
    assert opened(bytes(data)).get(b"key000000") == bytes(500)
    with pytest.raises(
        UnreadableFile, match=r"^t, byte \d+: expected a block with checksum \w{8}, found \w{8}$"
    ):
        list(opened(bytes(data)).items())


@given(ITEMS, st.data())
def test_a_damaged_table_is_read_correctly_or_refused(items, data):
    good = bytes(written(items))
    at = data.draw(st.integers(0, len(good) - 1))
    bad = good[:at] + bytes([good[at] ^ data.draw(st.integers(1, 255))]) + good[at + 1 :]
    for bytes_ in (bad, good[:at]):
        try:
            read = {key: bytes(value) for key, value in opened(bytes_).items()}
        except UnreadableFile:
            continue
        assert read == items


SEPARATORS = [  # last     first    between
    (b"abcd", b"abzz", b"abd"),
    (b"abc", b"abcd", b"abc"),
    (b"a1", b"a2", b"a1"),
]


@pytest.mark.parametrize(("last", "first", "between"), SEPARATORS)
def test_the_index_shortens_keys_between_blocks(last, first, between):
    assert separator(last, first) == between


@pytest.mark.parametrize(("key", "after"), [(b"abc", b"b"), (b"\xff\x01z", b"\xff\x02"), (b"\xff", b"\xff")])
def test_the_index_shortens_the_last_key(key, after):
    assert successor(key) == after


def table_of_block(contents: bytes, compression: int) -> bytes:
    """A table of one block with any contents."""
    block = contents + bytes([compression])
    data = block + masked(checksum(block)).to_bytes(4, "little")
    file = io.BytesIO()
    file.write(data)
    index = BlockBuilder(restart_every=1)
    index.add(b"\xff" * 9, packed(Handle(0, len(contents))))
    metaindex = write_block(file, BlockBuilder(), len(data))
    places = packed(metaindex) + packed(write_block(file, index, metaindex.end))
    file.write(places.ljust(FOOTER - len(MAGIC), b"\0") + MAGIC)
    return file.getvalue()


SMALL = st.integers(0, 4)
ENTRIES = st.lists(st.tuples(SMALL, SMALL, SMALL, st.binary(max_size=8)).map(lambda e: bytes(e[:3]) + e[3]))
TAILS = st.lists(st.integers(0, 20), max_size=4).map(
    lambda n: b"".join(i.to_bytes(4, "little") for i in [*n, len(n)])
)


@given(
    st.one_of(st.binary(max_size=200), st.builds(lambda e, t: b"".join(e) + t, ENTRIES, TAILS)), st.binary()
)
def test_any_bytes_of_a_block_are_refused_or_read(contents, key):
    table = opened(table_of_block(contents, 0))
    for ask in (lambda: list(table.items()), lambda: table.get(key)):
        with reads_or_raises_one_line():
            ask()


def as_literal(contents: bytes) -> bytes:
    """Up to 60 bytes in snappy format: the size, and one literal."""
    return bytes([len(contents), len(contents) - 1 << 2]) + contents


def block_of(key: bytes, value: bytes) -> bytes:
    block = BlockBuilder()
    block.add(key, value)
    return block.finish()


def test_a_snappy_block_is_unpacked():
    block = block_of(b"key", b"value")
    assert opened(table_of_block(as_literal(block), SNAPPY)).get(b"key") == b"value"


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        (b"\xff\xff\xff\xff\x0f\0a", "7 bytes that would unpack to 4294967295"),
        (b"\x03\xff", "a copy from before its start"),
    ],
)
def test_a_snappy_block_that_does_not_unpack_is_refused(contents, message):
    with pytest.raises(UnreadableFile, match=rf"^t, byte 0: expected a snappy block, found {message}$"):
        opened(table_of_block(contents, SNAPPY)).get(b"key")


def test_the_checksum_is_crc32c_for_bytes_and_memoryviews():
    data = b"123456789"
    assert checksum(data) == 0xE3069283
    assert checksum(memoryview(data)[4:], checksum(data[:4])) == 0xE3069283
    assert checksum(memoryview(data * 1_000_000)) == checksum(data * 1_000_000)
