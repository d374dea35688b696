"""One run of one experiment: what is sent, what is done to the service, what came back."""
