"""Calls of the sampler functions at random, made of two libraries at once: what compare_functions.py compares.

Nothing is run by running this file. A `Side` is one library with the samplers that it made; `case` makes one chain, and some more of
the same samplers with other parameters, in both, and calls whatever may be called of them. What one cannot ask b11192, because it
ends the process or reads memory that is not its own, is left out, each where it says so.
"""

import collections
import ctypes
import json

import numpy as np

from libllama import CANDIDATE, ChainParams, Libllama, TokenDataArray

FUNCTION = ctypes.CFUNCTYPE
NAN, INF = float("nan"), float("inf")
INFILL_MOST = 600  # b11192 compares every pair of candidates
KINDS = ("top_k top_p min_p typ_p top_n_sigma xtc temp temperature penalties dry dry_texts logit_bias dist greedy mirostat mirostat_v2 "
         "adaptive_p infill chain own").split()
# With NaN among the logits these do arithmetic and comparisons; all others sort, for which C++ wants an order that NaN has not.
DEFINED_FOR_NAN = "top_n_sigma penalties dry dry_texts logit_bias dist greedy own temp".split()
# These sort by a probability, or index by one, which is NaN where all logits are -infinity.
WANT_A_NUMBER = "typ_p mirostat adaptive_p infill".split()
# These never drop a candidate or make it -infinity.
KEEP_ALL = "penalties dry dry_texts dist greedy own".split()
SELECTORS = "dist greedy mirostat mirostat-v2 adaptive-p".split()
TEXTS = ["\n", " the", ":", '"', "*", ", and", "x y", "e", "th", "ing", "\u00e9", "a" * 50, ""]


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


class PerfData(ctypes.Structure):
    """llama_perf_sampler_data."""

    _fields_ = [("t_sample_ms", ctypes.c_double), ("n_sample", ctypes.c_int32)]


def declare(llama):
    """The functions that libllama.py does not call."""
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
    llama.declare("llama_sampler_sample", i32, pointer, pointer, i32)
    llama.declare("llama_perf_sampler", PerfData, pointer)
    llama.declare("llama_perf_sampler_print", None, pointer)
    llama.declare("llama_perf_sampler_reset", None, pointer)


def add_one(sampler, array):
    """The apply of a sampler of the caller's own: 1 more for every third token."""
    memory = np.ctypeslib.as_array(ctypes.cast(array.contents.data, ctypes.POINTER(ctypes.c_uint8)),
                                   (array.contents.size * CANDIDATE.itemsize,)).view(CANDIDATE)
    memory["logit"][memory["id"] % 3 == 0] += np.float32(1)


OWN = Interface(apply=Interface._fields_[2][1](add_one))

# ------------------------------------------------------------------------------------------------ what chains are made of


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
    """Parameters of a step at random. Those that make NaN of logits are left out."""
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
    if kind == "dry_texts":
        texts = [r.choice(TEXTS) for _ in range(r.choice([0, 1, 2, 5]))]
        return {**step(r, "dry", n), "breaker_tokens": [], "texts": texts}
    if kind == "temp":
        return {"temp": r.choice([0.0, -1.0, 1.0, r.uniform(0.05, 3), r.uniform(0.05, 3)])}
    if kind == "logit_bias":
        return {"bias": [[r.randrange(-1, n + 5), r.choice([r.uniform(-9, 9), "-inf"])] for _ in range(r.choice([0, 1, 5, 60]))]}
    if kind == "mirostat":
        return {"tau": number(r, 0.5, 9), "eta": number(r, 0, 1), "m": r.choice([-5, 0, 1, 2, 100, 10**6])}
    if kind == "mirostat_v2":
        return {"tau": number(r, 0.5, 9), "eta": number(r, 0, 1)}
    if kind == "adaptive_p":
        return {"target": number(r, -0.5, 1.2), "decay": number(r, 0, 1)}
    return {}


def steps(r, n, depth=0, kinds=None):
    """What a chain is made of."""
    kinds = kinds or [kind for kind in KINDS if kind != "infill" or n <= INFILL_MOST]
    made = []
    for _ in range(r.choice([1, 1, 2, 3, 6])):
        kind = r.choice(kinds)
        if kind == "chain":
            made.append({"type": "chain", "steps": steps(r, n, depth + 1, kinds) if depth < 2 else []})
        else:
            made.append({"type": kind, **step(r, kind, n)})
    return made


