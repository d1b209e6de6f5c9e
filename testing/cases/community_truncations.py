"""The truncations that llama.cpp does not have: every edge of a row, ties at the cut, and rows of all sizes."""

import numpy as np

from cases import log

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
    c.add("equal-best", parameters, [3.0, 1.0, 3.0, -1.5], [-1.0, 5.0, 5.0, 5.0])
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
    # Probabilities 2/3 and 1/3, and a cut at 1/3 that f32 rounds up: it would round down if a were multiplied before the square.
    c.add("rounding/third", {"a": 0.75}, [0.0, -LN_2], by_hand=[[0]])
    # 4/5 and 1/5, and 2/3 and twice 1/6, in the same way.
    c.add("rounding/fifth", {"a": 0.3125}, [-LN_4, 0.0], by_hand=[[1]])
    c.add("rounding/sixth", {"a": 0.375}, [-LN_4, 0.0, -LN_4], by_hand=[[1]])
    c.add("default", {}, [2.0, 1.0, 0.0, -1.0, -2.0, -3.0, -4.0])
    for a in (1e-6, 0.01, 0.5, 1.0):
        c.synthetic(f"peaked-40/a-{a}", {"a": a}, "peaked", 40, 3)
    c.synthetic("ties-40", {"a": 0.05}, "ties", 40, 3)
    c.synthetic("masked-40", {"a": 0.1}, "masked", 40, 3)
    c.synthetic("uniform-2000", {"a": 0.001}, "uniform", 2000)
    c.synthetic("sorted/peaked-40", {"a": 0.05}, "peaked", 40, 3, sort_first=True)
    c.synthetic("sorted/uniform-600", {"a": 0.01}, "uniform", 600, sort_first=True)


def epsilon_cutoff(c):
    edges(c, {"epsilon": 0.01})
    c.add("one-candidate", {"epsilon": 0.5}, [-7.5], [0.0], [300.0])
    for n in (2, 7, 40):
        c.add(f"uniform-{n}/below", {"epsilon": 0.6}, [1.5] * n)
    c.add("uniform-7/above", {"epsilon": 0.1}, [-2.0] * 7)
    c.add("uniform-4/tie", {"epsilon": 0.25}, [1.5] * 4, by_hand=[[0, 1, 2, 3]])
    # What equals epsilon stays.
    c.add("tie-at-the-cut/quarters", {"epsilon": 0.25}, QUARTERS, by_hand=[[0, 1, 2]])
    c.add("tie-at-the-cut/0.125", {"epsilon": 0.125}, EIGHTHS, by_hand=[[0, 1, 2, 3]])
    c.add("tie-at-the-cut/just-above", {"epsilon": 0.1251}, EIGHTHS)
    c.add("all-below", {"epsilon": 0.9}, [1.0, 0.5, 0.0, 1.25], [-3.0, -3.0, -4.0, -3.5])
    # Of the logits tied with the min_keep-th largest none goes.
    c.add("min_keep-2/ties", {"epsilon": 0.9, "min_keep": 2}, [1.0, 3.0, 2.0, 2.0], [0.0, 0.0, 0.0, -1.0])
    c.add("min_keep-3", {"epsilon": 0.9, "min_keep": 3}, [1.0, 3.0, 2.0, 2.5], [1.0, 3.0, 2.0, -9.0])
    c.add("min_keep-above-the-size", {"epsilon": 0.9, "min_keep": 9}, [1.0, 3.0, 2.0])
    c.add("min_keep-below-what-passes", {"epsilon": 0.05, "min_keep": 2}, [1.0, 3.0, 2.0, 2.5, -4.0])
    c.add("min_keep-3/masked", {"epsilon": 0.9, "min_keep": 3}, [-INF, 1.0, -INF, 3.0, 2.0, 2.0], [0.5, -INF, 0.25, -INF, 1.0, -INF])
    c.add("min_keep-above-the-finite", {"epsilon": 0.9, "min_keep": 3}, [-INF, 1.0, -INF, 3.0], [2.0, -INF, -INF, -INF])
    c.add("all-masked", {"epsilon": 0.5}, [-INF] * 3)
    c.add("default", {}, [2.0, 1.0, 0.0, -1.0, -2.0, -3.0, -4.0, -5.0, -5.5, -6.0, -7.0])
    c.synthetic("peaked-40", {"epsilon": 0.001}, "peaked", 40, 3)
    c.synthetic("ties-40/min_keep-5", {"epsilon": 0.2, "min_keep": 5}, "ties", 40, 3)
    c.synthetic("masked-40", {"epsilon": 0.0003}, "masked", 40, 3)
    c.synthetic("uniform-2000", {"epsilon": 0.0009}, "uniform", 2000)
    c.synthetic("sorted/peaked-40", {"epsilon": 0.0003}, "peaked", 40, 3, sort_first=True)
    c.synthetic("sorted/uniform-600", {"epsilon": 0.0005, "min_keep": 3}, "uniform", 600, sort_first=True)


