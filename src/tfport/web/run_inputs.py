"""The inputs of a run, from JSON to options of `tfport run`.

A value is JSON as in TensorFlow Serving (nested lists, strings, `{"b64": …}`), `{"npy": base64}`: a file
of NumPy, or `{"image": base64}`: a picture. A picture for an input of strings is its bytes; for an input of
numbers it is decoded to 0 … 255, with the size and the channels that the signature states.
"""

from __future__ import annotations

import base64
import binascii
import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tfport.graph.dtypes import STRING
from tfport.graph.model import Signature, TensorSpec
from tfport.web.json_answer import bad_request

MOST_PIXELS = 100_000_000
SIZED, WITH_BATCH = 3, 4
"""The ranks of a picture, alone and in a batch."""


def input_options(signature: Signature, inputs: Mapping[str, Any], folder: Path) -> Iterator[str]:
    """Options for `tfport run`; arrays are written into the folder."""
    plain: dict[str, Any] = {}
    for number, (name, value) in enumerate(inputs.items()):
        spec = signature.inputs.get(name)
        if spec is None:
            known = ", ".join(signature.inputs) or "none"
            raise bad_request(f"`{name}`: unknown input; the inputs of {signature.name} are: {known}")
        kind = next(iter(value), None) if isinstance(value, Mapping) and len(value) == 1 else None
        path = folder / f"input{number}.npy"
        if kind == "npy":
            yield _file_option(name, _bytes(value["npy"], name), path)
        elif kind == "image" and spec.dtype != STRING:
            yield _file_option(name, _picture(_bytes(value["image"], name), spec, name), path)
        elif kind == "image":
            plain[name] = _wrapped({"b64": value["image"]}, spec)
        else:
            plain[name] = _wrapped(value, spec)
    if plain:
        path = folder / "inputs.json"
        path.write_text(json.dumps(plain), encoding="utf-8")
        yield f"--inputs={path}"


def _file_option(name: str, data: bytes, path: Path) -> str:
    path.write_bytes(data)
    return f"--input={name}=@{path}"


def _wrapped(value: Any, spec: TensorSpec) -> Any:
    """A single string becomes a list where the signature wants a vector, as for `tfport run`."""
    is_single = isinstance(value, str) or (isinstance(value, Mapping) and set(value) == {"b64"})
    return [value] if is_single and spec.dtype == STRING and spec.shape.rank == 1 else value


def _bytes(text: Any, name: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, TypeError, ValueError):
        raise bad_request(f"`{name}`: expected base 64") from None


def _picture(data: bytes, spec: TensorSpec, name: str) -> bytes:
    """A picture as a NumPy file of the shape of an input."""
    import numpy as np
    from PIL import Image

    dims = spec.shape.dims
    if dims is None or len(dims) not in (SIZED, WITH_BATCH):
        raise bad_request(f"`{name}`: a picture needs an input of the shape [batch, height, width, channels]")
    height, width, channels = dims[-3:]
    modes = {1: "L", 3: "RGB", 4: "RGBA", None: "RGB"}
    if channels not in modes:
        raise bad_request(f"`{name}`: expected an input of 1, 3 or 4 channels, found {channels}")
    try:
        with Image.open(io.BytesIO(data)) as opened:
            if opened.width * opened.height > MOST_PIXELS:
                raise bad_request(f"`{name}`: the picture has more than {MOST_PIXELS:,} pixels")
            picture = opened.convert(modes[channels])
    except (OSError, ValueError, Image.DecompressionBombError):
        raise bad_request(f"`{name}`: not a picture that can be decoded") from None
    size = width or picture.width, height or picture.height
    array = np.asarray(picture if picture.size == size else picture.resize(size), np.uint8)
    array = array.reshape(size[1], size[0], -1).astype(spec.dtype.numpy)
    file = io.BytesIO()
    np.save(file, array[np.newaxis] if len(dims) == WITH_BATCH else array)
    return file.getvalue()
