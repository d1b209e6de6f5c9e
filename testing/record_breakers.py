"""Records what llama.cpp's DRY makes of its sequence breakers: the pairs of a head token and the tail that must follow it.

llama_sampler_init_dry looks for each breaker in the pieces of the whole vocabulary. The pairs are read out of the sampler that
it makes: out of the std::unordered_multimap that llama_sampler_dry has after its four parameters, as g++ 12 lays it out. A
head whose piece has all of the breaker in it is put there once for each such breaker, so pairs may be there twice: they are
recorded once. testing/data/dry_breakers.jsonl, and the two vocabularies.

From the root of the repository (testing/README.md says where the library and the models come from):
    python testing/record_breakers.py --libllama path/to/libllama.so --model path/to/SmolLM2-135M-Instruct.Q4_1.gguf \\
        --gemma path/to/gemma-65536.gguf [--out testing/data]
The same library and models write the same bytes again.
"""

import argparse
import ctypes
import hashlib
import pathlib
import struct

import oracle_lib as oracle
from cases.breakers import LISTS
from libllama import Libllama, StdVector
from llama_model import Vocabulary
from llama_server import MAX_BREAKER_BYTES

SOME = 20


class Sampler(ctypes.Structure):
    _fields_ = [("functions", ctypes.c_void_p), ("state", ctypes.c_void_p)]


class DryState(ctypes.Structure):
    """The beginning of llama_sampler_dry: the multimap's buckets, their count, its first node, the count of its elements."""

    _fields_ = [
        ("multiplier", ctypes.c_float), ("base", ctypes.c_float), ("allowed_length", ctypes.c_int32), ("last_n", ctypes.c_int32),
        ("buckets", ctypes.c_void_p), ("n_buckets", ctypes.c_size_t), ("first", ctypes.c_void_p), ("n_elements", ctypes.c_size_t),
    ]


class Node(ctypes.Structure):
    _fields_ = [("next", ctypes.c_void_p), ("head", ctypes.c_int32), ("tail", StdVector)]


def processed_breakers(llama, vocab, breakers):
    """All pairs of a DRY sampler with these breakers, duplicates included."""
    parameters = {"multiplier": 0.75, "base": 1.75, "allowed_length": 2, "last_n": 64}
    sampler = llama.dry_with_vocabulary(vocab, parameters, breakers)
    state = DryState.from_address(Sampler.from_address(sampler).state)
    assert (state.multiplier, state.base, state.allowed_length, state.last_n) == tuple(parameters.values())
    pairs, node = [], state.first
    while node:
        here = Node.from_address(node)
        length = ((here.tail.end or 0) - (here.tail.begin or 0)) // 4
        tail = (ctypes.c_int32 * length).from_address(here.tail.begin) if length else ()
        pairs.append((here.head, tuple(tail)))
        node = here.next
    assert len(pairs) == state.n_elements
    llama.free([sampler])
    return pairs


def digest_of(pairs):
    """SHA-256 over the sorted pairs: head, length of the tail, tail, as little-endian u32."""
    sha = hashlib.sha256()
    for head, tail in pairs:
        sha.update(struct.pack(f"<{2 + len(tail)}I", head, len(tail), *tail))
    return sha.hexdigest()[:16]


def needed_tails(breakers, endings):
    """What is left of a breaker behind a piece that ends with its beginning."""
    for breaker in breakers:
        raw = breaker.encode()[:MAX_BREAKER_BYTES]
        for i in range(1, len(raw)):
            if raw[:i] in endings:
                yield raw[i:]


def record(llama, vocabulary, pieces, file, name, breakers):
    endings = {piece[i:] for piece in pieces for i in range(max(0, len(piece) - MAX_BREAKER_BYTES), len(piece))}
    found = processed_breakers(llama, vocabulary.vocab, breakers)
    pairs = sorted(set(found))
    tails = dict.fromkeys(needed_tails(breakers, endings))
    some = pairs if len(pairs) <= SOME else [pairs[i * (len(pairs) - 1) // (SOME - 1)] for i in range(SOME)]
    encode = [[tail.hex(), vocabulary.encode(tail)] for tail in tails]
    known = {tuple(ids[:20]) for _, ids in encode} | {()}
    assert all(tail in known for _, tail in pairs), name
    assert all(0 <= i < vocabulary.n_vocab for _, ids in encode for i in ids)
    return {
        "name": f"dry_breakers/{file.split('-')[0]}/{name}", "source": "libllama b11192", "vocab": {"file": file},
        "breakers": breakers,
        "encode": encode,
        "expect": {"pairs": len(pairs), "digest": digest_of(pairs), "some": [[head, list(tail)] for head, tail in some]},
    }, len(found) - len(pairs)


def main():
    parser = argparse.ArgumentParser(description="Records what DRY makes of its sequence breakers.")
    for argument in ("--libllama", "--model", "--gemma"):
        parser.add_argument(argument, required=True)
    parser.add_argument("--out", default="testing/data")
    arguments = parser.parse_args()
    out = pathlib.Path(arguments.out)

    llama = Libllama(arguments.libllama)
    cases = []
    for path, file in ((arguments.model, "smollm2-vocab.bin.gz"), (arguments.gemma, "gemma3-vocab.bin.gz")):
        vocabulary = Vocabulary(llama, path)
        pieces = [vocabulary.piece(token) for token in range(vocabulary.n_vocab)]
        (out / file).write_bytes(vocabulary.packed())
        for name, breakers in LISTS:
            case, twice = record(llama, vocabulary, pieces, file, name, breakers)
            cases.append(case)
            print(f"{case['name']}: {case['expect']['pairs']} pairs, {twice} found again, {len(case['encode'])} tails")
    model = "SmolLM2-135M-Instruct, 49,152 tokens; Gemma 3 270M, the first 65,536 tokens"
    path = out / "dry_breakers.jsonl"
    oracle.write_lines(path, oracle.head("libllama, llama_sampler_init_dry", "testing/record_breakers.py", model), cases)
    print(f"{path}: {len(cases)} cases, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
