"""Compares llama-server with itself: once as it is, once with this library in LD_PRELOAD.

Both are asked the same, one request after another: the requests of testing/data/small.jsonl and smollm2.jsonl (every sampling
field), once with logprobs and once with the probabilities after the chain; those of testing/cases/requests.py (values of every
kind, refusals among them); the grammars of testing/data/redraws.jsonl, under which tokens are drawn twice; and those below.
Everything in the answers must be equal but the times. Where a random seed is asked for, everything but what was drawn.
Four slots; the last requests name theirs.

First one sampler after the other is made a little wrong (wrong.c, compiled here and preloaded, too), and one request that uses it must be
answered otherwise: what is compared shows such things.

Needs a C compiler, llama-server of llama.cpp b11192 and a model with the vocabulary of SmolLM2. From the root of the repository:
    oracle/bin/python testing/dropin/compare_server.py --llama-server $BIN/llama-server --model $MODEL \\
        [--library testing/dropin/target/release/libsampler_chain_dropin.so] [--backend-sampling] [--only order/]
Fails if anything differs, or if the preloaded library did not make every sampler.
"""

import argparse
import collections
import concurrent.futures
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "testing"))

from cases.requests import requests  # noqa: E402
from llama_server import Server  # noqa: E402

RANDOM_SEED = 0xFFFFFFFF
SLOTS = 4
# So many tokens of a recorded prompt are enough.
LENGTH = 16
PROMPT = [504, 260, 1573, 282, 260, 1679, 314, 338, 260]
REPEATED = [504, 260, 28, 357, 504, 260, 28, 357, 504, 260, 28]
DRAWN = ("content", "tokens", "completion_probabilities", "stop_type", "stopping_word", "tokens_predicted", "stop", "truncated")
TIMES = ("timings", "created")

SCHEMA = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 6}, "n": {"type": "integer"}},
          "required": ["name", "n"]}
# Truncations, alone and in odd orders, over the whole vocabulary.
ORDERS = [["top_k"], ["top_p"], ["min_p"], ["typ_p"], ["top_n_sigma"], ["xtc"], ["temperature"], ["penalties"], ["dry"], ["top_k", "infill"],
          ["min_p", "infill"], ["temperature", "top_p", "top_k"], ["min_p", "typ_p", "xtc", "temperature"], ["xtc", "top_k", "xtc"],
          ["typ_p", "top_n_sigma", "penalties", "top_p"], ["top_p", "dry", "min_p", "temperature", "typ_p"],
          ["penalties", "top_k", "penalties"], ["temperature", "adaptive_p", "min_p"], ["adaptive_p"], []]
VALUES = {"temperature": 0.9, "top_k": 50, "top_p": 0.9, "min_p": 0.02, "typical_p": 0.9, "top_n_sigma": 1.5, "xtc_probability": 0.7,
          "xtc_threshold": 0.05, "repeat_penalty": 1.2, "frequency_penalty": 0.1, "dry_multiplier": 0.8, "dry_allowed_length": 1,
          "adaptive_target": 0.3}


def own():
    for i, order in enumerate(ORDERS):
        yield f"order/{'-'.join(order) or 'nothing'}", REPEATED, 8, {"seed": 100 + i, "samplers": order, **VALUES}
    for keep in (1, 3, 40):
        yield f"min-keep/{keep}", PROMPT, 8, {"seed": keep, "min_keep": keep, "top_p": 0.05, "typical_p": 0.05, "min_p": 0.9, "top_k": 0}
    for version in (1, 2):
        for tau, eta in ((0.5, 0.3), (5.0, 0.1), (9.0, 1.0)):
            yield f"mirostat-{version}/{tau}", PROMPT, 10, {"seed": 7, "mirostat": version, "mirostat_tau": tau, "mirostat_eta": eta}
    for temperature in (0, 0.2, 1, 5):
        for spread in (0, 0.2, 3):
            yield (f"temperature/{temperature}-{spread}", PROMPT, 4,
                   {"seed": 3, "samplers": ["temperature"], "temperature": temperature, "dynatemp_range": spread,
                    "dynatemp_exponent": 1.3})
    for breakers in (["\n"], [" the", ","], ["x" * 60, " dog is"]):
        yield (f"dry-breakers/{len(breakers)}-{len(breakers[0])}", REPEATED, 12,
               {"seed": 5, "dry_multiplier": 1.5, "dry_allowed_length": 1, "dry_sequence_breakers": breakers})
    for name, more in (("plain", {}), ("mirostat", {"mirostat": 2}), ("hot", {"temperature": 2.0, "top_k": 0}),
                       ("typical", {"typical_p": 0.7, "samplers": ["typ_p"]})):
        yield f"schema/{name}", PROMPT, 16, {"seed": 11, "json_schema": SCHEMA, **more}
    yield "grammar/wrong", PROMPT, 4, {"seed": 1, "grammar": "root ::= ("}
    yield "ignore-eos", PROMPT, 8, {"seed": 4, "ignore_eos": True, "logit_bias": [[28, 3.0], [2, 9.0]]}
    for slot in range(SLOTS):
        yield f"slot/{slot}", PROMPT, 8, {"seed": 20, "id_slot": slot, "repeat_penalty": 1.1, "xtc_probability": 0.3}


