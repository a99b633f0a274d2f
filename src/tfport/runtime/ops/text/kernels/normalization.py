"""NormalizeUTF8 and CaseFoldUTF8."""

from __future__ import annotations

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.strings.byte_strings import map_strings
from tfport.runtime.ops.text.characters import folded, normalized

_FORMS = ("NFC", "NFD", "NFKC", "NFKD")


@host("NormalizeUTF8")
def normalize_utf8(input, *, normalization_form):
    form = normalization_form.upper()
    if form not in _FORMS:
        raise RunFailed(
            f"normalization_form must be one of {', '.join(_FORMS)}, found `{normalization_form}`"
        )
    return map_strings(input, lambda text: text if text.isascii() else normalized(text, form))


@host("CaseFoldUTF8")
def case_fold_utf8(input):
    return map_strings(input, lambda text: text.lower() if text.isascii() else folded(text))