def flat(made):
    for one in made:
        yield from flat(one["steps"]) if one["type"] == "chain" else [one]


def banned(made):
    """Tokens that some step gives a logit of -infinity."""
    return {token for s in flat(made) if s["type"] == "logit_bias" for token, bias in s["bias"] if bias == "-inf"}


def is_safe(made, n):
    """Whether a step that wants a number gets one: `row` leaves a token that is not banned, and no step before the ban drops it."""
    if not banned(made):
        return True
    kinds = [s["type"] for s in flat(made)]
    if not any(kind in WANT_A_NUMBER for kind in kinds):
        return True
    last_ban = max(i for i, s in enumerate(flat(made)) if banned([s]))
    drops = any(kind not in KEEP_ALL for kind in kinds[:last_ban] if kind != "logit_bias")
    return not drops and len(banned(made) & set(range(n))) < n


def others(r, real, made, n):
    """The same steps with other parameters, switched off where these are: samplers of the same types."""
    def other(s):
        if s["type"] == "chain":
            return {"type": "chain", "steps": [other(inner) for inner in s["steps"]]}
        for _ in range(50):
            drawn = {"type": s["type"], **step(r, s["type"], n)}
            if kinds_of(real, [drawn], n) == kinds_of(real, [s], n):
                return drawn
        return s

    return [other(s) for s in made]


def kinds_of(real, made, n):
    chain = real.make(made, 1, n, True)
    kinds = types(real.lib, chain)
    real.lib.llama_sampler_free(chain)
    return kinds


def is_own(sampler):
    return ctypes.cast(sampler, ctypes.POINTER(ctypes.c_void_p))[0] == ctypes.addressof(OWN)


def name_of(lib, sampler):
    """llama_sampler_name of b11192 calls a NULL for samplers without a name: those of the caller's own here."""
    return "own" if is_own(sampler) else lib.llama_sampler_name(sampler).decode()


def types(lib, sampler):
    """The types of a chain's samplers: whatever is switched off is one. Two samplers of one type may be copied."""
    if is_own(sampler) or not lib.llama_sampler_chain_get(sampler, -1):
        name = name_of(lib, sampler)
        return "?" if name.startswith("?") else name
    return [types(lib, lib.llama_sampler_chain_get(sampler, i)) for i in range(lib.llama_sampler_chain_n(sampler))]


def row(r, n, ban=frozenset(), nan=False):
    """Candidates: usually as llama.cpp makes them of a row of logits. One at least that is not banned has a number."""
    g = np.random.default_rng(r.getrandbits(32))
    kind = r.choice(["normal", "uniform", "ties", "equal", "masked", "peaked"])
    logits = {
        "normal": lambda: g.normal(0, 4, n), "uniform": lambda: g.uniform(-10, 10, n), "ties": lambda: np.floor(g.uniform(-8, 8, n)) / 2,
        "equal": lambda: np.full(n, r.uniform(-5, 5)), "masked": lambda: np.where(g.random(n) < 0.3, -np.inf, g.normal(0, 3, n)),
        "peaked": lambda: np.where(g.random(n) < 0.01, 20.0, g.normal(-8, 2, n)),
    }[kind]().astype(np.float32)
    free = [token for token in range(n) if token not in ban] or [0]
    if np.all(logits[free] == -np.inf):
        logits[free[0]] = 1
    if nan:
        logits[g.random(n) < r.choice([0.01, 0.3, 1.0])] = np.nan
    memory = np.zeros(n, dtype=CANDIDATE)
    memory["id"], memory["logit"] = np.arange(n), logits
    sorted_, selected = False, -1
    if r.random() < 0.3:
        if r.random() < 0.5:
            g.shuffle(memory)
        elif not nan:
            memory = memory[np.argsort(-memory["logit"], kind="stable")]
            sorted_ = True
        if r.random() < 0.5:
            memory["p"] = g.random(n).astype(np.float32)
        selected = r.choice([-1, 0, n - 1])
    return memory, sorted_, selected


# ------------------------------------------------------------------------------------------------ calls


