"""Compares the functions of this library with those of libllama, both in one process, call by call and bit by bit.

First the recorded cases of testing/data/steps-*.jsonl that libllama's own samplers wrote, infill among them, are replayed through
this library. Then both libraries are called with the same arguments at random: samplers with parameters of every size, NaN and
infinities among them, alone and in chains, nested, with samplers of the caller's own inside; candidates that are a row of logits,
or shuffled, sorted, with probabilities given; accept (of negative tokens, too), apply, clone, copy, reset, get, remove,
get_seed, name. After each call the candidates must be the same: how many, where they begin, ids, the bits of logits and p,
`sorted`, `selected`.

Left out is what has no answer in b11192: NaN among the logits, an empty array where it asserts, a token accepted by a clone of
adaptive-p that was made before it, adaptive-p's token -1.

Needs libllama.so of llama.cpp b11192 and numpy. From the root of the repository:
    python testing/dropin/compare_functions.py --libllama $BIN/libllama.so --small-model model/small-2048.gguf [--cases 20000] [--seed 1]
"""

import argparse
import collections
import ctypes
import json
import pathlib
import random
import sys

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "testing"))

import oracle_lib as oracle  # noqa: E402
from libllama import CANDIDATE, ChainParams, Libllama, TokenDataArray  # noqa: E402
from llama_model import Vocabulary  # noqa: E402

NAN, INF = float("nan"), float("inf")
FILES = """adaptive_p chains dist dry greedy infill logit_bias min_p mirostat mirostat_v2 penalties temperature top_k top_n_sigma top_p
    typ_p user_cases xtc""".split()
SELECTORS = ("dist", "greedy", "mirostat", "mirostat_v2", "adaptive_p")
FUNCTION = ctypes.CFUNCTYPE
MOST_SHOWN = 20


class Interface(ctypes.Structure):
    """llama_sampler_i."""

    _fields_ = [
        ("name", FUNCTION(ctypes.c_char_p, ctypes.c_void_p)),
        ("accept", FUNCTION(None, ctypes.c_void_p, ctypes.c_int32)),
        ("apply", FUNCTION(None, ctypes.c_void_p, ctypes.POINTER(TokenDataArray))),
        ("reset", FUNCTION(None, ctypes.c_void_p)),
        ("clone", ctypes.c_void_p),
        ("free", FUNCTION(None, ctypes.c_void_p)),
        ("backend", ctypes.c_void_p * 5),
        ("copy_state", ctypes.c_void_p),
    ]


class Both:
    """The functions of one library, or, where it has none of that name, of another."""

    def __init__(self, *libraries):
        self.libraries = libraries

    def __getattr__(self, name):
        for library in self.libraries:
            if hasattr(library, name):
                return getattr(library, name)
        raise AttributeError(name)


def declared(path, lib=None):
    llama = Libllama(path, lib)
    pointer, i32 = ctypes.c_void_p, ctypes.c_int32
    llama.declare("llama_sampler_init", pointer, ctypes.POINTER(Interface), pointer)
    llama.declare("llama_sampler_init_temp", pointer, ctypes.c_float)
    llama.declare("llama_sampler_reset", None, pointer)
    llama.declare("llama_sampler_clone", pointer, pointer)
    llama.declare("llama_sampler_copy", None, pointer, pointer)
    llama.declare("llama_sampler_chain_get", pointer, pointer, i32)
    llama.declare("llama_sampler_chain_n", i32, pointer)
    llama.declare("llama_sampler_chain_remove", pointer, pointer, i32)
    llama.declare("llama_sampler_get_seed", ctypes.c_uint32, pointer)
    return llama


def add_one(sampler, array):
    """The apply of a sampler of the caller's own: 1 more for every third token."""
    memory = np.ctypeslib.as_array(ctypes.cast(array.contents.data, ctypes.POINTER(ctypes.c_uint8)),
                                   (array.contents.size * CANDIDATE.itemsize,)).view(CANDIDATE)
    memory["logit"][memory["id"] % 3 == 0] += np.float32(1)


OWN = Interface(apply=Interface._fields_[2][1](add_one))


def replay(ours, vocabulary):
    """The recorded cases, through this library."""
    passed = 0
    for file in FILES:
        lines = oracle.read_lines(oracle.steps_path(ROOT / "testing" / "data", file))
        for case in map(json.loads, lines[1:]):
            vocab = vocabulary.vocab if "vocab" in case else None
            rows = oracle.logits_rows(case["logits"])
            found = ours.replay(case["chain"], case["prompt"], rows, vocab)
            if oracle.dumps(found) != oracle.dumps(case["expect"]):
                sys.exit(f"{case['name']}: {oracle.dumps(found)}\nexpected {oracle.dumps(case['expect'])}")
            passed += 1
    return passed


