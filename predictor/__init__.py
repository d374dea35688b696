"""Co-location interference: how much slower variants get beside others on one machine, measured and predicted."""
