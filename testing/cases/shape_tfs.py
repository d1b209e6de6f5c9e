"""Tail-free sampling, from its formula: the second differences of the sorted probabilities, normalised, summed up to z.

ggml keeps as many candidates as the place, from 0, of the difference that crosses z; kobold one more, and the last always goes."""

import numpy as np

from . import P4, log
from .shapes import GREEDY, OFF, STEPS, away, exact, step

INF = float("inf")
WHOSE = {
    "ggml": "llama.cpp's until pull request 10071 took it out in October 2024",
    "kobold": "KoboldAI's as of November 2026",
}


def kept(p, variant, z, least):
    """How many stay of candidates with these probabilities, the running sums, and what they are shares of."""
    n = len(p)
    d2 = np.abs(p[:-2] - 2 * p[1:-1] + p[2:]) if n > 2 else p[:0]
    with np.errstate(all="ignore"):
        whole = d2.sum()
        if variant == "ggml":
            sums = np.cumsum(d2 / whole if whole > 1e-6 else np.full(n - 2, 1 / (n - 2), dtype=p.dtype))
            places = [i for i in range(n - 2) if sums[i] > z and i >= max(least, 1)]
            return (places[0] if places else n), sums, whole
        sums = np.cumsum(d2 / whole)
        removed = np.concatenate([[False], sums > z, [True]])[:n]
        removed[: max(least, 1)] = False
        return int(np.argmax(removed)) if removed.any() else n, sums, whole


def tfs(spec, candidates, _):
    z, least, variant = spec["z"], spec.get("min_keep", 0), spec["variant"]
    if variant == "ggml" and (len(candidates) <= 2 or z >= 1):
        return OFF if z >= 1 else None  # llama.cpp returned before it sorted
    candidates.sort()
    p = exact(candidates)
    n, sums, whole = kept(candidates.softmax_f64() if p is None else p, variant, z, least)
    if p is None and len(sums) and not np.isnan(sums).any():
        for x in sums:
            away(x, z)
        away(whole, 1e-6)
    candidates.take(np.arange(n))
    return None


STEPS["tfs"] = tfs


def cases(c):
    def add(name, rows, variants=("ggml", "kobold"), **parameters):
        for variant in variants:
            source = f"formula of tfs, variant {variant}: {WHOSE[variant]}, numpy {np.__version__}"
            chain = [step("tfs", z=parameters["z"], variant=variant)]
            if "min_keep" in parameters:
                chain[0]["min_keep"] = parameters["min_keep"]
            c.add(f"tfs/{variant}/{name}", source, rows, *parameters.get("before", []), *chain, GREEDY)

    # Probabilities 1/2, 1/4, ... 1/32, 1/32: the sums are 1/2, 3/4, 7/8 and 1, and equality does not cross.
    halves = log(*[2.0**-i for i in (1, 2, 3, 4, 5, 5)])
    for z in (0.0, 0.5, 0.7499, 0.75):
        add(f"halves/z-{z}", [halves[::-1]], z=z)
    for least in (3, 9):
        add(f"halves/min-keep-{least}", [halves], z=0.5, min_keep=least)
    add("z-1", [halves], z=1.0)
    some = [2.25, -1.5, 0.3, 4.1, 3.9, 1.0, -7.25, 1.125, 3.3, 0.0, -0.1, 2.5]
    add("some", [some, P4 * 3], z=0.9)
    add("one", [[0.7]], z=0.5)
    add("two", [[0.7, 1.5], [1.0, 1.0]], z=0.5)
    add("three", [[0.7, 1.5, 0.6], [0.1, 0.9, 2.0]], z=0.5)
    add("uniform", [[0.5] * 9], z=0.3)
    add("nearly-uniform", [[0.5, 0.5000001, 0.5, 0.5, 0.5]], z=0.3, variants=["ggml"])
    # Of twelve alike and one that is a little better the one difference is 7.7e-7, which counts as none: each of eleven places is
    # an eleventh, and seven stay. One of 1.3e-6 is all of the change, and one stays.
    add("nearly-uniform/below-1e-6", [[0.5] * 6 + [0.50001] + [0.5] * 6], z=0.7, variants=["ggml"])
    add("nearly-uniform/above-1e-6", [[0.5] * 6 + [0.500017] + [0.5] * 6], z=0.7, variants=["ggml"])
    add("one-hot", [[0.0, 60.0, 0.0, 0.0, 0.0]], z=0.95)
    add("minus-infinity", [[1.0, -INF, 2.0, -INF, 0.4, -INF], [-INF, -INF, 3.0, -INF, -INF, -INF]], z=0.9)
    add("huge-tail", [[3.0, -1e30, 2.0, -3e38, 1.0, -1e9, 2.9]], z=0.9)
    add("synthetic", ("peaked", 100, 2), z=0.95)
    add("after-top-k", [some], z=0.9, before=[step("top_k", k=5)])
