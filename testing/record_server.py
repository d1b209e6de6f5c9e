"""Records what llama-server answers to requests, and the logits that it drew from.

Every request is sent three times to a llama-server with one slot: as it is, with `n_probs`, and with `n_probs` and
`post_sampling_probs`. Then the logits of each draw are computed again through libllama: one llama_decode of the prompt,
then one token at a time. Before anything is written, three things are asserted: the three answers have the same tokens;
llama-server's logprobs are the softmax of the rows, to the bit; and libllama's samplers, made as llama-server's settings
say, draw the same tokens from these rows with the same bits in every probability that llama-server gave.

From the root of the repository (testing/README.md says where the programs and the model come from):
    python testing/record_server.py --libllama path/to/libllama.so --llama-server path/to/llama-server \\
        --model path/to/SmolLM2-135M-Instruct.Q4_1.gguf --small-model path/to/small-2048.gguf [--out testing/data]
Needs numpy. Two threads are used. The same programs, models and machine write the same bytes again.
"""

import argparse
import pathlib

import numpy as np

import oracle_lib as oracle
from libllama import Libllama
from llama_model import Model
from llama_server import SETTINGS, Rows, Server, samplers_of, strings_to_encode

N_PROBS = 8

# Stands for the length of the prompt in a request below.
PROMPT_LENGTH = "the length of the prompt"

PROMPTS = {
    "dog": "Once upon a time there was a little dog. The little dog had a friend, and the friend of the little dog was",
    "water": "Water is important for plants. Plants need water because",
    "list": "The first thing is to make a plan, the second thing is to make a plan, the third thing is to",
    "question": "Question: What is the most important part of learning? Answer: The most important part of learning is",
}

FULL = [
    ("defaults", "My grandmother kept bees behind the old stone barn, and every summer she", {"seed": 11}),
    ("penalties", "The market sells apples, pears and plums. On Monday the market sells",
     {"seed": 12, "repeat_penalty": 1.25, "repeat_last_n": 20, "frequency_penalty": 0.3, "presence_penalty": 0.2}),
    ("dry", "Row, row, row your boat, gently down the stream. Row, row, row your boat,",
     {"seed": 13, "dry_multiplier": 0.9, "dry_allowed_length": 1, "temperature": 0.6}),
    ("typical-and-dynamic-temperature", "Three things are worth knowing about the moon: it",
     {"seed": 14, "top_k": 0, "top_p": 1.0, "min_p": 0.0, "typical_p": 0.7, "temperature": 1.1, "dynatemp_range": 0.5,
      "dynatemp_exponent": 1.4}),
    ("xtc-and-custom-order", "The lighthouse keeper opened the door and saw",
     {"seed": 15, "samplers": ["temperature", "top_k", "xtc", "min_p", "penalties"], "temperature": 1.2, "top_k": 60,
      "xtc_probability": 0.7, "xtc_threshold": 0.06, "min_p": 0.01, "repeat_penalty": 1.1}),
    ("mirostat-2", "A good teacher is someone who", {"seed": 16, "mirostat": 2, "mirostat_tau": 4.5, "mirostat_eta": 0.15}),
]
FULL_TOKENS = 12

