"""Token classes of the user's own, such as newlines: attention on tokens of the class, wherever they are. Queries that
see none of them do not count.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from headwise.core.errors import ConfigError
from headwise.probe.role import Role, Seen, Share
from headwise.probe.shown import Shown


def token_class(name: str, ids: Sequence[int]) -> Role:
    """The role of one class."""
    if not name or not len(ids) or not all(isinstance(i, int) for i in ids):
        raise ConfigError(f"classes: {name!r} needs a name and a list of token ids, such as {{'newline': [10]}}")

    def members(shown: Shown) -> Tensor:
        assert shown.tokens_BS is not None
        chosen_BK = torch.isin(shown.tokens_BS, torch.tensor(list(ids), device=shown.tokens_BS.device))
        return shown.visible_BQK & chosen_BK[:, None] & shown.compared_BQ[..., None]

    def measure(seen: Seen) -> Share | None:
        shown = seen.shown
        if shown.tokens_BS is None:
            return None
        keys_BQK = shown.once(("members", name), lambda: members(shown))
        count_B = shown.once(("seen members", name), lambda: keys_BQK.any(-1).sum(1))
        return Share(seen.on_keys(keys_BQK), count_B)

    return Role(f"class:{name}", name, f"looks at {name} tokens", measure, against="others")
