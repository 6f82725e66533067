"""Errors a person can act on: one line that names the key and the fix, and the exit code that goes with it."""

from __future__ import annotations

from typing import ClassVar


class HeadwiseError(Exception):
    """Base of every error headwise raises on purpose; the command line prints it as one line, without a traceback."""

    exit_code: ClassVar[int] = 1


class RunFailed(HeadwiseError):
    """A run could not reach its end."""

    exit_code = 1


class MachineError(HeadwiseError):
    """The machine could not read or write just now (out of file descriptors, a failing disk); no data was judged by it.

    Never a sign of damage: nothing is removed because of it, and the same command goes on once the machine is well.
    """

    exit_code = 1


class ConfigError(HeadwiseError):
    """Bad input: a key, a value, a path. Nothing has been written."""

    exit_code = 2


class RunBusy(HeadwiseError):
    """Another process is writing this run."""

    exit_code = 2


class CorruptData(HeadwiseError):
    """A stored file is not what was written, is missing, or belongs to another run."""

    exit_code = 3


class SomeRunsFailed(HeadwiseError):
    """Part of a sweep failed; the rest is complete."""

    exit_code = 4


class Interrupted(HeadwiseError):
    """Stopped on request; the same command resumes."""

    exit_code = 75
