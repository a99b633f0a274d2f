"""DecodeImage by older decoders."""

import numpy as np
import pytest
from tests.fix.chains import chain_case, check_chain
from tests.fix.rule_cases import answers, check, rewritten, rule_case
from tests.runtime.ops.image.image_samples import SAMPLES

from tfport.errors import RunFailed
from tfport.fix.rules.image.decoding import by_the_first_bytes

FILES = ("j420_33x17", "jgray", "p_rgb", "p_pal_t", "p_rgb16", "g_three", "b_rgb")


def decoded(name, channels=0, dtype="uint8", expand="true"):
    attrs = f"{{channels={channels}, dtype={dtype}, expand_animations={expand}}}"
    return rule_case(by_the_first_bytes, f"y = DecodeImage(x) {attrs}", x=contents(name))


def contents(name):
    made = np.empty((), object)
    made[()] = SAMPLES[name]
    return made


CASES = [
    # TensorFlow 2.21 itself crashes if a BMP from top to bottom is decoded to other dtypes than uint8
    *(decoded(name) for name in (*FILES, "b_gray", "b_rgba", "b_down")),
    *(decoded(name, 3, "float32", "false") for name in (*FILES, "b_gray", "b_rgba")),
    *(decoded(name, 0, "uint16", "false") for name in FILES),
    *(decoded(name, 4) for name in ("p_rgb", "b_rgb", "b_gray", "b_rgba")),
    *(decoded(name, 1) for name in ("p_rgb", "jgray")),
]


@pytest.mark.parametrize("c", CASES, ids=str)
def test_answers_stay(c):
    check(c)


@pytest.mark.parametrize("c", CASES[::5], ids=str)
def test_the_oldest_target_takes_what_is_made(c):
    assert check_chain(chain_case(c.text, **c.feeds))[0] == "by_the_first_bytes"


@pytest.mark.parametrize(
    ("name", "channels"), [("bad", 0), ("g_one", 1), ("b_rgb", 1), ("jgray", 4), ("b_cut", 3), ("b_cut", 0)]
)
def test_what_the_kernel_does_not_decode_is_an_error(name, channels):
    c = decoded(name, channels)
    for model in (c.model(), rewritten(c)):
        with pytest.raises(RunFailed):
            answers(model, c)
