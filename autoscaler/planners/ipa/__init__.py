"""IPA: variants, batch sizes and replicas of every stage of a pipeline, chosen together (sections 4.1 to 4.4)."""
