"""Records what the references of the truncations keep that llama.cpp does not have.

epsilon_cutoff, eta_cutoff and top_h: the classes of Hugging Face transformers, run with torch on the CPU. top_a, p_less and
min_k: the formula, in numpy. A reference masks what it removes; here that is left out of what is written down. What a reference does
not say is taken from libllama: the order of the steps that sort, equals included, is that of its top_k.

Where an exp or a log decides, no candidate is nearer than 1e-4 to the cut, relative to it. Cases that are `by_hand` lie on it: their
probabilities are powers of two, or 1/5, and the recorder checks that the reference keeps what they say.

From the root of the repository, with transformers 5.23.0, torch 2.15.0 and the libllama.so of testing/README.md:
    python testing/record_community_truncations.py path/to/libllama.so [--out testing/data] [--only top_a]
"""

import argparse
import pathlib

import numpy as np

import oracle_lib as oracle
from cases import community_truncations
from libllama import Libllama

NEAREST = 1e-4
NUMPY = f"numpy {np.__version__}, "
MASKED_STAY = ", masked candidates tied with the min_keep-th best kept (own rule)"


def softmax(row):
    """In f32."""
    with np.errstate(over="ignore"):
        weights = np.exp(row - row.max())
    return weights / weights.sum()


def distance(values, cut):
    """How near the nearest is to the cut, relative to it."""
    return np.min(np.abs(values - cut), initial=np.inf) / abs(cut) if cut else np.inf


class Reference:
    """What a step's reference keeps of a row: `keeps(row, **parameters)` gives a mask, and how near the cut was."""

    sorts = False
    source = ""  # name, version and variant

    def order(self, llama, row):
        """The places in the order in which the step leaves them."""
        return llama.apply_in_place(row, {"type": "top_k", "k": len(row)})["id"] if self.sorts else np.arange(len(row))


class TopA(Reference):
    source = NUMPY + "formula of top-a (RWKV-LM, which has no versions; as of November 2026), the square rounded first"

    def keeps(self, row, a=0.2):
        p = softmax(row)
        cut = np.float32(a) * p.max() ** 2
        return p >= cut, distance(p, cut)


class PLess(Reference):
    source = NUMPY + "formula of p-less (arXiv 2509.23234, as of November 2026)"

    def keeps(self, row, normalised=False):
        p = softmax(row)
        cut, n = np.sum(p * p), np.float32(len(p))
        if normalised and n > 1:
            cut = (n * cut - 1) / (n - 1)
        mask = p >= cut
        self.source = f"{PLess.source}, {'normalised' if normalised else 'plain'}"
        # The best stay wherever the cut is, and the surer they are, the nearer it is to them.
        best = row == row.max()
        return mask | best, distance(p[~best], cut)


class MinK(Reference):
    sorts = True
    source = NUMPY + "formula of min-k (arXiv 2604.11012, as of November 2026)"

    def keeps(self, row, tau=3.0):
        finite = np.sort(row[row > -np.inf])[::-1]
        n = len(finite)
        # In f32, where 1e-8 only keeps a flat row from dividing by 0; the weights in f64, where no product of the range overflows.
        reach = float(finite[0] - finite[-1] + np.float32(1e-8))
        weights = -np.diff(finite.astype(np.float64)) / (reach * np.arange(1, n))
        cliff, second = 1, 0.0
        if n > 1:
            cliff = int(np.argmax(weights)) + 1
            second = np.max(np.delete(weights, cliff - 1), initial=0.0)
        at_least = max(0.0, tau) / reach
        nearest = 1 - second / weights[cliff - 1] if n > 1 and weights.any() else np.inf
        if cliff < at_least + 1 < n + 2:
            # Rounded up, it would be one more.
            nearest = min(nearest, distance(np.round(at_least), at_least))
        kept = min(max(cliff, int(min(at_least, n))), n)
        return row >= finite[kept - 1], nearest


