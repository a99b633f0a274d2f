"""Programs that run in the Python of another runtime; they import nothing of tfport but each other."""
