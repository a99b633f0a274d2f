"""Encodings that several formats share: protobuf messages, varints, checksums, TFRecord, TensorProto."""
