"""Rules for attributes and dtypes of many ops, and for deprecated ops."""
