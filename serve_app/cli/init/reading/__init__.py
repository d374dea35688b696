"""What a model file says of its inputs, and what it gives."""
