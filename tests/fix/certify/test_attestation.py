"""A certificate as an in-toto statement, signed or not, is read as the certificate that it holds."""

import base64
import json

import pytest

import tfport
from tfport.fix.certify.attestation import PAYLOAD, PREDICATE, STATEMENT
from tfport.fix.certify.certificate_record import read_certificate


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("attested")
    fixed = tfport.fix("tests/models/half_plus_two", "tensorflow==2.8.4")
    fixed.save(folder / "out", attestation=True)
    return folder


def test_a_statement_is_about_the_files_that_were_written(written):
    statement = json.loads((written / "out.intoto.json").read_text())
    certificate = json.loads((written / "out.certificate.json").read_text())
    assert (statement["_type"], statement["predicateType"]) == (STATEMENT, PREDICATE)
    assert statement["predicate"] == certificate
    subjects = {subject["name"]: subject["digest"]["sha256"] for subject in statement["subject"]}
    assert subjects == certificate["output"]["files"]


def test_a_statement_and_an_envelope_are_read_as_certificates(written):
    statement = (written / "out.intoto.json").read_bytes()
    payload = base64.b64encode(statement).decode()
    envelope = {"payloadType": PAYLOAD, "payload": payload, "signatures": [{"sig": "MEUC"}]}
    (written / "signed.json").write_text(json.dumps(envelope))
    plain = read_certificate(written / "out.certificate.json")
    for name in ("out.intoto.json", "signed.json"):
        record = read_certificate(written / name)
        assert (record.source, record.output, record.trials) == (plain.source, plain.output, plain.trials)


@pytest.mark.parametrize(
    "document",
    [
        {"_type": STATEMENT, "predicateType": "https://slsa.dev/provenance/v1", "predicate": {}},
        {"payloadType": PAYLOAD, "payload": "%%%"},
        {"payloadType": PAYLOAD},
        {"_type": STATEMENT, "predicateType": PREDICATE},
    ],
)
def test_other_statements_are_no_certificates(tmp_path, document):
    (tmp_path / "x.json").write_text(json.dumps(document))
    with pytest.raises(tfport.UnreadableFile, match="not a certificate of `tfport fix`"):
        read_certificate(tmp_path / "x.json")
