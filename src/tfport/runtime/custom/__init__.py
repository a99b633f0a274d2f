"""Custom ops: definitions and kernels that a program or a package adds to tfport's own."""
