"""Everything that can go wrong, each class beside what finds it and what TensorFlow says of it."""
