"""Monitoring: Prometheus metrics, logs, a request log and traces."""
