"""Records what llama.cpp makes of the metadata in testing/data/gguf: llama-server's default settings, and the vocabulary.

Settings: `general.sampling.*` of each file are put into a copy of the tiny model; what llama-server then has for
`default_generation_settings` in /props, and for the settings of a request that sets nothing, is written down; where both have
a field, they must agree. Vocabulary: libllama loads the file with `vocab_only`; pieces are those that DRY looks into.

From the root of the repository (testing/README.md says where the programs and the model come from):
    python testing/record_gguf.py --libllama path/to/libllama.so --llama-server path/to/llama-server \\
        --tiny-model path/to/tiny-512.gguf [--out testing/data]
The same programs, model and files write the same bytes again.
"""

import argparse
import pathlib
import tempfile

import gguf

import oracle_lib as oracle
from libllama import Libllama
from llama_model import Vocabulary
from llama_server import SETTINGS, Server

PREFIX = "general.sampling."


def fields_of(reader, wanted=lambda key: True):
    for key, field in reader.fields.items():
        if not key.startswith("GGUF.") and key != "general.architecture" and wanted(key):
            yield key, field.contents(), field.types[0], field.types[-1] if len(field.types) > 1 else None


def with_sampling(model, header, path):
    """A copy of the model that has the header's sampling parameters."""
    writer = gguf.GGUFWriter(path, model.fields["general.architecture"].contents())
    for reader, wanted in ((model, lambda key: not key.startswith(PREFIX)), (header, lambda key: key.startswith(PREFIX))):
        for key, value, kind, element in fields_of(reader, wanted):
            writer.add_key_value(key, value, kind, element)
    for tensor in model.tensors:
        writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def settings_of(llama_server, model, header):
    with tempfile.TemporaryDirectory() as place:
        path = pathlib.Path(place) / "model.gguf"
        with_sampling(model, header, path)
        with Server(llama_server, str(path)) as server:
            props = server.props()["default_generation_settings"]["params"]
            asked = server.complete([17], 1, {})["generation_settings"]
    assert all(props[key] == asked[key] for key in SETTINGS if key in props), (props, asked)
    return {key: asked[key] for key in SETTINGS}


def vocabulary_of(llama, path):
    vocabulary = Vocabulary(llama, path)
    found = {key: value for key, value in vocabulary.vocabulary("").items() if key != "source"}
    found = {"pieces_hex": found.pop("pieces_hex"), **{k: None if v == -1 else v for k, v in found.items()}}
    special = [t for t in range(vocabulary.n_vocab) if vocabulary.piece(t) and not vocabulary.text_piece(t)]
    return {**found, "special": special, "suppress": vocabulary.suppressed()}


def main():
    parser = argparse.ArgumentParser(description="Records what llama.cpp makes of the metadata of GGUF files.")
    for argument in ("--libllama", "--llama-server", "--tiny-model"):
        parser.add_argument(argument, required=True)
    parser.add_argument("--out", default="testing/data")
    arguments = parser.parse_args()
    out = pathlib.Path(arguments.out)

    llama = Libllama(arguments.libllama)
    model = gguf.GGUFReader(arguments.tiny_model)
    cases = []
    for path in sorted((out / "gguf").glob("*.gguf")):
        header = gguf.GGUFReader(path)
        expect = {}
        if any(key.startswith(PREFIX) for key in header.fields) or "tokenizer.ggml.model" not in header.fields:
            expect["settings"] = settings_of(arguments.llama_server, model, header)
        if "tokenizer.ggml.model" in header.fields:
            expect["vocab"] = vocabulary_of(llama, path)
        cases.append({"name": "gguf/" + path.stem, "source": "llama-server and libllama b11192",
                      "gguf": {"file": "gguf/" + path.name}, "expect": expect})
    path = out / "gguf.jsonl"
    head = oracle.head("llama-server; libllama with vocab_only", "testing/record_gguf.py", "the files in gguf/")
    oracle.write_lines(path, head, cases)
    print(f"{path}: {len(cases)} cases, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
