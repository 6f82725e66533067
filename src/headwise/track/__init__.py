"""Where people look: the numbers of a look or of a stored run in an experiment tracker, or in a file of arrays."""
