"""libllama's samplers through its C API: made from the steps of a chain file, applied one by one, written down.

Nothing is recorded by running this file: the recorders beside it import it. Needs numpy and a libllama.so of llama.cpp
b11192: the layouts of the structs below are those of that build's llama.h.
"""

import ctypes
import pathlib

import numpy as np

from oracle_lib import digest, read_f32

CANDIDATE = np.dtype([("id", "<i4"), ("logit", "<f4"), ("p", "<f4")])


class TokenDataArray(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("size", ctypes.c_size_t),
        ("selected", ctypes.c_int64),
        ("sorted", ctypes.c_bool),
    ]


class LogitBias(ctypes.Structure):
    _fields_ = [("token", ctypes.c_int32), ("bias", ctypes.c_float)]


class ChainParams(ctypes.Structure):
    _fields_ = [("no_perf", ctypes.c_bool)]


class StdVector(ctypes.Structure):
    """The three pointers of libstdc++'s std::vector."""

    _fields_ = [("begin", ctypes.c_void_p), ("end", ctypes.c_void_p), ("capacity", ctypes.c_void_p)]

    @classmethod
    def over(cls, array):
        begin = ctypes.addressof(array)
        return cls(begin, begin + ctypes.sizeof(array), begin + ctypes.sizeof(array))


LOG_CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)

# The defaults of every step's parameters, by the names that chain files use.
STEP_DEFAULTS = {
    "penalties": {"last_n": 64, "repeat": 1.0, "freq": 0.0, "present": 0.0},
    "dry": {"multiplier": 0.0, "base": 1.75, "allowed_length": 2, "last_n": 64, "breaker_tokens": []},
    "top_n_sigma": {"n": -1.0},
    "top_k": {"k": 40},
    "typ_p": {"p": 1.0, "min_keep": 0},
    "top_p": {"p": 0.95, "min_keep": 0},
    "min_p": {"p": 0.05, "min_keep": 0},
    "xtc": {"probability": 0.0, "threshold": 0.1, "min_keep": 0},
    "temperature": {"temp": 0.8, "delta": 0.0, "exponent": 1.0},
    "dist": {},
    "greedy": {},
    "logit_bias": {"bias": []},
    "mirostat": {"tau": 5.0, "eta": 0.1, "m": 100},
    "mirostat_v2": {"tau": 5.0, "eta": 0.1},
    "adaptive_p": {"target": -1.0, "decay": 0.9},
    "chain": {"steps": []},
    # These two may look into the vocabulary.
    "infill": {},
    # `sees_prompt` is of ours: replay() has every sampler accept the prompt.
    "reasoning_budget": {"start": [], "end": [], "forced": [], "budget": -1, "state": "idle", "sees_prompt": True},
}

# The numbers of common_reasoning_budget_state.
BUDGET_STATES = {"idle": 0, "counting": 1, "forcing": 2, "waiting_utf8": 3, "done": 4}
INT_MAX = 2**31 - 1


