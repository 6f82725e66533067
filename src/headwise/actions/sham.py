"""`sham`: nothing at all, the null that every other action is compared with."""

from __future__ import annotations

from typing import ClassVar

from headwise.actions.action import HeldAction


class Sham(HeldAction):
    """`sham`: passes through every moment of an action and changes nothing; equal to its parent bit for bit."""

    name: ClassVar[str] = "sham"
