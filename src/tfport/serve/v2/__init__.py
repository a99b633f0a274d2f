"""The Open Inference Protocol, version 2: what `tritonclient` and KServe speak, over REST and gRPC."""
