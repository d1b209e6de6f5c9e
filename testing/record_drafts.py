"""Records draws with drafts: what common_sampler_sample_and_accept_n returns, and the tokens that are drawn after it.

A draft is tokens that somebody guesses to come next. All of its positions are decoded at once; then, position by position, a
token is drawn and accepted, until one is not what the draft says, or the draft is at its end and one more is drawn. The tokens
are drawn by record_drafts.cpp. Each case is run twice, first without a draft: what comes then, and something else behind it, is
the draft. At the end libllama's samplers draw once more, from the recorded rows: they must give the same tokens.

From the root of the repository (testing/README.md says where the programs and the model come from; record_drafts.cpp how it is built):
    python testing/record_drafts.py --libllama path/to/libllama.so --llama-server path/to/llama-server \\
        --recorder ./record_drafts --tiny-model path/to/tiny-512.gguf [--out testing/data]
The same programs, model and machine write the same bytes again.
"""

import argparse
import pathlib
import subprocess
import tempfile

import numpy as np

import oracle_lib as oracle
from cases.drafts import CASES, NEXT, PROMPTS
from libllama import Libllama
from llama_model import Vocabulary
from llama_server import SETTINGS, Rows, Server, samplers_of, strings_to_encode

TITLE = "SmolLM2-135M-Instruct Q4_1 cut to 512 tokens"
LETTERS = {"dry": "d", "top_k": "k", "typ_p": "y", "top_p": "p", "top_n_sigma": "s", "min_p": "m", "temperature": "t", "xtc": "x",
           "penalties": "e", "adaptive_p": "a"}
NOT_NUMBERS = ("samplers", "dry_sequence_breakers", "logit_bias", "n_probs")


def ids(word, tokens):
    return " ".join(map(str, [word, len(tokens), *tokens]))


def run(recorder, model, described):
    """The recorder's answers to (settings, prompt, draft, next): tokens, next tokens, and rows of logits."""
    lines = []
    for settings, prompt, draft, following in described:
        lines += [f"set {key} {settings[key]!r}" for key in SETTINGS if key not in NOT_NUMBERS]
        lines.append("samplers " + ("".join(LETTERS[name] for name in settings["samplers"]) or "-"))
        lines.append(ids("breakers", [breaker.encode().hex() for breaker in settings["dry_sequence_breakers"]]))
        lines += [ids("prompt", prompt), ids("draft", draft), f"next {following}", "run"]
    with tempfile.TemporaryDirectory() as place:
        path = pathlib.Path(place) / "rows"
        answer = subprocess.run([recorder, model.path, path], input="\n".join(lines), capture_output=True, text=True, check=True)
        rows = np.fromfile(path, dtype="<f4").reshape(-1, model.n_vocab)
    at = 0
    for line, (_, _, draft, following) in zip(answer.stdout.splitlines(), described, strict=True):
        tokens, after = ([int(word) for word in part.split()] for part in line.split("|"))
        count = len(draft) + 1 + following
        yield tokens, after, list(rows[at:at + count])
        at += count
    assert at == len(rows)


def draft_of(natural, length, right, n_vocab):
    """The first `right` tokens of what comes without a draft, then others."""
    return natural[:right] + [(token + 7) % n_vocab for token in natural[right:length]]


def check(llama, model, settings, prompt, draft, tokens, after, rows):
    samplers = samplers_of(llama, model, settings)
    llama.accept(samplers, *prompt)
    for row, token in zip([*rows[:len(tokens)], *rows[len(draft) + 1:]], tokens + after, strict=True):
        assert llama.choose(samplers, row) == token
        llama.accept(samplers, token)
    llama.free(samplers)


def main():
    parser = argparse.ArgumentParser(description="Records draws with drafts.")
    for argument in ("--libllama", "--llama-server", "--recorder", "--tiny-model"):
        parser.add_argument(argument, required=True)
    parser.add_argument("--out", default="testing/data")
    arguments = parser.parse_args()

    llama = Libllama(arguments.libllama)
    model = Vocabulary(llama, arguments.tiny_model)
    model.path = arguments.tiny_model
    prompts = {name: model.encode(text) for name, text in PROMPTS.items()}
    with Server(arguments.llama_server, arguments.tiny_model) as server:
        settings = [server.complete([17], 1, request)["generation_settings"] for _, _, request, _, _ in CASES]
    settings = [{key: s[key] for key in SETTINGS} for s in settings]

    first = [(s, prompts[prompt], [], length) for s, (_, prompt, _, length, _) in zip(settings, CASES)]
    natural = [tokens + after for tokens, after, _ in run(arguments.recorder, model, first)]
    drafts = [draft_of(tokens, length, right, model.n_vocab) for tokens, (_, _, _, length, right) in zip(natural, CASES)]
    second = [(s, prompts[prompt], draft, NEXT) for s, draft, (_, prompt, _, _, _) in zip(settings, drafts, CASES)]
    answers = list(run(arguments.recorder, model, second))

    tensor, cases = Rows(), []
    for described, s, draft, (tokens, after, rows) in zip(CASES, settings, drafts, answers, strict=True):
        name, prompt, request, length, right = described
        assert len(tokens) == right + 1, (name, draft, tokens)
        check(llama, model, s, prompts[prompt], draft, tokens, after, rows)
        case = {"name": f"drafts/{name}/{right}-of-{length}", "source": "libllama-common b11192, " + TITLE,
                "logits": {"file": "drafts.safetensors", "tensor": "logits", **tensor.add(rows)},
                "vocab": {"file": "tiny-vocab.json"}, "prompt": prompts[prompt], "request": request}
        encode = {text: model.encode(text) for text in strings_to_encode(request)}
        if encode:
            case["encode"] = encode
        cases.append({**case, "draft": draft, "expect": {"tokens": tokens, "next": after}})
    assert len({case["name"] for case in cases}) == len(cases)

    out = pathlib.Path(arguments.out)
    head = oracle.head("libllama-common, common_sampler_sample_and_accept_n", "testing/record_drafts.py, record_drafts.cpp", TITLE)
    oracle.write_lines(out / "drafts.jsonl", head, cases)
    oracle.write_safetensors(out / "drafts.safetensors", "logits", tensor.rows)
    print(f"drafts: {len(cases)} cases, {len(tensor.rows)} rows")


if __name__ == "__main__":
    main()
