"""The steps together: stock and custom orders, repeated steps, nested chains, random chains."""

import random

import oracle_lib as oracle
from . import DIST, GREEDY, random_ids, step, values

STOCK = [step("penalties", repeat=1.1), step("dry", multiplier=0.8, breaker_tokens=[[1]]), step("top_n_sigma", n=2.0),
         step("top_k"), step("typ_p", p=0.95), step("top_p"), step("min_p"), step("xtc", probability=0.3),
         step("temperature"), DIST]


def chains(c):
    for kind, n in [("peaked", 64), ("masked", 1000), ("ties", 5000), ("peaked", 32000), ("peaked", 151669)]:
        name = f"chains/stock/{kind}-{n}"
        c.add(name, (kind, n, 3 if n > 5000 else 6), *STOCK, prompt=random_ids(name, 40, min(n, 64)))
    c.add("chains/stock/reversed", ("peaked", 1000, 6), *STOCK[-2::-1], DIST, prompt=random_ids("chains/reversed", 40, 64))
    c.add("chains/dist-only", ("uniform", 1000, 4), DIST)
    c.add("chains/top-k-temperature-top-k", ("ties", 1000, 5), step("top_k", k=100), step("temperature", temp=1.3),
          step("top_k", k=5), DIST)
    c.add("chains/temperature-twice", ("peaked", 1000, 5), step("temperature", temp=2), step("min_p", p=0.02),
          step("temperature", temp=0.4), DIST)
    c.add("chains/temperature-first", ("peaked", 1000, 5), step("temperature", temp=1.8), step("top_k", k=60),
          step("top_p", p=0.8), step("min_p", p=0.1), DIST)
    c.add("chains/temperature-last", ("peaked", 1000, 5), step("top_k", k=60), step("top_p", p=0.8), step("min_p", p=0.1),
          step("temperature", temp=1.8), DIST)
    c.add("chains/zero-temperature-first", ("ties", 300, 4), step("temperature", temp=0), step("top_k", k=20),
          step("top_p", p=0.9), step("min_p", p=0.1), DIST)
    c.add("chains/penalties-last", ("peaked", 200, 6), step("top_k", k=40), step("min_p", p=0.02), step("temperature", temp=0.9),
          step("penalties", repeat=1.5, freq=0.3), DIST, prompt=range(150, 200))
    c.add("chains/dry-last", ("peaked", 16, 8), step("top_p", p=0.95), step("temperature", temp=1.5),
          step("dry", multiplier=1.2, allowed_length=1), DIST, prompt=[15, 14, 13, 12] * 4)
    c.add("chains/bias-everywhere", ("uniform", 64, 5), step("logit_bias", bias=[[1, 3], [2, -3]]), step("top_k", k=30),
          step("logit_bias", bias=[[i, 0.5] for i in range(0, 64, 3)]), step("typ_p", p=0.9),
          step("logit_bias", bias=[[i, -0.5] for i in range(0, 64, 2)]), DIST)
    c.add("chains/sigma-then-typical", ("peaked", 1000, 5), step("top_n_sigma", n=1.5), step("typ_p", p=0.5), step("top_p", p=0.9),
          DIST)
    c.add("chains/sigma-top-k-typical", ("peaked", 1000, 5), step("top_n_sigma", n=0.5), step("top_k", k=300),
          step("typ_p", p=0.5), step("min_p", p=0.1), DIST)
    c.add("chains/sigma-then-dynamic-temperature", ("peaked", 1000, 5), step("top_n_sigma", n=1.0),
          step("temperature", temp=0.8, delta=0.5, exponent=1.2), step("xtc", probability=0.5), DIST)
    c.add("chains/sigma-then-min-p", ("uniform", 1000, 5), step("top_n_sigma", n=0.4), step("min_p", p=1e-6, min_keep=700), DIST)
    c.add("chains/sigma-then-adaptive", ("peaked", 100, 6), step("top_n_sigma", n=1.0), step("adaptive_p", target=0.2))
    c.add("chains/xtc-first", ("peaked", 1000, 6), step("xtc", probability=0.5, threshold=0.005), step("top_k", k=20),
          step("top_p", p=0.7), step("temperature", temp=1.4), DIST)
    c.add("chains/xtc-in-the-middle", ("peaked", 1000, 6), step("top_k", k=50), step("xtc", probability=0.5, threshold=0.03),
          step("top_p", p=0.7), step("xtc", probability=0.9, threshold=0.05), DIST)
    c.add("chains/xtc-then-dynamic-temperature", ("peaked", 100, 6), step("xtc", probability=0.6, threshold=0.02),
          step("temperature", temp=1, delta=0.5), DIST)
    c.add("chains/xtc-then-mirostat", ("peaked", 100, 6), step("xtc", probability=0.6, threshold=0.02), step("mirostat", tau=3))
    c.add("chains/xtc-then-adaptive", ("peaked", 100, 6), step("xtc", probability=0.6, threshold=0.02),
          step("adaptive_p", target=0.1))
    c.add("chains/min-keep-everywhere", ("peaked", 1000, 5), step("top_k", k=1000), step("typ_p", p=0.01, min_keep=30),
          step("top_p", p=0.01, min_keep=20), step("min_p", p=1, min_keep=10), step("xtc", probability=1, threshold=0.01,
                                                                                    min_keep=5), DIST)
    c.add("chains/top-p-twice", ("uniform", 5000, 4), step("top_p", p=0.9), step("top_p", p=0.5), DIST)
    c.add("chains/min-p-then-top-p-large", ("uniform", 5000, 4), step("min_p", p=0.001), step("top_p", p=0.6), DIST)
    c.add("chains/min-p-twice", ("uniform", 900, 4), step("min_p", p=0.01), step("min_p", p=0.2), DIST)
    c.add("chains/everything-off", ("uniform", 100, 4), step("penalties"), step("dry"), step("top_n_sigma"), step("top_k", k=0),
          step("typ_p"), step("top_p", p=1), step("min_p", p=0), step("xtc"), step("temperature", temp=1), DIST)
    without_breakers = [{**s, "breaker_tokens": []} if s["type"] == "dry" else s for s in STOCK]
    c.add("chains/one-candidate", values([0.5], [-7.0], [0.25]), *without_breakers, prompt=[0, 0])
    c.add("chains/two-candidates", ("uniform", 2, 8), *STOCK, prompt=[0, 1, 0, 1, 0])

    inner = step("chain", steps=[step("top_k", k=50), step("temperature", temp=0.7)])
    c.add("chains/nested", ("ties", 1000, 5), inner, DIST)
    c.add("chains/nested/two", ("peaked", 1000, 5), step("penalties", repeat=1.2), inner,
          step("chain", steps=[step("min_p", p=0.1), step("xtc", probability=0.5, threshold=0.05)]), DIST,
          prompt=range(980, 1000))
    c.add("chains/nested/deep", ("peaked", 1000, 5),
          step("chain", steps=[step("chain", steps=[step("chain", steps=[step("top_k", k=20)]), step("typ_p", p=0.8)])]), DIST)
    c.add("chains/nested/empty", ("peaked", 100, 4), step("chain", steps=[]), DIST)
    c.add("chains/nested/selects", ("peaked", 1000, 5), step("top_k", k=40), step("chain", steps=[step("min_p", p=0.1), DIST]))
    c.add("chains/nested/history", ("peaked", 16, 8), step("chain", steps=[step("penalties", last_n=5, repeat=1.4),
                                                                          step("dry", multiplier=0.7, allowed_length=1)]),
          step("chain", steps=[step("adaptive_p", target=0.3)]), prompt=[12, 13, 14, 15] * 3)
    c.add("chains/nested/mirostat", ("peaked", 300, 8), step("temperature", temp=1.5),
          step("chain", steps=[step("mirostat", tau=3, eta=0.4)]))

    for number in range(60):
        random_chain(c, number)


