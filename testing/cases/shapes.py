"""Runs chains of reference steps over rows of logits, and writes down what each leaves. The steps' formulas are in numpy, in the
rooms beside this one (`shape_smoothing` and others); here is what is around them: the candidates, llama.cpp's sort, `greedy`,
`top_k` and `temperature`."""

import ctypes
import functools
import pathlib
import subprocess
import tempfile

import numpy as np

import oracle_lib as oracle

from . import GREEDY, step, values  # noqa: F401  (for the rooms)

# std::partial_sort of all, as llama.cpp sorts up to 128 candidates: libstdc++ itself says where equal logits fall.
SORT = """
#include <algorithm>
extern "C" void sort_ids(const float * logits, int * ids, int n) {
    std::partial_sort(ids, ids + n, ids + n, [&](int a, int b) { return logits[a] > logits[b]; });
}
"""


@functools.cache
def sorter():
    with tempfile.TemporaryDirectory() as folder:
        library = str(pathlib.Path(folder) / "sort.so")
        subprocess.run(["g++", "-O2", "-shared", "-fPIC", "-x", "c++", "-", "-o", library], input=SORT.encode(), check=True)
        return ctypes.CDLL(library).sort_ids


class Candidates:
    """The candidates of a draw: ids in order, their logits, and llama.cpp's flag."""

    def __init__(self, row):
        self.ids = np.arange(len(row), dtype=np.int32)
        self.logits = np.array(row, dtype=np.float32)
        self.sorted = False

    def __len__(self):
        return len(self.ids)

    def take(self, places):
        self.ids, self.logits = self.ids[places], self.logits[places]

    def sort(self):
        if self.sorted:
            return
        if len(self) > 128:
            raise ValueError("more than 128 candidates are sorted in another way")
        places = np.arange(len(self), dtype=np.int32)
        pointer = ctypes.c_void_p
        sorter()(pointer(self.logits.ctypes.data), pointer(places.ctypes.data), len(self))
        self.take(places)
        self.sorted = True

    def softmax(self):
        """numpy's softmax in f32, over the candidates in their order."""
        with np.errstate(all="ignore"):
            weights = np.exp(self.logits - self.logits.max())
            return weights / weights.sum(dtype=np.float32)

    def softmax_f64(self):
        with np.errstate(all="ignore"):
            weights = np.exp(self.logits.astype(np.float64) - float(self.logits.max()))
            return weights / weights.sum()

    def digest(self):
        both = np.empty(len(self), dtype=[("id", "<i4"), ("logit", "<f4")])
        both["id"], both["logit"] = self.ids, self.logits
        return oracle.digest(both.tobytes())


class Draw:
    """What a reference step may know of a draw beside the candidates."""

    def __init__(self, seed, prompt, drawn):
        self.seed, self.prompt, self.drawn = seed, prompt, drawn


def greedy(_, candidates, __):
    return int(np.argmax(candidates.logits))  # the first of the largest


def top_k(spec, candidates, _):
    candidates.sort()
    candidates.take(np.arange(min(spec["k"], len(candidates))))


def temperature(spec, candidates, _):
    candidates.logits = candidates.logits / np.float32(spec["temp"])


OFF = object()  # what a step returns whose parameters switch it off

STEPS = {"greedy": greedy, "top_k": top_k, "temperature": temperature}


def exact(candidates):
    """The probabilities, where the C library's expf gives powers of two and so does their sum: all is exact then, ties among it."""
    weights = oracle.expf(candidates.logits - candidates.logits.max())
    whole = weights.sum(dtype=np.float32)
    is_power = [w == 0 or np.frexp(w)[0] == 0.5 for w in [*weights, whole]]
    return (weights / whole).astype(np.float64) if all(is_power) else None


def away(value, cut, least=1e-4):
    """Refuses a number that another library's exp could put on the other side of a cut."""
    if abs(value - cut) < least * max(abs(value), abs(cut)):
        raise ValueError(f"{value} is too near the cut at {cut}")


class Shapes:
    """Collects cases, and runs the reference on them as they come."""

    def __init__(self):
        self.by_file = {}
        self.names = set()

    def add(self, name, source, logits, *steps, prompt=(), seed=None):
        """`logits` is a list of rows, or (kind, n_vocab, rows) for synthetic ones."""
        if name in self.names:
            raise ValueError(f"two cases are called {name}")
        self.names.add(name)
        if isinstance(logits, tuple):
            kind, n_vocab, rows = logits
            seed_of_row = oracle.seed_of("logits " + name)
            logits = {"synthetic": {"kind": kind, "seed": seed_of_row, "n_vocab": n_vocab, "rows": rows}}
        else:
            if len({len(row) for row in logits}) != 1:
                raise ValueError(f"{name}: rows of different lengths")
            logits = values(*[[oracle.f32(x) for x in row] for row in logits])
        case = {
            "name": name,
            "source": source,
            "logits": logits,
            "prompt": list(prompt),
            "chain": {"seed": oracle.seed_of("chain " + name) if seed is None else seed, "steps": list(steps)},
        }
        try:
            case["expect"] = run(case)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from error
        self.by_file.setdefault(name.split("/")[0], []).append(case)


def run(case):
    tokens, sets = [], []
    for row in oracle.logits_rows(case["logits"]):
        candidates, selected = Candidates(row), None
        draw = Draw(case["chain"]["seed"], case["prompt"], list(tokens))
        sets.append([])
        for spec in case["chain"]["steps"]:
            selected = STEPS[spec["type"]](spec, candidates, draw)
            name = {"temperature": "temp"}.get(spec["type"], spec["type"].replace("_", "-"))
            sets[-1].append({
                "step": "?" * (selected is OFF) + name,
                "size": len(candidates),
                "sorted": candidates.sorted,
                "digest": candidates.digest(),
            })
        tokens.append(int(candidates.ids[selected]))
    return {"tokens": tokens, "steps": sets}
