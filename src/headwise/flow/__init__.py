"""The regression flow of §3 and App. B–D: its exact reduction, the simplified systems, stages, ensembles."""
