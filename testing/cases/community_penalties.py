"""What the recorder of the penalties asks that llama.cpp does not have."""

from cases import GREEDY, Cases, random_ids, repeated, step, values

NEVER = "-inf"
# Of falling likelihood: 1, 3, 4, 2, 0, 5.
SIX = [1, 5, 2, 4, 3, -1]


def no_repeat_ngram(cases):
    def add(name, logits, prompt=(), before=(), **parameters):
        ngram = step("no_repeat_ngram", **parameters)
        cases.add(f"no_repeat_ngram/{name}", logits, *before, ngram, GREEDY, prompt=prompt, seed=1)

    six = values(SIX)
    add("empty", repeated(SIX, 3), n=2)
    add("exactly-n", six, [1, 1], n=2)
    add("prompt-only", six, [3, 4, 3, 1, 0, 3], n=2)
    add("trigrams", six, [0, 3, 1, 4, 3, 5, 0, 3], n=3)
    add("unigrams", six, [1, 1, 3], n=1)
    add("overlapping", six, [1, 1, 1, 1], n=3)
    add("a-border-of-the-last", six, [1, 2, 1, 2, 1, 3, 1, 2, 1], n=4)
    add("longer-than-all", six, [1, 2, 3], n=4000000000)
    add("drawn-on", repeated(SIX, 2), [0, 1], n=2)
    add("drawn-until-all-are-banned", repeated([2, 1, 3], 4), n=1)
    add("all-banned", values([2, 1, 3], [2, 3, 3]), [0, 1, 2], n=1)
    add("one-candidate", values([0.5]), [0, 0], n=2)
    add("two-candidates", values([0.5, 0.25]), [0, 0], n=2)
    add("all-others-masked", values([NEVER, 3, 4, NEVER]), [1, 2], n=1)
    add("a-tie-behind-the-banned", values([7, 3, 9, 7]), [2, 2], n=2)
    add("after-a-sort", values(SIX), [3, 1, 3], before=[step("top_k", k=5)], n=2)
    add("forty", ("uniform", 40, 1), random_ids("no_repeat_ngram/forty", 48, 5), n=2)
    prompt = [3, 1, 3, 2, 0, 3]
    for window in (3, 4, 5, 6):
        add(f"window-{window}", six, prompt, n=2, window=window)
    add("window-moves", repeated([9, 8], 3), [1], n=2, window=3)
    add("window-unigrams", values(SIX), [1, 1, 3], n=1, window=2)
    add("window-of-n", repeated(SIX, 2), [1, 1], n=2, window=2)
    add("whitelist", six, prompt, n=2, whitelist=[1])
    add("window-and-whitelist", repeated(SIX, 2), prompt, n=2, window=4, whitelist=[3])
    add("unigrams-and-whitelist", repeated([3, 2, 1], 3), n=1, whitelist=[1])
    # Without the prompt: as it ends, one token on, and with a window that would reach into it.
    add("drawn-alone", repeated([5, 9, 8, 7], 4), [1, 2, 1, 1, 3, 1], n=2, sees_prompt=False)
    add("drawn-alone/no-prompt", repeated([9, 8], 3), n=2, sees_prompt=False)
    add("drawn-alone/unigrams", repeated([3, 2, 1], 3), [0, 1], n=1, sees_prompt=False)
    add("drawn-alone/window", repeated([9, 8, 7], 6), [0, 0, 1, 0], n=2, window=3, sees_prompt=False)
    add("drawn-alone/whitelist", repeated([9, 8], 4), [0, 1, 0], n=2, whitelist=[1], sees_prompt=False)


# Each logit is a number that no product of it with such penalties is.
EIGHT = [1.1, -1.3, 0, 2.7, -2.9, 0.7, -0.1, 3.3]


