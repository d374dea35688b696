"""The servers that Accord is compared with, as their own documentation would have one write them."""
