"""Images: decoding, encoding, resizing, colors, boxes."""
