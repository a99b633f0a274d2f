"""All findings, each class beside the function that reports it and the text that TensorFlow would print."""
