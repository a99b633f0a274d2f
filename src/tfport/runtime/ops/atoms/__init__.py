"""Ops of DeePMD-kit: the surroundings of atoms, and forces between them."""
