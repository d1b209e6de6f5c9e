"""The GGUF files of make_gguf_headers.py: what is in the metadata of each. A value is given with the type that it is stored in."""

from gguf import GGUFValueType as T

SAMPLING = "general.sampling."
TOKENIZER = "tokenizer.ggml."
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6


def sampling(**values):
    return [(SAMPLING + key, value, kind, None) for key, (value, kind) in values.items()]


def text(value):
    return value, T.STRING


def f32(value):
    return value, T.FLOAT32


def f64(value):
    return value, T.FLOAT64


def strings(key, values):
    return (key, list(values), T.ARRAY, T.STRING)


ALL_KEYS = sampling(
    sequence=text("top_k;temperature;min_p"), top_k=(20, T.INT32), top_p=f32(0.9), min_p=f32(0.1), xtc_probability=f32(0.3),
    xtc_threshold=f32(0.05), temp=f32(0.65), penalty_last_n=(128, T.INT32), penalty_repeat=f32(1.05), mirostat=(0, T.INT32),
    mirostat_tau=f32(4.0), mirostat_eta=f32(0.2))

SETTINGS = {
    "sampling-none": [],
    "sampling-all": ALL_KEYS,
    "sampling-all-v2": ALL_KEYS,
    "sampling-some": sampling(temp=f32(0.3), top_k=(64, T.UINT32)),
    # What strtol and strtof make of a string.
    "sampling-strings": sampling(
        top_k=text(" 12abc"), top_p=text("0.7"), min_p=text("x"), xtc_probability=text("1e-2xyz"), xtc_threshold=text("0x1p-3"),
        temp=text("  +1.25 "), penalty_last_n=text("0x20"), penalty_repeat=text("1,3"), mirostat=text("2.9"), mirostat_tau=text("inf"),
        mirostat_eta=text("")),
    "sampling-strings-odd": sampling(
        top_k=text("99999999999999999999"), top_p=text("."), min_p=text("-.5e1"), xtc_probability=text("\t\n0.25"), xtc_threshold=text("1e-999"),
        temp=text("INFINITYx"), penalty_last_n=text("\u0664\u0662"), penalty_repeat=text("1.1.1"), mirostat=text("+"),
        mirostat_tau=text("1e999"), mirostat_eta=text("0" * 126 + "5")),
    # Numbers become text first: six decimals of a float.
    "sampling-widths": sampling(
        top_k=(200, T.UINT8), top_p=f64(0.1234567891234), min_p=f32(0.0000014), xtc_probability=f64(1e-7), xtc_threshold=f32(1 / 3),
        temp=f64(0.8500005), penalty_last_n=(4294967301, T.INT64), penalty_repeat=(2, T.UINT16), mirostat=(1, T.UINT64),
        mirostat_tau=(-3, T.INT8), mirostat_eta=f64(1e10)),
    "sampling-other-types": sampling(
        sequence=(5, T.INT32), top_k=f32(40.7), top_p=(1, T.INT32), min_p=(True, T.BOOL), penalty_last_n=f64(1e10), mirostat=(False, T.BOOL),
        mirostat_tau=f32(16777217.0), xtc_probability=f64(-0.0)) + [(SAMPLING + "temp", [0.5, 0.25], T.ARRAY, T.FLOAT32)],
    "sampling-out-of-range": sampling(
        top_k=(-5, T.INT32), top_p=f32(7.5), min_p=f32(-1.0), xtc_probability=f32(3.0), xtc_threshold=f32(9.0), temp=f32(-2.0),
        penalty_last_n=(-1, T.INT32), penalty_repeat=f32(100.0), mirostat_tau=f32(-5.0)),
    "sampling-numbers-beyond": sampling(
        top_k=(3000000000, T.UINT32), penalty_last_n=(18446744073709551615, T.UINT64), temp=f64(1e300), top_p=f64(1e-300)),
    "sampling-mirostat-2": sampling(mirostat=(2, T.INT32), mirostat_tau=f64(3.3), mirostat_eta=f64(0.07)),
    "sequence-spellings": sampling(sequence=text("top-k;NUCLEUS; temp;foo;;typ_p;Min-P;adaptive_p;temperature;topnsigma")),
    "sequence-empty": sampling(sequence=text("")),
    "sequence-semicolon": sampling(sequence=text(";")),
    "sequence-letters": sampling(sequence=text("kpt")),
    "sequence-commas": sampling(sequence=text("top_k,temperature")),
    "sequence-ends-with-one": sampling(sequence=text("xtc;dry;penalties;")),
    # Its 511th byte is inside the last name.
    "sequence-too-long": sampling(sequence=text("temperature;" * 42 + "temperature;top_k")),
    "sequence-array": [strings(SAMPLING + "sequence", ["top_k", "temperature"])],
    "other-keys": sampling(temperature=f32(0.1), typical_p=f32(0.5), repeat_penalty=f32(1.5), dry_multiplier=f32(0.8)) + [
        ("sampling.temp", 0.2, T.FLOAT32, None), ("general.sampling", "temp", T.STRING, None)],
}


