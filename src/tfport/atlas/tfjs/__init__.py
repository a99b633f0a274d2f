"""Releases of TensorFlow.js: what their converters and backends have."""
