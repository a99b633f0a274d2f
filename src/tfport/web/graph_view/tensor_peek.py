"""Statistics and first elements of a tensor, first lines of an asset: read on demand and bounded.

Elements are numbers, texts, or `{"b64": …}` for bytes that are not text; NaN and infinities, which JSON
does not have, are texts, and a complex number is a pair.
"""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tfport.errors import Error, MissingTensor, UnreadableFile
from tfport.formats.saved_model.read import ASSETS
from tfport.frontends.model_weights import ModelWeight, model_weights
from tfport.graph.dtypes import DType
from tfport.graph.model import Model
from tfport.graph.shapes import Shape
from tfport.graph.state import assets
from tfport.web.graph_view.columns import VERSION

if TYPE_CHECKING:
    from numpy.typing import NDArray


MOST_BYTES = 256 << 20
"""A larger tensor is not read."""
MOST_STRINGS = 1_000_000
SHOWN = 64
LONGEST_TEXT = 200
BINS = 32
CHUNK = 1 << 20


def tensor_peek(
    dtype: str, shape: Shape, nbytes: int | None, read: Callable[[], NDArray[Any]]
) -> dict[str, Any]:
    """The document of a tensor; `read` returns its elements and is called only if they are few enough."""
    elements = shape.size
    peek: dict[str, Any] = {
        "dtype": dtype,
        "shape": None if shape.dims is None else list(shape.dims),
        "elements": elements,
        "bytes": nbytes,
        "statistics": None,
        "values": [],
        "note": "",
    }
    if elements is None:
        return {**peek, "note": "its size is not known"}
    size = memory_size(dtype, elements)
    if size > MOST_BYTES:
        return {**peek, "note": f"not read: it has {size:,} bytes, more than {MOST_BYTES:,}"}
    try:
        array = read()
    except Error as error:
        return {**peek, "note": f"not read: {error}"}
    return {
        **peek,
        "bytes": nbytes or array.nbytes,
        "statistics": statistics(array),
        "values": first_values(array),
    }


def memory_size(dtype: str, elements: int) -> int:
    """About how many bytes of memory the elements take."""
    try:
        return DType.parse(dtype).numpy.itemsize * elements
    except (KeyError, TypeError):
        return 8 * elements


def statistics(array: NDArray[Any]) -> dict[str, Any]:
    """Extremes, mean, deviation, zeros and a histogram of numbers; of strings, how many differ."""
    import numpy as np

    empty: dict[str, Any] = {
        "minimum": None, "maximum": None, "mean": None, "deviation": None,
        "zeros": 0, "not_finite": 0, "nan": 0, "histogram": [], "distinct": None,
    }  # fmt: skip
    if array.dtype == object:
        strings = array.reshape(-1)
        few = strings.size <= MOST_STRINGS
        return {**empty, "distinct": len(set(strings.tolist())) if few else None}
    if array.dtype.kind == "c":
        array = np.abs(array)
    zeros = not_finite = nan = count = 0
    low, high, total = math.inf, -math.inf, 0.0
    for part in _chunks(array):
        finite = part[np.isfinite(part)]
        zeros += int(np.count_nonzero(part == 0))
        not_finite += part.size - finite.size
        nan += int(np.count_nonzero(np.isnan(part)))
        if finite.size:
            low, high = min(low, float(finite.min())), max(high, float(finite.max()))
            total += float(finite.sum())
            count += finite.size
    if not count:
        return {**empty, "zeros": zeros, "not_finite": not_finite, "nan": nan}
    mean = total / count
    squares, histogram = 0.0, np.zeros(BINS, np.int64)
    span = (low, high) if high > low else (low - 0.5, low + 0.5)
    has_bins = math.isfinite(span[1] - span[0]) and span[1] > span[0]
    for part in _chunks(array):
        finite = part[np.isfinite(part)]
        with np.errstate(over="ignore"):
            squares += float(np.square(finite - mean).sum())
        if has_bins:
            histogram += np.histogram(finite, BINS, span)[0]
    deviation = math.sqrt(squares / count) if math.isfinite(squares) else None
    return {
        "minimum": low,
        "maximum": high,
        "mean": mean if math.isfinite(mean) else None,
        "deviation": deviation,
        "zeros": zeros,
        "not_finite": not_finite,
        "nan": nan,
        "histogram": histogram.tolist() if has_bins else [],
        "distinct": None,
    }


