"""Records what the steps that bind a chain do: suppress_tokens, min_new_tokens, sequence_bias, protect, switch.

The first three are asked of Hugging Face transformers: SuppressTokensLogitsProcessor, MinNewTokensLengthLogitsProcessor,
SequenceBiasLogitsProcessor and, where every bias is -infinity, NoBadWordsLogitsProcessor. They work on the whole vocabulary, with
-infinity for what a step before has removed. `protect` and `switch` have no reference: they are written here once more, in
plain Python, from what they are to do. So is what stands around and inside them, as far as its arithmetic is exact: top_k,
logit_bias, temperature, greedy, the rows of equals that dist is asked for, XTC at clear margins, penalties of whole numbers.

Each case is a chain as a chain file writes it, rows of logits, and a prompt; after each step it is written down which candidates
are left, in order, with their logits. testing/data/steps-<step>.jsonl.

From the root of the repository, with a Python that has torch, transformers and numpy:
    python testing/record_community_constraints.py [--out testing/data]
"""

import argparse
import itertools
import json
import pathlib
import struct

import numpy as np
import torch
import transformers
from transformers.generation import logits_process as hf

import oracle_lib as oracle
from cases import Cases, constraints

INF = float("inf")
VERSIONS = f"transformers {transformers.__version__}"
TORCH = f"(torch {torch.__version__.split('+')[0]})"
OWN = f"own definition of sampler-chain 0.1.0, written once more in Python (numpy {np.__version__})"
MARGIN = 1e-4  # how far a probability is from a threshold, relatively


class Set:
    """The candidates: [id, logit, p], in order; whether they are sorted; the place of the selected one."""

    def __init__(self, row):
        self.cands = [[i, np.float32(x), np.float32(0)] for i, x in enumerate(row)]
        self.sorted, self.selected, self.is_exact = False, None, True

    def digest(self, with_p):
        parts = [struct.pack("<if", i, x) + (struct.pack("<f", p) if with_p else b"") for i, x, p in self.cands]
        return oracle.digest(b"".join(parts))

    def sort(self, kept=None):
        """By falling logit. Equal ones stand as the C++ library likes: among the first `kept` and behind them there are none,
        but for up to 16, which it leaves in order."""
        self.cands.sort(key=lambda cand: -cand[1])
        self.sorted = True
        logits = [x for _, x, _ in self.cands[:kept and kept + 1]]
        assert len(set(logits)) == len(logits) or len(self.cands) <= 16, "the order of ties is not known here"

    def best(self):
        """The place of the first of the largest logits."""
        return max(range(len(self.cands)), key=lambda i: (self.cands[i][1], -i))


class History:
    def __init__(self):
        self.tokens, self.n_prompt = [], 0

    def push(self, token, is_prompt):
        self.tokens.append(token)
        if is_prompt:
            self.n_prompt = len(self.tokens)


# ------------------------------------------------------------------------------------------------ llama.cpp's, where exact


class Step:
    selects = False
    inner = ()

    def __init__(self, parameters, seed, vocab, n_vocab):
        self.parameters, self.seed, self.vocab, self.n_vocab = parameters, seed, vocab, n_vocab
        self.prepare(**{key: value for key, value in parameters.items() if key != "type"})

    def prepare(self):
        pass

    def accept(self, token, history, is_prompt):
        pass

    def is_off(self):
        return False

    def make(self, steps):
        return [KINDS[inner["type"]](inner, self.seed, self.vocab, self.n_vocab) for inner in steps]


class TopK(Step):
    def prepare(self, k):
        self.k = k

    def apply(self, cands, history):
        if not cands.sorted:
            cands.sort(self.k)
        del cands.cands[self.k:]


class LogitBias(Step):
    def prepare(self, bias):
        self.bias = {token: np.float32(oracle.read_f32(bias)) for token, bias in bias}
        assert len(self.bias) == len(bias)

    def apply(self, cands, history):
        for cand in cands.cands:
            if cand[0] in self.bias:
                cand[1] = np.float32(cand[1] + self.bias[cand[0]])

    def is_off(self):
        return not self.bias


