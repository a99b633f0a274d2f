"""Audits of model stores: which models run on which targets, what breaks, and what could be rewritten."""
