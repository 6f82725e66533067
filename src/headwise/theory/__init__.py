"""Every statement of §3 and App. A–D as a check that can fail: as printed and as corrected, on random instances."""