class Temperature(Step):
    def prepare(self, temp):
        assert temp > 0
        self.temp = np.float32(temp)

    def apply(self, cands, history):
        for cand in cands.cands:
            cand[1] = np.float32(cand[1] / self.temp)


class Penalties(Step):
    """Frequency and presence alone, over a window that nothing leaves."""

    def prepare(self, last_n, repeat, freq, present):
        assert repeat == 1
        self.last_n, self.freq, self.present = last_n, freq, present

    def apply(self, cands, history):
        assert len(history.tokens) <= self.last_n
        for cand in cands.cands:
            count = history.tokens.count(cand[0])
            if count:
                cand[1] = np.float32(cand[1] - np.float32(count * self.freq + self.present))
        cands.sorted = False


class Xtc(Step):
    """With a chance of 1. Its p's come from another exp than llama.cpp's, so that no final set is written down."""

    def prepare(self, probability, threshold):
        assert probability == 1.0
        self.threshold = threshold

    def apply(self, cands, history):
        cands.is_exact = False
        if len(cands.cands) < 2:
            return
        cands.sort()
        p = np.exp(np.array([x for _, x, _ in cands.cands], dtype=np.float64))
        p /= p.sum()
        assert (abs(p / self.threshold - 1) > MARGIN).all()
        top = int((p >= self.threshold).sum())
        del cands.cands[:max(top - 1, 0)]


class Greedy(Step):
    selects = True

    def apply(self, cands, history):
        cands.selected = cands.best()


class Dist(Step):
    """Over equal candidates, a power of two of them, and -infinity: a double of std::mt19937, low word first, picks."""

    selects = True

    def prepare(self):
        self.generator = oracle.mt19937(self.seed)

    def apply(self, cands, history):
        low, high = (int(x) for x in self.generator.random_raw(2))
        u = (float(low) + float(high) * 2.0**32) / 2.0**64
        likely = [i for i, cand in enumerate(cands.cands) if cand[1] > -INF]
        n = len(likely)
        assert n & (n - 1) == 0 and len({cands.cands[i][1] for i in likely}) == 1
        for cand in cands.cands:
            cand[2] = np.float32(1 / n if cand[1] > -INF else 0)
        cands.selected = next(place for nth, place in enumerate(likely) if nth + 1 >= u * n)


class Nested(Step):
    def prepare(self, steps):
        self.steps = self.make(steps)

    def each(self):
        """Its steps one by one, those of chains inside it, too."""
        for inner in self.steps:
            yield from inner.each() if isinstance(inner, Nested) else [inner]

    def apply(self, cands, history):
        for inner in self.steps:
            inner.apply(cands, history)

    def accept(self, token, history, is_prompt):
        for inner in self.steps:
            inner.accept(token, history, is_prompt)

    def is_off(self):
        return all(inner.is_off() for inner in self.steps)


# ------------------------------------------------------------------------------------------------ transformers'


class Processor(Step):
    """A logits processor of transformers over the whole vocabulary."""

    def run(self, processor, cands, history):
        row = torch.full((1, self.n_vocab), -INF, dtype=torch.float32)
        for i, x, _ in cands.cands:
            assert x != 0 or not np.signbit(x), "the reference adds 0 to -0"
            row[0, i] = float(x)
        told = processor(torch.tensor([history.tokens], dtype=torch.long), row)[0].numpy()
        self.take(told, cands)

    def take(self, told, cands):
        new = [np.float32(told[cand[0]]) for cand in cands.cands]
        if all(x == -INF for x in new):
            # Our own rule: what was the most likely one stays. These cases are called `own`.
            best = cands.best()
            new[best] = cands.cands[best][1]
            self.is_own = True
        for cand, x in zip(cands.cands, new):
            cand[1] = x


class SuppressTokens(Processor):
    def prepare(self, tokens):
        self.tokens = tokens

    def apply(self, cands, history):
        if self.tokens:
            self.run(hf.SuppressTokensLogitsProcessor(self.tokens), cands, history)
            cands.sorted = False

    def is_off(self):
        return not self.tokens


