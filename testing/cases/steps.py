"""Every step alone, over the edges of its parameters and sets of 1 to 262,144 candidates."""

import random

import oracle_lib as oracle
from . import DIST, GREEDY, P4, log, random_ids, repeated, step, values


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


def temperature(c):
    for kind, n in [("ties", 17), ("peaked", 1000)]:
        for temp in (-1, 0, 1e-3, 0.5, 1, 2, 100):
            c.add(f"temperature/{kind}-{n}/temp-{temp}", (kind, n, 3), step("temperature", temp=temp), DIST)
    for delta in (0.3, 1.0):
        for exponent in (0.5, 1, 2.7):
            for temp in (0.5, 1):
                c.add(f"temperature/dynamic/temp-{temp}/delta-{delta}/exponent-{exponent}", ("peaked", 129, 3),
                      step("temperature", temp=temp, delta=delta, exponent=exponent), DIST)
    c.add("temperature/default", ("uniform", 100, 3), step("temperature"), DIST)
    c.add("temperature/first-of-equals", values([1.0, 3.0, 3.0, 2.0], [2.0, 2.0, 2.0, 2.0], ["-inf", -1.0, -1.0, "-inf"]),
          step("temperature", temp=0), DIST)
    c.add("temperature/zero-draws-still", repeated([1.0, 3.0, 3.0, 2.0], 3), step("temperature", temp=0), DIST, seed=42)
    c.add("temperature/zero-then-more", values([1.0, 3.0, 3.0, 2.0], P4, P4), step("temperature", temp=0),
          step("temperature", temp=0.5), DIST)
    c.add("temperature/delta-negative", ("peaked", 100, 3), step("temperature", temp=0.7, delta=-0.5), DIST)
    c.add("temperature/one-with-delta", ("peaked", 100, 3), step("temperature", temp=1, delta=0.2), DIST)
    c.add("temperature/dynamic/one-candidate", values([0.5], [-7.0]), step("temperature", temp=0.5, delta=0.3), DIST)
    c.add("temperature/dynamic/two-candidates", ("uniform", 2, 5), step("temperature", temp=0.5, delta=0.3), DIST)
    c.add("temperature/dynamic/all-equal", repeated([1.5] * 50, 3), step("temperature", temp=0.8, delta=0.5, exponent=1.7),
          DIST)
    # No entropy and a range that reaches zero: the temperature is 0.
    c.add("temperature/dynamic/no-entropy", repeated([300.0, 0.0, 10.0, -5.0], 3), step("temperature", temp=0.5, delta=1.0),
          DIST)
    c.add("temperature/dynamic/masked", ("masked", 1000, 3), step("temperature", temp=0.8, delta=0.6, exponent=1.3), DIST)
    c.add("temperature/dynamic/ties-sorted", ("ties", 1000, 3), step("temperature", temp=2, delta=1.5, exponent=0.7), DIST)
    c.add("temperature/dynamic/after-top-k", ("peaked", 1000, 3), step("top_k", k=40),
          step("temperature", temp=1, delta=0.7), DIST)
    c.add("temperature/dynamic/exponent-0", ("peaked", 100, 3), step("temperature", temp=1, delta=0.7, exponent=0), DIST)
    c.add("temperature/dynamic/exponent-negative", ("peaked", 100, 3), step("temperature", temp=1, delta=0.7, exponent=-1),
          DIST)
    c.add("temperature/dynamic/peaked-32000", ("peaked", 32000, 2), step("temperature", temp=1, delta=0.5), DIST)
    c.add("temperature/uniform-151669", ("uniform", 151669, 2), step("temperature", temp=0.6), DIST)


