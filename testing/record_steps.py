"""Records what every step of libllama's sampling does, alone and in chains, candidate by candidate.

Each case is a chain as a chain file writes it, rows of logits (synthetic, or written out), and a prompt. The chain's
samplers are made with llama_sampler_init_*, applied one by one, and what they leave is written down after each.
One file a step, testing/data/steps-<step>.jsonl, and steps-chains.jsonl.gz for the steps together.

From the root of the repository, with the libllama.so of llama.cpp b11192 (testing/README.md says where it comes from):
    python testing/record_steps.py path/to/libllama.so [--out testing/data]
The same library and machine write the same bytes again: every seed comes from the name of its case.
"""

import argparse

import oracle_lib as oracle
from cases import Cases, chains, logit_changes, selections, truncations, user_cases
from libllama import Libllama


def main():
    parser = argparse.ArgumentParser(description="Records what libllama's sampling steps do.")
    parser.add_argument("libllama")
    parser.add_argument("--out", default="testing/data")
    arguments = parser.parse_args()

    cases = Cases()
    for describe in (*selections.ALL, *truncations.ALL, *logit_changes.ALL, chains.chains, user_cases.user_cases):
        describe(cases)

    llama = Libllama(arguments.libllama)
    head = oracle.head("libllama, through its C API", "testing/record_steps.py")
    total = 0
    for file, described in cases.by_file.items():
        for case in described:
            try:
                case["expect"] = llama.replay(case["chain"], case["prompt"], oracle.logits_rows(case["logits"]))
            except ValueError as error:
                raise ValueError(f"{case['name']}: {error}") from error
        path = oracle.steps_path(arguments.out, file)
        oracle.write_lines(path, head, described)
        print(f"{path}: {len(described)} cases, {path.stat().st_size} bytes")
        total += len(described)
    print(f"{total} cases")


if __name__ == "__main__":
    main()
