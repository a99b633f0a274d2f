"""Record what the Unicode of tensorflow-text's ICU adds to that of Python 3.11, by asking its ops.

    PYTHON tests/live/record_text_unicode.py        a Python 3.11 with tensorflow-text

Python's `unicodedata` and ICU agree about characters that both know. The file has the characters that Python
3.11 (Unicode 14) does not know: their decompositions, combining classes, folded forms, and which are
punctuation; the characters that case folding removes; the script of each range of code points, a number; and
the marks that end sentences, of all of Unicode.
"""

from __future__ import annotations

import itertools
import os
import unicodedata
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf
import tensorflow_text as text
from tensorflow_text.core.pybinds import pywrap_fast_wordpiece_tokenizer_model_builder as wordpiece
from tensorflow_text.python.ops import (
    fast_wordpiece_tokenizer,
    sentence_breaking_ops,
    state_based_sentence_breaker_op,
    unicode_script_tokenizer,
)

FILE = Path("src/tfport/runtime/ops/text/unicode_16.txt")
POINTS = [point for point in range(0x110000) if not 0xD800 <= point < 0xE000]
UNKNOWN = [point for point in range(0x20000) if unicodedata.category(chr(point)) == "Cn"]
"""Unicode 15 and 16 have no other characters than ideographs behind these."""


def normalized(texts: list[str], form: str) -> list[str]:
    return [each.decode() for each in text.normalize_utf8([each.encode() for each in texts], form).numpy()]


def decompositions() -> dict[int, str]:
    out = normalized(list(map(chr, UNKNOWN)), "NFKD")
    return {point: each for point, each in zip(UNKNOWN, out, strict=True) if each != chr(point)}


def canonical() -> set[int]:
    out = normalized(list(map(chr, UNKNOWN)), "NFD")
    return {point for point, each in zip(UNKNOWN, out, strict=True) if each != chr(point)}


def combining() -> dict[int, int]:
    """The classes of marks: those of known marks between which they are sorted."""
    marks: dict[int, str] = {}
    for point in POINTS:
        if unicodedata.combining(chr(point)) and unicodedata.normalize("NFD", chr(point)) == chr(point):
            marks.setdefault(unicodedata.combining(chr(point)), chr(point))
    first = marks[min(marks)]
    out = normalized([chr(point) + first for point in UNKNOWN], "NFD")
    found = [point for point, each in zip(UNKNOWN, out, strict=True) if each[0] == first]
    classes = {}
    for point in found:
        smaller = normalized([chr(point) + mark for mark in marks.values()], "NFD")
        larger = normalized([mark + chr(point) for mark in marks.values()], "NFD")
        same = [
            number
            for number, a, b in zip(marks, smaller, larger, strict=True)
            if a[0] == chr(point) and b[-1] == chr(point)
        ]
        (classes[point],) = same
    return classes


def folded() -> tuple[dict[int, str], list[int]]:
    out = [each.decode() for each in text.case_fold_utf8([chr(point).encode() for point in POINTS]).numpy()]
    both = dict(zip(POINTS, out, strict=True))
    return {p: both[p] for p in UNKNOWN if both[p] not in ("", chr(p))}, [p for p in POINTS if not both[p]]


def punctuation() -> list[int]:
    model = wordpiece.build_fast_wordpiece_model(["a", "##a", "[UNK]"], 100, "##", "[UNK]", False, False)
    ops = fast_wordpiece_tokenizer.gen_fast_wordpiece_tokenizer
    texts = [f"a{chr(point)}a".encode() for point in UNKNOWN]
    splits = ops.fast_wordpiece_tokenize_with_offsets(texts, np.frombuffer(model, np.uint8))[2].numpy()
    return [point for point, count in zip(UNKNOWN, np.diff(splits).tolist(), strict=True) if count > 1]


def same_script(pairs: list[tuple[int, int]]) -> list[bool]:
    ops = unicode_script_tokenizer.gen_unicode_script_tokenizer
    flat = np.array(pairs, np.int32).reshape(-1)
    out = ops.unicode_script_tokenize_with_offsets(
        flat, np.arange(0, len(flat) + 1, 2, dtype=np.int64), keep_whitespace=False
    )
    return (np.diff(out[4].numpy()) == 1).tolist()


