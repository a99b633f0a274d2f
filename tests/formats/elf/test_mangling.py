import time

import pytest

from tfport.formats.elf.mangling import about_class, demangled, owner, short_name

NAMES = [  # symbol, its short name, its owner
    ("_ZNK10tensorflow8OpKernel4nameEv", "tensorflow::OpKernel::name", "tensorflow"),
    ("_ZN9ZeroOutOp7ComputeEPN10tensorflow15OpKernelContextE", "ZeroOutOp::Compute", "ZeroOutOp"),
    ("_ZTVN10tensorflow8OpKernelE", "vtable for tensorflow::OpKernel", "tensorflow"),
    ("_ZTI6Scaler", "typeinfo for Scaler", "Scaler"),
    ("_ZN4absl12lts_202308026Status11UnrefNonInlEm", "absl::lts_20230802::Status::UnrefNonInl", "absl"),
    ("TF_NewStatus", "TF_NewStatus", "TF_NewStatus"),
    ("_ZN3tsl", "tsl", "tsl"),
]  # fmt: skip


@pytest.mark.parametrize(("symbol", "short", "whose"), NAMES)
def test_a_name_is_read(symbol, short, whose):
    assert (short_name(symbol), owner(symbol)) == (short, whose)


def test_data_that_the_compiler_generates_for_a_class_is_recognized():
    assert [about_class(symbol) for symbol in ("_ZTV6Scaler", "_ZTI6Scaler", "_ZN6Scaler1fEv")] == [
        "vtable", "typeinfo", ""
    ]  # fmt: skip


def test_std_string_is_shortened():
    new = "_ZN10tensorflow12OpDefBuilder4AttrENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
    assert short_name(new) == "tensorflow::OpDefBuilder::Attr"
    assert "__cxx11" in demangled(new)


HARMFUL = {
    "too many levels": "_Z1f" + "P" * 1_000_000 + "i",
    "text without end": "_Z1f1AIiiE" + "".join(f"1AIS{c}_S{c}_S{c}_E" for c in "0123456789ABCDEFGHIJ"),
    "a long base": "_Z1f" + "1A" * 2000 + "S_S0_" * 30,
}


@pytest.mark.parametrize("why", HARMFUL)
def test_a_malicious_name_is_harmless(why):
    start = time.monotonic()
    assert len(demangled(HARMFUL[why])) < 10**8
    assert time.monotonic() - start < 5
