"""The request bodies of record_requests.py: every sampling field with values of every kind, and fields together.

A body's order of fields is a part of it. Numbers are written as Python's json writes them: 1e39 is 1e+39, 2**63 all digits.
"""

# One value, many fields.
HARD = ("repeat_last_n", "dry_allowed_length", "dry_penalty_last_n", "min_keep")
SOFT = ("top_k", "mirostat", "n_probs")
CLAMPED = ("top_p", "min_p", "xtc_probability", "xtc_threshold", "temperature")
PLAIN = ("top_n_sigma", "typical_p", "dynatemp_range", "dynatemp_exponent", "repeat_penalty", "frequency_penalty", "presence_penalty",
         "dry_multiplier", "dry_base", "mirostat_tau", "mirostat_eta")
ADAPTIVE = ("adaptive_target", "adaptive_decay")
NUMBERS = HARD + SOFT + CLAMPED + PLAIN + ADAPTIVE + ("seed",)


def every(fields, value):
    return {field: value for field in fields}


def together():
    """Fields that do not refuse the value, all in one request."""
    yield "all-null", {**every(NUMBERS, None), "samplers": None, "logit_bias": None, "dry_sequence_breakers": None, "ignore_eos": None,
                       "post_sampling_probs": None, "logprobs": None}
    yield "all-true", every(NUMBERS[:-3] + ("seed", "adaptive_target"), True)
    yield "all-false", every(HARD + SOFT + CLAMPED + tuple(f for f in PLAIN if f != "repeat_penalty") + ADAPTIVE + ("seed",), False)
    yield "all-fractions", every(NUMBERS, 0.7)
    yield "all-1.9", every(HARD + SOFT + CLAMPED + PLAIN + ("adaptive_target", "seed"), 1.9)
    yield "soft-negative", every(SOFT + CLAMPED + ("adaptive_target",), -1)
    yield "plain-negative", every([f for f in PLAIN if f != "repeat_penalty"], -0.25)
    yield "whole-numbers-in-floats", every(CLAMPED + PLAIN, 1)
    yield "at-the-lower-limits", {**every(CLAMPED + HARD + SOFT, 0), "adaptive_decay": 0, "adaptive_target": -3.4028234663852886e38}
    yield "at-the-upper-limits", {**every(CLAMPED, 1.0), **every(HARD[:1], 2147483647), "top_k": 2147483647, "mirostat": 2,
                                  "min_keep": 2147483647, "adaptive_target": 1.0, "adaptive_decay": 0.99}
    yield "beyond-the-upper-limits", {**every(CLAMPED[:4], 1.0000001), "top_k": 2147483648, "mirostat": 3, "adaptive_target": 1.0000001}
    yield "beyond-the-lower-limits", {**every(CLAMPED, -1e-45), "top_k": -2147483649, "mirostat": -2147483649, "adaptive_target": -1e39}
    yield "tiny", every(CLAMPED + ("frequency_penalty", "dry_multiplier", "mirostat_eta"), 1e-46)
    yield "clamped-1e39", every(CLAMPED, 1e39)
    yield "plain-1e39", every([f for f in PLAIN if f not in ("repeat_penalty", "dry_multiplier", "dry_base")], 1e39)
    yield "plain-minus-1e300", every([f for f in PLAIN if f not in ("repeat_penalty", "dry_multiplier", "frequency_penalty")], -1e300)
    yield "soft-1e10", every(SOFT, 1e10)
    yield "soft-minus-1e10", every(SOFT, -1e10)
    yield "soft-1e300", every(SOFT, 1e300)
    yield "soft-99999999999", every(SOFT, 99999999999)
    yield "soft-2-63", every(SOFT, 2**63)
    yield "soft-minus-2-63", every(SOFT, -(2**63))
    yield "soft-2-64", every(SOFT, 2**64)
    yield "hard-99999999999", every(HARD, 99999999999)
    yield "hard-4294967296", every(HARD, 4294967296)
    yield "hard-2-63", every(HARD, 2**63)
    yield "hard-minus-0.9", every(HARD, -0.9)
    yield "f32-rounding", {"top_p": 0.1234567891234, "min_p": 0.30000001, "temperature": 16777217, "mirostat_tau": 1e-310}
    yield "dynamic-temperature-of-infinity", {"dynatemp_range": 1e39, "dynatemp_exponent": -1e39}