def penalties(c):
    for last_n in (1, 2, 5, 20, 64):
        for repeat, freq, present in [(1.1, 0.0, 0.0), (1.5, 0.3, 0.4), (0.5, -0.5, 0.2), (1.0, 0.25, 0.0), (1.0, 0.0, -0.7)]:
            name = f"penalties/last_n-{last_n}/repeat-{repeat}/freq-{freq}/present-{present}"
            c.add(name, ("uniform", 16, 6), step("penalties", last_n=last_n, repeat=repeat, freq=freq, present=present), DIST,
                  prompt=random_ids(name, 20, 16))
    c.add("penalties/no-prompt", ("peaked", 8, 12), step("penalties", repeat=1.3, freq=0.1), DIST)
    c.add("penalties/window-fills-while-drawing", ("peaked", 12, 12), step("penalties", last_n=8, repeat=1.3, freq=0.4), DIST,
          prompt=[3, 3, 4])
    c.add("penalties/all-identical", ("uniform", 8, 5), step("penalties", last_n=30, freq=0.05, present=0.1), DIST,
          prompt=[5] * 40)
    c.add("penalties/counts-leave-the-window", ("uniform", 8, 12), step("penalties", last_n=3, freq=0.5), GREEDY,
          prompt=[6, 6, 7, 6, 6])
    c.add("penalties/zero-logits", repeated([0.0, -0.0, 1.0, -1.0, 0.0], 5), step("penalties", repeat=1.5, present=0.1), DIST,
          prompt=[0, 1, 2, 3])
    c.add("penalties/first-step", values([0.0] * 7 + [3.0]), step("penalties", repeat=1.5), GREEDY, prompt=[7])
    c.add("penalties/minus-infinity", ("masked", 16, 6), step("penalties", repeat=1.4, freq=0.2), DIST, prompt=range(16))
    c.add("penalties/off", ("uniform", 16, 3), step("penalties"), DIST, prompt=[1, 2, 3])
    c.add("penalties/one-candidate", values([0.5], [-7.0], [0.25]), step("penalties", repeat=1.4, freq=0.2), DIST, prompt=[0])
    c.add("penalties/repeat-huge", ("uniform", 16, 4), step("penalties", repeat=1e30), DIST, prompt=[1, 5, 5, 9])
    c.add("penalties/repeat-tiny", ("uniform", 16, 4), step("penalties", repeat=1e-3), DIST, prompt=[1, 5, 5, 9])
    c.add("penalties/still-sorts-again", ("ties", 300, 4), step("top_k", k=200), step("penalties", repeat=1.4, present=0.3),
          step("top_k", k=150), DIST, prompt=range(0, 300, 2))
    c.add("penalties/nothing-in-the-window-clears-sorted", ("ties", 300, 3), step("top_k", k=200),
          step("penalties", last_n=1, repeat=1.4), step("top_k", k=129), DIST)
    c.add("penalties/after-typ-p", ("peaked", 300, 4), step("typ_p", p=0.9), step("penalties", repeat=1.3, freq=0.2),
          step("min_p", p=0.1), DIST, prompt=range(250, 300))
    c.add("penalties/after-xtc", ("peaked", 300, 6), step("xtc", probability=0.5, threshold=0.02),
          step("penalties", repeat=1.3, freq=0.2), DIST, prompt=range(250, 300))
    c.add("penalties/twice", ("peaked", 100, 6), step("penalties", last_n=4, repeat=1.3), step("penalties", last_n=50, freq=0.2),
          DIST, prompt=random_ids("penalties/twice", 60, 100))
    c.add("penalties/uniform-151669", ("uniform", 151669, 2), step("penalties", repeat=1.2, present=0.5), DIST,
          prompt=random_ids("penalties/uniform-151669", 30, 151669))