class MinNewTokens(Processor):
    def prepare(self, n, tokens=None):
        self.n, self.tokens = n, self.vocab["eog"] if tokens is None else tokens

    def apply(self, cands, history):
        if len(history.tokens) - history.n_prompt < self.n and self.tokens:
            cands.sorted = False
        self.run(hf.MinNewTokensLengthLogitsProcessor(history.n_prompt, self.n, self.tokens), cands, history)

    def is_off(self):
        return self.n == 0


class SequenceBias(Processor):
    def prepare(self, bias):
        self.bias = [[sequence, float(oracle.read_f32(bias))] for sequence, bias in bias]

    def apply(self, cands, history):
        if not self.bias:
            return
        if all(bias == -INF for _, bias in self.bias):
            processor = hf.NoBadWordsLogitsProcessor([sequence for sequence, _ in self.bias])
        else:
            processor = hf.SequenceBiasLogitsProcessor(self.bias)
        self.run(processor, cands, history)
        tokens = history.tokens
        ends = [sequence[:-1] for sequence, _ in self.bias]
        if any(tokens[len(tokens) - len(end):] == end for end in ends if len(end) <= len(tokens)):
            cands.sorted = False

    def is_off(self):
        return not self.bias


# ------------------------------------------------------------------------------------------------ without a reference


class Protect(Step):
    """What is listed and above -infinity before a step inside is as it was if the step has removed or masked it."""

    def prepare(self, steps, tokens=(), eog=False, pieces=()):
        self.listed = set(tokens)
        if eog:
            self.listed.update(self.vocab["eog"])
        for piece in pieces:
            found = [i for i, known in enumerate(self.vocab["pieces_hex"]) if bytes.fromhex(known) == piece.encode()]
            assert found
            self.listed.update(found)
        self.chain = Nested({"type": "chain", "steps": steps}, self.seed, self.vocab, self.n_vocab)

    def apply(self, cands, history):
        for inner in self.chain.each():
            before = {i: [i, x, p] for i, x, p in cands.cands if i in self.listed and x > -INF}
            inner.apply(cands, history)
            for cand in cands.cands:
                kept = before.pop(cand[0], None)
                if kept and cand[1] == -INF:
                    cand[1] = kept[1]
                    cands.sorted = False
            for i in sorted(before):
                cands.cands.append(before[i])
                cands.sorted = False

    def accept(self, token, history, is_prompt):
        self.chain.accept(token, history, is_prompt)

    def is_off(self):
        return self.chain.is_off()


def drawing(chain):
    for step in chain.each():
        if isinstance(step, Switch):
            yield from step.drawing()
        elif hasattr(step, "generator"):
            yield [step]


class Switch(Step):
    """The first chain until one of `after` has been seen, the second until one of `back` has."""

    def prepare(self, first, second, after=(), back=(), sees_prompt=False, generators="separate"):
        self.chains = [Nested({"type": "chain", "steps": steps}, self.seed, self.vocab, self.n_vocab)
                       for steps in (first, second)]
        self.ends = [after, back]
        self.sees_prompt, self.running, self.seen = sees_prompt, 0, []
        self.is_shared = generators == "shared"
        for together in self.drawing() if self.is_shared else []:
            # One object for the n-th step that draws (a dist), in chains inside, too.
            for step in together:
                step.generator = together[0].generator

    def drawing(self):
        """The steps that draw, each with those that share its generator."""
        first, second = [list(drawing(chain)) for chain in self.chains]
        if not self.is_shared:
            return first + second
        return [one + other for one, other in itertools.zip_longest(first, second, fillvalue=[])]

    def apply(self, cands, history):
        self.chains[self.running].apply(cands, history)

    def accept(self, token, history, is_prompt):
        for chain in self.chains:
            chain.accept(token, history, is_prompt)
        if is_prompt and not self.sees_prompt:
            self.seen = []
            return
        self.seen.append(token)
        if any(end and self.seen[-len(end):] == end for end in self.ends[self.running]):
            self.running, self.seen = 1 - self.running, []

    def is_off(self):
        return all(chain.is_off() for chain in self.chains)


