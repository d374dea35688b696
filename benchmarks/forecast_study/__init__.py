"""Forecasters side by side."""
