"""``caniexport measure``: fill in as soon as harness/measure.py is there."""
