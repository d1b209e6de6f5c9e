"""Nucleus sampling whose p falls with every drawn token: max(p * decay, min) after each, the first p again after a reset token."""

import numpy as np

from . import P4, log
from .shapes import GREEDY, STEPS, away, exact, step

SOURCE = f"formula of top_p_decay, TensorRT-LLM's as of November 2026 (arXiv 2206.04624), numpy {np.__version__}"
INF = float("inf")


def top_p_decay(spec, candidates, draw):
    first, decay, least = (np.float32(spec[name]) for name in ("p", "decay", "min"))
    p = first
    for token in draw.drawn:
        p = first if token in spec["reset_ids"] else max(p * decay, least)
    if p >= 1:
        return  # all stay, in their order
    candidates.sort()
    is_exact = exact(candidates)
    sums = np.cumsum(candidates.softmax_f64() if is_exact is None else is_exact)
    if is_exact is None:
        for x in sums[:-1]:
            away(x, float(p))
    reached = [i for i in range(len(sums)) if sums[i] >= p and i + 1 >= spec.get("min_keep", 0)]
    candidates.take(np.arange(reached[0] + 1 if reached else len(sums)))


STEPS["top_p_decay"] = top_p_decay


def cases(c):
    def add(name, rows, p, decay, least, reset_ids=(), prompt=(), before=(), **more):
        decaying = step("top_p_decay", p=p, decay=decay, min=least, reset_ids=list(reset_ids), **more)
        c.add(f"top_p_decay/{name}", SOURCE, rows, *before, decaying, GREEDY, prompt=prompt)

    def best(token):
        """A row in which a token is the best, and the others follow in steps of a half."""
        order = [token] + [i for i in range(6) if i != token]
        row = [0.0] * 6
        for place, i in enumerate(order):
            row[i] = halves[place]
        return row

    # Probabilities 1/2, 1/4, ... 1/32, 1/32: p reaches their sums exactly.
    halves = log(*[2.0**-i for i in (1, 2, 3, 4, 5, 5)])
    add("ties/p-0.75", [halves] * 2, 0.75, 0.5, 0.0)
    add("ties/p-1", [halves] * 3, 1.0, 0.75, 0.5)
    add("ties/p-0.875", [halves[::-1]] * 2, 0.875, 1.0, 0.25)
    add("ties/min", [halves] * 3, 0.9375, 0.9, 0.75)
    add("p4", [P4] * 4, 0.97, 0.9, 0.01)
    add("p4/min-above-p", [P4] * 2, 0.4, 0.5, 0.9)
    # A reset token among the drawn ones, in the prompt, where it counts nothing, and several of them.
    drawn = [best(token) for token in (0, 3, 1, 2)]
    add("reset", drawn, 0.9, 0.7, 0.1, [1])
    add("reset/each-token", drawn, 0.9, 0.7, 0.1, range(6))
    add("reset/two", drawn, 0.9, 0.7, 0.1, [3, 2])
    add("reset/first-token", drawn, 0.9, 0.7, 0.1, [0])
    add("prompt", drawn[:2], 0.9, 0.7, 0.1, [1], prompt=[0, 1, 2])
    add("prompt/ends-with-reset", drawn[:2], 0.9, 0.7, 0.1, [1], prompt=[2, 3, 1])
    add("prompt/long", drawn[:1], 0.9, 0.7, 0.1, prompt=[0] * 9)
    add("minus-infinity", [[1.0, -INF, 0.3, -INF], [-INF, -INF, 2.0, -INF]], 0.9, 0.5, 0.1)
    add("one", [[0.3], [0.7]], 0.5, 0.5, 0.1)
    add("two", [[0.3, 0.9], [1.0, 1.0]], 0.6, 0.9, 0.1)
    add("three", [[0.3, 0.9, 1.4], [1.0, 1.0, 0.0]], 0.6, 0.9, 0.1)
    add("uniform", [[0.7] * 10] * 2, 0.77, 0.6, 0.1)
    add("one-hot", [[0.0, 50.0, 0.0, 0.0]] * 2, 0.9, 0.5, 0.1)
    add("huge-tail", [[3.0, -1e30, 2.0, -3e38, 2.5]] * 2, 0.93, 0.5, 0.1)
    add("min-keep", [P4] * 2, 0.9, 0.4, 0.1, min_keep=3)
    add("peaked", ("peaked", 100, 2), 0.95, 0.8, 0.3)
    add("after-top-k", [P4] * 2, 0.9, 0.8, 0.3, before=[step("top_k", k=3)])
