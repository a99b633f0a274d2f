"""The verdicts on signatures that a server prints when it starts."""

from __future__ import annotations

from tests.serve.models.exports import export, saved_model

import tfport
from tfport.serve.models.signature_verdicts import signature_verdicts

TEXT = """
    x = Placeholder() {dtype=float32, shape=(?)}
    good = Neg(x) {T=float32}
    bad = AddV2(x, x) {T=float32}
"""


def test_each_signature_runs_or_has_a_reason(tmp_path):
    data = saved_model(TEXT, {"fine": "good:0", "broken": "bad:0"}).replace(b"AddV2", b"AddV9")
    facts = {fact.signature: fact for fact in signature_verdicts(tfport.load(export(tmp_path, 1, data)))}
    assert facts["fine"].runs
    assert str(facts["fine"]) == "fine: runs"
    assert facts["broken"].runs is False
    assert str(facts["broken"]).startswith("broken: cannot run: ")
    assert "AddV9" in str(facts["broken"])
