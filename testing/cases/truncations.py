"""The steps that drop candidates, alone, over the edges of their parameters and sets of 1 to 262,144 candidates."""

from . import DIST, GREEDY, P4, log, repeated, step, values


def top_k(c):
    ks = [-5, 0, 1, 2, 40, 127, 128, 129, 200, 255, 256, 257]
    for n, kind in [(300, "ties"), (1000, "peaked")]:
        for k in ks + [n - 1, n, n + 5]:
            c.add(f"top_k/{kind}-{n}/k-{k}", (kind, n, 3), step("top_k", k=k), DIST)
    for n in (1, 2, 3, 5, 16, 17):
        for k in (1, 2, 40):
            c.add(f"top_k/ties-{n}/k-{k}", ("ties", n, 3), step("top_k", k=k), DIST)
    for kind, n, k in [("ties", 128, 128), ("ties", 129, 128), ("ties", 129, 129), ("ties", 5000, 40), ("ties", 5000, 128),
                       ("ties", 5000, 129), ("ties", 5000, 2000), ("ties", 32000, 40), ("ties", 32000, 129),
                       ("ties", 32000, 3000), ("masked", 1000, 40), ("masked", 1000, 129), ("masked", 1000, 760),
                       ("masked", 1000, 900), ("masked", 1000, 1000), ("uniform", 32000, 32000)]:
        c.add(f"top_k/{kind}-{n}/k-{k}", (kind, n, 3), step("top_k", k=k), DIST)
    for kind, n, k in [("uniform", 151669, 40), ("ties", 151669, 200), ("peaked", 262144, 40), ("ties", 262144, 300)]:
        c.add(f"top_k/{kind}-{n}/k-{k}", (kind, n, 2), step("top_k", k=k), DIST)
    c.add("top_k/default", ("peaked", 1000, 3), step("top_k"), DIST)
    for k in (5, 128, 129, 150):
        c.add(f"top_k/all-equal/k-{k}", repeated([1.5] * 150, 2), step("top_k", k=k), DIST)
    # The bucket sort's edges: beyond -10 and 10, on the borders of buckets, and around zero.
    wide = [25.0, -40.0, 10.0, -10.0, 9.999999, -9.999999, 10.000001, -10.000001, 0.0, -0.0, 1e-9, -1e-9, 1e30, -1e30,
            3e38, 0.15625, 0.15624999, 0.3125, -0.15625, 24.999998, -40.5, 11.0, 12.0, 13.0, 12.0, 11.0, -11.0, -12.0]
    flat = [float(i % 7) / 4 - 20 for i in range(120)]
    for k in (129, 140, len(wide) + len(flat)):
        c.add(f"top_k/beyond-the-buckets/k-{k}", values(wide + flat, flat + wide), step("top_k", k=k), GREEDY)
    c.add("top_k/beyond-the-buckets/scaled", ("uniform", 1000, 3), step("temperature", temp=0.05), step("top_k", k=200),
          DIST)
    c.add("top_k/all-in-one-bucket", ("ties", 1000, 3), step("temperature", temp=100), step("top_k", k=300), DIST)
    c.add("top_k/twice", ("ties", 1000, 3), step("top_k", k=200), step("top_k", k=50), DIST)
    c.add("top_k/again-larger", ("ties", 1000, 3), step("top_k", k=20), step("top_k", k=50), DIST)
    c.add("top_k/after-typ-p", ("ties", 1000, 3), step("typ_p", p=0.9), step("top_k", k=130), DIST)