# ------------------------------------------------------------------------------------------------ at random


def number(r, *usual):
    """A parameter: mostly of the usual size."""
    if r.random() < 0.85:
        return r.uniform(*usual)
    return r.choice([0.0, -0.0, 1.0, -1.0, 1e-30, -1e-30, 1e10, -1e10, INF, -INF, NAN, usual[0], usual[1]])


def finite(r, *usual):
    value = number(r, *usual)
    return value if abs(value) < INF else usual[0]


def count(r, most):
    return r.choice([0, 0, 1, 2, r.randint(0, most), most * 10, 2**31 - 1])


def tokens(r, n, k):
    return [r.randrange(n) for _ in range(k)]


def step(r, kind, n):
    """A step with parameters at random. What makes NaN of logits is left out."""
    if kind == "top_k":
        return {"k": r.choice([-1, 0, 1, 2, 40, 128, 129, r.randint(1, 2 * n), 2**31 - 1])}
    if kind in ("top_p", "typ_p", "min_p"):
        return {"p": number(r, 0, 1.05), "min_keep": count(r, 20)}
    if kind == "top_n_sigma":
        return {"n": number(r, 0, 3)}
    if kind == "xtc":
        return {"probability": number(r, 0, 1), "threshold": number(r, 0, 0.6), "min_keep": count(r, 5)}
    if kind == "temperature":
        temp = r.choice([0.0, -1.0, 1.0, r.uniform(0.05, 3), r.uniform(0.05, 3)])
        return {"temp": temp, "delta": r.choice([0.0, 0.0, r.uniform(-1, 2)]), "exponent": finite(r, 0.1, 3) if temp > 0 else 1.0}
    if kind == "penalties":
        return {"last_n": r.choice([-1, 0, 1, 5, 64, 10**6]), "repeat": r.choice([1.0, r.uniform(0.5, 2), -1.5, 1e10]),
                "freq": finite(r, -1, 1), "present": finite(r, -1, 1)}
    if kind == "dry":
        breakers = [tokens(r, n, r.randint(0, 3)) for _ in range(r.randint(0, 4))]
        return {"multiplier": finite(r, 0, 2), "base": finite(r, 0.9, 2.5), "allowed_length": r.randint(-2, 4),
                "last_n": r.choice([-1, 0, 3, 64, 10**6]), "breaker_tokens": breakers}
    if kind == "logit_bias":
        return {"bias": [[r.randrange(-1, n + 5), r.choice([r.uniform(-9, 9), "-inf"])] for _ in range(r.choice([0, 1, 5, 60]))]}
    if kind == "mirostat":
        return {"tau": number(r, 0.5, 9), "eta": number(r, 0, 1), "m": r.choice([-5, 0, 1, 2, 100, 10**6])}
    if kind == "mirostat_v2":
        return {"tau": number(r, 0.5, 9), "eta": number(r, 0, 1)}
    if kind == "adaptive_p":
        return {"target": number(r, -0.5, 1.2), "decay": number(r, 0, 1)}
    return {}


KINDS = ("top_k top_p min_p typ_p top_n_sigma xtc temperature penalties dry logit_bias dist greedy mirostat mirostat_v2 "
         "adaptive_p chain own").split()


def steps(r, n, depth=0):
    """What a chain is made of."""
    made = []
    for _ in range(r.choice([1, 1, 2, 3, 6])):
        kind = r.choice(KINDS)
        if kind == "chain":
            made.append({"type": "chain", "steps": steps(r, n, depth + 1) if depth < 2 else []})
        else:
            made.append({"type": kind, **(step(r, kind, n) if kind != "own" else {})})
    return made


def is_safe(made):
    """Whether what comes first cannot make what follows abort or read beyond its memory."""
    flat = []

    def walk(one):
        for s in one:
            walk(s["steps"]) if s["type"] == "chain" else flat.append(s)

    walk(made)
    # NaN probabilities, which typical-p sorts by, come of all logits at -infinity.
    bans = any(s["type"] == "logit_bias" and len(s["bias"]) >= 5 for s in flat)
    return not (bans and any(s["type"] in ("typ_p", "mirostat", "adaptive_p") for s in flat))


