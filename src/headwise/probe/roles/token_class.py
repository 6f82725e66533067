"""Token classes of the user's own, such as newlines: attention on tokens of the class, wherever they are. Queries that
see none of them do not count.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import torch
from torch import Tensor

from headwise.core.errors import ConfigError
from headwise.probe.role import Role, token_role
from headwise.probe.shown import Shown


def token_class(name: str, ids: Sequence[int]) -> Role:
    """The role of one class."""
    listed = list(ids) if isinstance(ids, Iterable) and not isinstance(ids, str) else []
    if not name or not listed or not all(isinstance(i, int | np.integer) for i in listed):
        raise ConfigError(f"classes: {name!r} needs a name and a list of token ids, such as {{'newline': [10]}}")

    def members(shown: Shown) -> Tensor:
        assert shown.tokens_BS is not None
        chosen_BK = torch.isin(shown.tokens_BS, torch.tensor([int(i) for i in ids], device=shown.tokens_BS.device))
        return shown.visible_BQK & chosen_BK[:, None] & shown.compared_BQ[..., None]

    return token_role(f"class:{name}", name, f"looks at {name} tokens", members)
