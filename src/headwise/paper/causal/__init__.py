"""Causal claims about heads: each compares branches of a run with the run itself and with a sham."""
