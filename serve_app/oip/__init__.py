"""The Open Inference Protocol v2, whatever carries it: requests to tensors, answers to bytes, models and statistics."""
