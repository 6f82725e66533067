"""What a look costs: its processor time over that of the plain forward pass it is made of, interleaved, on one thread.

    python scripts/measure_look.py                     # 12 blocks of 12 heads, 8 sequences of 512 tokens
    python scripts/measure_look.py --rounds 9 --blocks 2 --width 192

The plain pass is the whole model's, with its language-model head and eager attention, on the same tokens. A look does
the same pass, measures attention, roles and the loss, and makes a small pass over sequences that repeat themselves.
Rounds alternate the two; the ratio is the median over rounds.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time

import torch
import transformers

from headwise.probe.probing import Probe


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--blocks", type=int, default=12)
    parser.add_argument("--heads", type=int, default=12)
    parser.add_argument("--width", type=int, default=768)
    parser.add_argument("--vocabulary", type=int, default=50257)
    parser.add_argument("--sequences", type=int, default=8)
    parser.add_argument("--length", type=int, default=512)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        n_layer=options.blocks,
        n_head=options.heads,
        n_embd=options.width,
        vocab_size=options.vocabulary,
        bos_token_id=0,
        eos_token_id=0,
        attn_implementation="eager",  # type: ignore[call-arg]
    )
    model = transformers.GPT2LMHeadModel(config).eval()
    tokens = torch.randint(0, options.vocabulary, (options.sequences, options.length))
    probe = Probe(tokens)
    record = probe.look(model)
    plain: list[float] = []
    looks: list[float] = []
    for number in range(options.rounds):
        for is_look in (False, True) if number % 2 else (True, False):
            begun = time.process_time()
            if is_look:
                record = probe.look(model)
            else:
                with torch.no_grad():
                    model(tokens, use_cache=False)
            (looks if is_look else plain).append(time.process_time() - begun)
    answer = {
        "blocks": options.blocks,
        "heads": options.heads,
        "tokens": [options.sequences, options.length],
        "pass_seconds": statistics.median(plain),
        "look_seconds": statistics.median(looks),
        "look_over_pass": statistics.median(look / one for look, one in zip(looks, plain, strict=True)),
        "ratios": [look / one for look, one in zip(looks, plain, strict=True)],
        "record_bytes": sum(values.nbytes for values in record.values()),
    }
    print(json.dumps(answer, indent=2))


if __name__ == "__main__":
    main()
