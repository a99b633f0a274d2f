"""The page that shows models, and static pages made of it."""