def one_at_a_time():
    """Refusals, and limits on both sides."""
    for field, value in [
        ("top_k", []), ("top_k", {}), ("top_k", "40"), ("top_p", [0.5]), ("min_p", "0.1"), ("temperature", {"value": 1}),
        ("top_n_sigma", "x"), ("typical_p", []), ("xtc_probability", "1"), ("xtc_threshold", {}), ("dynatemp_range", "0"),
        ("dynatemp_exponent", [1]), ("repeat_last_n", "64"), ("repeat_penalty", []), ("frequency_penalty", "x"), ("presence_penalty", {}),
        ("dry_multiplier", "0.8"), ("dry_base", "2"), ("dry_base", None), ("dry_allowed_length", []), ("dry_penalty_last_n", "-1"),
        ("mirostat", "2"), ("mirostat_tau", []), ("mirostat_eta", "x"), ("adaptive_target", "x"), ("adaptive_decay", []),
        ("seed", "42"), ("seed", []), ("n_probs", "3"), ("min_keep", {}), ("repeat_last_n", -2), ("repeat_last_n", 2147483648),
        ("repeat_last_n", 1e300), ("dry_penalty_last_n", 2147483648), ("dry_penalty_last_n", -1e10), ("dry_allowed_length", -(2**63)),
        ("min_keep", 2147483648), ("min_keep", -1.5), ("adaptive_decay", 0.9900001), ("adaptive_decay", -0.0001), ("adaptive_decay", 1),
        ("adaptive_decay", 1e39), ("adaptive_decay", True), ("adaptive_decay", 0.99000000001), ("adaptive_decay", -1e-50),
        ("dry_base", 0.99999999), ("dry_base", 1e39), ("dry_base", -1e39), ("dry_multiplier", 1e39), ("frequency_penalty", -1e39),
        ("presence_penalty", 1e300), ("repeat_penalty", -1e39), ("repeat_penalty", 1e-38), ("repeat_penalty", 2e-39),
        ("repeat_penalty", 3e-39), ("repeat_penalty", False), ("repeat_penalty", -0.0), ("repeat_penalty", 3e38),
    ]:
        yield f"{field}={value}", {field: value}


def seeds():
    for seed in (-2, 0, 2**32 - 1, 2**32 - 2, 2**32 + 7, 0.5, -1.5, -0.5, True, 1e30, -1e10, 1e10, 2**63, -(2**63), 2**64, 4294967295.5):
        yield f"seed={seed}", {"seed": seed}


def samplers():
    spellings = ["top_k", "top-k", "topk", "Top_K", "TOPK", "top k", "topK "]
    yield "samplers/top-k", {"samplers": spellings}
    yield "samplers/typ", {"samplers": ["typ_p", "typ-p", "typp", "typ", "typical", "typical_p", "typical-p", "Typ_P"]}
    yield "samplers/nucleus", {"samplers": ["top_p", "top-p", "topp", "nucleus", "NUCLEUS", "min_p", "min-p", "minp", "MinP"]}
    yield "samplers/temperature", {"samplers": ["temperature", "temp", "Temp", "temp_ext", "t"]}
    yield "samplers/sigma", {"samplers": ["top_n_sigma", "top-n-sigma", "topnsigma", "top_nsigma", "top-n_sigma"]}
    yield "samplers/rest", {"samplers": ["dry", "DRY", "xtc", "Xtc", "penalties", "penalty", "infill", "dist", "greedy", "logit_bias"]}
    yield "samplers/adaptive", {"samplers": ["adaptive_p", "adaptive-p", "adaptivep", "ADAPTIVE_P", "adaptive"]}
    yield "samplers/empty-names", {"samplers": ["", " ", "top_k"]}
    yield "samplers/empty-string", {"samplers": ""}
    yield "samplers/all-letters", {"samplers": "dkypsmtxiea"}
    yield "samplers/unknown-letters", {"samplers": "K?f k;p\u00e9kk"}
    yield "samplers/infill-letter", {"samplers": "ki"}
    yield "samplers/list-of-null", {"samplers": [None]}
    yield "samplers/number-in-list", {"samplers": ["top_k", 5]}
    yield "samplers/list-in-list", {"samplers": [["top_k"]]}
    yield "samplers/object", {"samplers": {"top_k": 1}}
    yield "samplers/true", {"samplers": True}


