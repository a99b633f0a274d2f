"""Rules for ops of neural networks."""