def recorded(file):
    with open(ROOT / "testing" / "data" / file, encoding="utf-8") as lines:
        next(lines)
        yield from map(json.loads, lines)


def everything():
    """Name, prompt, how many tokens, request."""
    for file in ("small.jsonl", "smollm2.jsonl"):
        for case in recorded(file):
            name, request = case["name"], case["request"]
            yield name, case["prompt"][-LENGTH:], 6, {"n_probs": 8, **request}
            yield name + "/post", case["prompt"][-LENGTH:], 4, {"n_probs": 8, "post_sampling_probs": True, **request}
    for case in recorded("redraws.jsonl"):
        yield case["name"], case["prompt"][-LENGTH:], 8, {"n_probs": 3, "grammar": case["grammar"], **case["request"]}
    for name, request in requests():
        if name == "samplers/rest":
            # infill compares every pair of candidates: not all 49,152.
            request = {"samplers": ["top_k", *request["samplers"]]}
        yield "requests/" + name, PROMPT, 2, request
    for i, (name, prompt, n_predict, request) in enumerate(own()):
        yield name, prompt, n_predict, {"n_probs": 5, "post_sampling_probs": i % 2 == 1, **request}


def body(prompt, n_predict, request):
    seed = {} if "seed" in request else {"seed": 42}
    return {"prompt": prompt, "cache_prompt": False, "n_predict": n_predict, "return_tokens": True, **request, **seed}


def ask_all(arguments, asked, library):
    """Every answer, and how often the library was called."""
    with tempfile.TemporaryDirectory() as directory:
        log = pathlib.Path(directory) / "calls.json"
        environment = {"LD_PRELOAD": str(library), "SAMPLER_CHAIN_DROPIN_LOG": str(log)} if library else {}
        if library and arguments.backend_sampling:
            environment["LLAMA_ARG_BACKEND_SAMPLING"] = "1"
        with Server(arguments.llama_server, arguments.model, SLOTS, threads=1, environment=environment) as server:
            maps = pathlib.Path(f"/proc/{server.process.pid}/maps").read_text(encoding="utf-8")
            if (bool(library) and str(library) in maps) != bool(library):
                raise RuntimeError("the library is loaded where it should not be, or not where it should")
            answers = []
            for i, (_, request) in enumerate(asked):
                answers.append(server.ask(request))
                if i % 50 == 49:
                    print(f"{'with' if library else 'without'} the library: {i + 1} of {len(asked)}", file=sys.stderr)
        return answers, json.loads(log.read_text(encoding="utf-8")) if library else {}


def comparable(answer):
    """An answer without its times, and without what was drawn with a random seed; and whether that was so."""
    answer = {key: value for key, value in answer.items() if key not in TIMES}
    settings = answer.get("generation_settings", {})
    settings.pop("backend_sampling", None)  # differs with --backend-sampling, and only then
    is_random = settings.get("seed") == RANDOM_SEED
    if is_random:
        answer = {key: value for key, value in answer.items() if key not in DRAWN}
    return answer, is_random


def difference(one, other):
    keys = [key for key in {**one, **other} if json.dumps(one.get(key)) != json.dumps(other.get(key))]
    return {key: (one.get(key), other.get(key)) for key in keys}


