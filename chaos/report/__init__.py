"""What is told of an experiment: from Chaos Toolkit's journal alone."""
