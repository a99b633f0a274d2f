"""Exported symbols: what real libraries export, and the packing of their hashes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfport.atlas.atlas import atlas
from tfport.atlas.symbols import BUCKET_BITS, HASH_BYTES, pack_bucket, split_hash, symbols, unpack_bucket

REST = (1 << 8 * HASH_BYTES - BUCKET_BITS) - 1
EXPORTED = [  # symbol, exported by, not exported by
    ("TF_Version", "tensorflow==1.4.1", "tensorflow==1.0.0"),
    ("TF_GetAllRegisteredKernels", "tensorflow==1.11.0", "tensorflow==1.10.1"),
    ("TF_LoadLibrary", "tensorflow==2.21.0", "tensorflow==1.2.1"),
    # tensorflow::Status is another type since
    ("_ZN10tensorflow20OpKernelConstruction10CtxFailureERKNS_6StatusE", "tensorflow==2.8.4",
     "tensorflow==2.21.0"),
]  # fmt: skip


@pytest.mark.parametrize(("symbol", "there", "not_there"), EXPORTED)
def test_the_builds_that_export_a_symbol(symbol, there, not_there):
    exporters = symbols().exporters(symbol)
    assert there in exporters
    assert not_there not in exporters


def test_an_unknown_name_is_exported_by_no_build():
    assert symbols().exporters("_ZN4acme8tokenizeEv") == frozenset()
    assert symbols().missing(["TF_Version", "_ZN4acme8tokenizeEv"], "tensorflow==2.8.4") == [
        "_ZN4acme8tokenizeEv"
    ]


def test_symbols_lost_between_builds():
    lost = symbols().lost("tensorflow==2.8.4", "tensorflow==2.21.0")
    assert 0 < lost.lost < lost.had
    assert symbols().lost("tensorflow==2.8.4", "tensorflow==2.8.4").lost == 0
    assert symbols().lost("tensorflow==2.8.4", "tensorflow==9.9.9") is None


def test_every_tensorflow_of_the_atlas_has_its_symbols():
    builds = {build.requirement for build in atlas().builds() if build.is_tensorflow}
    assert builds <= set(symbols().builds)


def test_equal_libraries_export_equal_symbols():
    for symbol in ("TF_Version", "TF_NewStatus"):
        exporters = symbols().exporters(symbol)
        assert ("tensorflow-gpu==2.8.4" in exporters) == ("tensorflow==2.8.4" in exporters)


@given(st.dictionaries(st.integers(0, REST), st.integers(0, 0xFFFF), max_size=50))
def test_a_bucket_is_unpacked_as_it_was_packed(entries):
    assert unpack_bucket(pack_bucket(entries)) == entries


@given(st.integers(0, (1 << 8 * HASH_BYTES) - 1))
def test_a_hash_is_split_and_joined(value):
    bucket, rest = split_hash(value)
    assert bucket < 1 << BUCKET_BITS
    assert bucket << 8 * HASH_BYTES - BUCKET_BITS | rest == value
