"""Rules for attributes, element types and index types of many ops."""
