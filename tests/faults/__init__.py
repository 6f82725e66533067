"""A battery of faults: crashes, errors of the machine, damage, nonsense, signals, readers and hosts.

    make faults                          every part in full, two at a time; writes docs/reliability.json and .md
    python -m tests.faults --parts damage --share 0.1    one part, a tenth of its count

Each part tries a stated number of cases from a stated seed within its share of the time, and counts four things, all of
which must be zero: wrong results that nobody was told of, tracebacks, hangs, and runs lost. A part that cannot run here
counts as not passed. The quick tests hold a short form of every part.
"""
