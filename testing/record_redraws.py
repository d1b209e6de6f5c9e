"""Records draws under a grammar: which tokens it allows, whether the first choice was rejected, what was drawn then.

llama.cpp draws with the whole chain from the raw logits; if the grammar does not allow the token, it masks the raw logits
and runs the whole chain once more. Requests with a GBNF `grammar` go to a llama-server with a model of 512 tokens. The
logits of each draw are computed again through libllama, and what the grammar allows is asked of libllama's grammar sampler
over the full vocabulary. Then the draws are repeated with libllama's samplers as described: they must give llama-server's
tokens, and say which were redrawn. The cases with `grammar_first` (mask first, then the chain once, which is what llama.cpp
does with that argument) are drawn through libllama alone.

From the root of the repository (testing/README.md says where the programs and the model come from):
    python testing/record_redraws.py --libllama path/to/libllama.so --llama-server path/to/llama-server \\
        --tiny-model path/to/tiny-512.gguf [--out testing/data]
The same programs, model and machine write the same bytes again.
"""

import argparse
import ctypes
import pathlib

import numpy as np

import oracle_lib as oracle
from cases.grammars import FIRST, PROMPTS, REQUESTS, TOKENS
from libllama import Libllama
from llama_model import Model
from llama_server import SETTINGS, Rows, Server, samplers_of, strings_to_encode

TITLE = "SmolLM2-135M-Instruct Q4_1 cut to 512 tokens"


class Grammar:
    """libllama's grammar sampler."""

    def __init__(self, llama, model, text):
        self.llama = llama
        self.sampler = llama.lib.llama_sampler_init_grammar(model.vocab, text.encode(), b"root")
        if not self.sampler:
            raise ValueError(f"not a grammar: {text}")

    def masked(self, logits):
        """A row without the tokens that the grammar does not allow now."""
        memory, array = self.llama.candidates_of(logits)
        self.llama.lib.llama_sampler_apply(self.sampler, ctypes.byref(array))
        assert array.size == len(logits) and (memory["id"] == np.arange(len(logits))).all()
        return memory["logit"].copy()

    def allowed(self, n_vocab):
        return self.masked(np.zeros(n_vocab, dtype=np.float32)) == 0

    def allows(self, token):
        memory, array = self.llama.candidates_of(np.ones(1, dtype=np.float32))
        memory["id"] = token
        self.llama.lib.llama_sampler_apply(self.sampler, ctypes.byref(array))
        return bool(memory["logit"][0] == 1)

    def accept(self, token):
        self.llama.lib.llama_sampler_accept(self.sampler, token)


def draw(llama, grammar, samplers, row, grammar_first):
    """One draw, as common_sampler_sample does it: the token, and whether the first choice was rejected."""
    if not grammar_first:
        token = llama.choose(samplers, row)
        if grammar.allows(token):
            return token, False
    return llama.choose(samplers, grammar.masked(row)), not grammar_first


def bitset(allowed):
    """Token i is bit i % 8 of byte i / 8."""
    return np.packbits(allowed, bitorder="little").tobytes().hex()


def redraw(llama, model, grammar_text, settings, prompt, rows, grammar_first=False):
    """The draws from `rows`, an iterable that is told each token, with the masks."""
    grammar = Grammar(llama, model, grammar_text)
    samplers = samplers_of(llama, model, settings)
    llama.accept(samplers, *prompt)
    tokens, redrawn, masks = [], [], []
    row = rows(None)
    while row is not None:
        allowed = grammar.allowed(model.n_vocab)
        assert ((grammar.masked(row) == -np.inf) == ~allowed).all()
        token, again = draw(llama, grammar, samplers, row, grammar_first)
        assert allowed[token]
        masks.append(bitset(allowed))
        tokens.append(token)
        redrawn.append(again)
        if model.lib.llama_vocab_is_eog(model.vocab, token):
            break
        grammar.accept(token)
        llama.accept(samplers, token)
        row = rows(token)
    llama.free(samplers + [grammar.sampler])
    return tokens, redrawn, masks


