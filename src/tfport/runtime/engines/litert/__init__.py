"""LiteRT's interpreter with XNNPACK as an engine: islands become TensorFlow Lite models in memory."""
