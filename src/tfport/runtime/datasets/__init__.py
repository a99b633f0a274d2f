"""Datasets as Python objects: what variants that hold a dataset are. The ops that make them are kernels."""