def biases():
    yield "bias/pairs", {"logit_bias": [[5, 1.5], [6, -2], [7, False], [5, 0.25]]}
    yield "bias/refused-values", {"logit_bias": [[5, True], [6, None], [7, "1"], [8, [1]], [9, {}], [10, False]]}
    yield "bias/sizes", {"logit_bias": [[], [5], [5, 1, 2], 5, "5", None, {"5": 1}, [6, 1]]}
    yield "bias/range", {"logit_bias": [[-1, 1], [0, 1], [2047, 1], [2048, 1], [4294967301, 2], [-4294967290, 3], [2**63, 4]]}
    yield "bias/float-ids", {"logit_bias": [[5.0, 1], [6.5, 1], [True, 1], [None, 1], [7, 1]]}
    yield "bias/nested", {"logit_bias": [[[5, 1]], [[5], 1], [{"5": 1}, 1]]}
    yield "bias/strings", {"logit_bias": [["5", 1], [" the", False], ["", 2], ["the end", -1], ["<|im_end|>", 3]]}
    yield "bias/huge", {"logit_bias": [[5, 1e39], [6, -1e39], [7, 1e-50], [8, 99999999999], [9, 2**63]]}
    yield "bias/object", {"logit_bias": {"7": 1, "5": False, "6": True, " the": 0.5, "0": -1}}
    yield "bias/object-odd-keys", {"logit_bias": {"": 1, " 5": 2, "5x": 3, "+6": 4, "-7": 5, "0x8": 6, "9 ": 7, "5.0": 8, " ": 9}}
    yield "bias/object-numbers", {"logit_bias": {"2047": 1, "2048": 2, "4294967301": 3, "99999999999999999999": 4, "007": 5, "\t8": 6}}
    yield "bias/object-values", {"logit_bias": {"5": None, "6": "1", "7": [1], "8": {}, "9": False, "10": 1e39}}
    yield "bias/object-order", {"logit_bias": {"9": 1, "10": 2, "1": 3, "a": 4, "01": 5}}
    for name, value in [("empty", []), ("empty-object", {}), ("string", "5"), ("number", 5), ("true", True), ("false", False)]:
        yield f"bias/{name}", {"logit_bias": value}
    yield "ignore-eos", {"ignore_eos": True}
    yield "ignore-eos/false", {"ignore_eos": False, "logit_bias": [[0, 1]]}
    yield "ignore-eos/bias-first", {"logit_bias": [[2, 1.5], [5, False]], "ignore_eos": True}
    yield "ignore-eos/bias-after", {"ignore_eos": True, "logit_bias": [[2, 1.5], [5, False]]}
    yield "ignore-eos/bias-object", {"ignore_eos": True, "logit_bias": {"4": 2}}
    yield "ignore-eos/bias-null", {"ignore_eos": True, "logit_bias": None}
    for name, value in [("yes", "yes"), ("1", 1), ("list", [])]:
        yield f"ignore-eos/{name}", {"ignore_eos": value}


def breakers():
    yield "breakers/one", {"dry_sequence_breakers": ["###"]}
    yield "breakers/many", {"dry_sequence_breakers": ["\n\n", "", "a", "a", "\u00e9", "x" * 50]}
    for name, value in [("empty-string", [""]), ("null-inside", ["a", None]), ("number-inside", ["a", 1]), ("object", {"a": "b"}),
                        ("object-empty", {}), ("number", 5), ("true", True), ("list-inside", [["a"]]), ("json-in-a-string", '["a"]')]:
        yield f"breakers/{name}", {"dry_sequence_breakers": value}


