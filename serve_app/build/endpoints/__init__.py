"""What is built for endpoints of one kind: ensembles, pipelines, texts of any length, shadow runs."""
