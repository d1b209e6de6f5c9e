"""Records the steps that look into a vocabulary: libllama's infill and libllama-common's reasoning budget.

As record_steps.py does it: a chain as a chain file writes it, rows of logits, a prompt; every sampler is applied by itself,
and what it leaves is written down. testing/data/steps-infill.jsonl and steps-reasoning_budget.jsonl.gz. The vocabulary is that
of the small model, the pieces of which record_server.py has written to small-vocab.json.

From the root of the repository, with the libllama.so of llama.cpp b11192, libllama-common.so beside it:
    python testing/record_vocab_steps.py path/to/libllama.so path/to/small-2048.gguf [--out testing/data]
The same libraries and model write the same bytes again: every seed comes from the name of its case.
"""

import argparse

import oracle_lib as oracle
from cases import Cases, vocab_steps
from libllama import Libllama
from llama_model import Vocabulary


def main():
    parser = argparse.ArgumentParser(description="Records the steps that look into a vocabulary.")
    parser.add_argument("libllama")
    parser.add_argument("model")
    parser.add_argument("--out", default="testing/data")
    arguments = parser.parse_args()

    llama = Libllama(arguments.libllama)
    model = Vocabulary(llama, arguments.model)
    pieces = {model.piece(token): token for token in range(model.n_vocab)}
    special = [token for token in range(model.n_vocab) if not model.text_piece(token) and model.piece(token)]
    assert all(model.text_piece(token) == model.piece(token) for token in range(model.n_vocab) if token not in special)
    cases = Cases()
    # The budget looks for the end of a character only, and the texts of the special tokens have none that is cut.
    for describe, more in ((vocab_steps.infill, {"special": special}), (vocab_steps.budget, {})):
        cases.vocab = {"file": "small-vocab.json", **more}
        describe(cases, lambda piece: pieces[piece if isinstance(piece, bytes) else piece.encode()])

    head = oracle.head("libllama and libllama-common", "testing/record_vocab_steps.py", "the vocabulary of small-vocab.json")
    for file, described in cases.by_file.items():
        for case in described:
            vocab = model.vocab if "vocab" in case else None
            try:
                case["expect"] = llama.replay(case["chain"], case["prompt"], oracle.logits_rows(case["logits"]), vocab)
            except ValueError as error:
                raise ValueError(f"{case['name']}: {error}") from error
        path = oracle.steps_path(arguments.out, file)
        oracle.write_lines(path, head, described)
        print(f"{path}: {len(described)} cases, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
