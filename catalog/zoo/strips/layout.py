"""How a strip is laid out, and what the stages say of it. All sizes are in pixels."""

SIDE = 12
"""Width and height of an image of task ``digits``; `catalog.zoo.digits` would import scikit-learn."""
HEIGHT = SIDE
"""Of a strip."""
WIDTH = 128
"""Of a strip: room for `MAX_DIGITS` digits and three marks with the widest gaps."""
DIGIT_WIDTH = 8
"""Of the box that a digit is written in, which begins where the digit starts."""
MARGIN = (SIDE - DIGIT_WIDTH) // 2
"""What an image of task ``digits`` has on either side of that box."""
MIN_DIGITS, MAX_DIGITS = 4, 9
"""Digits of a number, the check digit included."""

FIND, READ, CHECK = "strip-find", "digits", "strip-check"
"""The tasks of the three stages."""
