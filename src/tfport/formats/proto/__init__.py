"""TensorFlow's messages under our own package, as protoc makes them from the .proto files."""
