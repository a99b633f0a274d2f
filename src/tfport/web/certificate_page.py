"""The static page of a certificate, which `tfport fix` writes beside the model."""

from __future__ import annotations

from tfport.fix.certify.certificate import Certificate
from tfport.rendering import PAGE, renderer_of
from tfport.static_page.page import self_contained_page
from tfport.web.pages import model_entry
from tfport.words import printable


@renderer_of(Certificate, PAGE)
def certificate_page(certificate: Certificate) -> str:
    """The page: the rules, the inputs tried, and the differences."""
    title = printable(f"{certificate.source}: certificate")
    documents = {"certificate": certificate.to_json()}
    entry = model_entry(certificate.source, "", 0)
    return self_contained_page("fix", title, entry, documents, str(certificate))
