"""Ops of one's own: definitions and kernels that a program or a package adds to what tfport runs."""
