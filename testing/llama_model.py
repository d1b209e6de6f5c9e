"""GGUF models and vocabularies through libllama: pieces, tokenizations, and logits for a prompt and one token at a time.

Nothing is recorded by running this file: the recorders beside it import it. Needs numpy and a libllama.so of llama.cpp
b11192: the layouts of the structs below are those of that build's llama.h.
"""

import ctypes
import gzip
import struct

import numpy as np


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


class Vocabulary:
    """The vocabulary of a GGUF file through libllama. The file may hold no more than its metadata."""

    def __init__(self, llama, path, vocab_only=True):
        self.lib = llama.lib
        pointer, i32, flag = ctypes.c_void_p, ctypes.c_int32, ctypes.c_bool
        ids = ctypes.POINTER(i32)
        llama.declare("llama_backend_init", None)
        llama.declare("llama_model_default_params", ModelParams)
        llama.declare("llama_model_load_from_file", pointer, ctypes.c_char_p, ModelParams)
        llama.declare("llama_model_get_vocab", pointer, pointer)
        llama.declare("llama_vocab_n_tokens", i32, pointer)
        llama.declare("llama_vocab_is_eog", flag, pointer, i32)
        llama.declare("llama_vocab_eot", i32, pointer)
        llama.declare("llama_vocab_eos", i32, pointer)
        llama.declare("llama_tokenize", i32, pointer, ctypes.c_char_p, i32, ids, i32, flag, flag)
        llama.declare("llama_vocab_get_suppress_tokens", ids, pointer, ids)
        llama.declare("llama_token_to_piece", i32, pointer, i32, ctypes.c_char_p, i32, i32, flag)
        llama.declare("llama_detokenize", i32, pointer, ids, i32, ctypes.c_char_p, i32, flag, flag)

        self.lib.llama_backend_init()
        params = self.lib.llama_model_default_params()
        params.vocab_only = vocab_only
        self.model = self.lib.llama_model_load_from_file(str(path).encode(), params)
        if not self.model:
            raise ValueError(f"{path} does not load")
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

    def text_piece(self, token):
        """The bytes of one token as text: nothing for special tokens, and nothing cleaned up. Infill compares these."""
        text = ctypes.create_string_buffer(1024)
        count = self.lib.llama_token_to_piece(self.vocab, token, text, len(text), 0, False)
        return text.raw[:count]

    def eog(self):
        return [t for t in range(self.n_vocab) if self.lib.llama_vocab_is_eog(self.vocab, t)]

    def eot(self):
        return self.lib.llama_vocab_eot(self.vocab)

    def eos(self):
        return self.lib.llama_vocab_eos(self.vocab)

    def suppressed(self):
        """Tokens that llama.cpp biases to -infinity behind all other biases."""
        count = ctypes.c_int32(0)
        ids = self.lib.llama_vocab_get_suppress_tokens(self.vocab, ctypes.byref(count))
        return [ids[i] for i in range(count.value)]

    def vocabulary(self, source):
        return {
            "source": source,
            "eog": self.eog(),
            "eot": self.eot(),
            "eos": self.eos(),
            "pieces_hex": [self.piece(t).hex() for t in range(self.n_vocab)],
        }

    def packed(self):
        """The same in less room: u32 count, u8 length of each piece, the bytes of all pieces, u32 n, n end-of-generation ids as
        u32, i32 eot, i32 eos."""
        eog, pieces = self.eog(), [self.piece(token) for token in range(self.n_vocab)]
        raw = struct.pack("<I", len(pieces)) + bytes(map(len, pieces)) + b"".join(pieces)
        raw += struct.pack(f"<{len(eog) + 1}I2i", len(eog), *eog, self.eot(), self.eos())
        return gzip.compress(raw, 9, mtime=0)


class Model(Vocabulary):
    """A GGUF model: its vocabulary, and logits for a prompt and then one token at a time."""

    def __init__(self, llama, path, threads=2, context=512):
        super().__init__(llama, path, vocab_only=False)
        pointer, i32, flag = ctypes.c_void_p, ctypes.c_int32, ctypes.c_bool
        ids = ctypes.POINTER(i32)
        llama.declare("llama_context_default_params", ContextParams)
        llama.declare("llama_init_from_model", pointer, pointer, ContextParams)
        llama.declare("llama_get_memory", pointer, pointer)
        llama.declare("llama_memory_clear", None, pointer, flag)
        llama.declare("llama_batch_get_one", Batch, ids, i32)
        llama.declare("llama_decode", i32, pointer, Batch)
        llama.declare("llama_get_logits_ith", ctypes.POINTER(ctypes.c_float), pointer, i32)
        params = self.lib.llama_context_default_params()
        params.n_ctx = context
        params.n_threads = params.n_threads_batch = threads
        self.context = self.lib.llama_init_from_model(self.model, params)

    def decode(self, tokens):
        """Adds tokens to the context. Gives the logits after the last."""
        ids = (ctypes.c_int32 * len(tokens))(*tokens)
        if self.lib.llama_decode(self.context, self.lib.llama_batch_get_one(ids, len(tokens))) != 0:
            raise ValueError("llama_decode failed")
        logits = self.lib.llama_get_logits_ith(self.context, -1)
        return np.ctypeslib.as_array(logits, shape=(self.n_vocab,)).copy()

    def clear(self):
        self.lib.llama_memory_clear(self.lib.llama_get_memory(self.context), True)

    def rows(self, prompt, tokens):
        """The logits from which each of `tokens` was drawn: one decode of the prompt, then one token at a time."""
        self.clear()
        rows = [self.decode(prompt)]
        for token in tokens[:-1]:
            rows.append(self.decode([token]))
        return rows