def eta_cutoff(c):
    edges(c, {"epsilon": 0.01})
    c.add("one-candidate", {"epsilon": 0.5}, [-7.5], [0.0], [300.0])
    for n in (2, 7, 40):
        c.add(f"uniform-{n}", {"epsilon": 0.9}, [1.5] * n)
    # The probabilities are 1/5 and 4/5. Epsilon itself is the cut, and what equals it stays: the entropy would cut at 0.27.
    c.add("tie-at-the-cut", {"epsilon": 0.2}, [-LN_4, 0.0], by_hand=[[0, 1]])
    c.add("tie-at-the-cut/just-above", {"epsilon": 0.2001}, [-LN_4, 0.0])
    # Here the entropy cuts: at 0.1487 and 0.1051 in place of 0.25 and 0.125.
    c.add("entropy-decides/0.25", {"epsilon": 0.25}, EIGHTHS, QUARTERS + [-1.0])
    c.add("entropy-decides/0.125", {"epsilon": 0.125}, EIGHTHS)
    # It cuts at 0.143: epsilon itself would take 0.15, too. What is masked, or has a p of 0, adds nothing to it.
    half, third, sixth, twentieth = log(0.50, 0.30, 0.15, 0.05)
    c.add("entropy-decides/masked", {"epsilon": 0.2}, [-INF, half, third, -INF, sixth, twentieth])
    c.add("entropy-decides/huge-tail", {"epsilon": 0.2}, [half, -1e30, third, -3e38, sixth, -1e4, twentieth])
    # At 0.126, between two of 0.2 and two of 0.1.
    c.add("entropy-decides/ties", {"epsilon": 0.3}, log(0.4, 0.1, 0.2, 0.2, 0.1))
    # At 1/4, which is √0.5 · 2^-1.5: what equals it stays.
    c.add("entropy-decides/tie-at-the-cut", {"epsilon": 0.5}, QUARTERS, by_hand=[[0, 1, 2]])
    c.add("min_keep-2/ties", {"epsilon": 0.9, "min_keep": 2}, [1.0, 13.0, 2.0, 2.0], [9.0, 0.0, 0.0, -1.0])
    c.add("min_keep-3", {"epsilon": 0.9, "min_keep": 3}, [1.0, 13.0, 2.0, 2.5], [1.0, 3.0, 2.0, -9.0])
    c.add("min_keep-above-the-size", {"epsilon": 0.9, "min_keep": 9}, [1.0, 3.0, 2.0])
    c.add("min_keep-below-what-passes", {"epsilon": 0.05, "min_keep": 2}, [1.0, 3.0, 2.0, 2.5, -4.0])
    c.add("min_keep-3/masked", {"epsilon": 0.9, "min_keep": 3}, [-INF, 1.0, -INF, 13.0, 2.0, 2.0], [0.5, -INF, 9.0, -INF, 1.0, -INF])
    c.add("min_keep-above-the-finite", {"epsilon": 0.9, "min_keep": 3}, [-INF, 1.0, -INF, 13.0], [2.0, -INF, -INF, -INF])
    c.add("default", {}, [2.0, 1.0, 0.0, -1.0, -2.0, -3.0, -4.0, -5.0, -5.5, -6.0, -7.0])
    c.synthetic("peaked-40", {"epsilon": 0.001}, "peaked", 40, 3)
    c.synthetic("ties-40/min_keep-5", {"epsilon": 0.2, "min_keep": 5}, "ties", 40, 3)
    c.synthetic("masked-40", {"epsilon": 0.004}, "masked", 40, 3)
    c.synthetic("uniform-2000", {"epsilon": 0.0009}, "uniform", 2000)
    c.synthetic("sorted/peaked-40", {"epsilon": 0.0003}, "peaked", 40, 3, sort_first=True)
    c.synthetic("sorted/uniform-600", {"epsilon": 0.0005, "min_keep": 3}, "uniform", 600, sort_first=True)


