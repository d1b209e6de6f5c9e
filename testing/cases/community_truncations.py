"""The truncations that llama.cpp does not have: every edge of a row, ties at the cut, and rows of all sizes."""

import numpy as np

INF = float("inf")
# In f32 so near that exp rounds to the power of two.
LN_2, LN_4 = (float(np.float32(np.log(n))) for n in (2, 4))
# Probabilities of 1/2 and two of 1/4 · 1/2, 1/4 and two of 1/8.
QUARTERS = [-LN_2, 0.0, -LN_2]
EIGHTHS = [-LN_4, -LN_2, 0.0, -LN_4]


def edges(c, parameters):
    """What every truncation is asked."""
    c.add("masked", parameters, [-INF, 1.0, -INF, 0.5, 2.0, -INF], [-INF, -INF, -3.0, -4.5, -INF, -INF])
    c.add("all-masked-but-one", parameters, [-INF, -INF, 3.0, -INF])
    c.add("two-candidates", parameters, [0.25, -1.0], [-9.0, 4.0], [1.0, 0.875])
    c.add("three-candidates", parameters, [0.25, -1.0, 2.5], [-9.0, 4.0, 3.5], [1.0, 0.875, 0.75])
    c.add("one-hot", parameters, [-50.0, -50.0, 40.0, -50.0], [90.0, -90.0, -90.0, -90.0])
    c.add("huge-negative-tail", parameters, [-1e4, 2.0, -1e30, 1.5, 1.0, -3e38, -1e4, -2e4, -3e38])
    c.add("equal-best", parameters, [3.0, 1.0, 3.0, -2.0], [-1.0, 5.0, 5.0, 5.0])
    c.add("far-from-zero", parameters, [1000.5, 1002.0, 1001.0, 990.0], [-800.0, -801.5, -799.0, -812.0])


def top_a(c):
    edges(c, {"a": 0.2})
    c.add("one-candidate", {"a": 0.2}, [-7.5], [0.0], [300.0])
    c.add("one-candidate/a-1", {"a": 1.0}, [-7.5], by_hand=[[0]])
    for n in (2, 3, 7, 40):
        c.add(f"uniform-{n}", {"a": 1.0}, [1.5] * n)
    # The square of 1/2 is 1/4: what equals the cut stays.
    c.add("tie-at-the-cut/quarters", {"a": 1.0}, QUARTERS, by_hand=[[0, 1, 2]])
    c.add("tie-at-the-cut/a-1", {"a": 1.0}, EIGHTHS, by_hand=[[1, 2]])
    c.add("tie-at-the-cut/a-0.5", {"a": 0.5}, EIGHTHS, by_hand=[[0, 1, 2, 3]])
    c.add("tie-at-the-cut/just-above", {"a": 0.5005}, EIGHTHS)
    c.add("default", {}, [2.0, 1.0, 0.0, -1.0, -2.0, -3.0, -4.0])
    for a in (1e-6, 0.01, 0.5, 1.0):
        c.synthetic(f"peaked-40/a-{a}", {"a": a}, "peaked", 40, 3)
    c.synthetic("ties-40", {"a": 0.05}, "ties", 40, 3)
    c.synthetic("masked-40", {"a": 0.1}, "masked", 40, 3)
    c.synthetic("uniform-2000", {"a": 0.001}, "uniform", 2000)
    c.synthetic("sorted/peaked-40", {"a": 0.05}, "peaked", 40, 3, sort_first=True)
    c.synthetic("sorted/uniform-600", {"a": 0.01}, "uniform", 600, sort_first=True)
