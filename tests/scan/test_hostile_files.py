"""Every way around scanners that was reported for ModelScan and modelaudit is found."""

import pytest
from tests.scan.reported_cases import CASES, REFUSED

import tfport
from tfport.scan.risk import rank


@pytest.mark.parametrize("name", CASES)
def test_hostile_files_are_found(name, tmp_path):
    maker, expected = CASES[name]
    if expected == REFUSED:
        with pytest.raises(tfport.UnreadableFile):
            tfport.scan(maker(tmp_path))
        return
    severity, *codes = expected.split()
    report = tfport.scan(maker(tmp_path))
    found = [f"{risk.severity} {risk.code}" for risk in report.risks]
    assert any(f"{severity} {code}" in found for code in codes), str(report)
    assert report.risks == sorted(report.risks, key=rank)
    report.to_json()


def test_a_pickle_that_is_not_read_to_its_end_is_said(tmp_path):
    """Bytes that do nothing, more than are looked at, before a call."""
    path = tmp_path / "x.pkl"
    path.write_bytes(b"\x80\x04" + b"N0" * (9 << 20) + b"cos\nsystem\n(S'id'\ntR.")
    assert ("TFP929", "warning") in {(risk.code, risk.severity) for risk in tfport.scan(path).risks}
