"""What did the real TensorFlow binaries register? Recorded data, and ways to ask it."""
