"""What `tfport env` answers: what of two environments differs that a model or an op library would notice."""