def top_p(c):
    ps = [0, 0.1, 0.5, 0.9, 0.999, 1.0]
    min_keeps = [0, 1, 3, 300]
    turn = 0
    for n in (5, 900, 1024, 1025, 5000):
        for p in ps:
            kind = ["peaked", "uniform", "ties"][turn % 3]
            min_keep = min_keeps[turn % 4]
            turn += 1
            one = step("top_p", p=p, min_keep=min_keep)
            rows = 2 if n == 5000 else 3
            c.add(f"top_p/{kind}-{n}/p-{p}/min_keep-{min_keep}", (kind, n, rows), one, DIST)
            if p not in (0.1, 1.0):
                c.add(f"top_p/sorted/{kind}-{n}/p-{p}/min_keep-{min_keep}", (kind, n, rows), step("top_k", k=n), one, DIST)
    for n in (1024, 1025):
        for p in (0.5, 0.97):
            c.add(f"top_p/flat-{n}/p-{p}", ("ties", n, 3), step("temperature", temp=50), step("top_p", p=p), DIST)
    # 256 sorted, not enough: all sorted, and the running sum goes on in the other order.
    c.add("top_p/flat-5000/past-the-first-256", ("ties", 5000, 3), step("temperature", temp=3), step("top_p", p=0.3), DIST)
    c.add("top_p/peaked-5000/min_keep-300", ("peaked", 5000, 3), step("top_p", p=0.2, min_keep=300), DIST)
    c.add("top_p/peaked-5000/min_keep-256", ("peaked", 5000, 3), step("top_p", p=0.2, min_keep=256), DIST)
    c.add("top_p/min_keep-above-the-size", ("peaked", 16, 3), step("top_p", p=0.2, min_keep=300), DIST)
    c.add("top_p/four/p-0.4/min_keep-3", repeated(P4, 4), step("top_p", p=0.4, min_keep=3), DIST, seed=42)
    c.add("top_p/four/p-0.8", repeated(P4, 4), step("top_p", p=0.8), DIST, seed=42)
    c.add("top_p/masked-1000", ("masked", 1000, 3), step("top_p", p=0.9), DIST)
    c.add("top_p/masked-5000", ("masked", 5000, 3), step("top_p", p=0.99), DIST)
    c.add("top_p/default-32000", ("peaked", 32000, 3), step("top_p"), DIST)
    c.add("top_p/uniform-151669", ("uniform", 151669, 2), step("top_p", p=0.9), DIST)
    c.add("top_p/peaked-262144", ("peaked", 262144, 2), step("top_p", p=0.05), DIST)
    c.add("top_p/one-candidate", values([0.5], [-7.0]), step("top_p", p=0.5), DIST)
    c.add("top_p/all-equal", repeated([-2.0] * 100, 3), step("top_p", p=0.5), DIST)
    c.add("top_p/typ-p-before", ("uniform", 1025, 3), step("typ_p", p=0.999), step("top_p", p=0.9), DIST)


def min_p(c):
    turn = 0
    for n in (5, 900, 5000):
        for p in (0, 1e-6, 0.05, 0.5, 1.0, 1.05):
            kind = ["peaked", "ties", "uniform"][turn % 3]
            min_keep = [0, 1, 3, 300, 0][turn % 5]
            turn += 1
            one = step("min_p", p=p, min_keep=min_keep)
            c.add(f"min_p/{kind}-{n}/p-{p}/min_keep-{min_keep}", (kind, n, 3), one, DIST)
            if p:
                c.add(f"min_p/sorted/{kind}-{n}/p-{p}/min_keep-{min_keep}", (kind, n, 3), step("top_k", k=n), one, DIST)
    for min_keep in (2, 3, 5, 40):
        c.add(f"min_p/more-to-keep-than-pass/min_keep-{min_keep}", ("peaked", 16, 3), step("min_p", p=0.9, min_keep=min_keep),
              DIST)
        c.add(f"min_p/more-to-keep-than-pass/ties/min_keep-{min_keep}", ("ties", 200, 3),
              step("min_p", p=1.05, min_keep=min_keep), DIST)
    c.add("min_p/four/p-1.05", repeated(P4, 4), step("min_p", p=1.05), DIST, seed=42)
    c.add("min_p/masked-1000", ("masked", 1000, 3), step("min_p"), DIST)
    c.add("min_p/after-greedy-temperature", ("ties", 100, 3), step("temperature", temp=0), step("min_p", p=0.05), DIST)
    c.add("min_p/one-candidate", values([0.5], [-7.0]), step("min_p", p=1.05, min_keep=3), DIST)
    c.add("min_p/all-equal", repeated([-2.0] * 100, 3), step("min_p", p=1.0), DIST)
    c.add("min_p/far-below-zero", repeated([-1e30, -3e38, -1e30, "-inf"], 3), step("min_p", p=0.5), DIST)
    c.add("min_p/top-k-before", ("peaked", 1000, 4), step("top_k", k=50), step("min_p", p=0.1), DIST)
    c.add("min_p/penalties-between", ("peaked", 100, 4), step("top_k", k=50), step("penalties", repeat=1.5),
          step("min_p", p=0.1), DIST, prompt=range(90, 100))
    c.add("min_p/uniform-151669", ("uniform", 151669, 2), step("min_p", p=0.05), DIST)


