"""What `tfport check` answers, in the forms that people and programs read."""
