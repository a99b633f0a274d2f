"""What do these bytes say? Readers and writers of files; they judge and execute nothing."""
