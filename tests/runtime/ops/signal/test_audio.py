import struct

import numpy as np
import pytest
from tests.runtime.cases import case, check, checks, f32, i32, numbers, scalar


def content(data):
    made = np.empty((), object)
    made[()] = data
    return made


def wav(samples, rate=8000, before=b"", behind=b"", form=16, code=1, bits=16):
    channels = samples.shape[1]
    body = samples.astype("<i2").tobytes()
    head = struct.pack("<IHHIIHH", form, code, channels, rate, rate * channels * 2, channels * 2, bits)
    head += b"\0\0" if form == 18 else b""
    parts = before + b"fmt " + head + b"data" + struct.pack("<I", len(body)) + body + behind
    return content(b"RIFF" + struct.pack("<I", 4 + len(parts)) + b"WAVE" + parts)


SOUND = (numbers(9, 2) * 16000).astype(np.int16)
JUNK = b"JUNK" + struct.pack("<I", 4) + b"abcd"
WAVES = numbers(60, 2, low=-1, high=1)
CASES = [
    *(
        case("DecodeWav", wav(SOUND), desired_channels=c, desired_samples=n)
        for c, n in ((-1, -1), (1, 5), (2, 12), (3, -1), (-1, 0))
    ),
    case("DecodeWav", wav(SOUND[:, :1], before=JUNK, behind=b"LIST" + struct.pack("<I", 2) + b"ab", form=18)),
    case("DecodeWav", wav(SOUND[:0])),
    case("DecodeWav", wav(SOUND, code=3), fails=True),
    case("DecodeWav", wav(SOUND, bits=8), fails=True),
    case("DecodeWav", wav(SOUND, before=b"what" + JUNK[4:]), fails=True),
    case("DecodeWav", content(wav(SOUND)[()][:-5]), fails=True),
    case("DecodeWav", content(b"RIFFxxxx"), fails=True),
    case("DecodeWav", content(b""), fails=True),
    case("EncodeWav", numbers(7, 2), scalar(44100)),
    case("EncodeWav", f32([0.5 / 32768], [-1.5 / 32768], [3], [-3]), scalar(8000)),
    case("EncodeWav", numbers(0, 1), scalar(8000)),
    case("EncodeWav", numbers(7), scalar(44100), fails=True),
    case("EncodeWav", numbers(7, 1), scalar(0), fails=True),
    *(
        case("AudioSpectrogram", WAVES, window_size=w, stride=s, magnitude_squared=m)
        for w, s in ((16, 8), (20, 7), (60, 1), (5, 3))
        for m in (False, True)
    ),
    case("AudioSpectrogram", WAVES[:8], window_size=16, stride=4),
    case("AudioSpectrogram", WAVES[:, 0], window_size=16, stride=4, fails=True),
    *(
        case(
            "Mfcc",
            numbers(2, 3, bins, low=0, high=4),
            i32(rate)[0],
            filterbank_channel_count=f,
            dct_coefficient_count=d,
        )
        for bins, rate, f, d in ((129, 16000, 40, 13), (65, 8000, 20, 20), (257, 44100, 10, 4))
    ),
    case(
        "Mfcc",
        numbers(1, 2, 65, low=0),
        i32(16000)[0],
        upper_frequency_limit=7000.0,
        lower_frequency_limit=300.0,
        filterbank_channel_count=8,
        dct_coefficient_count=5,
    ),
    case("Mfcc", np.zeros((1, 1, 65), np.float32), i32(16000)[0]),
    case("Mfcc", numbers(2, 65, low=0), i32(16000)[0], fails=True),
]
for c in CASES:
    c.ways = ("engine",)  # there are no lowerings, so that every way is the same


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_sound(c, ways):
    check("audio", c, ways)
