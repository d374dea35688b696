"""Placement on machines where variants disturb each other: how it scales, and what it gains for real."""
