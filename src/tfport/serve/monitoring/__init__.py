"""How does the server fare? Numbers for Prometheus, logs, samples of requests, traces."""
