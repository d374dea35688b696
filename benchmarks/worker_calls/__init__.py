"""What a batch costs on its way to a worker and back."""
