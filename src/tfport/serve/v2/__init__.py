"""The Open Inference Protocol version 2, used by `tritonclient` and KServe, over REST and gRPC."""
