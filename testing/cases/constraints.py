"""The steps that bind what a chain may do: suppress_tokens, min_new_tokens, sequence_bias, protect, switch."""

from . import DIST, GREEDY, step, values

BAN = "-inf"
TINY = {"file": "tiny-vocab.json"}  # 512 tokens; 0, 2 and 4 end a text, 198 is a line's end
SIX = [0.5, 3.0, -1.25, 2.0, 7.5, -4.0]
ALL = step("top_k", k=100)  # sorts, and removes nothing


def rows(*given):
    return values(*given)


def suppress_tokens(c):
    def add(name, logits, tokens, *before, **more):
        c.add(f"suppress_tokens/{name}", logits, *before, step("suppress_tokens", tokens=tokens), GREEDY, **more)

    add("one", rows(SIX), [4])
    add("two", rows(SIX), [4, 1])
    add("not-the-likeliest", rows(SIX), [0, 5])
    add("listed-twice-and-unordered", rows(SIX), [4, 1, 4, 0])
    add("none", rows(SIX), [])
    add("none-after-a-sort", rows(SIX), [], ALL)
    add("after-a-sort", rows(SIX), [4, 2], ALL)
    add("after-a-cut", rows(SIX), [1, 2, 5], step("top_k", k=3))
    add("what-is-cut-already", rows(SIX), [5], step("top_k", k=3))
    add("all-but-one", rows(SIX), [0, 1, 2, 3, 4])
    add("a-tie-is-broken", rows([2.0, 2.0, 1.0]), [0])
    add("a-uniform-row", rows([0.25] * 8), [0, 1, 2])
    add("masked-candidates", rows([BAN, 3.0, BAN, 1.0]), [0, 1])
    add("one-hot", rows([0.0, 60.0, 0.0]), [1])
    add("a-huge-negative-tail", rows([1.0, -1e30, -3e38, -5e37]), [0])
    add("two-candidates", rows([1.0, 2.0]), [1])
    add("three-candidates", rows([1.0, 2.0, 3.0]), [2])
    add("row-after-row", rows(SIX, SIX[::-1], [9.0] * 6), [4, 0])
    add("the-prompt-changes-nothing", rows(SIX), [4], prompt=[4, 4, 1])
    add("beside-a-bias", rows(SIX), [4], step("logit_bias", bias=[[4, 5.0], [2, 6.5]]))
    add("forty", ("uniform", 40, 2), list(range(0, 40, 3)))
    add("large-row", ("peaked", 700, 2), list(range(1, 700, 9)))
    # What is banned whole keeps its best: this project's own rule.
    add("own/everything", rows(SIX), [0, 1, 2, 3, 4, 5])
    add("own/the-only-one", rows([1.5]), [0])
    add("own/everything-that-is-not-masked", rows([BAN, 3.0, BAN, 3.0]), [1, 3])


def min_new_tokens(c):
    def add(name, logits, n, tokens, *before, **more):
        ends = {} if tokens is None else {"tokens": tokens}
        c.add(f"min_new_tokens/{name}", logits, *before, step("min_new_tokens", n=n, **ends), GREEDY, **more)

    end = [1.0, 9.0, 2.0, 8.0]  # 1 and 3 end a text
    add("empty-history", rows(end), 1, [1])
    add("off-at-zero", rows(end), 0, [1, 3])
    add("off-after-a-sort", rows(end), 0, [1], ALL)
    add("exactly-n", rows(*[end] * 4), 3, [1])
    add("one-token", rows(*[end] * 2), 1, [1, 3])
    add("two-ends", rows(*[end] * 3), 2, [1, 3])
    add("the-prompt-does-not-count", rows(*[end] * 3), 2, [1], prompt=[0, 2, 0, 2])
    add("an-end-in-the-prompt", rows(*[end] * 2), 1, [1], prompt=[1, 3])
    add("more-than-there-are-draws", rows(*[end] * 2), 1000, [3, 1])
    add("listed-twice", rows(end), 1, [3, 1, 3])
    add("after-a-sort", rows(*[end] * 2), 1, [1], ALL)
    add("free-after-a-sort", rows(*[end] * 2), 1, [2], step("top_k", k=2))
    add("masked-end", rows([1.0, BAN, 0.5]), 1, [1])
    add("two-candidates", rows([1.0, 2.0], [1.0, 2.0]), 1, [1])
    add("a-uniform-row", rows([1.0] * 5), 1, [0])
    add("no-ends", rows(end), 5, [])
    add("an-end-after-an-end", rows([1.0, 2.0, 9.0], [1.0, 2.0, 9.0], [1.0, 9.0, 2.0]), 2, [2])
    add("the-vocabularys-ends", ("uniform", 512, 3), 2, None, vocab=TINY)
    add("the-vocabularys-ends-after-a-prompt", ("ties", 512, 2), 1, None, vocab=TINY, prompt=[0, 7, 2])
    add("listed-beside-a-vocabulary", ("uniform", 512, 2), 1, [9], vocab=TINY)
    add("own/everything", rows([1.0, 5.0, 5.0], [1.0, 5.0, 5.0]), 1, [0, 1, 2])
    add("own/the-only-one", rows([1.0]), 1, [0])


