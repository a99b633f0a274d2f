"""How are requests of several clients run at once?"""
