"""Classes of the user's that serve as variants: where they stand, and what they have to look like."""
