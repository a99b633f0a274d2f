"""Batching parameters from a text file, validated as TensorFlow Serving does.

    read_parameters("batching.pbtxt")       --batching_parameters_file
    model_parameters(model.files)           batching_params.pbtxt next to saved_model.pb

Missing values have TensorFlow Serving's defaults. `queue` and `scheduler` use the parameters.
"""

from __future__ import annotations

import os

from tfport.errors import UnreadableFile
from tfport.formats.files import Files, Folder
from tfport.formats.proto import batching_pb2 as pb
from tfport.serve.status import StatusCode, StatusError, invalid_argument
from tfport.startup.dataclass import dataclass, replace

MODEL_FILE = "batching_params.pbtxt"
DEFAULT_POOL, POOL_WITHOUT_FILE = "batch_threads", "model_server_batch_threads"
DEFAULT_SIZE, DEFAULT_ENQUEUED = 1000, 10
LARGEST_FILE = 1 << 20
BATCHES_PER_GPU = 2
"""One computes while the next one is copied to the GPU."""
GPU_SIZES = (1, 2, 4, 8, 16, 32, 64)
"""Sizes of batches on a GPU without a file."""


@dataclass(frozen=True, slots=True)
class BatchParameters:
    """How the requests of a servable are batched."""

    max_batch_size: int = DEFAULT_SIZE
    """Maximum rows of a request, and of a batch unless requests are split."""
    timeout: float = 0.0
    """Seconds that a batch waits for more requests after its first."""
    max_enqueued_batches: int = DEFAULT_ENQUEUED
    threads: int = 1
    pool_name: str = DEFAULT_POOL
    allowed_sizes: tuple[int, ...] = ()
    """Sizes to pad batches to; empty means no padding."""
    pad_inputs: bool = False
    """Whether requests of different lengths are padded to share a batch."""
    split: bool = False
    """Whether a request may be split to fill batches."""
    largest_run: int = DEFAULT_SIZE
    """Maximum rows of one run."""
    adapts: bool = True
    """Whether batches without allowed sizes may be smaller if that takes less processor time."""

    def padded(self, rows: int) -> int:
        """Return the size that a batch of `rows` rows is padded to."""
        return next((size for size in self.allowed_sizes if size >= rows), rows)


def default_parameters(gpus: int = 0) -> BatchParameters:
    """Return the parameters for `--enable_batching` without a file; `gpus`: how many compute the batches."""
    usual = parameters(pb.BatchingParameters(thread_pool_name={"value": POOL_WITHOUT_FILE}), gpus)
    if not gpus:
        return usual
    # each size is a CUDA graph: few of them, and larger requests in pieces
    return replace(usual, allowed_sizes=GPU_SIZES, split=True, largest_run=GPU_SIZES[-1])


def read_parameters(path: str | os.PathLike[str], gpus: int = 0) -> BatchParameters:
    """Read parameters from a file."""
    folder, name = os.path.split(os.path.abspath(path))
    return _read(Folder(folder), name, os.fspath(path), gpus)


def model_parameters(files: Files, gpus: int = 0) -> BatchParameters | None:
    """Read the parameters in a model's folder; None if there are none: the model is not batched."""
    if not files.has(MODEL_FILE):
        return None
    return _read(files, MODEL_FILE, files.label(MODEL_FILE), gpus)


def _read(files: Files, name: str, where: str, gpus: int) -> BatchParameters:
    from google.protobuf import text_format  # here, as few servers have such a file

    try:
        if files.size(name) > LARGEST_FILE:
            raise invalid_argument(f"Invalid protobuf file: '{where}'")
        text = bytes(files.map(name)).decode()
        proto = text_format.Parse(text, pb.BatchingParameters())
    except UnreadableFile as error:
        raise StatusError(StatusCode.NOT_FOUND, str(error)) from None
    except UnicodeDecodeError:
        raise invalid_argument(f"Invalid protobuf file: '{where}': not UTF-8") from None
    except text_format.ParseError as error:
        raise invalid_argument(f"Invalid protobuf file: '{where}': {error}") from None
    return parameters(proto, gpus)


def parameters(proto: pb.BatchingParameters, gpus: int = 0) -> BatchParameters:
    """Convert and validate a BatchingParameters message."""
    size = _value(proto, "max_batch_size", DEFAULT_SIZE)
    split = proto.enable_large_batch_splitting.value
    largest = _value(proto, "max_execution_batch_size", size) if split else size
    enqueued = _value(proto, "max_enqueued_batches", DEFAULT_ENQUEUED)
    threads = _value(proto, "num_batch_threads", gpus * BATCHES_PER_GPU or os.cpu_count() or 1)
    micros = proto.batch_timeout_micros.value
    allowed = tuple(proto.allowed_batch_sizes)
    checks = [
        (threads < 1, f"num_batch_threads must be positive; was {threads}"),
        (
            bool(allowed) and allowed[-1] != size,
            "Last entry in allowed_batch_sizes must match max_batch_size; last entry was "
            f"{allowed[-1] if allowed else 0}; expected {size}",
        ),
        (
            split and any(b <= a for a, b in zip((0, *allowed), allowed, strict=False)),
            "allowed_batch_sizes entries must be monotonically increasing",
        ),
        (size < 1, f"input_batch_size_limit must be positive; was {size}"),
        (micros < 0, f"batch_timeout_micros must be non-negative; was {micros}"),
        (enqueued < 1, f"max_enqueued_batches must be positive; was {enqueued}"),
        (
            split and not 1 <= largest <= size,
            "When enable_large_batch_splitting is true, input_batch_size_limit must be greater than or "
            f"equal to max_execution_batch_size, which must be positive; they were {size} and {largest}",
        ),
    ]
    for wrong, message in checks:
        if wrong:
            raise invalid_argument(message)
    name = proto.thread_pool_name.value if proto.HasField("thread_pool_name") else DEFAULT_POOL
    return BatchParameters(
        size,
        micros / 1e6,
        enqueued,
        threads,
        name,
        allowed,
        proto.pad_variable_length_inputs,
        split,
        largest,
        adapts=not gpus,
    )


def _value(proto: pb.BatchingParameters, field: str, default: int) -> int:
    return int(getattr(proto, field).value) if proto.HasField(field) else default