class Side:
    """One library, and the samplers that it made for a case. `model` is a context with logits, and its vocabulary; `log` is the list
    to which lines of llama.cpp's log are added."""

    def __init__(self, llama, model=None, log=None):
        self.llama, self.lib, self.model, self.log, self.chains = llama, llama.lib, model, log, []

    def make(self, made, seed, n, no_perf):
        chain = self.lib.llama_sampler_chain_init(ChainParams(no_perf=no_perf))
        for s in made:
            self.lib.llama_sampler_chain_add(chain, self.one(s, seed, n, no_perf))
        return chain

    def one(self, s, seed, n, no_perf=True):
        if s["type"] == "chain":
            return self.make(s["steps"], seed, n, no_perf)
        if s["type"] == "own":
            return self.lib.llama_sampler_init(ctypes.byref(OWN), None)
        if s["type"] == "dry_texts":
            return self.llama.dry_with_vocabulary(self.model.vocab, s, s["texts"])
        if s["type"] == "temp":
            return self.lib.llama_sampler_init_temp(s["temp"])
        return self.llama.sampler(s, seed, n, self.model.vocab)

    def apply(self, sampler, given):
        """What is left, and all that an array says. Which NaN it is says nothing."""
        memory, sorted_, selected = given
        memory = memory.copy()
        array = TokenDataArray(memory.ctypes.data, len(memory), selected, sorted_)
        self.lib.llama_sampler_apply(sampler, ctypes.byref(array))
        left = Libllama.candidates(array)
        for field in ("logit", "p"):
            left[field][np.isnan(left[field])] = np.nan
        moved = (array.data - memory.ctypes.data) // CANDIDATE.itemsize
        return (array.size, moved, array.selected, array.sorted, left.tobytes()), left

    def shown(self, chain):
        members = range(self.lib.llama_sampler_chain_n(chain))
        return (self.lib.llama_sampler_get_seed(chain),
                [name_of(self.lib, self.lib.llama_sampler_chain_get(chain, i)) for i in members])

    def call(self, call):
        """One call. What can be compared, what was logged of it, and the tokens that are left."""
        self.log.clear()
        found, left = self.do(call)
        return (found, list(self.log)), left

    def do(self, call):
        what, *arguments = call
        lib, chains = self.lib, self.chains
        if what == "make":
            chains.append(self.make(*arguments))
            return self.shown(chains[-1]), None
        chain = chains[arguments[0]]
        if what == "apply":
            return self.apply(chain, arguments[1])
        if what == "sample":
            return lib.llama_sampler_sample(chain, self.model.context, arguments[1]), None
        if what == "accept":
            lib.llama_sampler_accept(chain, arguments[1])
        elif what == "reset":
            lib.llama_sampler_reset(chain)
        elif what == "clone":
            chains.append(lib.llama_sampler_clone(chain))
            return self.shown(chains[-1]), None
        elif what == "copy":
            lib.llama_sampler_copy(chain, chains[arguments[1]])
            return self.shown(chains[arguments[1]]), None
        elif what == "remove":
            removed = lib.llama_sampler_chain_remove(chain, arguments[1])
            found = name_of(lib, removed) if removed else None
            if arguments[2] and removed:
                lib.llama_sampler_chain_add(chain, removed)
            else:
                lib.llama_sampler_free(removed)
            return (found, self.shown(chain)), None
        elif what == "get":
            found = lib.llama_sampler_chain_get(chain, arguments[1])
            return (found == chain, None if not found else name_of(lib, found)), None
        elif what == "perf":
            return self.perf(chain, arguments[1]), None
        elif what == "perf_reset":
            lib.llama_perf_sampler_reset(chain)
            return self.perf(chain, True), None
        return None, None

    def perf(self, chain, is_timeless):
        """What was counted; where no time is taken, that and the line that is logged of it, too."""
        found = self.lib.llama_perf_sampler(chain)
        if not is_timeless:
            return found.n_sample, found.t_sample_ms >= 0
        self.lib.llama_perf_sampler_print(chain)
        return found.n_sample, found.t_sample_ms

    def end(self):
        for chain in self.chains:
            self.lib.llama_sampler_free(chain)


