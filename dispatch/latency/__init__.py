"""How long batches really take: measured on every worker, against the profiles that plans and tables start from."""
