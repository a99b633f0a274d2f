"""Rules for ops on images and boxes."""
