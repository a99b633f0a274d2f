"""Look up whether an input differs from the expected shape only in its channels."""

from __future__ import annotations

import re

from tfport.atlas.target import Target
from tfport.explain.lookup import Meaning, MessageMatch

NUMBER = re.compile(r"\d+")
CHANNELS = {"1": "grayscale", "3": "color", "4": "color with transparency (alpha)"}


def channels(match: MessageMatch, target: Target | None) -> Meaning | None:
    """What the channels of both sides mean; None if the shapes differ otherwise."""
    wanted, actual = (NUMBER.findall(match.names[name]) for name in ("wanted", "found"))
    if len(wanted) < 3 or wanted[-3:-1] != actual[-3:-1] or wanted[-1] == actual[-1]:
        return None
    if wanted[-1] not in CHANNELS or actual[-1] not in CHANNELS:
        return None
    return Meaning(
        [
            f"The model takes {CHANNELS[wanted[-1]]} images ({wanted[-1]} per pixel), and the input is "
            f"{CHANNELS[actual[-1]]} ({actual[-1]} per pixel)."
        ],
        [
            f"read the image with {wanted[-1]} channels: `load_img(PATH, color_mode=…)`, "
            f"`tf.io.decode_image(data, channels={wanted[-1]})`, Pillow's `convert`, in TensorFlow.js "
            f"`tf.browser.fromPixels(image, {wanted[-1]})`",
            "or train the model with the other kind of images",
        ],
    )