def combinations():
    yield "n-probs/alias", {"logprobs": 4}
    yield "n-probs/null-then-alias", {"n_probs": None, "logprobs": 5}
    yield "n-probs/alias-null", {"logprobs": None, "n_probs": 2}
    yield "n-probs/both", {"logprobs": 7, "n_probs": 2}
    yield "n-probs/alias-bool", {"logprobs": True}
    yield "n-probs/alias-string", {"logprobs": "5"}
    yield "n-probs/bad-alias-unused", {"logprobs": "5", "n_probs": 1}
    yield "n-probs/bad-name-good-alias", {"n_probs": "x", "logprobs": 1}
    yield "n-probs/zero-and-alias", {"n_probs": 0, "logprobs": 3}
    yield "n-probs/more-than-the-vocabulary", {"n_probs": 5000}
    yield "names-that-are-not-read", {"temp": 0.1, "typ_p": 0.2, "repeat_last": 5, "top-k": 3, "TOP_K": 4, "penalty_repeat": 2, "tau": 1,
                                      "dry_penalty": 3, "sampler": ["top_k"], "sampling": {"top_k": 1}}
    yield "post-sampling-probs", {"post_sampling_probs": True, "n_probs": 2}
    yield "post-sampling-probs/alone", {"post_sampling_probs": True}
    for name, value in [("1", 1), ("yes", "true"), ("list", [True])]:
        yield f"post-sampling-probs/{name}", {"post_sampling_probs": value}
    yield "errors/order-of-the-schema", {"min_keep": -1, "top_k": "x", "samplers": [1], "repeat_last_n": -1}
    yield "errors/seed-before-min-keep", {"min_keep": -1, "seed": "x", "n_probs": "y"}
    yield "errors/breakers-before-bias", {"ignore_eos": "yes", "dry_sequence_breakers": [], "samplers": [1]}
    yield "errors/ignore-eos-before-samplers", {"samplers": [1], "ignore_eos": 5}
    yield "errors/field-before-sampler", {"repeat_penalty": 0, "samplers": [1]}
    yield "errors/repeat-before-frequency", {"presence_penalty": 1e39, "frequency_penalty": 1e39, "repeat_penalty": 0}
    yield "errors/decay-before-seed", {"seed": {}, "adaptive_decay": 2}
    yield "errors/post-before-breakers", {"dry_sequence_breakers": 1, "post_sampling_probs": 1}
    yield "errors/dry-base-before-mirostat", {"mirostat": [], "dry_base": []}
    yield "mirostat/ignores", {"mirostat": 1, "top_k": 5, "samplers": ["xtc"], "mirostat_tau": -1, "mirostat_eta": 0}
    yield "everything", {"seed": 9, "temperature": 0.9, "dynatemp_range": 0.2, "dynatemp_exponent": 1.5, "top_k": 50, "top_p": 0.9,
                         "min_p": 0.02, "top_n_sigma": 3, "xtc_probability": 0.2, "xtc_threshold": 0.15, "typical_p": 0.95,
                         "repeat_last_n": 128, "repeat_penalty": 1.1, "presence_penalty": 0.1, "frequency_penalty": 0.2,
                         "dry_multiplier": 0.8, "dry_base": 1.8, "dry_allowed_length": 3, "dry_penalty_last_n": 100,
                         "dry_sequence_breakers": ["\n", "***"], "mirostat": 0, "mirostat_tau": 4, "mirostat_eta": 0.2,
                         "adaptive_target": 0.5, "adaptive_decay": 0.8, "n_probs": 1, "min_keep": 2,
                         "samplers": ["top_k", "penalties", "adaptive_p"], "logit_bias": [[7, 1]], "ignore_eos": True,
                         "post_sampling_probs": True}


def requests():
    for group in (together, one_at_a_time, seeds, samplers, biases, breakers, combinations):
        yield from group()
