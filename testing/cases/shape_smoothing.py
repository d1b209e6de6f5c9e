"""Quadratic smoothing with a curve: m - k f d^2 + s f d^3 with d = l - m, k = (3 - curve) / 2, s = (curve - 1) / 2."""

import numpy as np

from . import P4
from .shapes import GREEDY, STEPS, step

SOURCE = f"formula of quadratic smoothing with a curve, in f32 in KoboldCpp's order as of November 2026, numpy {np.__version__}"
INF = float("inf")


def smoothing(spec, candidates, _):
    one, two, three = np.float32(1), np.float32(2), np.float32(3)
    factor, curve = np.float32(spec["factor"]), np.float32(spec["curve"])
    k, s = (three - curve) / two, (curve - one) / two
    top = candidates.logits.max()
    with np.errstate(all="ignore"):
        d = candidates.logits - top
        quadratic = ((k * factor) * d) * d
        cubic = (((s * factor) * d) * d) * d
        smoothed = (cubic - quadratic) + top
    # 0 times an infinity is no number: what is out of the running stays there.
    candidates.logits = np.where(np.isneginf(d) | np.isneginf(candidates.logits), np.float32(-np.inf), smoothed)


STEPS["smoothing"] = smoothing


def cases(c):
    def add(name, logits, factor, curve, before=(), after=()):
        smooth = step("smoothing", factor=factor, curve=curve)
        c.add(f"smoothing/{name}", SOURCE, logits, *before, smooth, *after, GREEDY)

    some = [2.25, -1.5, 0.3, 4.1, 3.9, 4.0999, -7.25, 1.125, 3.3, 0.0, -0.1, 2.2500002]
    for factor in (0.05, 0.3, 7.5):
        add(f"some/factor-{factor}", [some], factor, 1.0)
    for curve in (1.1, 2.0, 2.999, 3.0):
        add(f"some/curve-{curve}", [some], 0.23, curve)
    for kind, curve in [("peaked", 1.0), ("uniform", 1.7), ("ties", 1.3)]:
        add(f"{kind}-200", (kind, 200, 2), 0.25, curve)
    add("masked-5000", ("masked", 5000, 2), 0.3, 3.0)
    for curve in (1.0, 3.0):
        add(f"minus-infinity/curve-{curve}", [[-INF, 1.5, -INF, 1.0, -2.0], [3.0, -INF, 3.0, -INF, 2.5]], 0.2, curve)
        add(f"only-minus-infinity/curve-{curve}", [[-INF, -INF, -INF]], 0.2, curve)
        # d^2 and d^3 beyond f32, and a d that is beyond it already.
        add(f"huge-tail/curve-{curve}", [[1.0, -1e9, -1e13, -1e20, -1e30, -3e38], [3e38, -3e38, 0.0, 1e38, -1e38, 2.9e38]], 0.2, curve)
    add("one", [[-3.5], [0.0], [-0.0]], 0.2, 2.0)
    add("two", [[1.0, 2.0], [2.0, 2.0], [0.5, -0.5]], 0.2, 1.0)
    add("three", [[1.0, 2.0, 1.5], [0.0, -0.0, 0.0]], 0.2, 1.5)
    add("uniform", [[1.7] * 9], 0.4, 1.2)
    add("one-hot", [[0.0, 0.0, 12.0, 0.0, 0.0]], 0.3, 1.0)
    add("p4", [P4], 0.3, 1.0)
    # Before it, temperature counts squared, as in text-generation-webui and KoboldCpp; behind it, once, as in exllamav2.
    warm = step("temperature", temp=1.7)
    add("temperature-before", [some, some[::-1]], 0.25, 1.3, before=[warm])
    add("temperature-behind", [some, some[::-1]], 0.25, 1.3, after=[warm])
    add("sorted-stays", [some], 0.25, 1.3, before=[step("top_k", k=40)], after=[step("top_k", k=5)])