def vocabulary(model, tokens, types=None, pre=None, scores=None, merges=None, more=()):
    yield (TOKENIZER + "model", model, T.STRING, None)
    if pre is not None:
        yield (TOKENIZER + "pre", pre, T.STRING, None)
    yield strings(TOKENIZER + "tokens", tokens)
    if scores is not None:
        yield (TOKENIZER + "scores", list(scores), T.ARRAY, T.FLOAT32)
    if types is not None:
        yield (TOKENIZER + "token_type", list(types), T.ARRAY, T.INT32)
    if merges is not None:
        yield strings(TOKENIZER + "merges", merges)
    for key, value in more:
        yield (TOKENIZER + key, value, T.BOOL if isinstance(value, bool) else T.ARRAY if isinstance(value, list) else T.UINT32,
               T.INT32 if isinstance(value, list) else None)


# Texts that make a difference: a leading space, a space before punctuation, an apostrophe between spaces, a contraction.
WORDS = ["hello", "{}hello", "{}", "{}{}", "{}.", "{},", "{}!", "{}{}?", "{}'{}", "{}n't", "{}'m", "{}'s", "a{}.", "x{}'s{}y", "\u00e9t\u00e9",
         "{}\u6f22", "{}'ve"]


def words(space):
    return [word.replace("{}", space) for word in WORDS]


def bpe(tokens, types, pre, more=(), merges=("h e", "l l")):
    return list(vocabulary("gpt2", tokens, types, pre, merges=list(merges), more=more))


def all_types(tokens):
    return [CONTROL] * 3 + [NORMAL] * (len(tokens) - 3)


SPECIAL = ["<unk>", "<s>", "</s>"]
BYTES = [f"<0x{i:02X}>" for i in range(256)]
G = "\u0120"  # a space, in the byte-level alphabet
LOW = "\u2581"
# Every byte of the byte-level alphabet, as GPT-2 writes it.
ALPHABET = [chr(b) if 33 <= b <= 126 or 161 <= b <= 172 or 174 <= b <= 255 else None for b in range(256)]
ALPHABET = [c if c else chr(256 + sum(x is None for x in ALPHABET[:b])) for b, c in enumerate(ALPHABET)]


def spm(space_prefix=None, more=()):
    normal = words(LOW)
    tokens = SPECIAL + BYTES + normal + ["<user>", " user defined ", "<unused0>", "weird\u0120", "two words"]
    types = [UNKNOWN, CONTROL, CONTROL] + [BYTE] * 256 + [NORMAL] * len(normal) + [USER_DEFINED] * 2 + [UNUSED, NORMAL, NORMAL]
    extra = list(more) + ([("add_space_prefix", space_prefix)] if space_prefix is not None else [])
    return list(vocabulary("llama", tokens, types, scores=[-float(i) for i in range(len(tokens))], more=extra))


def bert():
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", LOW + "hello", "s", LOW + "the", "ing", LOW + ".", ".", LOW + "'", LOW + "\u00e9", LOW]
    types = [UNUSED, UNKNOWN, CONTROL, CONTROL, CONTROL] + [NORMAL] * 9
    return list(vocabulary("bert", tokens, types, more=[("bos_token_id", 2), ("seperator_token_id", 3), ("unknown_token_id", 1),
                                                        ("padding_token_id", 0), ("mask_token_id", 4), ("token_type_count", 2)]))


def names(extra, types=None, more=()):
    """A byte-level vocabulary whose end-of-generation tokens are found by their texts."""
    tokens = ["a", "b", *extra]
    return bpe(tokens, [NORMAL, NORMAL] + (types or [CONTROL] * len(extra)), "smollm", more)


