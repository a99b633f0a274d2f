"""Make the models of tests/runtime/ops/text: `PYTHON tests/live/make_text_models.py`.

PYTHON has tensorflow-text, and sentencepiece to train with.
"""

from __future__ import annotations

import io
import random
from pathlib import Path

import numpy as np
import sentencepiece
from tensorflow_text.core.pybinds import pywrap_fast_bert_normalizer_model_builder as normalizer
from tensorflow_text.core.pybinds import pywrap_fast_wordpiece_tokenizer_model_builder as wordpiece
from tensorflow_text.core.pybinds import pywrap_model_converter as converter
from tensorflow_text.core.pybinds import pywrap_phrase_tokenizer_model_builder as phrases

FILE = Path("tests/runtime/ops/text/models.npz")
VOCABULARY = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "##",
    "##s",
    "##ing",
    "##ed",
    "##é",
    "a",
    "ab",
    "abc",
    "##c",
    "##cd",
    "##efz",
    "abcdefg",
    "the",
    "quick",
    "brown",
    "fox",
    "jump",
    "##er",
    "don",
    "'",
    "t",
    ",",
    ".",
    "!",
    "?",
    "日",
    "本",
    "##本",
    "é",
    "e",
    "##e",
    "#",
    "##d",
    "b",
    "##b",
]
PHRASES = [
    "<UNK>", "the", "the quick", "the quick brown fox", "brown fox", "fox", "jumped", "don't", "don", "'t",
    ".", "!", "日本", "日本 日本é", "Größe,", "Größe", ",", "a", "ok", "ok 👍🏽",
]  # fmt: skip
SENTENCES = [
    "The quick brown fox jumps over the lazy dog.",
    "Größe, Straße und Füße: schöne Grüße!",
    "Привет, как дела? Хорошо, спасибо.",
    "こんにちは世界。東京は日本の首都です。",
    "ﬁne ﬂow ①②③ \uff21\uff42\uff43 ｶﾞ",
    "She sells sea shells by the sea shore; the shells she sells are sea shells.",
]


def trained(**options: object) -> np.ndarray:
    out = io.BytesIO()
    texts = SENTENCES * 20
    random.Random(0).shuffle(texts)
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts), model_writer=out, minloglevel=2, hard_vocab_limit=False, **options
    )
    return np.frombuffer(out.getvalue(), np.uint8)


def main() -> None:
    models = {
        "words": wordpiece.build_fast_wordpiece_model(VOCABULARY, 20, "##", "[UNK]", True, True),
        "texts": wordpiece.build_fast_wordpiece_model(VOCABULARY, 20, "##", "[UNK]", False, True),
        "lower": normalizer.build_fast_bert_normalizer_model(True),
        "cased": normalizer.build_fast_bert_normalizer_model(False),
    }
    arrays = {name: np.frombuffer(data, np.uint8) for name, data in models.items()}
    arrays["vocabulary"] = np.array([word.encode() for word in VOCABULARY])
    arrays["unigram"] = trained(vocab_size=120)
    arrays["bpe"] = trained(
        vocab_size=400, model_type="bpe", byte_fallback=True, normalization_rule_name="identity"
    )
    arrays["suffix"] = trained(
        vocab_size=90, treat_whitespace_as_suffix=True, normalization_rule_name="identity",
        remove_extra_whitespaces=False, unk_surface=" ?? ", bos_piece="[CLS]", eos_piece="[SEP]",
        control_symbols="[PAD],[MASK]",
    )  # fmt: skip
    for name in ("unigram", "suffix"):
        data = arrays[name].tobytes()
        arrays[f"{name}_encoder"] = np.frombuffer(converter.convert_sentencepiece_model(data), np.uint8)
        decoder = converter.convert_sentencepiece_model_for_decoder(data)
        arrays[f"{name}_decoder"] = np.frombuffer(decoder, np.uint8)
    for name, splits, most in (("phrases", False, 0), ("endings", True, 0), ("short", False, 100)):
        model = phrases.build_phrase_model(PHRASES, "<UNK>", True, most, splits)
        arrays[name] = np.frombuffer(model, np.uint8)
    np.savez_compressed(FILE, **arrays)


if __name__ == "__main__":
    main()
