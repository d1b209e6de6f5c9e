"""The steps that change logits, alone, over the edges of their parameters."""

import random

import oracle_lib as oracle
from . import DIST, GREEDY, P4, random_ids, repeated, step, values


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


ALL = (temperature, penalties, dry, logit_bias)
