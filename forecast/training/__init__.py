"""From a history to a fitted, scored model."""