SMALL = [
    # seed, temperature
    ("defaults", "dog", {"seed": 1}),
    ("seed-minus-two", "dog", {"seed": -2}),
    ("greedy", "dog", {"seed": 1, "temperature": 0}),
    ("temperature-2.5", "water", {"seed": 2, "temperature": 2.5, "top_k": 0, "min_p": 0.1}),
    ("temperature-clamped", "dog", {"seed": 1, "temperature": -1}),
    ("dynamic-temperature", "water", {"seed": 2, "dynatemp_range": 0.5}),
    ("dynamic-temperature-from-zero", "water", {"seed": 2, "temperature": 0.7, "dynatemp_range": 1.5, "dynatemp_exponent": 2.2}),
    ("dynamic-temperature-over-all", "dog", {"seed": 1, "top_k": 0, "dynatemp_range": 0.4, "dynatemp_exponent": 0.5}),
    # truncation
    ("top-k-off", "dog", {"seed": 1, "top_k": 0}),
    ("top-k-1", "dog", {"seed": 1, "top_k": 1}),
    ("top-k-5", "dog", {"seed": 1, "top_k": 5}),
    ("top-k-200", "water", {"seed": 2, "top_k": 200, "top_p": 1.0, "min_p": 0.0}),
    ("top-k-clamped", "dog", {"seed": 1, "top_k": -5}),
    ("top-p-0.5", "dog", {"seed": 1, "top_k": 0, "top_p": 0.5}),
    ("top-p-0", "dog", {"seed": 1, "top_p": 0}),
    ("top-p-clamped", "dog", {"seed": 1, "top_p": 1.5}),
    ("top-p-0.97-hot", "water", {"seed": 2, "top_k": 0, "top_p": 0.97, "min_p": 0, "temperature": 1.5}),
    ("min-p-0.3", "dog", {"seed": 1, "min_p": 0.3}),
    ("min-p-1", "dog", {"seed": 1, "min_p": 1}),
    ("top-n-sigma-1", "dog", {"seed": 1, "top_n_sigma": 1}),
    ("top-n-sigma-0.5-over-all", "water", {"seed": 2, "top_k": 0, "top_n_sigma": 0.5}),
    ("typical-0.5", "dog", {"seed": 8, "typical_p": 0.5}),
    ("typical-0.9-over-all", "water", {"seed": 2, "typical_p": 0.9, "top_k": 0, "top_p": 1, "min_p": 0}),
    ("typical-after-top-n-sigma", "dog", {"seed": 1, "top_k": 0, "top_n_sigma": 1.2, "typical_p": 0.7}),
    ("xtc", "dog", {"seed": 1, "xtc_probability": 0.5}),
    ("xtc-always", "water", {"seed": 2, "xtc_probability": 1, "xtc_threshold": 0.05}),
    ("min-keep-top-p", "dog", {"seed": 1, "min_keep": 5, "top_p": 0.1, "min_p": 0}),
    ("min-keep-everywhere", "water", {"seed": 2, "min_keep": 3, "min_p": 0.95, "typical_p": 0.1, "xtc_probability": 1,
                                      "xtc_threshold": 0.02}),
    # penalties
    ("repeat-penalty", "dog", {"seed": 1, "repeat_penalty": 1.3}),
    ("repeat-window-short", "dog", {"seed": 1, "repeat_penalty": 1.5, "repeat_last_n": 3}),
    ("repeat-window-is-the-prompt", "dog", {"seed": 1, "repeat_penalty": 1.5, "repeat_last_n": PROMPT_LENGTH}),
    ("repeat-window-long", "dog", {"seed": 1, "repeat_penalty": 1.5, "repeat_last_n": 500}),
    ("frequency-penalty", "list", {"seed": 3, "frequency_penalty": 0.6}),
    ("presence-negative", "list", {"seed": 3, "presence_penalty": -0.5}),
    ("all-penalties", "list", {"seed": 3, "repeat_penalty": 1.1, "frequency_penalty": 0.2, "presence_penalty": 0.3,
                               "repeat_last_n": 10}),
    # DRY
    ("dry", "list", {"seed": 3, "dry_multiplier": 0.8}),
    ("dry-allowed-length-1", "list", {"seed": 3, "dry_multiplier": 0.8, "dry_allowed_length": 1, "dry_base": 1.2}),
    ("dry-allowed-length-0", "list", {"seed": 3, "dry_multiplier": 0.3, "dry_allowed_length": 0}),
    ("dry-window-short", "list", {"seed": 3, "dry_multiplier": 0.8, "dry_penalty_last_n": 5, "dry_allowed_length": 1}),
    ("dry-window-is-the-prompt", "list", {"seed": 3, "dry_multiplier": 0.8, "dry_penalty_last_n": PROMPT_LENGTH}),
    ("dry-base-too-small", "list", {"seed": 3, "dry_multiplier": 0.8, "dry_base": 0.5}),
    ("dry-breaker-one-piece", "list", {"seed": 3, "dry_multiplier": 0.8, "dry_sequence_breakers": [" thing"]}),
    ("dry-breaker-many-pieces", "list", {"seed": 3, "dry_multiplier": 0.8, "dry_sequence_breakers": ["thing is"]}),
    ("dry-breakers-sharing-pieces", "list",
     {"seed": 3, "dry_multiplier": 0.8, "dry_allowed_length": 1, "dry_sequence_breakers": ["the second", "the", ", the th", "ing"]}),
    # What is left of it after 40 bytes is what the prompt ends with.
    ("dry-breaker-too-long", "list",
     {"seed": 3, "dry_multiplier": 0.8, "dry_sequence_breakers": ["is to make a plan, the third thing is to be forgotten"]}),
    # mirostat
    ("mirostat-1", "question", {"seed": 4, "mirostat": 1}),
    ("mirostat-1-low", "question", {"seed": 4, "mirostat": 1, "mirostat_tau": 2, "mirostat_eta": 0.3}),
    ("mirostat-2", "question", {"seed": 11, "mirostat": 2}),
    ("mirostat-2-ignores-the-rest", "question",
     {"seed": 4, "mirostat": 2, "mirostat_tau": 1.5, "mirostat_eta": 0.5, "repeat_penalty": 1.5, "top_k": 2, "dynatemp_range": 0.5}),
    ("mirostat-2-cool-and-biased", "question", {"seed": 4, "mirostat": 2, "temperature": 0.5, "logit_bias": [[28, False]]}),
    # adaptive-p
    ("adaptive-p", "question", {"seed": 4, "samplers": ["top_k", "min_p", "adaptive_p"], "adaptive_target": 0.3}),
    ("adaptive-p-listed-first", "question",
     {"seed": 4, "samplers": ["adaptive_p", "temperature", "min_p"], "adaptive_target": 0.6, "adaptive_decay": 0.5}),
    ("adaptive-p-by-letter", "question", {"seed": 4, "samplers": "kam", "adaptive_target": 0.1, "adaptive_decay": 0.99}),
    # which samplers
    ("samplers-none", "water", {"seed": 5, "samplers": []}),
    ("samplers-own-order", "dog",
     {"seed": 1, "samplers": ["temperature", "typ_p", "penalties", "top_k"], "temperature": 1.3, "typical_p": 0.8,
      "repeat_penalty": 1.2}),
    ("samplers-aliases", "dog", {"seed": 1, "samplers": ["nucleus", "temp", "Top-K", "minp", "typ"], "typical_p": 0.9}),
    ("samplers-letters", "dog", {"seed": 1, "samplers": "mtqk", "top_k": 10}),
    ("samplers-repeated", "dog", {"seed": 1, "samplers": ["temperature", "top_k", "temperature", "min_p", "temperature"]}),
    ("samplers-unknown", "dog", {"seed": 1, "samplers": ["typical_p", "TOP_K", "tfs_z", "mirostat"]}),
    # logit_bias
    ("bias-pairs", "water", {"seed": 5, "logit_bias": [[28, -2.5], [30, False], [260, 1.5]]}),
    ("bias-strings", "water", {"seed": 5, "logit_bias": [[" they", 2.0], ["potato roots", 1.25], [" water", False]]}),
    ("bias-object", "water", {"seed": 5, "logit_bias": {"260": 3, " plants": -4.5}}),
    ("bias-odd-forms", "water", {"seed": 5, "logit_bias": [[260, 1], [260, 2], [28, True], [99999, 5], [-1, 5], [30], [253, "x"]]}),
    # everything
    ("everything", "list",
     {"seed": 6, "temperature": 1.1, "dynatemp_range": 0.3, "dynatemp_exponent": 1.2, "top_k": 100, "top_p": 0.98, "min_p": 0.01,
      "top_n_sigma": 2.5, "typical_p": 0.97, "xtc_probability": 0.4, "xtc_threshold": 0.08, "repeat_last_n": 12,
      "repeat_penalty": 1.05, "frequency_penalty": 0.1, "presence_penalty": 0.1, "dry_multiplier": 0.5, "dry_base": 1.4,
      "dry_allowed_length": 1, "dry_penalty_last_n": 30, "min_keep": 2, "logit_bias": [[260, 0.5]], "mirostat": None}),
]
SMALL_TOKENS = 16

