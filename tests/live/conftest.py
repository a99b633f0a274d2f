"""Disable oneDNN before any test imports TensorFlow: all versions of an op then use the same kernels."""

import os

# oneDNN has kernels only for some versions of an op, which round differently
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
