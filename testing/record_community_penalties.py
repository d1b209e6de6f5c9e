"""Records what the penalties do that llama.cpp does not have: one file a step, testing/data/steps-<step>.jsonl.

Where Hugging Face transformers has a step, its class is run, with torch on the CPU; elsewhere the formula in numpy. Each case is a
chain as a chain file writes it, rows of logits and a prompt; every drawn token joins the history. `source` says what was run.

From the root of the repository:
    python testing/record_community_penalties.py [--out testing/data]
Needs transformers, torch and numpy. The same versions write the same bytes again.
"""

import argparse
import json
import pathlib

import numpy as np
import torch
import transformers
from transformers.generation import logits_process as hf

import oracle_lib as oracle
from cases import community_penalties

NEVER = np.float32(-np.inf)


def source(name):
    return f"transformers {transformers.__version__} {name} (torch {torch.__version__.split('+')[0]})"


def formula(name):
    return f"formula of {name} (numpy {np.__version__})"


def processed(processor, history, logits):
    """What one of transformers' processors makes of a row."""
    scores = processor(torch.tensor([history], dtype=torch.long), torch.tensor(logits[None].copy()))
    return scores.numpy()[0]


# ------------------------------------------------------------------------------------------------ the steps
#
# Each takes a row, the history and where the prompt ends in it, and the step's parameters. It gives the row after the step, whether
# the step does anything to the order of the candidates, and what was run.


def exponential_decay_length(logits, history, n_prompt, start=0, factor=1.0, tokens=()):
    processor = hf.ExponentialDecayLengthPenalty((start, float(factor)), list(tokens), n_prompt)
    assert not np.signbit(logits[logits == 0]).any(), "the processor makes 0 of every -0"
    return processed(processor, history, logits), len(history) > n_prompt + start, source("ExponentialDecayLengthPenalty")


def no_repeat_ngram(logits, history, n_prompt, n=3, window=0xFFFFFFFF, whitelist=(), sees_prompt=True):
    banned = set()
    history = history[0 if sees_prompt else n_prompt :]
    if len(history) >= n:
        ending = history[len(history) - n + 1 :]
        for start in range(max(0, len(history) - window), len(history) - n + 1):
            if history[start : start + n - 1] == ending:
                banned.add(history[start + n - 1])
    banned -= set(whitelist)
    after = logits.copy()
    after[sorted(banned)] = NEVER
    if window != 0xFFFFFFFF or whitelist:
        whose = "SGLang" if sees_prompt else "vLLM"
        more = "" if n > 1 else "; an n of 1 is SGLang's: DeepSeek's and vLLM's ban nothing"
        rule = f"no_repeat_ngram, DeepSeek-OCR's of October 2025, over the tokens that {whose} shows it{more}"
        return after, bool(banned), formula(rule)
    if not sees_prompt and not history:
        return after, False, source("NoRepeatNGramLogitsProcessor") + ", of the drawn tokens alone"
    ran = processed(hf.NoRepeatNGramLogitsProcessor(n), history, logits)
    assert ran.tobytes() == after.tobytes()
    return ran, bool(banned), source("NoRepeatNGramLogitsProcessor") + (", of the drawn tokens alone" if not sees_prompt else "")


def encoder_repetition_penalty(logits, history, n_prompt, penalty=1.0):
    prompt = torch.tensor([history[:n_prompt]], dtype=torch.long)
    processor = hf.EncoderRepetitionPenaltyLogitsProcessor(float(penalty), prompt)
    return processed(processor, history, logits), True, source("EncoderRepetitionPenaltyLogitsProcessor")


def rep_pen_slope(logits, history, n_prompt, range=360, penalty=1.0, slope=1.0, presence=0.0):
    one, penalty, slope, presence = np.array([1, penalty, slope, presence], dtype=np.float32)
    window = np.array(history[max(0, len(history) - range) :], dtype=int)
    divisors = np.full(len(logits), one)
    divisors[window] = one + (penalty - one) * slope if penalty > one else penalty
    # The halves are those of a full window: places before the text are empty.
    recent = range - range // 2
    divisors[window[max(0, len(window) - recent) :]] = penalty
    occurs = np.isin(np.arange(len(logits)), window)
    after = np.where(logits > 0, logits / divisors, logits * divisors)
    after = np.where(occurs, after - presence, after)
    assert after.dtype == np.float32
    if slope == 1 and presence == 0:
        ran = processed(hf.RepetitionPenaltyLogitsProcessor(float(penalty)), window.tolist(), logits)
        assert ran.tobytes() == after.tobytes()
    return after, True, formula("rep_pen_slope, KoboldCpp's as of November 2026: in an odd window the recent half is the longer")