def top_h(c):
    edges(c, {"h": 0.4})
    c.add("one-candidate", {"h": 0.4}, [-7.5], [0.0], [300.0])
    c.add("one-candidate/h-1", {"h": 1.0}, [-7.5], [0.0])
    for n in (2, 3, 7, 40):
        c.add(f"uniform-{n}", {"h": 0.46}, [1.5] * n)
    # A running sum that equals the cut stays: half of the entropy is that of 1/2, or of two of 1/4.
    c.add("tie-at-the-cut/two", {"h": 0.5}, [0.0, 0.0], by_hand=[[0]])
    c.add("tie-at-the-cut/quarters", {"h": 0.25}, [0.0] * 4, by_hand=[[0]])
    c.add("tie-at-the-cut/two-of-quarters", {"h": 0.5}, [0.0] * 4, by_hand=[[0, 1]])
    c.add("tie-at-the-cut/just-below", {"h": 0.4995}, [0.0] * 4)
    c.add("the-best-alone", {"h": 0.001}, [1.0, 0.5, 0.0, 1.25], [0.0, 0.25, 0.0, 0.125])
    c.add("default", {}, [2.0, 1.0, 0.0, -1.0, -2.0, -3.0, -4.0, -5.0, -5.5, -6.0, -7.0])
    for h in (0.1, 0.5, 0.7, 0.95):
        c.synthetic(f"peaked-40/h-{h}", {"h": h}, "peaked", 40, 3)
    c.synthetic("ties-40", {"h": 0.6}, "ties", 40, 3)
    c.synthetic("masked-40", {"h": 0.8}, "masked", 40, 3)
    # Only the hundred best count.
    c.synthetic("uniform-101", {"h": 0.7}, "uniform", 101)
    c.synthetic("uniform-2000", {"h": 0.7}, "uniform", 2000)
    # 33 stay. With the probabilities that they have among all 150 it would be 32.
    c.add("nearly-flat-150", {"h": 0.4}, [i / 128 for i in range(150)])
    c.add("nearly-flat-20", {"h": 0.7}, [i / 1024 for i in range(20)])
    c.synthetic("sorted/peaked-40", {"h": 0.6}, "peaked", 40, 3, sort_first=True)
    c.synthetic("sorted/uniform-600", {"h": 0.5}, "uniform", 600, sort_first=True)


