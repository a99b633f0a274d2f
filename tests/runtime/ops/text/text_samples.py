"""Texts and models for the tests of TensorFlow Text's ops; `tests/live/make_text_models.py` makes these."""

import random
from pathlib import Path

import numpy as np
from tests.runtime.cases import graph_case, strings

MODELS = np.load(Path(__file__).with_name("models.npz"))
TEXTS = [
    b"",
    b" ",
    b"the quick brown fox jumped",
    b"  don't   jump!  ",
    b"abcdefz abcdefg abcd",
    b"##",
    b"#",
    b"##s a##s",
    "日本 日本é é".encode(),
    "Größe, ﬁne ①②③ ｶﾞ \uff21\uff42\uff43".encode(),
    "e\u0301\u0327 İstanbul ẞ \u00adx\u200b".encode(),
    "Привет, как дела?".encode(),
    "\u3000\u2028x\u00a0y\u1680".encode(),
    b"a\0b",
    b"\xff\xfe",
    b"x\xe2\x80",
    b"\xed\xa0\x80 a",
    b"\xf0\x9f\x98a b\xc0\x80",
    "👍🏽 ok".encode(),
    b"a" * 30 + b" b",
    b"[CLS] [MASK]<s></s><unk>",
    "\u2581a\u2581".encode(),
    "가각 \u1100\u1161\u11a8 각".encode(),
    "\U00016121\U0001ccf0\U00010d6d\u0328".encode(),
    b'1.5e3, x_y@z.com; "q" (r)',
]
ALPHABETS = [
    "abc#' ,.!ést日本",
    "".join(map(chr, range(0x20, 0x180))),
    "e\u0301\u0327\u0345가\u1100\u1161ｶﾞ\u00ad İ\u16d68",
]


def random_texts(count: int, seed: int) -> list[bytes]:
    """Texts of random characters, and of random bytes."""
    draw = random.Random(seed)
    texts = []
    for _ in range(count):
        text = "".join(draw.choices(draw.choice(ALPHABETS), k=draw.randrange(1, 40))).encode()
        if draw.random() < 0.3:
            at = draw.randrange(len(text))
            text = text[:at] + bytes([draw.randrange(256)]) + text[at + 1 :]
        texts.append(text)
    return texts


ALL = strings(*TEXTS, *random_texts(40, 0), b"long " * 2000 + "größe ".encode() * 500)
NONE = np.zeros(0, object)


def with_model(name: str, text: str, **options):
    """A graph whose SentencepieceOp has a model."""
    c = graph_case(
        'h = SentencepieceOp() {model="", container="", shared_name="sp", use_node_name_sharing=false}\n'
        + text,
        **options,
    )
    graph = c._parsed
    next(node for node in graph.node if node.op == "SentencepieceOp").attr["model"].s = MODELS[name].tobytes()
    return c
