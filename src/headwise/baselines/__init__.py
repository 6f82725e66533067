"""Predictors that need no training, to compare any language model with: n-grams of a corpus and of the context."""
