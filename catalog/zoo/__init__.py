"""The built-in zoo: seven small digit classifiers that trade accuracy for latency."""
