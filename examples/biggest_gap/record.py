"""Writes cases.jsonl: what biggest_gap must keep, computed here in numpy, independently of the Rust.

From the root of the repository: python examples/biggest_gap/record.py > examples/biggest_gap/cases.jsonl
"""

import hashlib
import json
import struct

import numpy as np

INF = float("inf")


def kept(row, within):
    """The ids above the biggest gap, best first. The rows have no equal logits, so any sort gives their order."""
    order = sorted(range(len(row)), key=lambda i: -row[i])[:within]
    logits = np.array([row[i] for i in order], dtype=np.float32)
    if len(logits) < 2:
        return order
    gaps = logits[:-1] - logits[1:]
    return order[: int(np.argmax(gaps)) + 1] if gaps.max() > 0 else order[:1]


def digest(row, ids):
    return hashlib.sha256(b"".join(struct.pack("<if", i, row[i]) for i in ids)).hexdigest()[:16]


def case(name, within, *rows):
    steps, tokens = [], []
    for row in rows:
        ids = kept(row, within)
        after = {"size": len(ids), "sorted": True, "digest": digest(row, ids)}
        steps.append([{"step": "biggest-gap", **after}, {"step": "greedy", **after}])
        tokens.append(ids[0])
    values = [["-inf" if x == -INF else x for x in row] for row in rows]
    chain = {"seed": 1, "steps": [{"type": "biggest_gap", "within": within}, {"type": "greedy"}]}
    return {"name": f"biggest_gap/{name}", "source": "numpy, examples/biggest_gap/record.py", "logits": {"values": values},
            "chain": chain, "expect": {"tokens": tokens, "steps": steps}}


rng = np.random.default_rng(7)
random = [[float(x) for x in rng.permutation(np.arange(50, dtype=np.float32) ** 2 / 64)] for _ in range(4)]
for one in (
    case("plain", 20, [1.0, 9.0, 8.5, 2.0, 8.25]),
    case("first-of-equal-gaps", 20, [8.0, 6.0, 4.0, 2.0]),
    case("one-candidate", 20, [3.0]),
    case("masked", 20, [1.0, -INF, 1.5, -2.0]),
    case("outside-the-window", 2, [9.0, 8.0, -50.0, 8.5]),
    case("random", 20, *random),
    case("random-narrow", 5, *random),
):
    print(json.dumps(one, separators=(",", ":")))
