"""Processes that read gRPC requests for one server: they share its port, and it computes the answers."""