def case_of(name, source, prompt, request, grammar, masks, rows, tensor, model, expect):
    case = {"name": name, "source": source,
            "logits": {"file": "redraws.safetensors", "tensor": "logits", **tensor.add(rows)},
            "vocab": {"file": "tiny-vocab.json"}, "prompt": prompt, "request": request}
    encode = {text: model.encode(text) for text in strings_to_encode(request)}
    if encode:
        case["encode"] = encode
    return {**case, "grammar": grammar, "masks": masks, "expect": expect}


def from_server(llama, server, model, name, prompt, grammar, request, tensor):
    answer = server.complete(prompt, TOKENS, {**request, "grammar": grammar})
    settings = {key: answer["generation_settings"][key] for key in SETTINGS}
    rows = model.rows(prompt, answer["tokens"])
    coming = iter(rows)
    tokens, redrawn, masks = redraw(llama, model, grammar, settings, prompt, lambda _: next(coming, None))
    assert tokens == answer["tokens"], (name, tokens, answer["tokens"])
    expect = {"tokens": tokens, "redrawn": redrawn, "text": answer["content"]}
    source = "llama-server b11192, " + TITLE
    return case_of("redraws/" + name, source, prompt, request, grammar, masks, rows, tensor, model, expect), settings


def mask_first(llama, model, name, prompt, grammar, request, settings, tensor):
    rows = []

    def following(token):
        if token is None:
            model.clear()
        if len(rows) == TOKENS:
            return None
        rows.append(model.decode(prompt if token is None else [token]))
        return rows[-1]

    tokens, _, masks = redraw(llama, model, grammar, settings, prompt, following, grammar_first=True)
    name, source = "redraws/grammar-first/" + name, "libllama b11192, " + TITLE
    case = case_of(name, source, prompt, request, grammar, masks, rows, tensor, model, {"tokens": tokens})
    expect = case.pop("expect")
    return {**case, "grammar_first": True, "expect": expect}


def main():
    parser = argparse.ArgumentParser(description="Records draws under a grammar.")
    for argument in ("--libllama", "--llama-server", "--tiny-model"):
        parser.add_argument(argument, required=True)
    parser.add_argument("--out", default="testing/data")
    arguments = parser.parse_args()

    llama = Libllama(arguments.libllama)
    model = Model(llama, arguments.tiny_model)
    tensor = Rows()
    cases, settings = [], {}
    with Server(arguments.llama_server, arguments.tiny_model) as server:
        for name, prompt, grammar, request in REQUESTS:
            ids = model.encode(PROMPTS[prompt])
            case, settings[name] = from_server(llama, server, model, name, ids, grammar, request, tensor)
            cases.append(case)
    followed = sum(any(case["expect"]["redrawn"][:-1]) for case in cases)
    assert followed >= 14, followed
    for name, prompt, grammar, request in REQUESTS:
        if name in FIRST:
            cases.append(mask_first(llama, model, name, model.encode(PROMPTS[prompt]), grammar, request, settings[name], tensor))

    out = pathlib.Path(arguments.out)
    oracle.write_lines(out / "redraws.jsonl", oracle.head("llama-server", "testing/record_redraws.py", TITLE), cases)
    oracle.write_safetensors(out / "redraws.safetensors", "logits", tensor.rows)
    vocabulary = model.vocabulary(TITLE + " through llama.cpp b11192")
    (out / "tiny-vocab.json").write_text(oracle.dumps(vocabulary) + "\n", encoding="utf-8")
    draws = sum(len(case["expect"]["tokens"]) for case in cases)
    again = sum(sum(case["expect"].get("redrawn", [])) for case in cases)
    print(f"redraws: {len(cases)} cases, {followed} with draws after a redraw, {draws} draws, {again} redrawn, "
          f"{len(tensor.rows)} rows")


if __name__ == "__main__":
    main()
