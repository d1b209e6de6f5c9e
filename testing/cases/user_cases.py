"""What users of samplers ran into, case by case: the names begin with the number that the project's tests give a case."""

from . import DIST, GREEDY, P4, log, repeated, step, values

# Logits that are easy to follow by eye, for eight tokens.
EIGHT = [1.0, -1.0, 0.0, 2.0, -2.0, 4.0, 8.0, 3.0]


def user_cases(c):
    # 2: XTC's coin comes from the seed.
    for probability in (0.37, 0.38):
        c.add(f"user_cases/2/xtc-{probability}", values(P4), step("xtc", probability=probability), DIST, seed=42)

    # 3: a single candidate takes its number, too. min-p leaves one of the first row and all of the others.
    c.add("user_cases/3/one-then-four", values([9.0, -9.0, -9.0, -9.0], P4, P4), step("min_p", p=0.01), DIST, seed=42)

    # 4: -2 is a seed like any other.
    c.add("user_cases/4/seed-minus-two", repeated(P4, 8), DIST, seed=4294967294)

    # 11: mirostat 2 starts at mu = 2 tau and keeps it from draw to draw.
    c.add("user_cases/11/mirostat_v2", repeated(P4, 8), step("mirostat_v2", tau=1), seed=42)
    c.add("user_cases/11/mirostat", repeated(P4, 8), step("mirostat", tau=1), seed=42)

    # 13: every step runs alone, an empty list draws from everything, a step may be repeated.
    alone = [step("penalties", repeat=1.5), step("dry", multiplier=0.8), step("top_n_sigma", n=1.0), step("top_k", k=2),
             step("typ_p", p=0.5), step("top_p", p=0.5), step("min_p", p=0.2), step("xtc", probability=1.0),
             step("temperature", temp=0.5), step("logit_bias", bias=[[3, 2.5]])]
    for one in alone:
        c.add(f"user_cases/13/alone/{one['type']}", repeated(P4, 4), one, DIST, prompt=[0, 1, 0, 1], seed=42)
    c.add("user_cases/13/nothing-but-the-draw", repeated(P4, 4), DIST, seed=42)
    c.add("user_cases/13/repeated", ("peaked", 1000, 6), step("top_k", k=100), step("temperature", temp=1.3), step("top_k", k=5),
          DIST)

    # 15: a window of 0 is off and leaves a sorted set sorted.
    c.add("user_cases/15/no-window", values(EIGHT), step("top_k", k=8), step("penalties", last_n=0, repeat=2), DIST, prompt=[5])

    # 16: the prompt is in the window on the very first draw.
    c.add("user_cases/16/prompt", values(EIGHT), step("penalties", repeat=1.5), GREEDY, prompt=[7])

    # 18: the window is the last n, and counts what is in it.
    c.add("user_cases/18/last-two", values(EIGHT), step("penalties", last_n=2, freq=1), GREEDY, prompt=[5, 6, 7])
    c.add("user_cases/18/counts", values(EIGHT), step("penalties", last_n=2, freq=1), GREEDY, prompt=[6, 6, 7])

    # 20: DRY's range of 0 is off.
    c.add("user_cases/20/no-range", values(EIGHT), step("top_k", k=8), step("dry", multiplier=1, last_n=0), DIST, prompt=[5] * 9)

    # 27: k of 0 and below leaves the set unsorted, and a large k sorts all of it.
    for k in (-5, 0, 10):
        c.add(f"user_cases/27/k{k}", values(P4), step("top_k", k=k), DIST, seed=42)

    # 30: min_keep, p of 0, p above 1.
    c.add("user_cases/30/top_p-min_keep", values(P4), step("top_p", p=0.4, min_keep=3), DIST, seed=42)
    c.add("user_cases/30/top_p-0", values(P4), step("top_p", p=0), DIST, seed=42)
    c.add("user_cases/30/min_p-1", values(P4), step("min_p", p=1), DIST, seed=42)
    c.add("user_cases/30/min_p-1.05", values(P4), step("min_p", p=1.05), DIST, seed=42)

    # 31: XTC with the coin forced.
    for threshold, min_keep in ((0.1, 0), (0, 0), (0.51, 0), (0.1, 3)):
        c.add(f"user_cases/31/threshold-{threshold}-min_keep-{min_keep}", values(P4),
              step("xtc", probability=1, threshold=threshold, min_keep=min_keep), DIST, seed=42)

    # 32: typical-p, without and with a candidate of probability 0.
    flat, peak = [0.4, 0.2, 0.2, 0.2], [0.97, 0.01, 0.01, 0.01]
    for name, probabilities in (("flat", flat), ("peak", peak)):
        c.add(f"user_cases/32/{name}", values(log(*probabilities)), step("typ_p", p=0.5), DIST, seed=42)
        c.add(f"user_cases/32/{name}-and-masked", values(log(*probabilities) + ["-inf"]), step("typ_p", p=0.5),
              DIST, seed=42)

    # 33: at temperature 0 the first maximum wins, and the draw still takes a number.
    c.add("user_cases/33/zero", values([1.0, 3.0, 3.0, 2.0], P4), step("temperature", temp=0), DIST, seed=42)

    # 37: two biases of one token add up; -infinity bans.
    c.add("user_cases/37/sum", values(P4 + [0.0, 0.0]), step("logit_bias", bias=[[5, 1], [5, 2]]), DIST, seed=42)
    c.add("user_cases/37/ban", values(P4 + [9.0]), step("logit_bias", bias=[[4, "-inf"]]), DIST, seed=42)

    # DRY's power may leave an f32: at a base of 2 the limit of its exponent is one too high, and the logit becomes -infinity.
    c.add("user_cases/dry/base-2", values(EIGHT), step("dry", multiplier=1, base=2, last_n=1000), GREEDY, prompt=[5] * 300)
    c.add("user_cases/dry/base-1.75", values(EIGHT), step("dry", multiplier=1, base=1.75, last_n=1000), GREEDY, prompt=[5] * 300)

    # A penalty after a sort: the next step sorts again.
    c.add("user_cases/penalty-after-sort", values(EIGHT), step("top_k", k=8), step("penalties", repeat=4), step("top_p", p=0.9),
          DIST, prompt=[6])