def row(r, n):
    """Candidates: usually as llama.cpp makes them of a row of logits."""
    g = np.random.default_rng(r.getrandbits(32))
    kind = r.choice(["normal", "uniform", "ties", "equal", "masked", "peaked"])
    logits = {
        "normal": lambda: g.normal(0, 4, n), "uniform": lambda: g.uniform(-10, 10, n), "ties": lambda: np.floor(g.uniform(-8, 8, n)) / 2,
        "equal": lambda: np.full(n, r.uniform(-5, 5)), "masked": lambda: np.where(g.random(n) < 0.3, -np.inf, g.normal(0, 3, n)),
        "peaked": lambda: np.where(g.random(n) < 0.01, 20.0, g.normal(-8, 2, n)),
    }[kind]().astype(np.float32)
    if np.all(logits == -np.inf):
        logits[0] = 1
    memory = np.zeros(n, dtype=CANDIDATE)
    memory["id"], memory["logit"] = np.arange(n), logits
    sorted_, selected = False, -1
    if r.random() < 0.3:
        if r.random() < 0.5:
            g.shuffle(memory)
        else:
            memory = memory[np.argsort(-memory["logit"], kind="stable")]
            sorted_ = True
        if r.random() < 0.5:
            memory["p"] = g.random(n).astype(np.float32)
        selected = r.choice([-1, 0, n - 1])
    return memory, sorted_, selected


class Side:
    """One library, and the samplers that it made for a case."""

    def __init__(self, llama):
        self.llama, self.lib, self.chains = llama, llama.lib, []

    def make(self, made, seed, n):
        chain = self.lib.llama_sampler_chain_init(ChainParams(no_perf=True))
        for s in made:
            self.lib.llama_sampler_chain_add(chain, self.one(s, seed, n))
        return chain

    def one(self, s, seed, n):
        if s["type"] == "chain":
            return self.make(s["steps"], seed, n)
        if s["type"] == "own":
            return self.lib.llama_sampler_init(ctypes.byref(OWN), None)
        return self.llama.sampler(s, seed, n)

    def apply(self, sampler, given):
        """What is left, and all that an array says."""
        memory, sorted_, selected = given
        memory = memory.copy()
        array = TokenDataArray(memory.ctypes.data, len(memory), selected, sorted_)
        self.lib.llama_sampler_apply(sampler, ctypes.byref(array))
        left = Libllama.candidates(array)
        moved = (array.data - memory.ctypes.data) // CANDIDATE.itemsize
        return (array.size, moved, array.selected, array.sorted, left.tobytes()), left

    def do(self, call):
        """One call. What can be compared, and the tokens that are left."""
        what, *arguments = call
        chains = self.chains
        if what == "make":
            chains.append(self.make(*arguments))
            return (self.lib.llama_sampler_get_seed(chains[-1]), names(self.lib, chains[-1])), None
        if what == "apply":
            return self.apply(chains[arguments[0]], arguments[1])
        if what == "accept":
            self.lib.llama_sampler_accept(chains[arguments[0]], arguments[1])
        elif what == "reset":
            self.lib.llama_sampler_reset(chains[arguments[0]])
        elif what == "clone":
            chains.append(self.lib.llama_sampler_clone(chains[arguments[0]]))
            return (self.lib.llama_sampler_get_seed(chains[-1]), names(self.lib, chains[-1])), None
        elif what == "copy":
            self.lib.llama_sampler_copy(chains[arguments[0]], chains[arguments[1]])
        elif what == "remove":
            removed = self.lib.llama_sampler_chain_remove(chains[arguments[0]], arguments[1])
            found = nameless_or_name(self.lib, removed) if removed else None
            self.lib.llama_sampler_free(removed)
            return (found, self.lib.llama_sampler_chain_n(chains[arguments[0]])), None
        elif what == "get":
            found = self.lib.llama_sampler_chain_get(chains[arguments[0]], arguments[1])
            return (found == chains[arguments[0]], None if not found else nameless_or_name(self.lib, found)), None
        return None, None

    def end(self):
        for chain in self.chains:
            self.lib.llama_sampler_free(chain)


def nameless_or_name(lib, sampler):
    """llama_sampler_name of b11192 calls a NULL for samplers without a name: those of the caller's own here."""
    iface = ctypes.cast(sampler, ctypes.POINTER(ctypes.c_void_p))[0]
    return "own" if iface == ctypes.addressof(OWN) else lib.llama_sampler_name(sampler).decode()


def names(lib, chain):
    return [nameless_or_name(lib, lib.llama_sampler_chain_get(chain, i)) for i in range(lib.llama_sampler_chain_n(chain))]