def _chunks(array: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """The elements as float64, a part at a time."""
    import numpy as np

    flat = array.reshape(-1)
    for start in range(0, flat.size, CHUNK):
        yield flat[start : start + CHUNK].astype(np.float64)


def first_values(array: NDArray[Any], most: int = SHOWN) -> list[Any]:
    """The first elements in order, as JSON."""
    flat = array.reshape(-1)[:most]
    if flat.dtype.kind == "V" or (flat.dtype.name not in _PLAIN and flat.dtype != object):
        import numpy as np

        flat = flat.astype(np.float64)
    return [json_value(element) for element in flat.tolist()]


_PLAIN = frozenset(
    [
        "bool",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "float16",
        "float32",
        "float64",
        "complex64",
        "complex128",
    ]
)
"""NumPy's own types; those of ml_dtypes become float64."""


def json_value(element: Any) -> Any:
    """An element as JSON."""
    if isinstance(element, bytes | str):
        return text_or_base64(element)
    if isinstance(element, complex):
        return [json_value(element.real), json_value(element.imag)]
    if isinstance(element, float) and not math.isfinite(element):
        return str(element)
    return element


def text_or_base64(value: bytes | str) -> str | dict[str, str]:
    """A string, shortened; base 64 if it is not text."""
    if isinstance(value, str):
        return value[:LONGEST_TEXT]
    try:
        return value.decode()[:LONGEST_TEXT]
    except UnicodeDecodeError:
        return {"b64": base64.b64encode(value[:LONGEST_TEXT]).decode()}


# The weights of a model of any format: in a checkpoint, a Keras or TensorFlow Lite file, or the graph


def weights_by_key(model: Model) -> dict[str, ModelWeight]:
    """The weights by unique names; a repeated name has a number."""
    weights: dict[str, ModelWeight] = {}
    for weight in model_weights(model):
        key, number = weight.name, 1
        while key in weights:
            number += 1
            key = f"{weight.name} ({number})"
        weights[key] = weight
    return weights


def weight_rows(weights: Mapping[str, ModelWeight]) -> list[dict[str, Any]]:
    """The list of weights: key, type, shape, bytes."""
    return [
        {
            "key": key,
            "dtype": weight.dtype,
            "shape": list(weight.shape),
            "bytes": memory_size(weight.dtype, math.prod(weight.shape)),
        }
        for key, weight in weights.items()
    ]


def stored_tensor(model: Model, weights: Mapping[str, ModelWeight], key: str) -> dict[str, Any]:
    """Statistics and first elements of a stored tensor; MissingTensor if there is none with this key."""
    checkpoint = model.checkpoint
    if checkpoint is not None and key in checkpoint:  # also of strings, which are no weights
        entry = checkpoint.entry(key)
        dtype, shape = str(DType.of(entry.dtype)), Shape(entry.shape)
        return _document(key, tensor_peek(dtype, shape, entry.nbytes, lambda: checkpoint.read(key)))
    weight = _weight(model, weights, key)
    return _document(key, tensor_peek(weight.dtype, Shape(weight.shape), None, weight.read))


def npy_file(model: Model, weights: Mapping[str, ModelWeight], key: str) -> bytes:
    """A stored tensor as a file of NumPy; types that NumPy lacks become float32."""
    import numpy as np

    weight = _weight(model, weights, key)
    if memory_size(weight.dtype, math.prod(weight.shape)) > MOST_BYTES:
        raise Error(f"`{key}` has more than {MOST_BYTES:,} bytes; use `tfport export --weights` instead")
    array = weight.read()
    if array.dtype.name not in _PLAIN:
        array = array.astype(np.float32)
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    return file.getvalue()


def _weight(model: Model, weights: Mapping[str, ModelWeight], key: str) -> ModelWeight:
    if key not in weights:
        raise MissingTensor(f"{model.where}: there is no stored tensor `{key}`")
    return weights[key]


def _document(key: str, peek: dict[str, Any]) -> dict[str, Any]:
    return {"version": VERSION, "key": key, **peek}


# Assets and vocabularies

MOST_ASSET_BYTES = 256 << 10
MOST_LINES = 200
LONGEST = 500


def asset_peek(model: Model, file: str) -> dict[str, Any]:
    """The first lines of a file that the model names as an asset; None instead of lines if it is no text."""
    data = _bytes(model, file)
    head = bytes(data[:MOST_ASSET_BYTES])
    is_whole = len(head) == len(data)
    text = _text(head, is_whole)
    lines = text.splitlines() if text is not None else None
    return {
        "version": VERSION,
        "file": file,
        "bytes": len(data),
        "lines": None if lines is None else [line[:LONGEST] for line in lines[:MOST_LINES]],
        "more": not is_whole or (lines is not None and len(lines) > MOST_LINES),
    }


def _bytes(model: Model, file: str) -> memoryview | bytes:
    if model.keras is not None and file in model.keras.assets:
        return model.keras.assets[file]
    known = next((asset for asset in assets(model) if asset.file == file), None)
    if known is None or known.nbytes is None or ".." in file.split("/") or file.startswith("/"):
        raise UnreadableFile(f"{model.where}: there is no asset `{file}`")
    return model.files.map(f"{ASSETS}/{file}")


def _text(head: bytes, is_whole: bool) -> str | None:
    """The text in the first bytes of a file, up to its last whole line; None if it is not text."""
    if b"\0" in head:
        return None
    if not is_whole:
        head = head[: head.rfind(b"\n") + 1] or head
    for cut in range(4):  # a character may be cut at the end
        try:
            return head[: len(head) - cut].decode()
        except UnicodeDecodeError:
            if is_whole:
                return None
    return None
