"""The steps that select a token, alone, over the edges of their parameters."""

from . import DIST, GREEDY, P4, repeated, step, values


def dist(c):
    for kind, n in [("uniform", 2), ("peaked", 16), ("ties", 129), ("masked", 1000), ("peaked", 1025), ("uniform", 5000),
                    ("peaked", 32000)]:
        c.add(f"dist/{kind}-{n}", (kind, n, 8 if n < 5000 else 4), DIST)
    c.add("dist/peaked-151669", ("peaked", 151669, 3), DIST)
    c.add("dist/uniform-262144", ("uniform", 262144, 3), DIST)
    c.add("dist/one-candidate", values([1.0], [-3.5], [0.0]), DIST)
    # A single candidate takes a number from the generator too: the second row tells.
    c.add("dist/one-candidate-then-four", values([9.0, 1.0, 0.0, -1.0], P4, [-5.0, 8.0, 0.5, 0.25], P4, P4),
          step("top_p", p=0.5), DIST, seed=42)
    c.add("dist/one-candidate-then-more", values([0.0, 0.0, 0.0], [5.0, 1.0, 2.0], [3.0, 3.0, 3.0], [0.0, 0.0, 1.0],
                                                 [1.0, 1.0, 0.0]), step("min_p", p=1.0), DIST, seed=7)
    c.add("dist/all-equal", repeated([0.25] * 40, 6), DIST)
    c.add("dist/one-finite", repeated(["-inf"] * 5 + [2.0] + ["-inf"] * 4, 3), DIST)
    c.add("dist/minus-infinity-first", repeated(["-inf", 1.0, "-inf", 0.5, 0.5, "-inf"], 8), DIST)
    c.add("dist/underflow", repeated([100.0, 0.0, -3.0, 99.0, -200.0], 6), DIST)
    c.add("dist/four", repeated(P4, 12), DIST, seed=42)
    for seed in (0, 1, 4294967294, 2147483648):
        c.add(f"dist/seed-{seed}", ("uniform", 17, 6), DIST, seed=seed)


def greedy(c):
    for kind, n in [("uniform", 1), ("ties", 5), ("ties", 128), ("ties", 1025), ("masked", 1000), ("peaked", 32000)]:
        c.add(f"greedy/{kind}-{n}", (kind, n, 4), GREEDY)
    c.add("greedy/first-of-equals", values([1.0, 3.0, 3.0, 2.0], [2.0, 2.0, 2.0, 2.0], ["-inf", -1.0, -1.0, "-inf"],
                                           [-0.0, 0.0, 0.0, -0.0]), GREEDY)
    c.add("greedy/after-top-k-with-ties", ("ties", 1000, 5), step("top_k", k=30), GREEDY)
    c.add("greedy/after-typ-p", ("uniform", 1000, 5), step("typ_p", p=0.3), GREEDY)
    c.add("greedy/all-equal-sorted", repeated([1.5] * 200, 2), step("top_k", k=129), GREEDY)


def mirostat(c):
    for tau, eta in [(0.1, 0.1), (1, 0.1), (3, 0.2), (5, 0.1), (10, 1), (3, 0), (0.1, 1), (5, 2.5)]:
        c.add(f"mirostat/peaked-1000/tau-{tau}/eta-{eta}", ("peaked", 1000, 10), step("mirostat", tau=tau, eta=eta))
    for kind, n in [("uniform", 16), ("uniform", 129), ("ties", 1000), ("peaked", 1025), ("uniform", 5000)]:
        c.add(f"mirostat/{kind}-{n}", (kind, n, 8), step("mirostat", tau=3.0))
    for m in (1, 2, 3, 20, 5000):
        c.add(f"mirostat/m-{m}", ("peaked", 1000, 6), step("mirostat", tau=4.0, m=m))
    c.add("mirostat/default", ("peaked", 32000, 5), step("mirostat"))
    c.add("mirostat/one-candidate", values([0.5], [-7.0], [0.25]), step("mirostat"))
    c.add("mirostat/two-candidates", ("uniform", 2, 8), step("mirostat", tau=0.7))
    c.add("mirostat/three-candidates", ("uniform", 3, 8), step("mirostat", tau=1.5, eta=0.5))
    c.add("mirostat/four", repeated(P4, 10), step("mirostat", tau=1.0), seed=42)
    c.add("mirostat/all-equal", repeated([1.5] * 30, 6), step("mirostat", tau=2.0))
    c.add("mirostat/masked", ("masked", 200, 6), step("mirostat", tau=3.0))
    c.add("mirostat/mostly-masked", repeated(["-inf"] * 20 + [1.0, 2.0, 0.5] + ["-inf"] * 20, 6), step("mirostat", tau=1.0))
    c.add("mirostat/temperature-before", ("peaked", 1000, 8), step("temperature", temp=1.7), step("mirostat", tau=4.0))
    c.add("mirostat/top-k-before", ("peaked", 1000, 8), step("top_k", k=30), step("mirostat", tau=2.0, eta=0.3))
    c.add("mirostat/penalties-before", ("peaked", 200, 8), step("penalties", repeat=1.3), step("mirostat", tau=3.0),
          prompt=range(180, 200))
    c.add("mirostat/uniform-151669", ("uniform", 151669, 2), step("mirostat"))