class Case:
    """Calls at random of two sides. `calls` counts them; `wrong` is the call that differs, if one does."""

    def __init__(self, r, sides):
        self.r, self.sides = r, sides
        self.calls, self.history, self.wrong = collections.Counter(), [], None
        self.n = r.choice([1, 2, 3, 10, 100, 600, 1000, 1025, 3000, 9000])
        self.nan = r.random() < 0.05
        kinds = DEFINED_FOR_NAN if self.nan else None
        self.made = steps(r, self.n, kinds=kinds)
        while not is_safe(self.made, self.n):
            self.made = steps(r, self.n, kinds=kinds)
        self.adaptive = "adaptive_p" in json.dumps(self.made)
        self.parameters, self.timeless, self.token = [self.made], [], 0

    def play(self, *call):
        """Makes a call of both. Whether they agree, so far."""
        if self.wrong:
            return False
        self.history.append(call if call[0] != "apply" else call[:2])
        self.calls[call[0]] += 1
        (a, left), (b, _) = (side.call(call) for side in self.sides)
        if a != b:
            self.wrong = a, b
        elif left is not None and len(left):
            self.token = int(left["id"][self.r.randrange(min(len(left), 3))])
        return not self.wrong

    def types(self, i):
        return types(self.sides[0].lib, self.sides[0].chains[i])

    def n_chains(self):
        return len(self.sides[0].chains)

    def make(self, made):
        timeless = self.r.random() < 0.5
        self.timeless.append(timeless)
        self.play("make", made, self.r.getrandbits(31), self.n, timeless)

    def apply(self, which):
        ban = frozenset().union(*map(banned, self.parameters))
        self.play("apply", which, row(self.r, self.n, ban, self.nan))

    def forget(self, which):
        """A clone of adaptive-p must have nothing to accept: another token makes b11192 forget what it selected."""
        if self.adaptive:
            self.play("accept", which, self.n + 7)

    def run(self):
        self.make(self.made)
        for _ in range(self.r.randint(4, 14)):
            what = self.r.choice(["apply"] * 5 + ["accept"] * 4 + "reset clone copy copy get remove sample perf perf_reset".split())
            getattr(self, "call_" + what)(self.r.randrange(self.n_chains()))
            if self.wrong:
                return self
        for side in self.sides:
            side.end()
        return self

    call_apply = apply

    def call_accept(self, which):
        r = self.r
        token = r.choice([self.token, self.token, r.randrange(self.n), r.randrange(self.n), -1 if not self.adaptive else 0])
        self.play("accept", which, token)

    def call_reset(self, which):
        self.play("reset", which)

    def call_clone(self, which):
        self.forget(which)
        self.timeless.append(self.timeless[which])
        self.play("clone", which)

    def call_copy(self, which):
        """Often from or to a chain of the same samplers with other parameters, and then drawn from, before and after a reset."""
        r = self.r
        if r.random() < 0.6:
            made = others(r, self.sides[0], self.made, self.n)
            together = [made, *self.parameters]
            if all(is_safe(one, self.n) for one in together) and len(frozenset().union(*map(banned, together))) < self.n:
                self.parameters.append(made)
                self.make(made)
                for _ in range(r.randrange(4)):
                    self.call_accept(self.n_chains() - 1)
        to = r.randrange(self.n_chains())
        if self.wrong or self.types(which) != self.types(to):
            return
        self.forget(which)
        self.play("copy", which, to)
        self.timeless[to] = self.timeless[which]
        for then in (self.apply, self.call_accept, self.apply, self.call_reset, self.apply):
            then(to)

    def call_get(self, which):
        self.play("get", which, self.r.randrange(-2, 4))

    def call_remove(self, which):
        # What comes back comes last, where a ban could come after a step that drops what it leaves.
        back = not banned(self.made) and self.r.random() < 0.5
        self.play("remove", which, self.r.choice([-1, 99, *range(len(self.types(which)))]), back)

    def call_sample(self, which):
        """From the logits of a context, if the chain selects at its end: else the process ends."""
        found = self.types(which)
        if self.nan or not found or found[-1] not in SELECTORS or any(s["type"] in WANT_A_NUMBER for s in flat(self.made)):
            return
        self.play("sample", which, -1)

    def call_perf(self, which):
        self.play("perf", which, self.timeless[which])

    def call_perf_reset(self, which):
        self.play("perf_reset", which)
