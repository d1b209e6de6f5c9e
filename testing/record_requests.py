"""Records how llama-server reads request bodies: the settings that it takes from each, or its refusal, word for word.

Each body goes to a llama-server with a small model, together with a prompt of ids and `n_predict` 1. Nothing is drawn from
the answer but `generation_settings`, or the error's message. A body that ends the server is refused by this recorder.

From the root of the repository (testing/README.md says where the programs and the model come from):
    python testing/record_requests.py --libllama path/to/libllama.so --llama-server path/to/llama-server \\
        --small-model path/to/small-2048.gguf [--out testing/data]
The same programs and model write the same bytes again.
"""

import argparse
import pathlib
import re

import oracle_lib as oracle
from cases.requests import requests
from libllama import Libllama
from llama_model import Vocabulary
from llama_server import SETTINGS, Server

KEYS = SETTINGS + ["ignore_eos", "post_sampling_probs"]
PROMPT = [504, 260]
# What C's strtol reads to its end, and so is an id and not a text.
NUMBER = re.compile(r"[ \t\n\v\f\r]*[+-]?[0-9]+|")


def strings_to_encode(request):
    """The texts of `logit_bias`, whose tokens the reader of a request must know."""
    bias = request.get("logit_bias")
    if isinstance(bias, dict):
        yield from (key for key in bias if not NUMBER.fullmatch(key))
    elif isinstance(bias, list):
        yield from (pair[0] for pair in bias if isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str))


def record(server, vocabulary, name, request):
    case = {"name": "requests/" + name, "source": "llama-server b11192, SmolLM2-135M-Instruct Q4_1 cut to 2,048 tokens",
            "n_vocab": vocabulary.n_vocab, "request": request}
    if "ignore_eos" in request:
        case["vocab"] = {"file": "small-vocab.json"}  # its `eog` are the tokens that ignore_eos forbids
    encode = {text: vocabulary.encode(text) for text in strings_to_encode(request)}
    if encode:
        case["encode"] = encode
    answer = server.ask({"prompt": PROMPT, "n_predict": 1, "cache_prompt": False, **request})
    if "error" in answer:
        case["expect"] = {"error": answer["error"]["message"]}
    else:
        settings = answer["generation_settings"]
        case["expect"] = {"settings": {key: settings[key] for key in KEYS if key in settings}}
    return case


def main():
    parser = argparse.ArgumentParser(description="Records how llama-server reads request bodies.")
    for argument in ("--libllama", "--llama-server", "--small-model"):
        parser.add_argument(argument, required=True)
    parser.add_argument("--out", default="testing/data")
    arguments = parser.parse_args()

    vocabulary = Vocabulary(Libllama(arguments.libllama), arguments.small_model)
    described = list(requests())
    assert len({name for name, _ in described}) == len(described)
    with Server(arguments.llama_server, arguments.small_model) as server:
        cases = [record(server, vocabulary, name, request) for name, request in described]
    path = pathlib.Path(arguments.out) / "requests.jsonl"
    title = "SmolLM2-135M-Instruct Q4_1 cut to 2,048 tokens"
    oracle.write_lines(path, oracle.head("llama-server", "testing/record_requests.py", title), cases)
    refused = sum("error" in case["expect"] for case in cases)
    print(f"{path}: {len(cases)} cases, {refused} of them refusals, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