def sequence_bias(c):
    def add(name, logits, bias, *before, **more):
        c.add(f"sequence_bias/{name}", logits, *before, step("sequence_bias", bias=bias), GREEDY, **more)

    add("one-token", rows(SIX), [[[3], 6.25]])
    add("two-tokens-match", rows(SIX), [[[2, 4], -10.0]], prompt=[5, 2])
    add("two-tokens-do-not", rows(SIX), [[[2, 4], -10.0]], prompt=[2, 5])
    add("no-match-leaves-sorted", rows(SIX), [[[2, 4], -10.0]], ALL, prompt=[2, 5])
    add("the-whole-context", rows(SIX), [[[5, 2, 4], -10.0]], prompt=[5, 2])
    add("longer-than-the-context", rows(SIX), [[[1, 5, 2, 4], -10.0]], prompt=[5, 2])
    add("an-empty-history", rows(SIX), [[[2, 4], -10.0]])
    add("prompt-only", rows(SIX), [[[5, 0, 5, 3], 8.0]], prompt=[1, 5, 0, 5])
    add("across-the-prompts-end", rows(SIX, SIX, SIX), [[[4, 4, 4], -9.0], [[0, 4, 4], -0.25]], prompt=[0])
    add("grown-word-by-word", rows(SIX, SIX, SIX), [[[4, 1], 10.0], [[4, 1, 3], 20.0]])
    add("lengths-add-up", rows(SIX), [[[0], 0.1], [[1, 0], 0.2], [[2, 1, 0], 0.7]], prompt=[2, 1])
    add("sums-in-the-references-order", rows(SIX), [[[2, 1, 0], 1e8], [[1, 0], 1.0], [[0], 0.3], [[3, 1, 0], -1e8]],
        prompt=[2, 1])
    add("sums-by-length-as-first-seen", rows(SIX), [[[2, 1, 0], 16777216.0], [[1, 0], 1.0], [[0], 1.0]], prompt=[2, 1])
    add("a-sequence-given-twice", rows(SIX), [[[1, 0], 100.0], [[0], 2.0], [[1, 0], 9.0]], prompt=[2, 1])
    add("a-repeated-token", rows(SIX), [[[4, 4], -8.0]], prompt=[4, 4, 4])
    add("after-a-sort", rows(SIX), [[[2, 4], -10.0], [[5], 3.0]], ALL, prompt=[2])
    add("what-is-cut-stays-away", rows(SIX), [[[5], 90.0], [[3], 1.5]], step("top_k", k=3))
    add("masked-stays-masked", rows([BAN, 1.0, 0.5]), [[[0], 50.0], [[2], 1.0]])
    add("zero", rows(SIX), [[[4], 0.0]])
    add("none", rows(SIX), [], ALL)
    add("bad-words/one", rows(SIX), [[[4], BAN]])
    add("bad-words/two-tokens", rows(SIX, SIX), [[[4, 4], BAN]])
    add("bad-words/a-prompt-of-them", rows(SIX), [[[1, 4], BAN], [[3, 1, 1], BAN], [[3], BAN]], prompt=[3, 1])
    add("bad-words/after-a-sort", rows(SIX), [[[4], BAN], [[0, 3], BAN]], ALL, prompt=[0])
    add("bad-words/beside-a-bias", rows(SIX), [[[4], BAN], [[0, 4], 30.0]], prompt=[0])
    add("own/everything", rows([1.0, 3.0]), [[[0], BAN], [[1], BAN]])
    add("own/the-only-one", rows([1.0]), [[[0], BAN]])
    add("own/everything-that-may-follow", rows([1.0, 3.0], [1.0, 3.0]), [[[1, 1], BAN], [[1, 0], BAN]])


