"""What it costs to read and write tensors."""