def encoder_repetition_penalty(cases):
    def add(name, logits, prompt=(), before=(), **parameters):
        penalty = step("encoder_repetition_penalty", **parameters)
        cases.add(f"encoder_repetition_penalty/{name}", logits, *before, penalty, GREEDY, prompt=prompt, seed=1)

    eight, prompt = values(EIGHT), [3, 4, 3, 2, 7]
    add("no-prompt", repeated(EIGHT, 2), penalty=1.3)
    add("prompt-only", eight, prompt, penalty=1.3)
    add("once-however-often", eight, [7, 7, 7, 1, 1], penalty=1.3)
    add("drawn-ones-do-not-count", repeated([3, 2.9, 2.8, -1], 3), [1, 3], penalty=1.1)
    add("all", eight, range(8), penalty=1.2)
    add("below-1", eight, prompt, penalty=0.7)
    add("just-below-1", eight, range(8), penalty=0.99)
    add("power-of-two", eight, range(8), penalty=2)
    # The rounded inverse of each but the last is another number than the inverse of the rounded one.
    for penalty in (1.05, 1.1, 1.7, 3):
        add(f"inverse-of-{penalty}", eight, range(8), penalty=penalty)
    add("huge", values([3e34, -3e30, 1e-38, -1e-38, 0]), range(4), penalty=1000)
    add("tiny", values([1e30, -1e34, 1e-45, -1e-45, 0]), range(5), penalty=0.001)
    add("masked", values([NEVER, 2, NEVER, 1]), [0, 3, 2], penalty=2.5)
    add("zero-stays", values([0, 0, -0.5]), [0, 2], penalty=1.5)
    add("one-candidate", values([2.5], [-2.5]), [0], penalty=1.7)
    add("two-candidates", values([2.5, 2]), [1], penalty=1.7)
    add("a-tie-afterwards", values([2, 3, 2.5]), [0, 2], penalty=1.5)
    add("uniform", repeated([1] * 4, 2), [2, 3], penalty=1.5)
    add("after-a-sort", eight, prompt, before=[step("top_k", k=6)], penalty=1.3)
    add("both-penalties", repeated([3, 2.9, 2.8, 1], 2), [1], [step("repetition_penalty_hf", penalty=1.3)], penalty=1.1)
    add("forty", ("uniform", 40, 1), random_ids("encoder_repetition_penalty/forty", 30, 40), penalty=1.15)


def repetition_penalty_hf(cases):
    def add(name, logits, prompt=(), before=(), **parameters):
        penalty = step("repetition_penalty_hf", **parameters)
        cases.add(f"repetition_penalty_hf/{name}", logits, *before, penalty, GREEDY, prompt=prompt, seed=1)

    eight, prompt = values(EIGHT), [3, 4, 3, 2, 7]
    add("empty", repeated(EIGHT, 3), penalty=1.3)
    add("prompt-only", eight, prompt, penalty=1.3)
    add("once-however-often", eight, [7, 7, 7, 1, 1], penalty=1.3)
    add("drawn-on", repeated([3, 2.9, 2.8, -1], 4), [3], penalty=1.1)
    add("all", eight, range(8), penalty=1.2)
    add("below-1", eight, prompt, penalty=0.7)
    add("power-of-two", eight, range(8), penalty=2)
    add("huge", values([3e38, -3e30, 1e-38, -1e-38, 0]), range(4), penalty=1000)
    add("tiny", values([1e30, -1e38, 1e-45, -1e-45, 0]), range(5), penalty=0.001)
    add("masked", values([NEVER, 2, NEVER, 1]), [0, 1, 2], penalty=1.5)
    add("zero-stays", values([0, 0, -0.5]), [0, 2], penalty=1.5)
    add("one-candidate", values([2.5], [-2.5]), [0], penalty=1.7)
    add("two-candidates", values([2.5, 2]), [0], penalty=1.7)
    add("a-tie-afterwards", values([3, 2, 2.5]), [0, 2], penalty=1.5)
    add("uniform", repeated([1] * 4, 3), penalty=1.5)
    add("after-a-sort", eight, prompt, before=[step("top_k", k=6)], penalty=1.3)
    add("twice", eight, [3, 7], before=[step("repetition_penalty_hf", penalty=1.3)], penalty=1.1)
    add("forty", ("uniform", 40, 1), random_ids("repetition_penalty_hf/forty", 30, 40), penalty=1.15)
    for ignored in (2, 4, 5):
        add(f"ignored-{ignored}", eight, prompt, penalty=1.3, prompt_ignore_length=ignored)
    add("ignored-drawn", repeated([3, 2.9, 2.8, -1], 3), [3], penalty=1.3, prompt_ignore_length=2)
    add("without-the-prompt", repeated([3, 2.9, 2.8, 2.7], 3), [0, 1, 1], penalty=1.3, sees_prompt=False)
    add("without-a-prompt", repeated([3, 2.9], 2), penalty=1.3, sees_prompt=False)
    add("ignored-and-no-prompt", repeated([3, 2.9], 2), [0], penalty=1.3, sees_prompt=False, prompt_ignore_length=2)


