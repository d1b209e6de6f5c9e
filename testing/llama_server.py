"""llama-server as the recorders use it: started on a free port, its settings as libllama's samplers, its strings.

Nothing is recorded by running this file: the recorders beside it import it. Needs a llama-server of llama.cpp b11192.
"""

import json
import os
import socket
import subprocess
import time
import urllib.error
import urllib.request

MAX_BREAKER_BYTES = 40  # llama.cpp cuts longer ones

SETTINGS = """seed temperature dynatemp_range dynatemp_exponent top_k top_p min_p top_n_sigma xtc_probability xtc_threshold
    typical_p repeat_last_n repeat_penalty presence_penalty frequency_penalty dry_multiplier dry_base dry_allowed_length
    dry_penalty_last_n dry_sequence_breakers mirostat mirostat_tau mirostat_eta adaptive_target adaptive_decay n_probs
    min_keep samplers logit_bias""".split()


class Server:
    """A llama-server of our own, on a free port of this machine. `environment` is added to that of this process."""

    def __init__(self, program, model, slots=1, threads=2, environment=None):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.address = f"http://127.0.0.1:{port}"
        self.process = subprocess.Popen(
            [program, "-m", model, "-c", str(512 * slots), "-np", str(slots), "-t", str(threads), "-tb", str(threads),
             "--no-warmup", "--host", "127.0.0.1", "--port", str(port)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, **(environment or {})})

    def __enter__(self):
        for _ in range(300):
            if self.process.poll() is not None:
                raise RuntimeError("llama-server has ended")
            try:
                urllib.request.urlopen(self.address + "/health", timeout=5).read()
                return self
            except OSError:
                time.sleep(0.2)
        raise RuntimeError("llama-server does not get ready")

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def ask(self, body):
        """The answer to a completion request, or to one that is refused: then it has `error`."""
        post = urllib.request.Request(self.address + "/completion", json.dumps(body).encode(),
                                      {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(post, timeout=300) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as refusal:
            return json.load(refusal)
        except OSError as error:
            raise RuntimeError(f"llama-server has ended: {self.process.poll()}, {body}") from error

    def complete(self, prompt, n_predict, request):
        answer = self.ask({"prompt": prompt, "cache_prompt": False, "n_predict": n_predict, "return_tokens": True, **request})
        if "error" in answer:
            raise RuntimeError(f"{request}: {answer['error']}")
        return answer

    def props(self):
        with urllib.request.urlopen(self.address + "/props", timeout=60) as answer:
            return json.load(answer)


def samplers_of(llama, model, settings):
    """libllama's samplers for llama-server's `generation_settings`."""

    def step(kind, **parameters):
        return llama.sampler({"type": kind, **parameters}, s["seed"], model.n_vocab)

    s = settings
    keep = s["min_keep"]
    make = {
        "penalties": lambda: step("penalties", last_n=s["repeat_last_n"], repeat=s["repeat_penalty"],
                                  freq=s["frequency_penalty"], present=s["presence_penalty"]),
        "dry": lambda: llama.dry_with_vocabulary(
            model.vocab, {"multiplier": s["dry_multiplier"], "base": s["dry_base"],
                          "allowed_length": s["dry_allowed_length"], "last_n": s["dry_penalty_last_n"]},
            s["dry_sequence_breakers"]),
        "top_n_sigma": lambda: step("top_n_sigma", n=s["top_n_sigma"]),
        "top_k": lambda: step("top_k", k=s["top_k"]),
        "typ_p": lambda: step("typ_p", p=s["typical_p"], min_keep=keep),
        "top_p": lambda: step("top_p", p=s["top_p"], min_keep=keep),
        "min_p": lambda: step("min_p", p=s["min_p"], min_keep=keep),
        "xtc": lambda: step("xtc", probability=s["xtc_probability"], threshold=s["xtc_threshold"], min_keep=keep),
        "temperature": lambda: step("temperature", temp=s["temperature"], delta=s["dynatemp_range"],
                                    exponent=s["dynatemp_exponent"]),
    }
    bias = [[b["token"], "-inf" if b["bias"] is None else b["bias"]] for b in s["logit_bias"]]
    samplers = [step("logit_bias", bias=bias)] if bias else []
    if s["mirostat"]:
        samplers.append(step("temperature", temp=s["temperature"]))
        last = {1: "mirostat", 2: "mirostat_v2"}[s["mirostat"]]
        return samplers + [step(last, tau=s["mirostat_tau"], eta=s["mirostat_eta"])]
    samplers += [make[name]() for name in s["samplers"] if name != "adaptive_p"]
    if "adaptive_p" in s["samplers"]:
        return samplers + [step("adaptive_p", target=s["adaptive_target"], decay=s["adaptive_decay"])]
    return samplers + [step("dist")]


def strings_to_encode(request):
    """The strings whose tokenization a reader of this request may need."""
    for breaker in request.get("dry_sequence_breakers", []):
        assert breaker.isascii(), "a tail could begin inside a character"
        breaker = breaker[:MAX_BREAKER_BYTES]
        yield from (breaker[i:] for i in range(1, len(breaker)))
    bias = request.get("logit_bias", [])
    for key in bias if isinstance(bias, dict) else [pair[0] for pair in bias]:
        if isinstance(key, str) and not key.lstrip("-").isdigit():
            yield key


class Rows:
    """The tensor of a data file: a row that is there already is not stored again."""

    def __init__(self):
        self.rows, self.index = [], {}

    def add(self, rows):
        """Where these rows are, as a part of a case's `logits`."""
        ids = []
        for row in rows:
            key = row.tobytes()
            if key not in self.index:
                self.index[key] = len(self.rows)
                self.rows.append(row)
            ids.append(self.index[key])
        if ids == list(range(ids[0], ids[0] + len(ids))):
            return {"rows": [ids[0], ids[-1] + 1]}
        return {"row_ids": ids}
