"""Compares the functions of this library with those of libllama, both in one process, call by call and bit by bit.

First the recorded cases of testing/data/steps-*.jsonl that libllama's own samplers wrote, infill among them, are replayed through
this library. Then both libraries are called with the same arguments at random: samplers with parameters of every size, NaN and
infinities among them, alone and in chains, nested, with samplers of the caller's own inside, DRY's breakers and infill over a
model's vocabulary; candidates that are a row of logits, or shuffled, sorted, with probabilities given, or the logits of a context
(llama_sampler_sample); accept (of negative tokens, too), apply, clone, reset, get, remove, get_seed, name, llama_perf_sampler*, and copy, often
between chains of the same samplers with other parameters. After each call the candidates must be the same: how many, where they begin,
ids, the bits of logits and p, `sorted`, `selected`; and so must be what is logged.

Left out is what has no answer in b11192: NaN among the logits where a step sorts, or selects by a table; logits that all are -infinity
before typical-p, mirostat, adaptive-p and infill; an empty array where it asserts; a token accepted by a clone of adaptive-p that was
made before it; adaptive-p's token -1.

Needs libllama.so of llama.cpp b11192 and numpy. From the root of the repository:
    oracle/bin/python testing/dropin/compare_functions.py --libllama $BIN/libllama.so --small-model model/small-2048.gguf [--cases 20000] [--seed 1]
"""

import argparse
import collections
import ctypes
import json
import pathlib
import random
import sys

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "testing"))

import oracle_lib as oracle  # noqa: E402
from libllama import LOG_CALLBACK, Libllama  # noqa: E402
from llama_model import Model  # noqa: E402
from random_calls import Case, Side, declare, row  # noqa: E402

FILES = """adaptive_p chains dist dry greedy infill logit_bias min_p mirostat mirostat_v2 penalties temperature top_k top_n_sigma top_p
    typ_p user_cases xtc""".split()
MOST_SHOWN = 20
MOST_TRIED = 200
PROMPT = [1, 2, 3]


class Both:
    """The functions of one library, or, where it has none of that name, of another."""

    def __init__(self, *libraries):
        self.libraries = libraries

    def __getattr__(self, name):
        for library in self.libraries:
            if hasattr(library, name):
                return getattr(library, name)
        raise AttributeError(name)


def declared(path, lib=None):
    llama = Libllama(path, lib)
    declare(llama)
    return llama


def replay(ours, vocabulary):
    """The recorded cases, through this library."""
    passed = 0
    for file in FILES:
        lines = oracle.read_lines(oracle.steps_path(ROOT / "testing" / "data", file))
        for case in map(json.loads, lines[1:]):
            vocab = vocabulary.vocab if "vocab" in case else None
            rows = oracle.logits_rows(case["logits"])
            found = ours.replay(case["chain"], case["prompt"], rows, vocab)
            if oracle.dumps(found) != oracle.dumps(case["expect"]):
                sys.exit(f"{case['name']}: {oracle.dumps(found)}\nexpected {oracle.dumps(case['expect'])}")
            passed += 1
    return passed


class Skips(Side):
    """A side that does not do one thing."""

    def __init__(self, what, *arguments):
        super().__init__(*arguments)
        self.what = what

    def do(self, call):
        return (None, None) if call[0] == self.what else super().do(call)


class CopiesAll(Side):
    """A side that copies parameters and seeds with the state."""

    def do(self, call):
        if call[0] != "copy":
            return super().do(call)
        source, target = (self.chains[i] for i in call[1:])
        if source != target:
            for i in range(self.lib.llama_sampler_chain_n(source)):
                self.lib.llama_sampler_free(self.lib.llama_sampler_chain_remove(target, 0))
                self.lib.llama_sampler_chain_add(target, self.lib.llama_sampler_clone(self.lib.llama_sampler_chain_get(source, i)))
        return self.shown(target), None


def check_that_differences_show(real, ours, model, log):
    """Another sampler, another parameter, one bit more must be told apart, and so must be calls that have no effect."""
    given = row(random.Random(5), 600)
    other = (given[0].copy(), *given[1:])
    other[0]["logit"][7] = np.nextafter(other[0]["logit"][7], np.float32(9))
    for a, b, rows in (({"type": "dist"}, {"type": "greedy"}, (given, given)),
                       ({"type": "top_k", "k": 9}, {"type": "top_k", "k": 8}, (given, given)),
                       ({"type": "top_p", "p": 0.9}, {"type": "min_p", "p": 0.9}, (given, given)),
                       ({"type": "temperature"}, {"type": "temperature"}, (given, other))):
        found = [Side(llama).apply(llama.sampler(s, 1, 600), g)[0] for llama, s, g in zip((real, ours), (a, b), rows)]
        if found[0] == found[1]:
            sys.exit(f"{a} and {b} are not told apart")
    for name, side in (("accept", lambda: Skips("accept", real, model, log)), ("reset", lambda: Skips("reset", real, model, log)),
                       ("copy", lambda: CopiesAll(real, model, log))):
        if not any(Case(random.Random(i), [Side(real, model, log), side()]).run().wrong for i in range(MOST_TRIED)):
            sys.exit(f"{MOST_TRIED} cases do not tell a wrong {name} of libllama from a right one")


def main():
    parser = argparse.ArgumentParser(description="Compares this library's functions with those of libllama.")
    parser.add_argument("--libllama", required=True)
    parser.add_argument("--small-model", required=True)
    parser.add_argument("--library", default=str(ROOT / "testing/dropin/target/release/libsampler_chain_dropin.so"))
    parser.add_argument("--cases", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()

    # Global, so that the library finds the vocabulary's functions.
    real_library = ctypes.CDLL(arguments.libllama, mode=ctypes.RTLD_GLOBAL)
    real = declared(arguments.libllama)
    ours = declared(arguments.libllama, Both(ctypes.CDLL(arguments.library), real_library))
    for name in ("llama_sampler_apply", "llama_sampler_init_dist", "llama_sampler_chain_init"):
        addresses = [ctypes.cast(getattr(llama.lib, name), ctypes.c_void_p).value for llama in (real, ours)]
        if addresses[0] == addresses[1]:
            sys.exit(f"{name} is one function in both libraries")
    model = Model(real, arguments.small_model)
    model.decode(PROMPT)
    print(f"{replay(ours, model)} recorded cases pass")

    # Both log through llama.cpp.
    lines = []
    log = LOG_CALLBACK(lambda level, text, data: lines.append((level, text)))
    real.lib.llama_log_set(log, None)
    check_that_differences_show(real, ours, model, lines)
    calls, n_nan, n_wrong = collections.Counter(), 0, 0
    for i in range(arguments.cases):
        sides = [Side(llama, model, lines) for llama in (real, ours)]
        case = Case(random.Random(f"{arguments.seed}/{i}"), sides).run()
        calls += case.calls
        n_nan += case.nan
        if case.wrong:
            n_wrong += 1
            theirs, found = case.wrong
            print(f"case {i} of seed {arguments.seed}: {json.dumps(case.made)}")
            for call in case.history:
                print(f"  {call}")
            print(f"  libllama {str(theirs)[:400]}\n  here     {str(found)[:400]}")
            if n_wrong == MOST_SHOWN:
                sys.exit(1)
    if n_wrong:
        sys.exit(1)
    print(f"{arguments.cases} cases at random (seed {arguments.seed}), {n_nan} of them with NaN, are the same: "
          + ", ".join(f"{what} {n}" for what, n in sorted(calls.items())))


if __name__ == "__main__":
    main()
