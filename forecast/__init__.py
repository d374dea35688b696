"""Load forecasting: from the history of an endpoint's load to quantiles of the load to come."""
