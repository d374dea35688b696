"""The open-loop load generator: when queries leave, what they carry, and what came back."""
