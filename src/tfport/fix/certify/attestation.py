"""A certificate as an in-toto statement, which the usual tools sign, and a statement as a certificate.

The subjects are the files of the rewritten model by their SHA-256; the predicate is the certificate itself,
unchanged. tfport signs nothing: `cosign attest-blob`, `sigstore` and others do. A signed statement comes back
in an envelope (DSSE), which is read too; its signature is for those tools to verify.
"""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any

from tfport.fix.certify.certificate import Certificate
from tfport.fix.certify.json import certificate_json

STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "urn:tfport:certificate:v1"
PAYLOAD = "application/vnd.in-toto+json"


def attestation_text(certificate: Certificate) -> str:
    """The statement about a certificate."""
    statement = {
        "_type": STATEMENT,
        "subject": [
            {"name": name, "digest": {"sha256": sha256}}
            for name, sha256 in sorted(certificate.output_files.items())
        ],
        "predicateType": PREDICATE,
        "predicate": certificate_json(certificate),
    }
    return json.dumps(statement, indent=1) + "\n"


def certificate_in(document: Any) -> Any:
    """The certificate in a statement or an envelope around one; any other document as it is."""
    if isinstance(document, dict) and document.get("payloadType") == PAYLOAD:
        try:
            document = json.loads(base64.b64decode(document["payload"], validate=True))
        except (KeyError, TypeError, ValueError, binascii.Error, RecursionError):
            return document
    if isinstance(document, dict) and document.get("_type") == STATEMENT:
        return document.get("predicate") if document.get("predicateType") == PREDICATE else document
    return document
