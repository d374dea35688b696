"""What predictors know of variants before they run together."""
