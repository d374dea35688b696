"""Labelled data of every form that people have, as the tensors of a task and what is true of them."""
