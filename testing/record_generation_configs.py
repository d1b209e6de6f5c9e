"""Records what Hugging Face transformers makes of generation_config.json: tests/import/transformers.jsonl.

The list of processors and warpers is the one that `generate` builds, in its order, run with torch on the CPU over rows of
SmolLM2's logits; each row's most likely token joins the history. A line a configuration: its text, the prompt, and for each row the
token, and the kept ids with their probabilities.

From the root of the repository:
    python testing/record_generation_configs.py [--out tests/import/transformers.jsonl]
Needs transformers, torch and safetensors. The same versions write the same bytes again.
"""

import argparse
import json
import pathlib
from types import SimpleNamespace

import torch
import transformers
from safetensors import safe_open
from transformers import GenerationConfig
from transformers.generation.utils import GenerationMixin

PROMPT = [504, 2967, 282, 504, 2967]
ROWS = range(8)

SAMPLING = {"do_sample": True, "temperature": 0.8, "top_k": 0, "top_p": 0.95, "eos_token_id": [0, 2]}
CONFIGS = [
    SAMPLING | {"top_h": 0.7, "min_p": 0.0001, "typical_p": 0.98, "epsilon_cutoff": 0.0003, "eta_cutoff": 0.0002,
                "repetition_penalty": 1.3, "encoder_repetition_penalty": 1.2, "no_repeat_ngram_size": 2,
                "sequence_bias": [[[504, 2967], -2.5], [[260], 1.5]], "bad_words_ids": [[2967, 282], [2], [30]],
                "exponential_decay_length_penalty": [2, 1.05], "suppress_tokens": [28, 42], "min_new_tokens": 3},
    SAMPLING | {"temperature": 1.4, "top_h": 0.5},
    SAMPLING | {"temperature": 1.2, "epsilon_cutoff": 0.002},
    SAMPLING | {"temperature": 1.0, "top_p": 0.9, "eta_cutoff": 0.004, "repetition_penalty": 1.2},
    SAMPLING | {"top_k": 12, "no_repeat_ngram_size": 1, "min_new_tokens": 8},
    SAMPLING | {"top_k": 30, "typical_p": 0.6, "encoder_repetition_penalty": 0.8},
    SAMPLING | {"top_p": 0.7, "exponential_decay_length_penalty": [0, 1.5], "bad_words_ids": [[30]]},
]


class Model(GenerationMixin):
    """As much of a model as the list asks for."""

    main_input_name = "input_ids"

    def __init__(self, n_vocab):
        self.config = SimpleNamespace(vocab_size=n_vocab, is_encoder_decoder=False)


def recorded(config, logits):
    generation = GenerationConfig(**config)
    generation._eos_token_tensor = torch.tensor(config["eos_token_id"])
    processors = Model(logits.shape[1])._get_logits_processor(
        generation_config=generation,
        input_ids_seq_length=len(PROMPT),
        encoder_input_ids=torch.tensor([PROMPT]),
        prefix_allowed_tokens_fn=None,
        logits_processor=[],
        device="cpu",
    )
    history, rows = list(PROMPT), []
    for row in ROWS:
        scores = processors(torch.tensor([history]), logits[row : row + 1].clone())[0]
        kept = torch.nonzero(scores > float("-inf")).flatten()
        token = int(scores.argmax())
        shares = torch.softmax(scores, -1)[kept]
        rows.append({"token": token, "kept": [[int(i), float(f"{p:.6g}")] for i, p in zip(kept, shares)]})
        history.append(token)
    return {"config": config, "prompt": PROMPT, "rows": rows, "list": [type(step).__name__ for step in processors]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("tests/import/transformers.jsonl"))
    args = parser.parse_args()
    with safe_open("testing/data/smollm2.safetensors", "pt") as file:
        logits = file.get_tensor(next(iter(file.keys())))[ROWS.start : ROWS.stop].float()
    source = f"transformers {transformers.__version__} (torch {torch.__version__.split('+')[0]})"
    lines = [{"source": source}] + [recorded(config, logits) for config in CONFIGS]
    args.out.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))


if __name__ == "__main__":
    main()
