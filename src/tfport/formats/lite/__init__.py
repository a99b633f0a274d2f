"""Read and write TensorFlow Lite files (`.tflite`): flatbuffers to plain records and back."""
