"""Where the detector's thresholds come from: synthetic runs with known answers, scores on them, and their page."""