def repetition_penalty_hf(logits, history, n_prompt, penalty=1.0, prompt_ignore_length=0, sees_prompt=True):
    ignored = prompt_ignore_length if sees_prompt else max(prompt_ignore_length, n_prompt)
    processor = hf.RepetitionPenaltyLogitsProcessor(float(penalty), prompt_ignore_length=ignored)
    return processed(processor, history, logits), True, source("RepetitionPenaltyLogitsProcessor")


ALL = (encoder_repetition_penalty, exponential_decay_length, no_repeat_ngram, rep_pen_slope, repetition_penalty_hf)
STEPS = {step.__name__: step for step in ALL}
KEEPS_ONE = "; the most likely stays where all are banned"


# ------------------------------------------------------------------------------------------------ the draws


class Candidates:
    """The candidates of one draw, in their order, by the rules of llama.cpp's arrays."""

    def __init__(self, logits):
        self.ids = np.arange(len(logits), dtype="<i4")
        self.logits = logits
        self.sorted = False

    def row(self, n_vocab):
        """The logits by token; what is no candidate is -infinity."""
        row = np.full(n_vocab, NEVER)
        row[self.ids] = self.logits
        return row

    def top_k(self, k):
        """Without ties, whose order is llama.cpp's own."""
        assert len(set(self.logits)) == len(self.logits)
        order = np.argsort(-self.logits)[:k]
        self.ids, self.logits, self.sorted = self.ids[order], self.logits[order], True

    def digest(self, with_p):
        fields = [("id", "<i4"), ("logit", "<f4")] + [("p", "<f4")] * with_p
        array = np.zeros(len(self.ids), dtype=fields)
        array["id"], array["logit"] = self.ids, self.logits
        assert not np.isnan(self.logits).any()
        return oracle.digest(array.tobytes())

    def told(self, **more):
        return {**more, "size": len(self.ids), "sorted": self.sorted}


def replay(case, n_vocab, vocab):
    """Draws from every row, and writes down what is left after each step. `source` of the case becomes what was run."""
    history, n_prompt = list(case["prompt"]), len(case["prompt"])
    expect = {"tokens": [], "final": [], "steps": []}
    sources = {}
    for logits in oracle.logits_rows(case["logits"]):
        cands, told = Candidates(logits), []
        for i, step in enumerate(case["chain"]["steps"]):
            kind, parameters = step["type"], {key: value for key, value in step.items() if key != "type"}
            name = kind.replace("_", "-")
            if kind == "top_k":
                cands.top_k(**parameters)
            elif kind in STEPS:
                if vocab and kind == "exponential_decay_length":
                    parameters.setdefault("tokens", vocab["eog"])
                before = cands.row(n_vocab)
                after, touches, ran = STEPS[kind](before, history, n_prompt, **parameters)
                if touches and (after[cands.ids] == NEVER).all():
                    best = cands.ids[np.argmax(cands.logits)]
                    after[best] = before[best]
                    ran += KEEPS_ONE
                cands.logits, cands.sorted = after[cands.ids], cands.sorted and not touches
                # A rule that only some rows of a case need is the case's.
                sources[i] = max(sources.get(i, ran), ran, key=len)
            else:
                assert kind == "greedy", kind
            told.append({"step": name, **cands.told(), "digest": cands.digest(False)})
        place = int(np.argmax(cands.logits))
        expect["tokens"].append(int(cands.ids[place]))
        expect["final"].append({**cands.told(), "selected": place, "digest": cands.digest(True)})
        expect["steps"].append(told)
        history.append(expect["tokens"][-1])
    case["source"] = ", then ".join(dict.fromkeys(sources.values()))
    case["expect"] = expect


def main():
    parser = argparse.ArgumentParser(description="Records what the penalties do that llama.cpp does not have.")
    parser.add_argument("--out", default="testing/data")
    arguments = parser.parse_args()

    head = oracle.head("transformers with torch on the CPU, and numpy", "testing/record_community_penalties.py")
    head["build"] = f"transformers {transformers.__version__}, torch {torch.__version__}, numpy {np.__version__}"
    del head["compiler"]
    total = 0
    for file, described in community_penalties.cases().by_file.items():
        for case in described:
            row = next(oracle.logits_rows(case["logits"]))
            try:
                path = case.get("vocab", {}).get("file")
                vocab = path and json.loads((pathlib.Path(__file__).with_name("data") / path).read_text())
                replay(case, len(row), vocab)
            except (AssertionError, ValueError) as error:
                raise ValueError(f"{case['name']}: {error}") from error
        path = pathlib.Path(arguments.out) / f"steps-{file}.jsonl"
        oracle.write_lines(path, head, described)
        print(f"{path}: {len(described)} cases, {path.stat().st_size} bytes")
        total += len(described)
    print(f"{total} cases")


if __name__ == "__main__":
    main()
