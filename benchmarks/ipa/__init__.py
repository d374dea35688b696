"""IPA beside FA2, RIM and Loki on the paper's five pipelines (section 5)."""