# A large one is packed.
VOCABULARIES = {"small": "small-vocab.json", "smollm2": "smollm2-vocab.bin.gz"}

def short_probs(answer, one, many):
    """llama-server's `completion_probabilities` without its texts and bytes."""
    return [
        {"id": token["id"], one: oracle.f32(token[one]), "top": [[t["id"], oracle.f32(t[one])] for t in token[many]]}
        for token in answer["completion_probabilities"]
    ]


# ------------------------------------------------------------------------------------------------ checks


def check_logprobs(llama, rows, logprobs):
    """llama-server's logprobs are, bit for bit, the f32 softmax of these rows.

    It sums the whole vocabulary in the order in which std::partial_sort leaves it. libllama's top-k does the same partial
    sort in place, so the array behind its candidates has that order.
    """
    for row, given in zip(rows, logprobs, strict=True):
        order = llama.apply_in_place(row, {"type": "top_k", "k": N_PROBS})
        p = oracle.expf(order["logit"] - order["logit"][0])
        p /= np.add.accumulate(p)[-1]
        probability = dict(zip(order["id"].tolist(), p))
        for token, logprob in [[given["id"], given["logprob"]], *given["top"]]:
            assert oracle.logf(probability[token]) == np.float32(logprob), (token, logprob)


def check_replay(llama, model, case, rows):
    """libllama draws the same tokens from these rows, with the same bits in each probability that is recorded."""
    expect = case["expect"]
    seen = []
    replayed = llama.run(samplers_of(llama, model, expect["settings"]), case["prompt"], rows,
                         see=lambda now: seen.append(dict(zip(now["id"].tolist(), now["p"]))))
    assert replayed["tokens"] == expect["tokens"], case["name"]
    for probabilities, given in zip(seen, expect["post_sampling_probs"], strict=True):
        for token, p in [[given["id"], given["prob"]], *given["top"]]:
            assert probabilities[token] == np.float32(p), (case["name"], token, p)


