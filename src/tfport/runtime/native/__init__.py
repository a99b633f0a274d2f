"""Custom ops in C++, on a stable ABI: write, build, inspect and load libraries of them."""
