"""Small trainings whose answers are known: what the report says about a model is scored against them.

Truth is computed from raw attention and from the loss by code of this room alone (`zoo.truth`), which shares nothing
with the probe's measures or the detector's rules. `python -m headwise.zoo` trains, scores and writes the page.
"""