def exponential_decay_length(cases):
    def add(name, logits, prompt=(), before=(), **parameters):
        decay = step("exponential_decay_length", **parameters)
        cases.add(f"exponential_decay_length/{name}", logits, *before, decay, GREEDY, prompt=prompt, seed=1)

    eight, six = repeated(EIGHT, 3), repeated([0.9, 3, -0.9, 0, 1, 2], 2)
    add("empty", values(EIGHT), start=0, factor=1.3, tokens=[3])
    add("prompt-only", values(EIGHT), [3, 4, 7], start=0, factor=1.3, tokens=[3])
    add("from-the-first", values(EIGHT, EIGHT), [3, 4, 7], start=0, factor=1.3, tokens=[3])
    # The prompt does not count: the first two are drawn at the start and before it.
    add("prompt-longer-than-start", repeated(EIGHT, 5), [3, 4, 7], start=2, factor=1.3, tokens=[3])
    add("from-the-second", eight, start=1, factor=1.3, tokens=[3])
    add("never-so-long", repeated([1, 2], 2), start=4000000000, factor=1.3, tokens=[1])
    add("until-it-ends", repeated([1, 2.5, -1], 4), [1], start=1, factor=1.4, tokens=[0])
    add("below-0", repeated([1, -1.7], 2), start=0, factor=2.3, tokens=[1])
    add("zero-stays", repeated([0, 1], 2), start=0, factor=9.5, tokens=[0])
    add("several-ends", six, [2], start=0, factor=1.07, tokens=[4, 0, 2])
    add("an-end-twice", values([1, 2], [1, 2]), start=0, factor=1.6, tokens=[0, 0])
    add("below-1", six, start=0, factor=0.7, tokens=[1, 2])
    add("almost-1", values(EIGHT, EIGHT), start=0, factor=1.000001, tokens=[7, 4])
    add("power-of-two", repeated([0.9, -0.9, 1], 2), start=0, factor=2, tokens=[0, 1])
    add("huge", repeated([1.1, -2.3, 4], 2), start=0, factor=1e30, tokens=[0, 1])
    add("masked-ends", repeated([NEVER, 1, NEVER, 2], 2), start=0, factor=1.5, tokens=[0, 1])
    add("one-candidate", repeated([2.5], 2), [0], start=0, factor=1.5, tokens=[0])
    add("two-candidates", repeated([2.5, 2], 2), [0], start=0, factor=1.5, tokens=[1])
    add("a-tie", repeated([3, 2], 2), start=0, factor=1.5, tokens=[1])
    add("after-a-sort", values(EIGHT, EIGHT), before=[step("top_k", k=6)], start=0, factor=1.9, tokens=[5])
    add("cut-off", values(EIGHT, EIGHT), before=[step("top_k", k=3)], start=0, factor=1.9, tokens=[6])
    cases.vocab = {"file": "tiny-vocab.json"}
    add("of-a-vocabulary", ("uniform", 512, 2), [7, 8, 9], start=0, factor=1.25)
    cases.vocab = None


def rep_pen_slope(cases):
    def add(name, logits, prompt=(), before=(), **parameters):
        penalty = step("rep_pen_slope", **parameters)
        cases.add(f"rep_pen_slope/{name}", logits, *before, penalty, GREEDY, prompt=prompt, seed=1)

    eight, prompt = values(EIGHT), [3, 4, 3, 2, 7]
    add("empty", repeated(EIGHT, 2), penalty=1.3, slope=0.7)
    add("prompt-only", eight, prompt, penalty=1.3, slope=0.7)
    add("drawn-on", repeated([3, 2.9, 2.8, -1], 4), [3], range=3, penalty=1.1, slope=0.5)
    for n in (1, 2, 3, 4, 5, 6):
        add(f"range-{n}", eight, [0, 1, 2, 7, 4], range=n, penalty=1.3, slope=0.7)
    add("in-both-halves", eight, [7, 1, 2, 7, 1, 0], range=6, penalty=1.3, slope=0.7)
    add("in-the-older-half-alone", eight, [7, 7, 1, 0], range=4, penalty=1.3, slope=0.7)
    add("plain", eight, range(8), penalty=1.07)
    add("slight-slope", eight, range(8), range=8, penalty=1.3, slope=0.1)
    add("long-window", eight, range(8), penalty=1.3, slope=0.5)
    add("lite", eight, range(8), range=8, penalty=1.07, slope=0.7)
    add("below-1", eight, range(8), penalty=0.7, slope=0.5)
    add("power-of-two", eight, range(8), range=8, penalty=3, slope=0.5)
    add("presence", eight, [7, 7, 2, 1, 4], range=5, penalty=1.3, slope=0.7, presence=0.35)
    add("presence-alone", eight, [7, 7, 2, 1], slope=0.7, presence=-0.35)
    add("masked", values([NEVER, 2, NEVER, 1]), [0, 1, 2], range=3, penalty=1.5, slope=0.7, presence=0.1)
    add("one-candidate", values([2.5], [-2.5]), [0], penalty=1.7, slope=0.3)
    add("two-candidates", values([2.5, 2]), [1, 0], range=2, penalty=1.7, slope=0.3)
    add("uniform", repeated([1] * 4, 2), [2], penalty=1.5, slope=0.7)
    add("after-a-sort", eight, prompt, before=[step("top_k", k=6)], penalty=1.3, slope=0.7)
    add("forty", ("uniform", 40, 1), random_ids("rep_pen_slope/forty", 30, 40), range=21, penalty=1.15, slope=0.7)


ALL = (encoder_repetition_penalty, exponential_decay_length, no_repeat_ngram, rep_pen_slope, repetition_penalty_hf)


def cases():
    described = Cases()
    for describe in ALL:
        describe(described)
    return described