def mirostat_v2(c):
    for tau, eta in [(0.1, 0.1), (1, 0.1), (3, 0.2), (5, 0.1), (10, 1), (3, 0), (0.1, 1), (5, 2.5)]:
        c.add(f"mirostat_v2/peaked-1000/tau-{tau}/eta-{eta}", ("peaked", 1000, 10), step("mirostat_v2", tau=tau, eta=eta))
    for kind, n in [("uniform", 16), ("uniform", 129), ("ties", 1000), ("peaked", 1025), ("uniform", 5000)]:
        c.add(f"mirostat_v2/{kind}-{n}", (kind, n, 8), step("mirostat_v2", tau=3.0))
    c.add("mirostat_v2/default", ("peaked", 32000, 5), step("mirostat_v2"))
    c.add("mirostat_v2/one-candidate", values([0.5], [-7.0], [0.25]), step("mirostat_v2"))
    c.add("mirostat_v2/two-candidates", ("uniform", 2, 8), step("mirostat_v2", tau=0.7))
    c.add("mirostat_v2/four", repeated(P4, 10), step("mirostat_v2", tau=1.0), seed=42)
    c.add("mirostat_v2/none-passes", ("uniform", 64, 8), step("mirostat_v2", tau=-1.0, eta=0.0))
    c.add("mirostat_v2/all-equal", repeated([1.5] * 30, 6), step("mirostat_v2", tau=2.0))
    c.add("mirostat_v2/masked", ("masked", 200, 6), step("mirostat_v2", tau=3.0))
    c.add("mirostat_v2/temperature-before", ("peaked", 1000, 8), step("temperature", temp=1.7), step("mirostat_v2", tau=4.0))
    c.add("mirostat_v2/top-k-before", ("peaked", 1000, 8), step("top_k", k=30), step("mirostat_v2", tau=2.0, eta=0.3))
    c.add("mirostat_v2/dry-before", ("peaked", 16, 8), step("dry", multiplier=0.8, allowed_length=1),
          step("mirostat_v2", tau=2.0), prompt=[12, 13, 14, 15] * 3)
    c.add("mirostat_v2/uniform-262144", ("uniform", 262144, 2), step("mirostat_v2"))


def adaptive_p(c):
    for target in (-1, 0, 0.3, 1):
        for decay in (0, 0.5, 0.9, 0.99, 2):
            c.add(f"adaptive_p/target-{target}/decay-{decay}", ("peaked", 64, 6),
                  step("adaptive_p", target=target, decay=decay))
    c.add("adaptive_p/target-1.5", ("peaked", 64, 6), step("adaptive_p", target=1.5, decay=0.5))
    for kind, n in [("uniform", 16), ("ties", 129), ("masked", 200), ("peaked", 1025)]:
        c.add(f"adaptive_p/{kind}-{n}", (kind, n, 8), step("adaptive_p", target=0.2, decay=0.7))
        c.add(f"adaptive_p/sorted/{kind}-{n}", (kind, n, 8), step("top_k", k=n), step("adaptive_p", target=0.2, decay=0.7))
    c.add("adaptive_p/default", ("peaked", 64, 6), step("adaptive_p"))
    c.add("adaptive_p/four", repeated(P4, 12), step("adaptive_p", target=0.3), seed=42)
    c.add("adaptive_p/prompt", ("peaked", 32, 8), step("min_p", p=0.05), step("adaptive_p", target=0.4), prompt=range(20, 32))
    c.add("adaptive_p/one-candidate", values([0.5], [-7.0], [0.25]), step("adaptive_p", target=0.5))
    # One candidate takes nothing from this step's generator, and moves its average all the same.
    c.add("adaptive_p/one-candidate-then-four", values([9.0, 1.0, 0.0, -1.0], P4, [-5.0, 8.0, 0.5, 0.25], P4, P4),
          step("top_p", p=0.5), step("adaptive_p", target=0.5), seed=42)
    c.add("adaptive_p/all-equal", repeated([1.5] * 30, 6), step("adaptive_p", target=0.3))
    c.add("adaptive_p/off/one-candidate-then-four", values([9.0, 1.0, 0.0, -1.0], P4, P4), step("top_p", p=0.5),
          step("adaptive_p"), seed=42)
    c.add("adaptive_p/after-truncation", ("peaked", 1000, 8), step("top_k", k=40), step("min_p", p=0.05),
          step("temperature", temp=1.2), step("adaptive_p", target=0.5, decay=0.8))
    c.add("adaptive_p/after-penalties", ("peaked", 32, 8), step("top_k", k=20), step("penalties", repeat=1.3, freq=0.2),
          step("adaptive_p", target=0.25, decay=0.8), prompt=range(16, 32))
    c.add("adaptive_p/peaked-32000", ("peaked", 32000, 3), step("adaptive_p", target=0.1))


ALL = (dist, greedy, mirostat, mirostat_v2, adaptive_p)
