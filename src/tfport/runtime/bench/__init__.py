"""Latency and throughput of a model, compared with TensorFlow if that is installed."""
