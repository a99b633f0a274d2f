"""Which equivalent graph would a target accept, and does it answer alike?"""
