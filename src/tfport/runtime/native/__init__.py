"""Kernels in C++, on a stable ABI: how a library of them is written, built, read and loaded."""
