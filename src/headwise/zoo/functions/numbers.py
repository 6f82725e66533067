"""When a change of the nearest predictor is clear."""

MARGIN = 0.03
"""Nats by which a class of predictors must be the nearest."""
HELD = 3
"""Looks in a row for which it must be the nearest."""
