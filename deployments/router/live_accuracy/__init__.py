"""What shadow runs say of the accuracy of variants, for people and for Prometheus."""
