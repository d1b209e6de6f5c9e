"""What the step recorder asks libllama: chains, rows of logits and prompts, each with a name.

`selections`, `truncations` and `logit_changes` have every step alone, `chains` the steps together, `user_cases` what users of
samplers ran into, `vocab_steps` the steps that look into a vocabulary. `requests` and `grammars` are what other recorders ask llama-server.
"""

import random

import numpy as np

import oracle_lib as oracle

DIST = {"type": "dist"}
GREEDY = {"type": "greedy"}


def log(*probabilities):
    """Logits of probabilities, as f32."""
    return [float(str(np.float32(np.log(p)))) for p in probabilities]


# Four candidates of probability 0.50, 0.30, 0.15, 0.05.
P4 = log(0.50, 0.30, 0.15, 0.05)


def step(kind, **parameters):
    return {"type": kind, **parameters}


def values(*rows):
    return {"values": [list(row) for row in rows]}


def repeated(row, count):
    return values(*[row] * count)


class Cases:
    """Collects cases. The seeds of the logits and of the chain come from the name, unless they are given."""

    def __init__(self):
        self.vocab = None  # the value of that key in the cases that want one
        self.by_file = {}
        self.names = set()

    def synthetic(self, name, kind, n_vocab, rows):
        return {"synthetic": {"kind": kind, "seed": oracle.seed_of("logits " + name), "n_vocab": n_vocab, "rows": rows}}

    def add(self, name, logits, *steps, prompt=(), seed=None, vocab=True):
        """`logits` is the value of that key, or (kind, n_vocab, rows) for synthetic ones. `vocab`: a file, or whether there is one."""
        if name in self.names:
            raise ValueError(f"two cases are called {name}")
        self.names.add(name)
        if isinstance(logits, tuple):
            logits = self.synthetic(name, *logits)
        if seed is None:
            seed = oracle.seed_of("chain " + name)
        self.by_file.setdefault(name.split("/")[0], []).append({
            "name": name,
            "source": "libllama b11192",
            "logits": logits,
            **({"vocab": vocab} if isinstance(vocab, dict) else {"vocab": self.vocab} if self.vocab and vocab else {}),
            "prompt": list(prompt),
            "chain": {"seed": seed, "steps": list(steps)},
        })


def random_ids(name, count, upto):
    rng = random.Random(oracle.seed_of("prompt " + name))
    return [rng.randrange(upto) for _ in range(count)]
