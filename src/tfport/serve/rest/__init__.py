"""TensorFlow Serving's REST API: HTTP and JSON to named arrays and back."""
