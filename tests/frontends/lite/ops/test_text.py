"""Groups of words, and hashes of features."""

import pytest
from tests.frontends.lite.cases import case, check, checks, const, out
from tests.runtime.cases import f32, i32, numbers, strings

CASES = [
    *(
        case("SKIP_GRAM", strings("The quick\t brown fox\n jumps over the lazy dog!"), **options)
        for options in (
            {"ngram_size": 1, "max_skip_size": 0, "include_all_ngrams": False},
            {"ngram_size": 2, "max_skip_size": 0, "include_all_ngrams": False},
            {"ngram_size": 2, "max_skip_size": 1, "include_all_ngrams": False},
            {"ngram_size": 3, "max_skip_size": 2, "include_all_ngrams": True},
        )
    ),
    case("SKIP_GRAM", strings(" a b "), ngram_size=2, max_skip_size=0, include_all_ngrams=True),
    *(
        case("LSH_PROJECTION", const(numbers(3, 2)), items, *weights, type=kind, outputs=[out("INT32")])
        for kind in ("DENSE", "SPARSE")
        for items in (i32(12345, 54321, 67890), i32(1, 2, 3, 4, 5, 6).reshape(3, 2))
        for weights in ((), (f32(0.5, -1, 2),))
    ),
]


@pytest.mark.parametrize("c", checks(CASES))
def test_text(c):
    check("text", c)
