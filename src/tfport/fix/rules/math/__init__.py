"""Rules for ops that compute numbers."""