def case(r, sides):
    """Calls at random. Gives how often each was made, or the call that differs."""
    n = r.choice([1, 2, 3, 10, 100, 600, 1000, 1025, 3000, 9000])
    made = steps(r, n)
    while not is_safe(made):
        made = steps(r, n)
    adaptive = "adaptive_p" in json.dumps(made)
    history = [("make", made, r.getrandbits(31), n)]
    calls = collections.Counter()
    n_chains, token, removed = 1, 0, False

    def play(call):
        history.append(call)
        calls[call[0]] += 1
        (a, left), (b, _) = (side.do(call) for side in sides)
        return a == b, a, b, left

    history.pop()
    plan = [("make", made, r.getrandbits(31), n)]
    for _ in range(r.randint(4, 14)):
        plan.append(r.choice(["apply"] * 5 + ["accept"] * 4 + ["reset", "clone", "copy", "get", "remove"]))
    for what in plan:
        which = r.randrange(n_chains)
        if isinstance(what, tuple):
            call = what
        elif what == "apply":
            call = ("apply", which, row(r, n))
        elif what == "accept":
            token = r.choice([token, token, r.randrange(n), r.randrange(n), -1 if not adaptive else 0])
            call = ("accept", which, token)
        elif what in ("clone", "copy"):
            if adaptive:
                # A clone must have nothing to accept: another token makes b11192 forget what it selected.
                play(("accept", which, n + 7))
            if what == "copy" and (n_chains < 2 or removed):
                continue
            call = ("clone", which) if what == "clone" else ("copy", which, r.randrange(n_chains))
            n_chains += what == "clone"
        elif what == "remove":
            removed = True
            call = ("remove", which, r.choice([-1, 0, 99]) if len(made) < 2 else -1)
        else:
            call = (what, which, r.randrange(-2, 4)) if what == "get" else (what, which)
        same, a, b, left = play(call)
        if not same:
            return calls, (made, [c if c[0] != "apply" else c[:2] for c in history], a, b)
        if left is not None and len(left):
            token = int(left["id"][r.randrange(min(len(left), 3))])
    for side in sides:
        side.end()
    return calls, None


def check_that_differences_show(real, ours, r):
    """The same calls with another seed, another parameter, one bit more must be told apart."""
    given = row(random.Random(5), 600)
    other = (given[0].copy(), *given[1:])
    other[0]["logit"][7] = np.nextafter(other[0]["logit"][7], np.float32(9))
    for a, b, rows in (({"type": "dist"}, {"type": "greedy"}, (given, given)),
                       ({"type": "top_k", "k": 9}, {"type": "top_k", "k": 8}, (given, given)),
                       ({"type": "top_p", "p": 0.9}, {"type": "min_p", "p": 0.9}, (given, given)),
                       ({"type": "temperature"}, {"type": "temperature"}, (given, other))):
        found = [Side(llama).apply(llama.sampler(s, 1, 600), g)[0] for llama, s, g in zip((real, ours), (a, b), rows)]
        if found[0] == found[1]:
            sys.exit(f"{a} and {b} are not told apart")


def main():
    parser = argparse.ArgumentParser(description="Compares this library's functions with those of libllama.")
    parser.add_argument("--libllama", required=True)
    parser.add_argument("--small-model", required=True)
    parser.add_argument("--library", default=str(ROOT / "testing/dropin/target/release/libsampler_chain_dropin.so"))
    parser.add_argument("--cases", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()

    # Global, so that the library finds the vocabulary's functions.
    real_library = ctypes.CDLL(arguments.libllama, mode=ctypes.RTLD_GLOBAL)
    real = declared(arguments.libllama)
    ours = declared(arguments.libllama, Both(ctypes.CDLL(arguments.library), real_library))
    for name in ("llama_sampler_apply", "llama_sampler_init_dist", "llama_sampler_chain_init"):
        addresses = [ctypes.cast(getattr(llama.lib, name), ctypes.c_void_p).value for llama in (real, ours)]
        if addresses[0] == addresses[1]:
            sys.exit(f"{name} is one function in both libraries")
    check_that_differences_show(real, ours, random.Random(1))
    print(f"{replay(ours, Vocabulary(real, arguments.small_model))} recorded cases pass")

    calls, n_wrong = collections.Counter(), 0
    for i in range(arguments.cases):
        made, wrong = case(random.Random(f"{arguments.seed}/{i}"), [Side(real), Side(ours)])
        calls += made
        if wrong:
            n_wrong += 1
            steps_, history, theirs, found = wrong
            print(f"case {i} of seed {arguments.seed}: {json.dumps(steps_)}")
            for call in history:
                print(f"  {call}")
            print(f"  libllama {str(theirs)[:400]}\n  here     {str(found)[:400]}")
            if n_wrong == MOST_SHOWN:
                sys.exit(1)
    if n_wrong:
        sys.exit(1)
    print(f"{arguments.cases} cases at random (seed {arguments.seed}) are the same: "
          + ", ".join(f"{what} {n}" for what, n in sorted(calls.items())))


if __name__ == "__main__":
    main()
