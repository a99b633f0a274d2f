"""TensorFlow Serving's REST API: HTTP and JSON on one side, named arrays on the other."""
