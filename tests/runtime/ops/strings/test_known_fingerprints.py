"""Fingerprints are the same whether they are known, computed one by one or all at once."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfport.runtime.ops.strings.fingerprints import fingerprint64
from tfport.runtime.ops.strings.kernels import hashing
from tfport.runtime.ops.strings.kernels.hashing import FEW, LONGEST, KnownFingerprints

TEXTS = st.lists(st.binary(max_size=LONGEST + 3), max_size=FEW + 10)


@given(texts=st.lists(TEXTS, min_size=1, max_size=4))
def test_known_and_new_strings_have_the_same_fingerprints(texts):
    fingerprints = KnownFingerprints()
    for strings in [*texts, *texts]:
        with np.errstate(over="ignore"):
            assert fingerprints.of(strings).tolist() == fingerprint64(strings).tolist()


@pytest.mark.filterwarnings("ignore:overflow")
def test_only_short_strings_are_kept():
    fingerprints = KnownFingerprints()
    fingerprints.of([b"a" * LONGEST, b"b" * (LONGEST + 1), b"c"])
    assert set(fingerprints.known) == {b"a" * LONGEST, b"c"}


def test_a_bounded_number_of_fingerprints_is_kept(monkeypatch):
    monkeypatch.setattr(hashing, "MOST_KNOWN", 10)
    fingerprints = KnownFingerprints()
    for start in range(0, 200, 4):
        strings = [b"%d" % n for n in range(start, start + 4)]
        assert fingerprints.of(strings).tolist() == fingerprint64(strings).tolist()
        assert set(strings) <= set(fingerprints.known)
        assert len(fingerprints.known) <= 10
    fingerprints.of([b"%d" % n for n in range(11)])
    assert len(fingerprints.known) <= 10
