"""Interventions on the heads of a run in training: one file per action, read from text such as `freeze:heads=1,2`."""
