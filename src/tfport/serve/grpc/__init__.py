"""TensorFlow Serving's gRPC services under their real names, with tfport's own protobuf classes."""