def dry(c):
    phrase = [1, 2, 3, 4, 1, 2, 3, 5, 1, 2, 3]
    looping = [1, 2, 3, 4, 5] * 8
    for allowed_length in (0, 1, 2, 5):
        for base in (1.0, 1.0000001, 1.1, 1.75, 4):
            c.add(f"dry/allowed_length-{allowed_length}/base-{base}", ("uniform", 8, 6),
                  step("dry", multiplier=0.8, base=base, allowed_length=allowed_length), DIST, prompt=looping[:18])
    for last_n in (1, 2, 3, 6, 11, 40, 200):
        c.add(f"dry/last_n-{last_n}", ("uniform", 8, 6), step("dry", multiplier=0.5, last_n=last_n), DIST, prompt=phrase * 2)
    for name, breakers in [
        ("none", []),
        ("single", [[3]]),
        ("single-never-seen", [[7]]),
        ("single-at-the-end", [[5], [0]]),
        ("last-of-the-prompt", [[2], [3]]),
        ("two-tokens", [[2, 3]]),
        ("three-tokens", [[1, 2, 3]]),
        ("incomplete", [[3, 4]]),
        ("shared-head", [[2], [2, 3], [2, 3, 4]]),
        ("shared-head-longest-wins", [[1, 2, 3], [1, 2], [1]]),
        ("shared-head-none-single", [[1, 2], [1, 4]]),
        ("twice-the-same", [[4], [4], [2, 3], [2, 3]]),
        ("contained", [[1, 2, 3, 4], [2]]),
        ("every-token", [[i] for i in range(8)]),
        ("longer-than-the-history", [[3] + [1] * 60]),
    ]:
        for allowed_length in (0, 2):
            c.add(f"dry/breakers/{name}/allowed_length-{allowed_length}", ("uniform", 8, 5),
                  step("dry", multiplier=1.0, base=1.3, allowed_length=allowed_length, breaker_tokens=breakers), DIST,
                  prompt=phrase + [4] + phrase)
    c.add("dry/all-identical", ("uniform", 8, 5), step("dry", multiplier=0.1, base=1.05, last_n=300), DIST, prompt=[6] * 200)
    c.add("dry/all-identical/greedy", ("peaked", 8, 5), step("dry", multiplier=0.1, base=1.05, last_n=300), GREEDY,
          prompt=[6] * 200)
    c.add("dry/exponent-clamped", ("uniform", 8, 4), step("dry", multiplier=0.001, base=4, last_n=300), DIST, prompt=[6] * 200)
    c.add("dry/exponent-clamped/base-1.75", ("uniform", 8, 4), step("dry", multiplier=1e-30, base=1.75, last_n=400), DIST,
          prompt=[1, 2] * 190)
    c.add("dry/exponent-not-clamped/base-1.0000001", ("uniform", 8, 4), step("dry", multiplier=0.5, base=1.0000001, last_n=300),
          DIST, prompt=[6] * 200)
    c.add("dry/multiplier-negative", ("uniform", 8, 6), step("dry", multiplier=-0.6), DIST, prompt=looping[:13])
    c.add("dry/multiplier-huge", ("uniform", 8, 4), step("dry", multiplier=1e30, base=2), DIST, prompt=looping[:13])
    c.add("dry/off/multiplier-0", ("uniform", 8, 3), step("dry", multiplier=0), DIST, prompt=looping[:13])
    c.add("dry/off/base-0.5", ("uniform", 8, 3), step("dry", multiplier=0.8, base=0.5), DIST, prompt=looping[:13])
    c.add("dry/no-prompt", ("peaked", 4, 12), step("dry", multiplier=0.8, allowed_length=1), DIST)
    c.add("dry/window-fills-while-drawing", ("peaked", 4, 12), step("dry", multiplier=0.8, allowed_length=1, last_n=6), DIST)
    c.add("dry/two-tokens-only", ("uniform", 2, 12), step("dry", multiplier=0.4, base=1.2), DIST, prompt=[0, 1, 0, 1, 0])
    c.add("dry/one-token-in-the-window", ("uniform", 8, 4), step("dry", multiplier=0.8, allowed_length=0, last_n=1), DIST,
          prompt=[3, 4])
    for number in range(8):
        name = f"dry/random-history/{number}"
        rng = random.Random(oracle.seed_of("dry " + name))
        few = rng.choice([2, 3, 4])
        breakers = [[rng.randrange(few) for _ in range(rng.choice([1, 2, 3]))] for _ in range(rng.choice([0, 1, 2]))]
        c.add(name, ("uniform", 6, 5),
              step("dry", multiplier=round(rng.uniform(0.1, 2), 3), base=round(rng.uniform(1, 2), 3),
                   allowed_length=rng.choice([0, 1, 2, 3]), last_n=rng.choice([10, 30, 64]), breaker_tokens=breakers), DIST,
              prompt=random_ids(name, 60, few))
    c.add("dry/clears-sorted", ("ties", 300, 3), step("top_k", k=200), step("dry", multiplier=0.8), step("top_k", k=129), DIST,
          prompt=looping)
    c.add("dry/too-short-to-clear-sorted", ("ties", 300, 3), step("top_k", k=200), step("dry", multiplier=0.8, allowed_length=9),
          step("top_k", k=129), DIST, prompt=[1, 2])
    c.add("dry/after-top-k", ("ties", 32, 4), step("top_k", k=16), step("dry", multiplier=2.5, breaker_tokens=[[9]]), GREEDY,
          prompt=[i % 8 for i in range(40)])
    c.add("dry/after-typ-p-and-xtc", ("peaked", 32, 6), step("typ_p", p=0.95), step("xtc", probability=0.4, threshold=0.05),
          step("dry", multiplier=1.5, allowed_length=1), DIST, prompt=[24 + i % 8 for i in range(30)])
    c.add("dry/peaked-32000", ("peaked", 32000, 3), step("dry", multiplier=0.8), DIST,
          prompt=random_ids("dry/peaked-32000", 20, 32000) * 2)


