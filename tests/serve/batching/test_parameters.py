"""Files of batching parameters: values, defaults and errors."""

import os

import pytest
from tests.serve.batching.batched_models import parse_parameters

from tfport.formats.files import Folder
from tfport.formats.proto import batching_pb2 as pb
from tfport.serve.batching.parameters import (
    BatchParameters,
    default_parameters,
    model_parameters,
    parameters,
    read_parameters,
)
from tfport.serve.batching.runner import Batching, batching_for
from tfport.serve.status import StatusCode, StatusError

CPUS = os.cpu_count()
FILES = [  # text, parameters
    ("", BatchParameters(1000, 0, 10, CPUS, "batch_threads", (), False, False, 1000)),
    (
        "max_batch_size { value: 128 }\nbatch_timeout_micros { value: 1500 }\n# and\n"
        "max_enqueued_batches { value: 1000000 } num_batch_threads { value: 8 }\n"
        'thread_pool_name { value: "mine" } pad_variable_length_inputs: true',
        BatchParameters(128, 0.0015, 1000000, 8, "mine", (), True, False, 128),
    ),
    (
        "max_batch_size { value: 8 } allowed_batch_sizes: 2 allowed_batch_sizes: 8 "
        "num_batch_threads { value: 1 }",
        BatchParameters(8, 0, 10, 1, "batch_threads", (2, 8), False, False, 8),
    ),
    (
        "max_batch_size { value: 8 } enable_large_batch_splitting { value: true } "
        "max_execution_batch_size { value: 4 } num_batch_threads { value: 1 }",
        BatchParameters(8, 0, 10, 1, "batch_threads", (), False, True, 4),
    ),
    (  # parameters for splitting are ignored without it
        "max_batch_size { value: 8 } max_execution_batch_size { value: 99 } num_batch_threads { value: 1 }",
        BatchParameters(8, 0, 10, 1, "batch_threads", (), False, False, 8),
    ),
]


@pytest.mark.parametrize(("text", "expected"), FILES)
def test_parameters_are_read_from_a_file(tmp_path, text, expected):
    (tmp_path / "batching.pbtxt").write_text(text)
    assert read_parameters(tmp_path / "batching.pbtxt") == expected


def test_without_a_file_the_pool_has_tensorflow_serving_s_name():
    assert default_parameters() == BatchParameters(
        1000, 0, 10, CPUS, "model_server_batch_threads", (), False, False, 1000
    )


WRONG = [  # text, message
    (
        "max_batch_size { value: 8 } allowed_batch_sizes: [2, 4]",
        "Last entry in allowed_batch_sizes must match max_batch_size; last entry was 4; expected 8",
    ),
    (
        "allowed_batch_sizes: 4",
        "Last entry in allowed_batch_sizes must match max_batch_size; last entry was 4; expected 1000",
    ),
    ("num_batch_threads { value: 0 }", "num_batch_threads must be positive; was 0"),
    ("max_batch_size { value: 0 }", "input_batch_size_limit must be positive; was 0"),
    ("batch_timeout_micros { value: -1 }", "batch_timeout_micros must be non-negative; was -1"),
    ("max_enqueued_batches { value: 0 }", "max_enqueued_batches must be positive; was 0"),
    (
        "max_batch_size { value: 8 } enable_large_batch_splitting { value: true } "
        "allowed_batch_sizes: [4, 2, 8]",
        "allowed_batch_sizes entries must be monotonically increasing",
    ),
    (
        "max_batch_size { value: 8 } enable_large_batch_splitting { value: true } "
        "max_execution_batch_size { value: 9 }",
        "When enable_large_batch_splitting is true, input_batch_size_limit must be greater than or equal to "
        "max_execution_batch_size, which must be positive; they were 8 and 9",
    ),
]


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_invalid_parameters_are_rejected(text, message):
    with pytest.raises(StatusError) as refused:
        parse_parameters(text)
    assert (refused.value.code, refused.value.message) == (StatusCode.INVALID_ARGUMENT, message)


def test_what_is_no_such_file_is_refused(tmp_path):
    path = tmp_path / "b.pbtxt"
    for content in (b"max_batch_size: {", b"max_batch_sice { value: 1 }", b"\xff\xfe", b"max_batch_size: 3"):
        path.write_bytes(content)
        with pytest.raises(StatusError, match=r"Invalid protobuf file: '.*b\.pbtxt'") as refused:
            read_parameters(path)
        assert refused.value.code is StatusCode.INVALID_ARGUMENT
        assert "\n" not in refused.value.message
    with pytest.raises(StatusError, match=r"nothing\.pbtxt") as refused:
        read_parameters(tmp_path / "nothing.pbtxt")
    assert refused.value.code is StatusCode.NOT_FOUND


PADDED = [(1, 2), (2, 2), (3, 4), (5, 8), (8, 8), (9, 9)]


@pytest.mark.parametrize(("rows", "padded"), PADDED)
def test_batches_grow_to_the_next_allowed_size(rows, padded):
    assert BatchParameters(allowed_sizes=(2, 4, 8)).padded(rows) == padded
    assert BatchParameters().padded(rows) == rows


def test_a_model_can_have_its_own_parameters(tmp_path):
    common = parse_parameters("max_batch_size { value: 5 }")
    with_file, silent = tmp_path / "1", tmp_path / "2"
    with_file.mkdir()
    silent.mkdir()
    (with_file / "batching_params.pbtxt").write_text("max_batch_size { value: 7 }")
    assert model_parameters(Folder(silent)) is None
    every, each = Batching(common), Batching(common, per_model=True)
    assert every.runner("m", 1, Folder(with_file)).parameters.max_batch_size == 5
    assert every.runner("m", 1).parameters is common
    assert each.runner("m", 1, Folder(with_file)).parameters.max_batch_size == 7
    assert each.runner("m", 2, Folder(silent)) is None
    assert each.runner("m", 2) is None
    (with_file / "batching_params.pbtxt").write_text("max_batch_size { value: 0 }")
    with pytest.raises(StatusError, match="input_batch_size_limit must be positive; was 0"):
        each.runner("m", 1, Folder(with_file))


def test_flags_together_configure_batching(tmp_path):
    (tmp_path / "b.pbtxt").write_text("max_batch_size { value: 3 }")
    file = str(tmp_path / "b.pbtxt")
    assert batching_for(False) is None
    assert batching_for(True).parameters == default_parameters()
    assert batching_for(True, file).parameters.max_batch_size == 3
    assert batching_for(True, file, per_model=True).per_model
    with pytest.raises(StatusError) as refused:
        batching_for(False, file)
    assert refused.value.message == (
        "server_options.batching_parameters_file is set without setting "
        "server_options.enable_batching to true."
    )


def test_on_gpus_two_batches_of_each_are_in_flight_and_sizes_are_few():
    chosen = default_parameters(gpus=2)
    assert (chosen.threads, chosen.allowed_sizes, chosen.largest_run) == (4, (1, 2, 4, 8, 16, 32, 64), 64)
    assert (chosen.split, chosen.max_batch_size) == (True, default_parameters().max_batch_size)
    assert parameters(pb.BatchingParameters(num_batch_threads={"value": 3}), gpus=2).threads == 3
    assert parameters(pb.BatchingParameters(), gpus=1).allowed_sizes == ()
