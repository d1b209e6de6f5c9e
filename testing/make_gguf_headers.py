"""Writes testing/data/gguf/*.gguf: GGUF files of metadata alone, with sampling parameters or vocabularies, for record_gguf.py.

From the root of the repository, with the packages gguf and numpy:
    python testing/make_gguf_headers.py path/to/SmolLM2-135M-Instruct.Q4_1.gguf [--out testing/data/gguf]
The same model gives the same bytes. A file whose name ends in -v2 says that it is GGUF version 2, which has the same layout.
"""

import argparse
import pathlib

import gguf

from cases.gguf_files import SETTINGS, vocabularies

SMOL_TOKENS = 300
# Not for record_gguf.py: testing/differential looks into it with infill. From 512 tokens on rows stay where they are.
LARGER = 520


def write(path, fields):
    writer = gguf.GGUFWriter(path, "llama")
    for key, value, kind, element in fields:
        writer.add_key_value(key, value, kind, element)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    if path.stem.endswith("-v2"):
        raw = bytearray(path.read_bytes())
        assert raw[:8] == b"GGUF\x03\x00\x00\x00"
        raw[4] = 2
        path.write_bytes(raw)


def smol_parts(model, n_tokens=SMOL_TOKENS):
    reader = gguf.GGUFReader(model)
    tokens, types, merges = (reader.fields["tokenizer.ggml." + key].contents() for key in ("tokens", "token_type", "merges"))
    kept = set(tokens[:n_tokens])
    merges = [merge for merge in merges if all(part in kept for part in (*merge.split(" "), merge.replace(" ", "")))]
    return tokens[:n_tokens], types[:n_tokens], merges


def main():
    parser = argparse.ArgumentParser(description="Writes GGUF files of metadata alone.")
    parser.add_argument("model")
    parser.add_argument("--out", default="testing/data/gguf")
    arguments = parser.parse_args()
    out = pathlib.Path(arguments.out)
    out.mkdir(parents=True, exist_ok=True)
    files = {**SETTINGS, **vocabularies(*smol_parts(arguments.model))}
    for name, fields in files.items():
        write(out / f"{name}.gguf", fields)
    larger = vocabularies(*smol_parts(arguments.model, LARGER))["bpe-smollm2-300"]
    write(out.parent / f"smollm2-{LARGER}.gguf", larger)
    sizes = [path.stat().st_size for path in out.glob("*.gguf")]
    print(f"{out}: {len(files)} files, {sum(sizes)} bytes, the largest {max(sizes)}")


if __name__ == "__main__":
    main()