def vocabularies(smol_tokens, smol_types, smol_merges):
    """`smol_*` are the first 300 tokens of SmolLM2."""
    smol = [("eos_token_id", 2), ("bos_token_id", 1)]
    with_words = SPECIAL + words(G) + ["<extra>", "odd token\u00a0"]
    types = all_types(with_words)[:-2] + [USER_DEFINED, UNUSED]
    ends = [("eos_token_id", 2)]
    return {
        "bpe-smollm2-300": bpe(smol_tokens, smol_types, "smollm", smol, smol_merges),
        "bpe-smollm2-300-sampling-v2": bpe(smol_tokens, smol_types, "smollm", smol, smol_merges) + ALL_KEYS,
        "bpe-alphabet": bpe(ALPHABET + SPECIAL, [NORMAL] * 256 + [CONTROL] * 3, "llama-bpe", [("eos_token_id", 258)]),
        # Some pre-tokenizers clean up spaces, in the pieces too.
        **{f"bpe-pre-{pre}": bpe(with_words, types, pre, ends) for pre in ("default", "gpt-2", "qwen2", "llama-bpe", "deepseek-v3", "olmo")},
        "bpe-no-pre": bpe(with_words, types, None, ends),
        "bpe-no-types": bpe(with_words, None, "smollm", ends),
        "bpe-space-prefix": bpe(with_words, types, "smollm", [*ends, ("add_space_prefix", True)]),
        # Of the kind that writes spaces as SentencePiece does, and bytes too.
        "bpe-gemma4": list(vocabulary("gemma4", SPECIAL + words(LOW) + BYTES[:16] + ["<eos>", "<|tool_response>", "<turn|>", "\n"],
                                      [CONTROL] * 3 + [NORMAL] * len(WORDS) + [BYTE] * 16 + [CONTROL] * 3 + [NORMAL], "gemma4",
                                      merges=["h e"], more=[("eos_token_id", 36)])),
        "bpe-default-ids": bpe([chr(97 + i) for i in range(16)], None, "smollm"),
        "bpe-few-tokens": bpe([chr(97 + i) for i in range(8)], None, "smollm"),
        "bpe-empty-token": bpe(["a", "", "b", G], [NORMAL] * 4, "smollm", [("eos_token_id", 0)]),
        "bpe-suppress": bpe(with_words, types, "smollm", [*ends, ("suppress_tokens", [3, 5, 99, -1, 3])]),
        "spm": spm(),
        "spm-space-prefix": spm(True),
        "spm-no-space-prefix": spm(False, [("eos_token_id", 2), ("bos_token_id", 1), ("eot_token_id", 259)]),
        "spm-ids-out-of-range": spm(None, [("eos_token_id", 5000), ("eot_token_id", 70000)]),
        "wpm-bert": bert(),
        "names-one": names(["<|im_end|>", "<|im_start|>", "<|endoftext|>"][:2], more=[("eos_token_id", 3)]),
        "names-ids-given": names(["<|im_end|>", "<|eot_id|>", "<|eom_id|>", "</s>", "<eos>"], more=[("eos_token_id", 0), ("eot_token_id", 1)]),
        "names-normal-type": names(["<|im_end|>", "<end_of_turn>", "</s>"], [NORMAL, USER_DEFINED, UNUSED],
                                   more=[("eos_token_id", 1), ("eot_token_id", 3)]),
        "names-fim": names(["<|fim_pad|>", "<|repo_name|>", "<|file_sep|>", "<|fim_prefix|>", "<|eom_id|>"], more=[("eos_token_id", 6)]),
        "names-harmony": names(["<|return|>", "<|call|>", "<|end|>", "<|channel|>", "<|message|>", "<|start|>"],
                               more=[("eos_token_id", 2), ("eot_token_id", 2)]),
        "names-tool-response": names(["</s>", "<|tool_response>", "<turn|>", "<eos>"], more=[("eos_token_id", 5), ("eot_token_id", 4)]),
        # Which of several names is the end of a turn depends on where a std::unordered_map has put them.
        "names-several-eot": names(["<|im_end|>", "<|eot_id|>", "<|endoftext|>", "<end_of_turn>"], more=[("eos_token_id", 0)]),
        "names-several-eot-turned": names(["<end_of_turn>", "<|endoftext|>", "<|eot_id|>", "<|im_end|>"], more=[("eos_token_id", 0)]),
        "names-end-only": names(["<|end|>", "<|call|>"], more=[("eos_token_id", 3)]),
        "no-vocabulary": [(TOKENIZER + "model", "none", T.STRING, None)],
    }