class OfTransformers(Reference):
    """A class of transformers, run with torch on the CPU."""

    def run(self, name, row, *arguments, **parameters):
        """The mask of what it leaves above -infinity."""
        # Here, so that the formulas in numpy can be recorded without torch.
        import torch
        import transformers

        self.source = f"transformers {transformers.__version__} {name} (torch {torch.__version__.split('+')[0]})"
        warper = getattr(transformers, name)(*arguments, **parameters)
        scores = warper(torch.zeros((1, 0), dtype=torch.long), torch.from_numpy(row.copy())[None])
        left = scores[0].numpy()
        # What is masked already is left masked, whether it was to go or not: such a candidate has no probability.
        mask = left > -np.inf
        if not (left[mask] == row[mask]).all():
            raise ValueError(f"{name} has changed a logit")
        return mask

    def with_tied(self, mask, row, min_keep):
        """What was masked before and is as good as the last of min_keep is kept here, and left masked there."""
        kept = mask | (row >= np.sort(row)[-min(min_keep, len(row))])
        if not (kept == mask).all():
            if (row[kept & ~mask] > -np.inf).any():
                raise ValueError("the reference drops what min_keep keeps")
            self.source += MASKED_STAY
        return kept


class EpsilonCutoff(OfTransformers):
    def keeps(self, row, epsilon=0.0005, min_keep=1):
        mask = self.run("EpsilonLogitsWarper", row, epsilon, min_tokens_to_keep=min_keep)
        # Of a row of -infinity there is no p.
        return self.with_tied(mask, row, min_keep), distance(softmax(row), epsilon) if mask.any() else np.inf


class EtaCutoff(OfTransformers):
    def keeps(self, row, epsilon=0.002, min_keep=1):
        mask = self.run("EtaLogitsWarper", row, epsilon, min_tokens_to_keep=min_keep)
        p = softmax(row)
        cut = min(epsilon, np.sqrt(epsilon) * np.exp(-entropy(p)))
        return self.with_tied(mask, row, min_keep), distance(p, cut)


class TopH(OfTransformers):
    sorts = True

    def keeps(self, row, h=0.4):
        best = np.sort(row)[::-1][:100]
        if len(row) > 100 and best[-1] == np.sort(row)[-101]:
            raise ValueError("which of the equals at place 100 are weighed is not the reference's to say")
        p = softmax(best)
        p = p[p > 0]
        sums = np.cumsum(-p * np.log(p))
        # The best stays wherever the cut is.
        return self.run("TopHLogitsWarper", row, h), distance(sums[1:], h * entropy(p)) if len(p) > 1 else np.inf


def entropy(p):
    """In nats."""
    return -np.sum(p[p > 0] * np.log(p[p > 0]))


REFERENCES = {
    "top_a": TopA(),
    "epsilon_cutoff": EpsilonCutoff(),
    "eta_cutoff": EtaCutoff(),
    "top_h": TopH(),
    "p_less": PLess(),
    "min_k": MinK(),
}