# A request for each sampler that wrong.c can make wrong.
SHOWS = {
    **{kind: {"samplers": [kind]} for kind in "top_k top_p min_p top_n_sigma xtc penalties dry adaptive_p".split()},
    "typical": {"samplers": ["typ_p"]}, "temp_ext": {"samplers": ["temperature"]}, "dist": {"samplers": []},
    "mirostat": {"mirostat": 1}, "mirostat_v2": {"mirostat": 2}, "temp": {"mirostat": 2},
    "logit_bias": {"samplers": [], "logit_bias": [[28, 2.0], [260, 3.0]]}, "infill": {"samplers": ["top_k", "infill"]},
}


def check_that_a_wrong_sampler_shows(arguments, library):
    """With one sampler wrong, the answer to its request must be another one. How many were tried."""
    asked = {kind: body(REPEATED, 8, {"seed": 6, "n_probs": 5, "post_sampling_probs": True, **VALUES, **request})
             for kind, request in SHOWS.items()}
    with tempfile.TemporaryDirectory() as directory:
        wrong = pathlib.Path(directory) / "wrong.so"
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", wrong, HERE / "wrong.c", "-ldl"], check=True)

        def answers(kind, requests):
            environment = {"LD_PRELOAD": f"{wrong}:{library}", "SAMPLER_CHAIN_WRONG": kind}
            with Server(arguments.llama_server, arguments.model, threads=1, environment=environment) as server:
                return [comparable(server.ask(request))[0] for request in requests]

        right = dict(zip(asked, answers("", asked.values())))
        with concurrent.futures.ThreadPoolExecutor(2) as two:
            found = two.map(lambda kind: (kind, answers(kind, [asked[kind]])[0]), asked)
            for kind, answer in found:
                if "error" in answer or not difference(right[kind], answer):
                    raise RuntimeError(f"a wrong {kind} does not show: {json.dumps(answer)[:600]}")
    return len(asked)


def check_calls(calls, answers):
    """The library must have made the samplers of every request that was not refused, one by one and as chains."""
    served = sum("error" not in answer for answer in answers)
    made = collections.Counter(calls)
    for name in ("dist top_k top_p min_p typical temp temp_ext xtc top_n_sigma mirostat mirostat_v2 penalties dry adaptive_p logit_bias "
                 "infill").split():
        if made[f"llama_sampler_init_{name}"] == 0:
            raise RuntimeError(f"no {name} came from the library")
    if made["llama_sampler_chain_init"] < served or made["llama_sampler_apply"] < served:
        raise RuntimeError(f"{served} requests were served, and the library made {made['llama_sampler_chain_init']} chains")


def main():
    parser = argparse.ArgumentParser(description="Compares llama-server with and without this library in LD_PRELOAD.")
    parser.add_argument("--llama-server", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--library", default=str(ROOT / "testing/dropin/target/release/libsampler_chain_dropin.so"))
    parser.add_argument("--backend-sampling", action="store_true", help="start the server with the library with this option")
    parser.add_argument("--only", default="", help="requests whose name begins so")
    arguments = parser.parse_args()

    asked = [(name, body(prompt, n, request)) for name, prompt, n, request in everything() if name.startswith(arguments.only)]
    assert len({name for name, _ in asked}) == len(asked)
    library = pathlib.Path(arguments.library).resolve(strict=True)
    print(f"{check_that_a_wrong_sampler_shows(arguments, library)} wrong samplers show")
    with concurrent.futures.ThreadPoolExecutor(2) as both:
        (theirs, _), (ours, calls) = both.map(lambda preloaded: ask_all(arguments, asked, preloaded), (None, library))

    tally, tokens, wrong = collections.Counter(), 0, 0
    for (name, request), one, other in zip(asked, theirs, ours):
        (one, is_random), (other, _) = comparable(one), comparable(other)
        tally["refused" if "error" in one else "with a random seed" if is_random else "drawn"] += 1
        tokens += len(one.get("tokens", []))
        if found := difference(one, other):
            wrong += 1
            print(f"{name}: {json.dumps(request)}")
            for key, (theirs_value, ours_value) in found.items():
                print(f"  {key}\n    without {json.dumps(theirs_value)[:600]}\n    with    {json.dumps(ours_value)[:600]}")
    if not arguments.only:
        check_calls(calls, ours)
    print("calls of the library: " + ", ".join(f"{name} {count}" for name, count in calls.items()))
    print(f"{len(asked)} requests compared ({', '.join(f'{count} {kind}' for kind, count in tally.items())}), {tokens} tokens; "
          f"{wrong} differ")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