def protect(c):
    def add(name, logits, parameters, *inner, before=(), after=(), **more):
        c.add(f"protect/{name}", logits, *before, step("protect", **parameters, steps=list(inner)), *after, GREEDY, **more)

    def top(k):
        return step("top_k", k=k)

    xtc = step("xtc", probability=1.0, threshold=0.1)
    ban = step("logit_bias", bias=[[4, BAN], [1, BAN]])
    add("top-k-keeps-a-third", rows(SIX), {"tokens": [2]}, top(2))
    add("what-is-kept-anyway", rows(SIX), {"tokens": [4]}, top(2))
    add("two-by-rising-id", rows(SIX), {"tokens": [5, 0, 5]}, top(2))
    add("all", rows(SIX), {"tokens": [0, 1, 2, 3, 4, 5]}, top(1))
    add("none", rows(SIX), {"tokens": []}, top(3))
    add("no-steps", rows(SIX), {"tokens": [1]})
    add("no-steps-after-a-sort", rows(SIX), {"tokens": [1]}, before=[ALL])
    add("a-ban-is-undone", rows(SIX), {"tokens": [4]}, ban)
    add("a-ban-after-a-sort", rows(SIX), {"tokens": [1]}, ban, before=[ALL])
    add("masked-before-stays-masked", rows([BAN, 3.0, 1.0, 2.0]), {"tokens": [0, 2]}, top(1))
    add("cut-before-stays-cut", rows(SIX), {"tokens": [5, 0]}, top(1), before=[top(4)])
    add("brought-back-before-the-next-step", rows(SIX), {"tokens": [5]}, top(2), step("temperature", temp=0.5))
    add("changed-then-cut", rows(SIX), {"tokens": [5]}, step("temperature", temp=0.5), top(2))
    add("cut-twice", rows(SIX), {"tokens": [0, 2]}, top(3), top(1))
    add("a-chain-inside", rows(SIX), {"tokens": [2]}, step("chain", steps=[top(2), step("temperature", temp=0.25)]))
    add("protect-inside", rows(SIX), {"tokens": [2]}, step("protect", tokens=[0], steps=[top(1)]), top(1))
    add("unsorted-for-what-follows", rows(SIX), {"tokens": [4]}, xtc, after=[top(2)])
    add("xtc/the-likeliest-stays", rows([6.0, 5.5, 5.0, -3.0]), {"tokens": [0]}, xtc)
    add("xtc/others-go", rows([6.0, 5.5, 5.0, -3.0]), {"tokens": [3]}, xtc)
    add("xtc/two-stay", rows([6.0, 5.5, 5.0, 5.25], [1.0, 6.0, 5.5, 5.0]), {"tokens": [0, 1]}, xtc)
    add("one-candidate", rows([1.0]), {"tokens": [0]}, top(1))
    add("one-hot", rows([0.0, 60.0, 0.0]), {"tokens": [2]}, top(1))
    add("a-bias-is-no-removal", rows(SIX), {"tokens": [4]}, step("logit_bias", bias=[[4, -20.0]]))
    add("ends-of-the-vocabulary", ("uniform", 512, 2), {"eog": True}, top(4), vocab=TINY)
    add("a-lines-end", ("uniform", 512, 2), {"eog": True, "pieces": ["\n"]}, top(4), vocab=TINY)
    add("pieces-and-tokens", ("peaked", 512, 1), {"tokens": [7], "pieces": ["\n", "\n   "]}, top(2), vocab=TINY)


