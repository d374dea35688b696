"""Strips with a handwritten number and its check digit: the models, adapters and data of a pipeline of three stages."""
