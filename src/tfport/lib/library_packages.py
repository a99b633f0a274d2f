"""The packages that usually contain a library."""

from __future__ import annotations

import re

PACKAGES = {  # library name without version: the software and its packages
    "libstdc++": "gcc's runtime (Debian: libstdc++6, RPM: libstdc++, conda: libstdcxx-ng)",
    "libgcc_s": "gcc's runtime (Debian: libgcc-s1, RPM: libgcc, conda: libgcc-ng)",
    "libgomp": "OpenMP of gcc (Debian: libgomp1, RPM: libgomp, conda: libgomp)",
    "libiomp5": "OpenMP of Intel (pip: intel-openmp, conda: intel-openmp)",
    "libz": "zlib (Debian: zlib1g, RPM: zlib)",
    "libssl": "OpenSSL of exactly this version (Debian: libssl3 for .so.3, libssl1.1 for .so.1.1)",
    "libcrypto": "OpenSSL of exactly this version (Debian: libssl3 for .so.3, libssl1.1 for .so.1.1)",
    "libcrypt": "libxcrypt (Debian: libcrypt1, RPM: libxcrypt; .so.1 also libxcrypt-compat)",
    "libcurl": "curl (Debian: libcurl4, RPM: libcurl)",
    "libnsl": "libnsl (RPM: libnsl for .so.1, libnsl2 for .so.2)",
    "libgflags": "gflags (Debian: libgflags2.2)",
    "libglog": "glog (Debian: libgoogle-glog0v5, libgoogle-glog0v6)",
    "libprotobuf": "protobuf of exactly this version",
    "libopenblas": "OpenBLAS (Debian: libopenblas0, conda: openblas)",
    "libmkl_rt": "Intel's MKL (pip: mkl)",
    "libmpi": "Open MPI (.so.40, .so.20) or MPICH (.so.12)",
    "libibverbs": "RDMA (Debian: libibverbs1)",
    "libnuma": "numactl (Debian: libnuma1, RPM: numactl-libs)",
    "libsentencepiece": "sentencepiece (Debian: libsentencepiece0)",
    "libGL": "Mesa (Debian: libgl1, RPM: mesa-libGL)",
    "libX11": "X (Debian: libx11-6, RPM: libX11)",
    "libsndfile": "libsndfile (Debian: libsndfile1)",
    "libavcodec": "FFmpeg of exactly this version",
    "libavformat": "FFmpeg of exactly this version",
    "libavutil": "FFmpeg of exactly this version",
    "libopencv_core": "OpenCV of exactly this version",
    "libarrow": "Arrow of exactly this version (pip: pyarrow)",
    "libtensorflow": "TensorFlow's C library, which the Python package does not contain",
    "libtensorflowlite": "TensorFlow Lite, built from source",
}
PYTHON = re.compile(r"libpython(\d\.\d+)m?\.so.*")
NVIDIA = {
    "cudart": "cuda-runtime",
    "cublas": "cublas",
    "cublasLt": "cublas",
    "cudnn": "cudnn",
    "cufft": "cufft",
    "curand": "curand",
    "cusolver": "cusolver",
    "cusparse": "cusparse",
    "nccl": "nccl",
    "cupti": "cuda-cupti",
}
OWN_VERSIONS = {  # libraries with their own version numbers: {library: {its version: CUDA's}}
    "cufft": {"10": "11", "11": "12"},
    "curand": {"10": ""},
    "cusolver": {"10": "11", "11": ""},
    "cudnn": {"8": "", "9": ""},
    "nccl": {"2": ""},
}


def package_of(library: str) -> str:
    """The package that usually contains a library; empty if unknown."""
    if python := PYTHON.fullmatch(library):
        return f"Python {python[1]}, built as a shared library"
    return PACKAGES.get(library.partition(".so")[0], "")


def nvidia_package(library: str, version: str) -> str:
    """The Python package with a library of CUDA 11 or 12; empty if there is none."""
    major = version.partition(".")[0]
    cuda = OWN_VERSIONS.get(library, {}).get(major, "" if library in OWN_VERSIONS else major)
    if library not in NVIDIA or (cuda and cuda not in ("11", "12")):
        return ""
    return f"nvidia-{NVIDIA[library]}-cu{cuda}" if cuda else f"nvidia-{NVIDIA[library]}-cu12 or -cu11"