class Libllama:
    """The part of libllama's C API that the recorders call."""

    # Where builds differ: whether penalties are told the vocabulary's size, and DRY the context's.
    PENALTIES_KNOW_VOCABULARY = True
    DRY_CONTEXT = ()
    DRY_TESTING = "_Z30llama_sampler_init_dry_testingffiiRKSt6vectorIS_IiSaIiEESaIS1_EE"

    REASONING_BUDGET = ("_Z28common_reasoning_budget_initPK11llama_vocabRKSt6vectorIS2_IiSaIiEESaIS4_EES8_RKS4_i"
                        "29common_reasoning_budget_state")

    def __init__(self, path, lib=None):
        """`lib` is something else with functions of these names."""
        self.path = pathlib.Path(path)
        self.lib = lib or ctypes.CDLL(path)
        i32, u32, size, real, pointer = (
            ctypes.c_int32, ctypes.c_uint32, ctypes.c_size_t, ctypes.c_float, ctypes.c_void_p)
        self.declare("llama_log_set", None, LOG_CALLBACK, pointer)
        self.declare("llama_sampler_name", ctypes.c_char_p, pointer)
        self.declare("llama_sampler_accept", None, pointer, i32)
        self.declare("llama_sampler_apply", None, pointer, ctypes.POINTER(TokenDataArray))
        self.declare("llama_sampler_free", None, pointer)
        self.declare("llama_sampler_chain_init", pointer, ChainParams)
        self.declare("llama_sampler_chain_add", None, pointer, pointer)
        vocabulary = (i32,) * self.PENALTIES_KNOW_VOCABULARY
        context = (i32,) * len(self.DRY_CONTEXT)
        self.declare("llama_sampler_init_penalties", pointer, *vocabulary, i32, real, real, real)
        self.declare("llama_sampler_init_dry", pointer, pointer, *context, real, real, i32, i32, pointer, size)
        self.declare(self.DRY_TESTING, pointer, *context, real, real, i32, i32, ctypes.POINTER(StdVector))
        self.declare("llama_sampler_init_top_n_sigma", pointer, real)
        self.declare("llama_sampler_init_top_k", pointer, i32)
        self.declare("llama_sampler_init_typical", pointer, real, size)
        self.declare("llama_sampler_init_top_p", pointer, real, size)
        self.declare("llama_sampler_init_min_p", pointer, real, size)
        self.declare("llama_sampler_init_xtc", pointer, real, real, size, u32)
        self.declare("llama_sampler_init_temp_ext", pointer, real, real, real)
        self.declare("llama_sampler_init_dist", pointer, u32)
        self.declare("llama_sampler_init_greedy", pointer)
        self.declare("llama_sampler_init_logit_bias", pointer, i32, i32, ctypes.POINTER(LogitBias))
        self.declare("llama_sampler_init_mirostat", pointer, i32, u32, real, real, i32)
        self.declare("llama_sampler_init_mirostat_v2", pointer, u32, real, real)
        self.declare("llama_sampler_init_adaptive_p", pointer, real, real, u32)
        self.declare("llama_sampler_init_infill", pointer, pointer)
        self.declare("llama_sampler_init_grammar", pointer, pointer, ctypes.c_char_p, ctypes.c_char_p)
        self.quiet = LOG_CALLBACK(lambda level, text, data: None)
        self.lib.llama_log_set(self.quiet, None)

    def declare(self, name, result, *arguments):
        function = getattr(self.lib, name)
        function.restype = result
        function.argtypes = arguments

    # ---- samplers

    def sampler(self, step, seed, n_vocab, vocab=None):
        """The llama_sampler of one step of a chain file. `vocab` is a llama_vocab, for the steps that look into one."""
        p = dict(step)
        kind = p.pop("type")
        unknown = set(p) - set(STEP_DEFAULTS[kind])
        if unknown:
            raise ValueError(f"{kind} has no parameter {unknown}")
        p = {**STEP_DEFAULTS[kind], **p}
        lib = self.lib
        if kind == "penalties":
            vocabulary = (n_vocab,) * self.PENALTIES_KNOW_VOCABULARY
            return lib.llama_sampler_init_penalties(*vocabulary, p["last_n"], p["repeat"], p["freq"], p["present"])
        if kind == "dry":
            return self.dry(p)
        if kind == "top_n_sigma":
            return lib.llama_sampler_init_top_n_sigma(p["n"])
        if kind == "top_k":
            return lib.llama_sampler_init_top_k(p["k"])
        if kind == "typ_p":
            return lib.llama_sampler_init_typical(p["p"], p["min_keep"])
        if kind == "top_p":
            return lib.llama_sampler_init_top_p(p["p"], p["min_keep"])
        if kind == "min_p":
            return lib.llama_sampler_init_min_p(p["p"], p["min_keep"])
        if kind == "xtc":
            return lib.llama_sampler_init_xtc(p["probability"], p["threshold"], p["min_keep"], seed)
        if kind == "temperature":
            return lib.llama_sampler_init_temp_ext(p["temp"], p["delta"], p["exponent"])
        if kind == "dist":
            return lib.llama_sampler_init_dist(seed)
        if kind == "greedy":
            return lib.llama_sampler_init_greedy()
        if kind == "logit_bias":
            biases = [LogitBias(token, read_f32(bias)) for token, bias in p["bias"]]
            return lib.llama_sampler_init_logit_bias(n_vocab, len(biases), (LogitBias * len(biases))(*biases))
        if kind == "mirostat":
            return lib.llama_sampler_init_mirostat(n_vocab, seed, p["tau"], p["eta"], p["m"])
        if kind == "mirostat_v2":
            return lib.llama_sampler_init_mirostat_v2(seed, p["tau"], p["eta"])
        if kind == "adaptive_p":
            return lib.llama_sampler_init_adaptive_p(p["target"], p["decay"], seed)
        if kind == "chain":
            chain = lib.llama_sampler_chain_init(ChainParams(no_perf=True))
            for inner in p["steps"]:
                lib.llama_sampler_chain_add(chain, self.sampler(inner, seed, n_vocab, vocab))
            return chain
        if kind == "infill":
            return lib.llama_sampler_init_infill(vocab)
        if kind == "reasoning_budget":
            return self.reasoning_budget(p, vocab)
        raise ValueError(f"no such step: {kind}")

    def dry_with_vocabulary(self, vocab, p, breakers):
        """The DRY sampler that llama-server makes: its breakers are strings, found in the pieces of a vocabulary."""
        strings = (ctypes.c_char_p * len(breakers))(*[breaker.encode() for breaker in breakers])
        return self.lib.llama_sampler_init_dry(
            vocab, *self.DRY_CONTEXT, p["multiplier"], p["base"], p["allowed_length"], p["last_n"], strings, len(strings))

    def dry(self, p):
        numbers = (*self.DRY_CONTEXT, p["multiplier"], p["base"], p["allowed_length"], p["last_n"])
        breakers = [breaker for breaker in p["breaker_tokens"] if breaker]
        off = p["multiplier"] == 0 or np.float32(p["base"]) < 1 or p["last_n"] <= 0
        if off or not breakers:
            # The testing constructor writes into the state of a DRY sampler even where it has made an empty one.
            return self.lib.llama_sampler_init_dry(None, *numbers, None, 0)
        arrays = [(ctypes.c_int32 * len(breaker))(*breaker) for breaker in breakers]
        vectors = (StdVector * len(arrays))(*[StdVector.over(array) for array in arrays])
        return getattr(self.lib, self.DRY_TESTING)(*numbers, StdVector.over(vectors))

    def reasoning_budget(self, p, vocab):
        """Of libllama-common, not of libllama: a C++ function, whose vectors are made here."""
        if not hasattr(self, "common"):
            self.common = ctypes.CDLL(str(self.path.with_name("libllama-common.so")))
            vectors = ctypes.POINTER(StdVector)
            init = getattr(self.common, self.REASONING_BUDGET)
            init.restype = ctypes.c_void_p
            init.argtypes = [ctypes.c_void_p, vectors, vectors, vectors, ctypes.c_int32, ctypes.c_int]
        keep = []

        def ints(ids):
            keep.append((ctypes.c_int32 * len(ids))(*ids))
            return StdVector.over(keep[-1])

        def lists(sequences):
            keep.append((StdVector * len(sequences))(*[ints(ids) for ids in sequences]))
            return StdVector.over(keep[-1])

        budget = INT_MAX if p["budget"] < 0 else p["budget"]
        return getattr(self.common, self.REASONING_BUDGET)(
            vocab, lists(p["start"]), lists(p["end"]), ints(p["forced"]), budget, BUDGET_STATES[p["state"]])

    def replay(self, chain, prompt, rows, vocab=None):
        """Runs a chain over rows of logits. Gives what a case's `expect` holds: tokens, final and steps."""
        rows = list(rows)
        samplers = [self.sampler(step, chain["seed"], len(rows[0]), vocab) for step in chain["steps"]]
        return self.run(samplers, prompt, rows)

    def run(self, samplers, prompt, rows, see=lambda candidates: None):
        """The same for samplers that are made already. They are freed; `see` is shown the candidates of each draw."""
        tokens, final, steps = [], [], []
        names = [self.lib.llama_sampler_name(sampler).decode() for sampler in samplers]
        self.accept(samplers, *prompt)
        for logits in rows:
            memory, array = self.candidates_of(logits)  # the array points into the memory
            row_steps = []
            for name, sampler in zip(names, samplers):
                self.lib.llama_sampler_apply(sampler, ctypes.byref(array))
                now = self.candidates(array)
                pairs = np.stack([now["id"].view("<u4"), now["logit"].view("<u4")], axis=1)
                row_steps.append(
                    {"step": name, "size": array.size, "sorted": array.sorted, "digest": digest(pairs.tobytes())})
            if not 0 <= array.selected < array.size:
                raise ValueError("nothing was selected")
            if np.isnan(now["logit"]).any() or np.isnan(now["p"]).any():
                raise ValueError("the candidates hold a NaN")
            see(now)
            token = int(now["id"][array.selected])
            final.append({"size": array.size, "sorted": array.sorted, "selected": array.selected,
                          "digest": digest(now.tobytes())})
            steps.append(row_steps)
            tokens.append(token)
            self.accept(samplers, token)
        self.free(samplers)
        return {"tokens": tokens, "final": final, "steps": steps}

    @staticmethod
    def candidates_of(logits):
        """A row of logits as llama.cpp's candidates: the memory, which must be kept, and the array over it."""
        memory = np.zeros(len(logits), dtype=CANDIDATE)
        memory["id"] = np.arange(len(logits))
        memory["logit"] = logits
        return memory, TokenDataArray(memory.ctypes.data, len(memory), -1, False)

    def apply_in_place(self, logits, step):
        """What one sampler leaves in the memory of all candidates, those that it cut off included."""
        memory, array = self.candidates_of(logits)
        sampler = self.sampler(step, 0, len(logits))
        self.lib.llama_sampler_apply(sampler, ctypes.byref(array))
        self.lib.llama_sampler_free(sampler)
        return memory

    def choose(self, samplers, logits):
        """One draw without anything written down. The token is not accepted."""
        memory, array = self.candidates_of(logits)
        for sampler in samplers:
            self.lib.llama_sampler_apply(sampler, ctypes.byref(array))
        return int(self.candidates(array)["id"][array.selected])

    def accept(self, samplers, *tokens):
        for token in tokens:
            for sampler in samplers:
                self.lib.llama_sampler_accept(sampler, token)

    def free(self, samplers):
        for sampler in samplers:
            self.lib.llama_sampler_free(sampler)

    @staticmethod
    def candidates(array):
        """A copy of the candidates where the array points now: xtc moves its start."""
        data = ctypes.string_at(array.data, array.size * CANDIDATE.itemsize)
        return np.frombuffer(data, dtype=CANDIDATE).copy()
