"""What predictors are told of variants and machine types."""