def typ_p(c):
    turn = 0
    for kind, n in [("peaked", 5), ("uniform", 16), ("ties", 17), ("peaked", 129), ("ties", 1000), ("uniform", 1000),
                    ("peaked", 5000)]:
        for p in (0, 0.1, 0.5, 0.9, 0.99, 1.0):
            min_keep = [0, 1, 3, 0, 50][turn % 5]
            turn += 1
            c.add(f"typ_p/{kind}-{n}/p-{p}/min_keep-{min_keep}", (kind, n, 3), step("typ_p", p=p, min_keep=min_keep), DIST)
    third = log(0.4, 0.2, 0.2, 0.2)
    most = log(0.97, 0.01, 0.01, 0.01)
    c.add("typ_p/official-vectors", values(third, most), step("typ_p", p=0.5), DIST)
    c.add("typ_p/official-vectors/with-minus-infinity", values(third + ["-inf"], most + ["-inf"]), step("typ_p", p=0.5),
          DIST)
    c.add("typ_p/nan-entropy/masked-100", ("masked", 100, 4), step("typ_p", p=0.5), DIST)
    c.add("typ_p/nan-entropy/masked-1000", ("masked", 1000, 4), step("typ_p", p=0.9, min_keep=3), DIST)
    c.add("typ_p/nan-entropy/top-n-sigma-before", ("peaked", 1000, 4), step("top_n_sigma", n=1.0), step("typ_p", p=0.7),
          DIST)
    c.add("typ_p/nan-entropy/underflow", values([100.0, -100.0, 99.5, 50.0, -100.0, 99.0],
                                                [0.0, 200.0, 199.0, -1.0, 198.5, 1.0]), step("typ_p", p=0.5), DIST)
    c.add("typ_p/one-candidate", values([0.5], [-7.0]), step("typ_p", p=0.5), DIST)
    c.add("typ_p/all-equal", repeated([-2.0] * 100, 3), step("typ_p", p=0.5), DIST)
    c.add("typ_p/sorted", ("ties", 1000, 3), step("top_k", k=100), step("typ_p", p=0.6), DIST)
    c.add("typ_p/twice", ("peaked", 1000, 3), step("typ_p", p=0.8), step("typ_p", p=0.5), DIST)
    c.add("typ_p/min_keep-above-the-size", ("peaked", 16, 3), step("typ_p", p=0.2, min_keep=300), DIST)
    c.add("typ_p/peaked-32000", ("peaked", 32000, 2), step("typ_p", p=0.6), DIST)