class Recorder:
    """Cases of one step."""

    def __init__(self, llama, step):
        self.llama, self.step, self.reference = llama, step, REFERENCES[step]
        self.cases, self.names = [], set()

    def add(self, name, parameters, *rows, by_hand=None, sort_first=False):
        """`rows` are lists; `by_hand` the places that must be kept of each, where some lie on the cut."""
        rows = [np.array([float(x) for x in row], dtype=np.float32) for row in rows]
        values = [[oracle.f32(x) for x in row] for row in rows]
        self.write(name, parameters, rows, {"values": values}, by_hand, sort_first)

    def synthetic(self, name, parameters, kind, n_vocab, n_rows=2, sort_first=False):
        """Rows that are far enough from the cut: the first seeds of the name for which they are."""
        for turn in range(1000):
            seed = oracle.seed_of(f"logits {self.step}/{name}/{turn}")
            rows = [oracle.synthetic_row(kind, seed, n_vocab, i) for i in range(n_rows)]
            if all(self.reference.keeps(row, **parameters)[1] >= NEAREST for row in rows):
                of = {"synthetic": {"kind": kind, "seed": seed, "n_vocab": n_vocab, "rows": n_rows}}
                return self.write(name, parameters, rows, of, None, sort_first)
        raise ValueError(f"{name}: every row is too near the cut")

    def write(self, name, parameters, rows, logits, by_hand, sort_first):
        if name in self.names:
            raise ValueError(f"two cases are called {name}")
        if len({len(row) for row in rows}) != 1:
            raise ValueError(f"{name}: rows of several lengths")
        self.names.add(name)
        before = [{"type": "top_k", "k": len(rows[0])}] if sort_first else []
        tokens, steps, source = [], [], ""
        for i, row in enumerate(rows):
            ids = np.arange(len(row))
            told = []
            if sort_first:
                ids = self.llama.apply_in_place(row, before[0])["id"]
                told.append(after("top_k", row, ids, True))
            seen = row[ids]
            mask, nearest = self.reference.keeps(seen, **parameters)
            # A rule that only some rows of a case need is the case's.
            source = max(source, self.reference.source, key=len)
            if by_hand is not None:
                # Which of the equals at the cut a reference that sorts keeps is no rule of its own.
                told_apart = row if self.reference.sorts else np.arange(len(row))
                if sorted(told_apart[ids[mask]]) != sorted(told_apart[by_hand[i]]):
                    raise ValueError(f"{self.step}/{name}, row {i}: the reference keeps {ids[mask]}, expected {by_hand[i]}")
            elif nearest < NEAREST:
                raise ValueError(f"{self.step}/{name}, row {i}: {nearest} from the cut")
            order = np.arange(len(seen)) if sort_first else self.reference.order(self.llama, seen)
            if self.reference.sorts:
                kept = order[: mask.sum()]
                if sorted(seen[kept]) != sorted(seen[mask]):
                    raise ValueError(f"{self.step}/{name}, row {i}: the reference does not keep the largest")
            else:
                kept = order[mask]
            is_sorted = sort_first or self.reference.sorts
            told += [after(step, row, ids[kept], is_sorted) for step in (self.step, "greedy")]
            steps.append(told)
            tokens.append(int(ids[kept][np.argmax(seen[kept])]))
        self.cases.append({
            "name": f"{self.step}/{name}",
            "source": source,
            "logits": logits,
            "chain": {"seed": 1, "steps": [*before, {"type": self.step, **parameters}, {"type": "greedy"}]},
            "expect": {"tokens": tokens, "steps": steps},
        })


def after(step, row, ids, is_sorted):
    pairs = np.stack([ids.astype("<u4"), row[ids].view("<u4")], axis=1)
    return {"step": step.replace("_", "-"), "size": len(ids), "sorted": is_sorted, "digest": oracle.digest(pairs.tobytes())}


def main():
    parser = argparse.ArgumentParser(description="Records what the references of truncations keep.")
    parser.add_argument("libllama")
    parser.add_argument("--out", default="testing/data")
    parser.add_argument("--only", choices=REFERENCES)
    arguments = parser.parse_args()

    llama = Libllama(arguments.libllama)
    for step, reference in REFERENCES.items():
        if arguments.only not in (None, step):
            continue
        recorder = Recorder(llama, step)
        getattr(community_truncations, step)(recorder)
        program = type(reference).source or reference.source
        head = oracle.head(program, "testing/record_community_truncations.py")
        head["build"] = "order: libllama " + oracle.BUILD if reference.sorts else program
        path = pathlib.Path(arguments.out) / f"steps-{step}.jsonl"
        oracle.write_lines(path, head, recorder.cases)
        print(f"{path}: {len(recorder.cases)} cases, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