def switch(c):
    # The first chain draws 0, the second 1.
    row, first, second = [2, 1, 0.5, 0], [GREEDY], [step("logit_bias", bias=[[1, 9]]), GREEDY]

    def add(name, logits, parameters, first, second, after=(), **more):
        c.add(f"switch/{name}", logits, step("switch", **parameters, first=first, second=second), *after, **more)

    def both(name, n_rows, parameters, **more):
        add(name, rows(*[row] * n_rows), parameters, first, second, **more)

    both("never", 2, {"after": [[2]]})
    both("after-one-token", 3, {"after": [[0]]})
    both("after-two-tokens", 3, {"after": [[0, 0]]})
    both("of-two-sequences-either", 3, {"after": [[3, 3], [0, 0]]})
    both("there-and-back", 5, {"after": [[0, 0]], "back": [[1]]})
    both("there-and-back-one-by-one", 3, {"after": [[0]], "back": [[1]]})
    both("back-only-when-there", 3, {"after": [[0, 0]], "back": [[0]]})
    both("no-sequences", 2, {})
    both("no-overlap", 5, {"after": [[0, 0]], "back": [[0, 1], [1, 1]]})
    both("the-prompt-is-not-seen", 2, {"after": [[3]]}, prompt=[3, 3])
    both("half-in-the-prompt-is-not-seen", 3, {"after": [[3, 0], [0, 0]]}, prompt=[3])
    both("the-prompt-is-seen", 2, {"after": [[3]], "sees_prompt": True}, prompt=[2, 3, 2])
    both("half-in-the-prompt-is-seen", 2, {"after": [[3, 0]], "sees_prompt": True}, prompt=[3])
    both("there-and-back-in-the-prompt", 3, {"after": [[3], [0]], "back": [[2]], "sees_prompt": True}, prompt=[3, 2])

    changes = [step("temperature", temp=0.5)], [step("logit_bias", bias=[[3, 20]]), step("top_k", k=2)]
    add("no-selection-inside", rows(row, row), {"after": [[0]]}, *changes, after=[GREEDY])
    add("after-a-sort", rows(row, row), {"after": [[3]]}, *changes[::-1], after=[ALL, GREEDY])
    add("nothing-and-a-cut", rows(row, row), {"after": [[0]]}, [], [step("top_k", k=1)], after=[GREEDY])
    add("one-candidate", rows([1], [1]), {"after": [[0]]}, [GREEDY], [step("top_k", k=1), GREEDY])
    add("all-masked-but-one", rows([BAN, 1], [BAN, 1]), {"after": [[1]]}, [GREEDY], [GREEDY])
    add("both-are-told-every-token", rows(*[row] * 4), {"after": [[1]], "back": [[3]]},
        [step("penalties", last_n=9, repeat=1, freq=2, present=0)],
        [step("penalties", last_n=9, repeat=1, freq=0, present=4)], after=[GREEDY])
    add("a-switch-inside", rows(*[row] * 4), {"after": [[0]]}, first,
        [step("switch", after=[[1]], first=second, second=[step("logit_bias", bias=[[2, 50]]), GREEDY])])

    # Equal candidates, a power of two of them: a draw is the generator's highest bits, and every p is exact.
    even, half = [0] * 8, [2] * 4 + [BAN] * 4
    for generators in ("separate", "shared"):
        kind = {} if generators == "separate" else {"generators": generators}
        for name, after, back in (("there", [4, 5, 6, 7], []), ("there-and-back", [0, 2, 3, 4], [1, 3])):
            ends = {"after": [[i] for i in after], "back": [[i] for i in back]}
            add(f"dist/{generators}/{name}", rows(*[even] * 5), {**ends, **kind}, [DIST],
                [step("logit_bias", bias=[[i, BAN] for i in (0, 2, 5, 6)]), DIST], seed=11192)
        add(f"dist/{generators}/equal-chains", rows(*[even, half] * 2), {"after": [[0], [1], [2]], **kind}, [DIST], [DIST],
            seed=11192)

    # Three chains and one generator, whichever of them runs where the outer one switches.
    def shared(after, back, first, second):
        ends = {"after": [[i] for i in after], "back": [[i] for i in back]}
        return {**ends, "generators": "shared", "first": first, "second": second}

    inside = step("switch", **shared([0, 2, 4, 6], [1, 3, 5, 7], [DIST], [DIST]))
    for name, chains in (("inside-first", ([inside], [DIST])), ("inside-second", ([DIST], [inside]))):
        outer = step("switch", **shared([0, 1, 2, 3], [4, 5, 6, 7], *chains))
        c.add(f"switch/dist/shared/{name}", rows(*[even] * 12), outer, seed=11192)


ALL_STEPS = (suppress_tokens, min_new_tokens, sequence_bias, protect, switch)
