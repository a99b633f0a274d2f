"""TensorFlow Serving's gRPC services, under their real names and with messages of our own."""