def top_n_sigma(c):
    for kind, n in [("peaked", 1000), ("uniform", 1000), ("masked", 1000), ("ties", 129)]:
        for sigma in (0.3, 1.0, 1.5, 2, 4):
            c.add(f"top_n_sigma/{kind}-{n}/n-{sigma}", (kind, n, 3), step("top_n_sigma", n=sigma), DIST)
    for sigma in (-1, 0):
        c.add(f"top_n_sigma/off/n-{sigma}", ("peaked", 17, 3), step("top_n_sigma", n=sigma), DIST)
    for n in (1, 2, 3, 5):
        c.add(f"top_n_sigma/ties-{n}", ("ties", n, 4), step("top_n_sigma", n=0.8), DIST)
    c.add("top_n_sigma/all-equal", repeated([3.25] * 30, 3), step("top_n_sigma", n=1.0), DIST)
    c.add("top_n_sigma/minus-infinity-first", repeated(["-inf", 3.0, "-inf", 1.0, -4.0, 2.5], 4), step("top_n_sigma", n=0.7),
          DIST)
    c.add("top_n_sigma/wide", repeated([25.0, -40.0, 24.0, 12.0, -1000.0, 20.0], 4), step("top_n_sigma", n=0.5), DIST)
    c.add("top_n_sigma/sorted", ("peaked", 1000, 3), step("top_k", k=200), step("top_n_sigma", n=1.2), DIST)
    c.add("top_n_sigma/twice", ("peaked", 1000, 3), step("top_n_sigma", n=2), step("top_n_sigma", n=1), DIST)
    c.add("top_n_sigma/peaked-32000", ("peaked", 32000, 3), step("top_n_sigma", n=1.0), DIST)
    c.add("top_n_sigma/uniform-262144", ("uniform", 262144, 2), step("top_n_sigma", n=1.5), DIST)


def xtc(c):
    # Seed 42: the first number is 0.37454.
    for probability in (0, 0.37, 0.38, 0.5, 1):
        for threshold in (0, 0.1, 0.5, 0.51):
            c.add(f"xtc/four/probability-{probability}/threshold-{threshold}", repeated(P4, 6),
                  step("xtc", probability=probability, threshold=threshold), DIST, seed=42)
    for min_keep in (1, 2, 3, 4, 5):
        c.add(f"xtc/four/min_keep-{min_keep}", repeated(P4, 6), step("xtc", probability=1, threshold=0.1, min_keep=min_keep),
              DIST, seed=42)
    for n in (16, 129, 1000):
        for probability, threshold in [(0.5, 0.02), (0.7, 0.05), (1, 0.01)]:
            c.add(f"xtc/peaked-{n}/probability-{probability}/threshold-{threshold}", ("peaked", n, 6),
                  step("xtc", probability=probability, threshold=threshold), DIST)
    c.add("xtc/one-candidate", values([0.5], [-7.0], [0.25]), step("xtc", probability=1, threshold=0), DIST)
    # Where one candidate is left xtc draws nothing, so the next row takes the number that this one did not.
    c.add("xtc/one-candidate-then-four", values([9.0, 1.0, 0.0, -1.0], P4, [-5.0, 8.0, 0.5, 0.25], P4, P4),
          step("top_p", p=0.5), step("xtc", probability=0.38), DIST, seed=42)
    c.add("xtc/all-equal", repeated([1.0] * 8, 6), step("xtc", probability=0.5, threshold=0.1), DIST)
    c.add("xtc/threshold-met-exactly", repeated([0.0, 0.0], 4), step("xtc", probability=1, threshold=0.5), DIST)
    c.add("xtc/masked", ("masked", 200, 6), step("xtc", probability=0.6, threshold=0.02), DIST)
    c.add("xtc/sorted", ("peaked", 1000, 6), step("top_k", k=20), step("xtc", probability=0.6, threshold=0.05), DIST)
    c.add("xtc/twice", ("peaked", 100, 6), step("xtc", probability=0.6, threshold=0.05),
          step("xtc", probability=0.8, threshold=0.04), DIST)
    c.add("xtc/then-top-k", ("peaked", 1000, 6), step("xtc", probability=0.7, threshold=0.01), step("top_k", k=5), DIST)
    c.add("xtc/then-logit-bias", ("peaked", 16, 6), step("xtc", probability=0.7, threshold=0.05),
          step("logit_bias", bias=[[i, 0.125 * i] for i in range(16)]), DIST)
    c.add("xtc/then-penalties-and-typ-p", ("peaked", 100, 6), step("xtc", probability=0.7, threshold=0.02),
          step("penalties", repeat=1.2), step("typ_p", p=0.8), DIST, prompt=range(60, 100))


ALL = (top_k, top_p, min_p, typ_p, top_n_sigma, xtc)