KINDS = {
    "chain": Nested, "dist": Dist, "greedy": Greedy, "logit_bias": LogitBias, "min_new_tokens": MinNewTokens,
    "penalties": Penalties, "protect": Protect, "sequence_bias": SequenceBias, "suppress_tokens": SuppressTokens,
    "switch": Switch, "temperature": Temperature, "top_k": TopK, "xtc": Xtc,
}
NAMES = {"temperature": "temp"}


def replay(case, vocab):
    rows = list(oracle.logits_rows(case["logits"]))
    chain = Nested({"type": "chain", "steps": case["chain"]["steps"]}, case["chain"]["seed"], vocab, len(rows[0]))
    history = History()
    for token in case["prompt"]:
        history.push(token, True)
        chain.accept(token, history, True)
    tokens, finals, steps = [], [], []
    is_exact, is_own = True, False
    for row in rows:
        cands, told = Set(row), []
        for step in chain.each():
            step.apply(cands, history)
            kind = step.parameters["type"]
            name = NAMES.get(kind, kind.replace("_", "-"))
            told.append({"step": ("?" if step.is_off() else "") + name, "size": len(cands.cands),
                         "sorted": cands.sorted, "digest": cands.digest(False)})
            is_own |= getattr(step, "is_own", False)
        is_exact &= cands.is_exact
        token = cands.cands[cands.selected][0]
        history.push(token, False)
        chain.accept(token, history, False)
        tokens.append(token)
        steps.append(told)
        finals.append({"size": len(cands.cands), "sorted": cands.sorted, "selected": cands.selected,
                       "digest": cands.digest(True)})
    expect = {"tokens": tokens, "final": finals, "steps": steps}
    if not is_exact:
        del expect["final"]
    elif case["name"].startswith("switch/"):
        # One of the two says all of these, and their rows are many.
        del expect["steps" if "/dist/" in case["name"] else "final"]
    return expect, is_own


def source(case, is_own):
    kind, name = case["name"].split("/", 1)
    if kind in ("protect", "switch"):
        return OWN
    reference = {
        "suppress_tokens": "SuppressTokensLogitsProcessor",
        "min_new_tokens": "MinNewTokensLengthLogitsProcessor",
        "sequence_bias": "SequenceBiasLogitsProcessor",
    }[kind]
    if kind == "sequence_bias":
        biases = next(step for step in case["chain"]["steps"] if step["type"] == kind)["bias"]
        if biases and all(bias == "-inf" for _, bias in biases):
            reference = "NoBadWordsLogitsProcessor"
    assert is_own == name.startswith("own/"), case["name"]
    own = ", the most likely candidate brought back (own rule)" if is_own else ""
    return f"{VERSIONS} {reference} {TORCH}{own}"


def main():
    parser = argparse.ArgumentParser(description="Records what the steps that bind a chain do.")
    parser.add_argument("--out", default="testing/data")
    arguments = parser.parse_args()
    out = pathlib.Path(arguments.out)

    cases = Cases()
    for describe in constraints.ALL_STEPS:
        describe(cases)
    recorder = "testing/record_community_constraints.py"
    for file, described in cases.by_file.items():
        is_hf = file not in ("protect", "switch")
        program = "transformers and torch, on the CPU" if is_hf else "plain Python and numpy"
        build = f"numpy {np.__version__}"
        if is_hf:
            build = f"transformers {transformers.__version__}, torch {torch.__version__}, {build}"
        head = {**oracle.head(program, recorder), "build": build}
        for case in described:
            vocab = None
            if "vocab" in case:
                vocab = json.loads((pathlib.Path("testing/data") / case["vocab"]["file"]).read_text(encoding="utf-8"))
            case["expect"], is_own = replay(case, vocab)
            case["source"] = source(case, is_own)
        path = out / f"steps-{file}.jsonl"
        oracle.write_lines(path, head, described)
        print(f"{path}: {len(described)} cases, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
