"""Forecasters beside the controller: kept, trained and promoted."""
