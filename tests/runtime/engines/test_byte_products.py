"""Processors whose products of bytes saturate, from their flags."""

import pytest

from tfport.runtime.engines import session_settings
from tfport.runtime.engines.session_settings import byte_products_saturate, processor_flags

INTEL = "processor\t: 0\nmodel name\t: A\nflags\t\t: fpu avx2 avx512f{}\n\nprocessor\t: 1\nflags\t\t: fpu\n"


@pytest.mark.parametrize(
    ("machine", "text", "saturates"),
    [
        ("x86_64", INTEL.format(""), True),
        ("x86_64", INTEL.format(" avx512_vnni"), False),
        ("x86_64", INTEL.format(" avx_vnni"), False),
        ("x86_64", "", True),
        ("x86_64", None, True),
        ("aarch64", None, False),
    ],
)
def test_only_processors_with_vnni_add_products_exactly(machine, text, saturates, monkeypatch, tmp_path):
    path = tmp_path / "cpuinfo"
    if text is not None:
        path.write_text(text)
    monkeypatch.setattr(session_settings, "CPU_INFO", path)
    monkeypatch.setattr(session_settings.platform, "machine", lambda: machine)
    assert byte_products_saturate.__wrapped__() == saturates


def test_flags_are_those_of_the_first_processor():
    assert processor_flags(INTEL.format("")) == {"fpu", "avx2", "avx512f"}