def logit_bias(c):
    some = [[3, 2.5], [7, -1.25], [0, 0.1]]
    c.add("logit_bias/in-place", ("uniform", 16, 4), step("logit_bias", bias=some), DIST)
    c.add("logit_bias/duplicates-in-place", ("uniform", 16, 4), step("logit_bias", bias=[[5, 1.1], [5, 2.2], [4, 1], [5, -0.3]]),
          DIST)
    c.add("logit_bias/duplicates-shuffled", ("uniform", 16, 4), step("top_k", k=16),
          step("logit_bias", bias=[[i, b] for b in (1.1, 2.2, -0.3) for i in (5, 4, 12)]), DIST)
    c.add("logit_bias/shuffled", ("uniform", 16, 4), step("top_k", k=10), step("logit_bias", bias=some), DIST)
    c.add("logit_bias/shuffled/every-id", ("ties", 64, 4), step("top_k", k=40),
          step("logit_bias", bias=[[i, ((i * 7) % 16) / 8 - 1] for i in range(64)]), DIST)
    c.add("logit_bias/sorted-stays-set", ("peaked", 64, 4), step("top_k", k=20),
          step("logit_bias", bias=[[i, 6.0 if i % 3 else -6.0] for i in range(64)]), step("top_k", k=10), DIST)
    c.add("logit_bias/minus-infinity", ("uniform", 16, 4), step("logit_bias", bias=[[3, "-inf"], [4, "-inf"], [15, 3]]), DIST)
    c.add("logit_bias/minus-infinity-shuffled", ("uniform", 16, 4), step("typ_p", p=0.999),
          step("logit_bias", bias=[[i, "-inf"] for i in range(0, 16, 2)] + [[2, 5]]), DIST)
    c.add("logit_bias/infinity-of-a-cut-candidate", repeated([4.0, 3.0, 2.0, -1.0], 3), step("top_k", k=3),
          step("logit_bias", bias=[[3, "inf"], [1, 0.5]]), DIST)
    c.add("logit_bias/of-cut-candidates", ("peaked", 100, 4), step("top_k", k=5),
          step("logit_bias", bias=[[i, 1.5] for i in range(0, 100, 9)]), DIST)
    c.add("logit_bias/empty", ("uniform", 16, 3), step("logit_bias", bias=[]), DIST)
    c.add("logit_bias/twice", ("uniform", 16, 3), step("logit_bias", bias=[[1, 4]]), step("logit_bias", bias=[[1, -1.5], [2, 3]]),
          DIST)
    c.add("logit_bias/after-penalties", ("uniform", 16, 5), step("penalties", repeat=1.3), step("logit_bias", bias=some), DIST,
          prompt=[3, 7, 0, 3])
    c.add("logit_bias/after-min-p", ("uniform", 16, 4), step("min_p", p=0.2), step("logit_bias", bias=some + [[1, 1], [2, 2]]),
          DIST)
    c.add("logit_bias/on-minus-infinity", ("masked", 16, 4), step("logit_bias", bias=[[i, 2] for i in range(16)]), DIST)
    c.add("logit_bias/sum-in-list-order", repeated([0.1, 0.2, 0.3], 3),
          step("logit_bias", bias=[[1, 1e8], [1, -1e8], [1, 0.7], [2, 0.1], [2, 0.1], [2, 0.1]]), DIST)
    c.add("logit_bias/first-and-last", ("uniform", 1000, 3), step("logit_bias", bias=[[0, 8], [999, 8.5]]), DIST)
    c.add("logit_bias/uniform-262144", ("uniform", 262144, 2), step("logit_bias", bias=[[262143, 12], [7, "-inf"]]), DIST)


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


ALL = (dist, greedy, top_k, top_p, min_p, typ_p, top_n_sigma, xtc, temperature, penalties, dry, logit_bias, mirostat, mirostat_v2,
       adaptive_p)