def random_chain(c, number):
    """A chain of two to six steps in any order, repeated steps included."""
    name = f"chains/random/{number}"
    rng = random.Random(oracle.seed_of("random chain " + name))

    def real(low, high):
        return round(rng.uniform(low, high), 3)

    kind = rng.choice(["uniform", "peaked", "peaked", "ties", "masked"])
    n = rng.choice([16, 17, 100, 128, 129, 300, 1000, 1000, 1024, 1025, 3000])
    min_keep = rng.choice([0, 0, 0, 1, 3])
    few = min(n, 12)
    makers = [
        lambda: step("penalties", last_n=rng.choice([4, 20, 64]), repeat=real(0.8, 1.6), freq=real(-0.2, 0.5),
                     present=real(-0.2, 0.5)),
        lambda: step("dry", multiplier=real(0.2, 1.5), base=real(1.1, 2), allowed_length=rng.choice([1, 2, 3]),
                     breaker_tokens=[[rng.randrange(few)]]),
        lambda: step("top_n_sigma", n=real(0.5, 3)),
        lambda: step("top_k", k=rng.choice([5, 40, 100, 129, 200, 500])),
        lambda: step("typ_p", p=real(0.3, 0.99), min_keep=min_keep),
        lambda: step("top_p", p=real(0.3, 0.99), min_keep=min_keep),
        lambda: step("min_p", p=real(0.001, 0.3), min_keep=min_keep),
        lambda: step("xtc", probability=real(0.2, 1), threshold=real(0.005, 0.2), min_keep=min_keep),
        lambda: step("temperature", temp=real(0.3, 2)),
        lambda: step("temperature", temp=real(0.5, 1.5), delta=real(0.1, 0.8), exponent=real(0.5, 2)),
        lambda: step("logit_bias", bias=[[rng.randrange(n), real(-4, 4)] for _ in range(4)]),
    ]
    steps = [rng.choice(makers)() for _ in range(rng.randint(2, 6))]
    last = rng.choice([DIST, DIST, DIST, GREEDY, step("mirostat", tau=real(1, 5)), step("mirostat_v2", tau=real(1, 5)),
                       step("adaptive_p", target=real(0.05, 0.8), decay=real(0.1, 0.99))])
    prompt = [rng.randrange(few) for _ in range(rng.choice([0, 10, 30]))]
    c.add(name, (kind, n, 5), *steps, last, prompt=prompt)