# ------------------------------------------------------------------------------------------------ cases


def record(llama, server, model, name, source, files, prompt, request, n_predict, tensor):
    request = {key: len(prompt) if value == PROMPT_LENGTH else value for key, value in request.items()}
    plain, raw, post = (
        server.complete(prompt, n_predict, {**request, **more})
        for more in ({}, {"n_probs": N_PROBS}, {"n_probs": N_PROBS, "post_sampling_probs": True}))
    tokens = plain["tokens"]
    assert tokens == raw["tokens"] == post["tokens"], name
    # llama-server gives no probabilities for a token that ends inside a character: such a case needs another seed.
    assert tokens == [t["id"] for t in raw["completion_probabilities"]], (name, "half a character")
    if len(tokens) != n_predict:
        print(f"{name}: {len(tokens)} tokens instead of {n_predict}")
    rows = model.rows(prompt, tokens)

    case = {"name": name, "source": source}
    case["logits"] = {"file": files + ".safetensors", "tensor": "logits", **tensor.add(rows)}
    case["vocab"] = {"file": VOCABULARIES[files]}
    case["prompt"] = prompt
    case["request"] = request
    encode = {text: model.encode(text) for text in strings_to_encode(request)}
    if encode:
        case["encode"] = encode
    case["expect"] = {
        "tokens": tokens,
        "text": plain["content"],
        "logprobs": short_probs(raw, "logprob", "top_logprobs"),
        "post_sampling_probs": short_probs(post, "prob", "top_probs"),
        "settings": {key: plain["generation_settings"][key] for key in SETTINGS},
    }
    check_logprobs(llama, rows, case["expect"]["logprobs"])
    check_replay(llama, model, case, rows)
    return case


def record_model(llama, arguments, path, files, title, requests, n_predict):
    model = Model(llama, path)
    tensor = Rows()
    with Server(arguments.llama_server, path) as server:
        cases = [
            record(llama, server, model, f"{files}/{name}", "llama-server b11192, " + title, files, model.encode(text), request,
                   n_predict, tensor)
            for name, text, request in requests
        ]
    out = pathlib.Path(arguments.out)
    oracle.write_lines(out / f"{files}.jsonl", oracle.head("llama-server", "testing/record_server.py", title), cases)
    oracle.write_safetensors(out / f"{files}.safetensors", "logits", tensor.rows)
    vocabulary = out / VOCABULARIES[files]
    if vocabulary.suffix == ".gz":
        vocabulary.write_bytes(model.packed())
    else:
        readable = model.vocabulary(title + " through llama.cpp b11192")
        vocabulary.write_text(oracle.dumps(readable) + "\n", encoding="utf-8")
    print(f"{files}: {len(cases)} cases, {sum(len(c['expect']['tokens']) for c in cases)} draws, {len(tensor.rows)} rows")


def main():
    parser = argparse.ArgumentParser(description="Records llama-server's answers and the logits behind them.")
    for argument in ("--libllama", "--llama-server", "--model", "--small-model"):
        parser.add_argument(argument, required=True)
    parser.add_argument("--out", default="testing/data")
    arguments = parser.parse_args()

    llama = Libllama(arguments.libllama)
    title = "SmolLM2-135M-Instruct Q4_1"
    small = [(name, PROMPTS[prompt], request) for name, prompt, request in SMALL]
    record_model(llama, arguments, arguments.small_model, "small", title + " cut to 2,048 tokens", small, SMALL_TOKENS)
    record_model(llama, arguments, arguments.model, "smollm2", title, FULL, FULL_TOKENS)


if __name__ == "__main__":
    main()
