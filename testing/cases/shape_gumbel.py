"""The seeded draw of SGLang: the largest of log p plus Gumbel noise, which a hash of seed, position and token gives.

The hash is MurmurHash3 (x86, 32 bits) of four words: the seed's low and high half, the position, the token."""

import numpy as np

import oracle_lib as oracle

from . import P4, log
from .shapes import STEPS, step

SOURCE = f"formula of SGLang's multinomial_with_seed, as of November 2026 (MurmurHash3, logarithms in f64), numpy {np.__version__}"
INF = float("inf")
MASK = 0xFFFFFFFF
WORDS = (0xCC9E2D51, 0x1B873593, 0xE6546B64)
FINAL = ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1))


def rotated(x, by):
    return (x << by | x >> (32 - by)) & MASK


def mixed(word):
    return rotated(word * WORDS[0] & MASK, 15) * WORDS[1] & MASK


def hashed(seed, position, token):
    state = 0
    for word in (seed & MASK, seed >> 32, position & MASK, token):
        state = (rotated(state ^ mixed(word), 13) * 5 + WORDS[2]) & MASK
    state ^= 16
    for shift, factor in FINAL:
        state = (state ^ state >> shift) * factor & MASK
    return state


# What SGLang's own test of its kernel expects: tokens 0, 1, 2 and 17 for four seeds and positions.
KNOWN = [
    (0, 0, [2167721464, 10027521, 2423355346, 2203067026]),
    (1, 7, [3755322398, 4196701286, 1002451629, 183234019]),
    (42, 123, [772287619, 548237471, 2740678348, 3656549299]),
    (0x123456789ABCDEF0, 456, [3746406971, 2891010872, 104055988, 3372550890]),
]
for _seed, _position, _expected in KNOWN:
    if [hashed(_seed, _position, token) for token in (0, 1, 2, 17)] != _expected:
        raise ValueError("this is not SGLang's hash")


def seed_with(wanted, position, token):
    """The seed of 32 bits for which the hash is a wanted one: every part of it can be undone."""
    def inverse(factor):
        return pow(factor, -1, 1 << 32)

    state = wanted
    for shift, factor in reversed(FINAL):
        state = state * inverse(factor) & MASK
        whole = state
        for _ in range(2):
            whole = state ^ whole >> shift
        state = whole
    state ^= 16
    for word in (token, position, 0):
        state = rotated((state - WORDS[2]) * inverse(5) & MASK, 19) ^ mixed(word)
    state = rotated((state - WORDS[2]) * inverse(5) & MASK, 19)
    seed = rotated(state * inverse(WORDS[1]) & MASK, 17) * inverse(WORDS[0]) & MASK
    if hashed(seed, position, token) != wanted:
        raise ValueError("the hash was not undone")
    return seed


def probabilities(candidates):
    """In f32, and whether they are those of any library: powers of two, divided by a sum that f32 holds."""
    weights = oracle.expf(candidates.logits - candidates.logits.max())
    whole = weights.sum(dtype=np.float64)
    if (np.frexp(weights[weights > 0])[0] == 0.5).all() and np.float32(whole) == whole:
        return weights / np.float32(whole), True
    return candidates.softmax(), False


def gumbel(_, candidates, draw):
    # SGLang's position is that of the last token of the sequence, prompt included.
    position = len(draw.prompt) + len(draw.drawn) - 1
    hashes = np.array([hashed(draw.seed, position, int(token)) for token in candidates.ids], dtype=np.float64)
    with np.errstate(all="ignore"):
        noise = -np.log(-np.clip(np.log(hashes / MASK), np.finfo(np.float64).min, -(2.0**-32)))
        p, is_exact = probabilities(candidates)
        scores = np.log(p.astype(np.float64)) + noise
    best = int(np.argmax(scores))
    others = np.delete(scores, best)
    if len(others) and scores[best] - others.max() < (1e-9 if is_exact else 1e-4):
        raise ValueError("two candidates are too near to each other")
    return best


STEPS["gumbel"] = gumbel


def cases(c):
    def add(name, rows, *before, **more):
        c.add(f"gumbel/{name}", SOURCE, rows, *before, step("gumbel"), **more)

    for seed in (0, 1, 42, 2147483648, 4294967294):
        add(f"p4/seed-{seed}", [P4] * 4, seed=seed)
    for n in (1, 7, 40):
        add(f"p4/prompt-{n}", [P4] * 4, prompt=[3] * n, seed=42)
    # The same draws whatever was drawn before, and whatever the order and the number of candidates: the seed and the place decide.
    top, warm = step("top_k", k=40), step("temperature", temp=1.5)
    add("same/other-history", [P4] * 4, prompt=[0, 1, 2, 3, 0, 1, 2], seed=42)
    add("same/sorted", [P4] * 4, top, prompt=[3] * 7, seed=42)
    row = [2.25, -1.5, 0.3, 4.1, 3.9, 1.0, -7.25, 1.125, 3.3, 0.0, -0.1, 2.5]
    add("some", [row] * 3, seed=7)
    add("some/sorted", [row] * 3, top, seed=7)
    add("some/top-k-5", [row] * 3, step("top_k", k=5), seed=7)
    add("some/warm", [row] * 3, warm, seed=7)
    for kind in ("peaked", "uniform", "ties", "masked"):
        add(f"{kind}-100", (kind, 100, 2))
    add("masked-5000", ("masked", 5000, 2))
    add("minus-infinity", [[-INF, 1.0, -INF, 0.5], [-INF, -INF, 2.0, -INF]] * 2, seed=3)
    add("one", [[-4.5]] * 2, seed=3)
    add("two", [[0.1, 0.2]] * 4, seed=3)
    add("three", [log(0.2, 0.3, 0.5)] * 4, seed=3)
    add("all-equal", [[1.5] * 9] * 4, seed=3)
    add("one-hot", [[0.0, 0.0, 40.0, 0.0]] * 2, seed=3)
    add("huge-tail", [[1.0, -1e30, 0.9, -3e38]] * 2, seed=3)
    # Probabilities 4/15 and 1/15. The best two are 6.5e-8 apart: logarithms in f32 would turn them round.
    close = log(1, 1, 1, 0.25, 0.25, 0.25)
    add("logarithms-in-f64", [close], prompt=[0], seed=126366581)
    # The ends of the hash: the largest noise does not bring back a token that is out, and makes an unlikely one win; the least, -709,
    # makes the most likely one lose.
    most, least = MASK, 0
    add("largest-hash/masked", [[0.0, -INF, 0.5]], prompt=[0] * 4, seed=seed_with(most, 3, 1))
    add("largest-hash/unlikely", [[0.0, -12.0, 0.5]], prompt=[0] * 4, seed=seed_with(most, 3, 1))
    add("least-hash", [[0.0, 30.0, 0.5]], prompt=[0] * 4, seed=seed_with(least, 3, 1))
    add("least-hash/alone", [[0.0]], prompt=[0] * 4, seed=seed_with(least, 3, 0))
