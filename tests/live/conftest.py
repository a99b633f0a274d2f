"""Set before any test here imports TensorFlow: each version of an op is then computed by the same kernels."""

import os

# oneDNN has kernels for some versions of an op only, which round otherwise
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
