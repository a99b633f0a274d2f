"""Datasets that read files of the model."""

from __future__ import annotations

from tfport.errors import RunFailed
from tfport.runtime.ops.data.dataset import whole
from tfport.runtime.ops.data.declare import dataset
from tfport.runtime.ops.data.record_files import RecordFiles, lines, pieces, records
from tfport.runtime.ops.strings.byte_strings import scalar_value


def _files(filenames, compression_type, cut, context):
    if filenames.ndim > 1:
        raise RunFailed(f"filenames must be a scalar or a vector, found shape {list(filenames.shape)}")
    compression = scalar_value(compression_type, "compression_type")
    return RecordFiles(filenames.reshape(-1).tolist(), compression, context.state.read_file, cut)


@dataset("TextLineDataset")
def text_line_dataset(filenames, compression_type, buffer_size, *, context):
    return _files(filenames, compression_type, lines, context)


@dataset("TFRecordDataset")
def tf_record_dataset(filenames, compression_type, buffer_size, *, context):
    return _files(filenames, compression_type, records(lambda path: 0), context)


@dataset("TFRecordDatasetV2")
def tf_record_dataset_v2(filenames, compression_type, buffer_size, byte_offsets, *, context):
    offsets = byte_offsets.reshape(-1).tolist()
    names = [name.decode(errors="replace") for name in filenames.reshape(-1).tolist()]
    if len(offsets) not in (0, len(names)):
        raise RunFailed(f"{len(offsets)} byte_offsets for {len(names)} filenames")
    starts = dict(zip(names, offsets, strict=False))
    return _files(filenames, compression_type, records(lambda path: starts.get(path, 0)), context)


@dataset("FixedLengthRecordDataset")
def fixed_length_record_dataset(filenames, header_bytes, record_bytes, footer_bytes, buffer_size, *, context):
    sizes = (whole(n, "a number of bytes") for n in (header_bytes, record_bytes, footer_bytes))
    return RecordFiles(filenames.reshape(-1).tolist(), b"", context.state.read_file, pieces(*sizes))


@dataset("FixedLengthRecordDatasetV2")
def fixed_length_record_dataset_v2(
    filenames, header_bytes, record_bytes, footer_bytes, buffer_size, compression_type, *, context
):
    sizes = (whole(n, "a number of bytes") for n in (header_bytes, record_bytes, footer_bytes))
    return _files(filenames, compression_type, pieces(*sizes), context)
