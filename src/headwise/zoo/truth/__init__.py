"""What really happened in a stored run, from raw attention and the loss.

One file per kind of event, all numbers in `truth.numbers`. An event is *clear* or *borderline*; what is neither did
not happen. The definitions are simple, with wide margins between clear and absent, and were fixed before any report
was compared with them; nothing here is shared with the probe or with the detector.
"""