def scripts() -> list[tuple[int, int]]:
    """The first code point of each range, and its script: a number of TensorFlow's own op, or a new one."""
    number = dict(zip(POINTS, tf.strings.unicode_script(POINTS).numpy().tolist(), strict=True))
    spaces = {point for point in POINTS if chr(point).isspace() and not 0x1C <= point <= 0x1F}
    examples: dict[int, int] = {}
    for point in POINTS:
        if unicodedata.category(chr(point)) not in ("Cn", "Co") and point not in spaces:
            examples.setdefault(number[point], point)
    examples[103] = 0xFDD0  # the number of code points without a script; it may be a newer character
    asked = [point for point in POINTS if point not in spaces and (point < 0x33480 or point >= 0xE0000)]
    wrong = [
        point
        for point, same in zip(asked, same_script([(examples[number[p]], p) for p in asked]), strict=True)
        if not same
    ]
    left = wrong
    for script, example in examples.items():
        answers = same_script([(example, point) for point in left])
        number |= {point: script for point, same in zip(left, answers, strict=True) if same}
        left = [point for point, same in zip(left, answers, strict=True) if not same]
    for script in itertools.count(1000):
        if not left:
            break
        answers = same_script([(left[0], point) for point in left])
        number |= {point: script for point, same in zip(left, answers, strict=True) if same}
        left = [point for point, same in zip(left, answers, strict=True) if not same]
    ranges = [(point, number[point]) for point in POINTS]
    return [(0, ranges[0][1])] + [b for a, b in itertools.pairwise(ranges) if a[1] != b[1]]


def marks() -> dict[str, list[int]]:
    """What ends a sentence, and what may follow it: the ops that find the fragments of texts know."""
    of_tokens = sentence_breaking_ops.gen_sentence_breaking_ops.sentence_fragments
    of_documents = state_based_sentence_breaker_op.gen_state_based_sentence_breaker_op.sentence_fragments_v2
    characters = [chr(point).encode() for point in POINTS]

    def of_texts(before: bytes, after: bytes) -> np.ndarray:
        _, _, properties, _, lengths = of_documents([before + each + after for each in characters])
        return np.asarray(properties)[np.cumsum(lengths) - lengths]

    terminal = of_texts(b"a", b" b") & 1
    closes = of_texts(b"a!", b" b") & 4
    tokens = [token for each in characters for token in (each, b"a", b"!", b")")]
    zeros = np.zeros(len(tokens), np.int64)
    _, _, properties_of_tokens, _, lengths = of_tokens(
        row_lengths=[4] * len(characters), token_start=zeros, token_end=zeros, token_word=tokens,
        token_properties=zeros, input_encoding="UTF-8", errors="replace", replacement_char=0xFFFD,
        replace_control_characters=False,
    )  # fmt: skip
    opens = np.asarray(properties_of_tokens)[np.cumsum(lengths) - 1] & 8
    found = {"terminal": terminal, "close_paren": closes, "open_paren": opens}
    return {name: [POINTS[at] for at in np.flatnonzero(each)] for name, each in found.items()}


def ranges(points: list[int]) -> list[str]:
    out: list[list[int]] = []
    for point in points:
        if out and out[-1][1] == point - 1:
            out[-1][1] = point
        else:
            out.append([point, point])
    return [f"{first:X} {last:X}" for first, last in out]


def hexadecimal(word: str) -> str:
    return " ".join(f"{ord(character):X}" for character in word)


def main() -> None:
    known = canonical()
    folds, removed = folded()
    lines = [f"# {__doc__.splitlines()[0]}", f"# tensorflow-text {text.__version__}: {Path(__file__).name}"]
    lines += [
        f"{'canonical' if point in known else 'compatible'} {point:X} {hexadecimal(word)}"
        for point, word in decompositions().items()
    ]
    lines += [f"combining {point:X} {number:X}" for point, number in combining().items()]
    lines += [f"folded {point:X} {hexadecimal(word)}" for point, word in folds.items()]
    lines += [f"removed {each}" for each in ranges(removed)]
    lines += [f"punctuation {point:X}" for point in punctuation()]
    lines += [f"{name} {each}" for name, points in marks().items() for each in ranges(points)]
    print(f"{len(lines)} lines, now scripts", flush=True)
    lines += [f"script {first:X} {number:X}" for first, number in scripts()]
    FILE.write_text("\n".join(lines) + "\n", encoding="ascii")
    print(f"{FILE}: {len(lines)} lines")


if __name__ == "__main__":
    main()
