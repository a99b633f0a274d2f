"""SavedModel folders, and the warm-up requests in them."""