def p_less(c):
    edges(c, {})
    for normalised in (False, True):
        name, parameters = "normalised" if normalised else "plain", {"normalised": normalised}
        c.add(f"{name}/one-candidate", parameters, [-7.5], [300.0], by_hand=[[0], [0]])
        # Added up one by one in f32, L equals every p of 2, is above those of 7, and below those of 40: a flat row stays whole.
        for n in (2, 7, 40):
            c.add(f"{name}/uniform-{n}", parameters, [1.5] * n, by_hand=[range(n)])
        c.add(f"{name}/four", parameters, [-LN_2, 0.0, -1.25, -3.0])
        c.synthetic(f"{name}/peaked-40", parameters, "peaked", 40, 3)
        c.synthetic(f"{name}/uniform-2000", parameters, "uniform", 2000)
    c.add("normalised/masked", {"normalised": True}, [-INF, 1.0, -INF, 0.5, 0.9, -INF])
    c.add("normalised/one-hot", {"normalised": True}, [-50.0, -50.0, 40.0, -50.0], [90.0, -90.0, -90.0, -90.0])
    c.add("normalised/huge-negative-tail", {"normalised": True}, [-1e4, 2.0, -1e30, 1.5, 1.0, -3e38, -1e4, -2e4, -3e38])
    c.add("normalised/two-candidates", {"normalised": True}, [0.25, -1.0], [1.0, 0.875])
    c.add("normalised/three-candidates", {"normalised": True}, [0.25, -1.0, 2.5], [1.0, 0.875, 0.75])
    # 1/4, twice 1/8, eight times 1/16: L is 1/8.
    eighth = [-LN_4] * 4 + [-LN_2, 0.0, -LN_2] + [-LN_4] * 4
    c.add("tie-at-the-cut", {}, eighth, by_hand=[[4, 5, 6]])
    # 1/2 and twice 1/4: L is 3/8, and (6L - 1)/5, the masked ones counted, 1/4.
    c.add("tie-at-the-cut/normalised", {"normalised": True}, [-INF, *QUARTERS, -INF, -INF], by_hand=[[1, 2, 3]])
    c.add("tie-at-the-cut/one-more-masked", {"normalised": True}, [-INF, *QUARTERS, -INF, -INF, -INF])
    c.synthetic("ties-40", {}, "ties", 40, 3)
    c.synthetic("masked-40", {"normalised": True}, "masked", 40, 3)
    c.synthetic("sorted/peaked-40", {}, "peaked", 40, 3, sort_first=True)
    c.synthetic("sorted/uniform-600", {"normalised": True}, "uniform", 600, sort_first=True)


def min_k(c):
    edges(c, {"tau": 0})
    c.add("one-candidate", {"tau": 0}, [-7.5], [0.0], [300.0])
    for n in (2, 7, 40):
        c.add(f"uniform-{n}", {"tau": 0}, [1.5] * n, by_hand=[range(n)])
    c.add("uniform-7/tau-3", {"tau": 3.0}, [1.5] * 7, by_hand=[range(7)])
    # Drops of 1 and 2 at the places 1 and 2 weigh the same, as do 1 and 4 at 1 and 4: the first counts.
    c.add("tie-of-drops/1-2", {"tau": 0}, [5.0, 8.0, 4.0, 7.0], by_hand=[[1]])
    c.add("tie-of-drops/1-4", {"tau": 0}, [7.0, 8.0, 2.5, 6.5, 6.75, 0.0], by_hand=[[1]])
    # The last one that stays has equals.
    c.add("tie-at-the-cut", {"tau": 9.0}, [7.0, 8.0, 4.0, 7.0, 7.0], by_hand=[[0, 1, 3, 4]])
    c.add("tau/exactly-two", {"tau": 8.0}, [8.0, 5.0, 4.75, 4.0], by_hand=[[0, 1]])
    for tau in (-4.0, 12.1, 20.5, 1000.0):
        c.add(f"tau/{tau}", {"tau": tau}, [4.0, 8.0, 0.0, 9.0, 3.0])
    c.add("tau/masked", {"tau": 1000.0}, [-INF, 8.0, 0.0, -INF, 3.0])
    c.add("default", {}, [2.0, 1.0, 0.0, -1.0, -2.0, -3.0, -4.0, -5.0, -5.5, -6.0, -9.0])
    # Over 7/16, 3 keeps six; over 2 it keeps one.
    c.add("default/nearly-flat", {}, [0.4375, 0.0, 0.375, 0.125, 0.3125, 0.25, 0.0625, 0.1875], [2.0, 0.0, 0.75, 0.5, 0.25, 1.5, 1.0, 1.25])
    c.synthetic("peaked-40", {"tau": 0}, "peaked", 40, 3)
    c.synthetic("peaked-40/tau-90", {"tau": 90.0}, "peaked", 40, 3)
    c.synthetic("ties-40", {"tau": 0}, "ties", 40, 3)
    c.synthetic("masked-40", {"tau": 0}, "masked", 40, 3)
    c.synthetic("uniform-2000", {"tau": 0}, "uniform", 2000)
    c.synthetic("uniform-2000/tau-5000", {"tau": 5000.5}, "uniform", 2000)
    c.synthetic("sorted/peaked-40", {"tau": 0}, "peaked", 40, 3, sort_first=True)
    c.synthetic("sorted/uniform-600", {"tau": 0}, "uniform", 600, sort_first=True)
