"""The two steps that look into the vocabulary: infill, and the reasoning budget. Rows of 2,048 logits, made by hand with biases.

`id_of` gives the id of a piece of the small vocabulary. Its tokens 0, 2 and 4 end the generation; 0 is its eot.
"""

from . import DIST, random_ids, step

N = 2048
EOG = (0, 2, 4)
INFILL = step("infill")


def bias(*pairs):
    return step("logit_bias", bias=[list(pair) for pair in pairs])


# ------------------------------------------------------------------------------------------------ infill


def infill(c, id_of):
    ids = [id_of(piece) for piece in (" t", " th", " the", " they", " their", " that", "t", "th", "the", "ther")]
    no_eog = [(eog, "-inf") for eog in EOG]

    c.add("infill/alone/uniform", ("uniform", N, 2), INFILL, DIST)
    c.add("infill/alone/no-eog", ("peaked", N, 2), bias(*no_eog), INFILL, DIST)
    for k in (1, 2, 5, 40):
        c.add(f"infill/top-k-{k}", ("peaked", N, 4), bias(*no_eog), step("top_k", k=k), INFILL, DIST)
        # About as likely as the best of all others: what is left depends on where each row puts them.
        c.add(f"infill/top-k-{k}/eog-in-reach", ("uniform", N, 4), bias((0, 6), (2, 4)), step("top_k", k=k), INFILL, DIST)
    c.add("infill/top-p", ("peaked", N, 4), bias(*no_eog), step("top_p", p=0.6), INFILL, DIST)
    c.add("infill/top-p/eog", ("uniform", N, 4), bias((0, 12), (4, 10)), step("top_k", k=40), step("top_p", p=0.9), INFILL, DIST)
    c.add("infill/before-temperature", ("uniform", N, 6), bias(*[(i, 14) for i in ids]), step("top_k", k=10), INFILL,
          step("temperature", temp=1.7), DIST)
    c.add("infill/after-temperature", ("uniform", N, 6), bias(*[(i, 14) for i in ids]), step("top_k", k=10),
          step("temperature", temp=3), INFILL, DIST)
    c.add("infill/eog-dominate", ("uniform", N, 6), bias(*[(eog, 20) for eog in EOG]), step("top_k", k=20), INFILL, DIST)
    c.add("infill/eog-one", ("uniform", N, 4), bias((4, 25), (0, "-inf")), step("top_k", k=5), INFILL, DIST)
    c.add("infill/eog-only", ("uniform", N, 4), bias(*[(eog, 60) for eog in EOG]), step("top_k", k=3), INFILL, DIST)
    # Just small enough an eog: 3 * p_eog * n is compared with p_text.
    for k, down in ((5, 2.5), (5, 2.9), (20, 4.0), (20, 4.4), (2, 1.7), (2, 1.9)):
        c.add(f"infill/eog-ratio/{k}/{down}", ("ties", N, 3), bias((id_of("x"), 60), (id_of("y"), 59), (0, 60 - down)),
              step("top_k", k=k), INFILL, DIST)
    # Prefixes of each other.
    for name, kind, steps in [("uniform", "uniform", [step("top_k", k=10)]), ("ties", "ties", [step("top_k", k=10)]),
                              ("flat", "uniform", [step("top_k", k=10), step("temperature", temp=8)]),
                              ("unsorted", "ties", [step("min_p", p=0.001)])]:
        c.add(f"infill/prefixes/{name}", (kind, N, 5), bias(*no_eog, *[(i, 30) for i in ids]), *steps, INFILL, DIST)
    c.add("infill/prefixes/equal", ("uniform", N, 3), bias(*no_eog), step("temperature", temp=1e6),
          bias(*[(i, 30) for i in ids[:6]]), step("top_k", k=6), INFILL, DIST)
    # The text of a special token is not looked at: "<" begins none, and nothing begins with one.
    c.add("infill/prefixes/special", ("uniform", N, 4), bias(*no_eog, (3, 40), (6, 40), (id_of("<"), 40), (id_of("t"), 39)),
          step("top_k", k=4), INFILL, DIST)
    c.add("infill/prefixes/bytes", ("uniform", N, 4), bias(*no_eog, *[(id_of(p), 40) for p in (b"\xe2\x80", b"\xe2\x80\x99", b"\xe2", " ")]),
          step("top_k", k=4), INFILL, DIST)
    # No text is left: many tokens, none of a fifth of the probability. Then it is the eot alone.
    flat = [step("temperature", temp=50), step("top_k", k=40)]
    c.add("infill/no-text-left", ("uniform", N, 3), bias(*no_eog), *flat, INFILL, DIST)
    c.add("infill/no-text-left/in-a-window", ("ties", N, 3), bias(*no_eog), step("temperature", temp=1e9), step("top_k", k=300), INFILL,
          step("temperature", temp=0.5), DIST)
    c.add("infill/minus-infinity", ("masked", N, 4), step("top_k", k=30), INFILL, DIST)
    c.add("infill/minus-infinity/one-left", ("masked", N, 4), bias(*no_eog), step("top_k", k=40), step("top_n_sigma", n=0.01), INFILL, DIST)
    c.add("infill/minus-infinity/eog-only-finite", ("uniform", N, 3), bias((2, 40)), step("top_k", k=10), step("temperature", temp=0),
          INFILL, DIST)
    c.add("infill/twice", ("uniform", N, 4), bias(*no_eog, *[(i, 14) for i in ids]), step("top_k", k=10), INFILL, INFILL, DIST)
    c.add("infill/before-xtc", ("uniform", N, 6), bias(*no_eog, *[(i, 30) for i in ids]), step("top_k", k=10), INFILL,
          step("xtc", probability=0.5), DIST)
    c.add("infill/before-min-p", ("uniform", N, 6), bias(*no_eog, *[(i, 30) for i in ids]), step("top_k", k=10), INFILL,
          step("min_p", p=0.4), DIST)
    c.add("infill/greedy", ("uniform", N, 3), bias(*[(i, 14) for i in ids]), step("top_k", k=10), INFILL, step("greedy"))


# ------------------------------------------------------------------------------------------------ reasoning budget

# The ids that the rows below can give: two that start, two that end, and some text.
START, START2, END, END2, MESSAGE = 100, 101, 110, 111, 120
TEXT = (300, 301, 302, 303)


def budget(c, id_of):
    lead2, lead3, tail = id_of(b"\xc3"), id_of(b"\xe2"), id_of(b"\x80")

    def add(name, rows, likely, prompt=(), kind="uniform", k=12, seed=None, vocab=True, **parameters):
        """`likely` are the tokens among which each draw chooses."""
        parameters = {"start": [[START]], "end": [[END]], "forced": [END], "sees_prompt": True, **parameters}
        c.add("reasoning_budget/" + name, (kind, N, rows), step("reasoning_budget", **parameters), bias(*[(i, 30) for i in likely]),
              step("top_k", k=min(k, len(likely))), DIST, prompt=prompt, seed=seed, vocab=vocab)

    mixed = (START, END, *TEXT)
    for n in (0, 1, 3, -1):
        add(f"budget-{n}", 12, mixed, budget=n)
        add(f"budget-{n}/in-the-prompt", 10, (END, *TEXT), prompt=[7, START, 8, 9][:2 if n == 0 else 4], budget=n)
    add("no-vocabulary", 12, mixed, budget=2, vocab=False)
    add("never-started", 8, TEXT, budget=0)
    add("natural-end", 10, TEXT, prompt=[START, 300, END], budget=5, forced=[MESSAGE, END])
    add("natural-end/at-the-last-token", 10, TEXT, prompt=[START, 300, 301, END], budget=3, forced=[MESSAGE, END])
    add("message", 12, mixed, prompt=[START], budget=3, forced=[MESSAGE, MESSAGE + 1, MESSAGE + 2, END])
    add("message/without-an-end", 12, mixed, prompt=[START], budget=2, forced=[MESSAGE, MESSAGE + 1])
    add("nothing-forced", 12, mixed, prompt=[START], budget=2, forced=[])
    add("nothing-forced/budget-0", 10, mixed, budget=0, forced=[])
    add("no-start", 8, mixed, start=[], budget=0)
    add("empty-start", 8, mixed, start=[[]], budget=0)
    add("no-end", 10, mixed, prompt=[START], end=[], budget=4)
    add("empty-end", 10, mixed, prompt=[START], end=[[], [END]], budget=4)
    # Several sequences, of several tokens, that share tokens.
    add("start-of-two", 13, (START, START2, END, 300), start=[[START, START2]], budget=2)
    add("start-of-two/overlapping", 8, (START, START2, 300), prompt=[START, START, START2], start=[[START, START2]], budget=2)
    add("two-starts", 13, (START, START2, END, 300), start=[[START, START, START2], [START2, START2]], budget=1)
    add("start-inside-a-start", 13, (START, START2, 300), start=[[START, START2, 300], [START2]], budget=1)
    add("start-aba", 13, (START, START2), start=[[START, START2, START]], end=[[START2, START2]], forced=[START2, START2], budget=2)
    add("end-of-two", 12, (END, END2, 300), prompt=[START], end=[[END, END2]], forced=[END, END2], budget=6)
    add("two-ends", 13, (START, END, END2, 300), end=[[END, END2], [END2, END2]], forced=[MESSAGE, END, END2], budget=5)
    add("end-inside-an-end", 12, (START, END, END2), end=[[END, END, END2], [END2]], forced=[END2], budget=7)
    add("end-cut-by-the-budget", 10, TEXT, prompt=[START, 300, END], end=[[END, END2]], forced=[END, END2], budget=2)
    add("same-start-and-end", 12, (START, 300, 301), end=[[START]], forced=[START], budget=3)
    add("duplicates", 12, (START, END, 300), start=[[START], [START]], end=[[END], [END]], budget=2)
    # The budget runs out inside a character. A lone continuation byte does not complete one: only a whole piece does.
    for name, likely, n in [("lead-of-two", (lead2, tail, 300), 1), ("lead-of-three", (lead3, tail, 300, END), 2),
                            ("only-bytes", (lead2, lead3, tail), 1), ("rarely-complete", (lead2, tail, lead3, id_of("a"), END), 3)]:
        add(f"utf8/{name}", 12, likely, prompt=[START], budget=n, forced=[MESSAGE, END])
    add("utf8/in-the-prompt", 10, (tail, 300, END), prompt=[START, lead3], budget=1)
    add("utf8/end-while-waiting", 10, (END, lead2), prompt=[START, lead2], budget=1)
    add("utf8/end-of-two-while-waiting", 12, (END, END2, lead2), prompt=[START, END, lead2], end=[[END, END2], [lead2, lead2]],
        forced=[MESSAGE], budget=2)
    add("utf8/no-vocabulary", 12, (lead2, tail, 300), prompt=[START], budget=1, vocab=False)
    add("utf8/piece-ends-inside", 12, (id_of(b" \xe2\x80"), id_of(b"\xe2\x80\x99"), 300), prompt=[START], budget=1)
    # More than one window.
    add("again", 13, (START, 300), budget=2)
    add("again/budget-0", 13, (START, 300), budget=0, forced=[MESSAGE, END])
    add("again/start-of-two", 13, (START, START2, END), start=[[START, START2]], budget=2)
    add("start-inside-the-forced", 13, (START, 300), budget=1, forced=[START, END])
    for state in ("counting", "forcing", "waiting_utf8", "done"):
        add(f"state/{state}", 12, mixed, budget=3, state=state, forced=[MESSAGE, END])
    add("state/done/again", 12, mixed, prompt=[START], budget=3, state="done", forced=[MESSAGE, END])
    add("state/counting/budget-0", 8, mixed, budget=0, state="counting")
    add("state/waiting_utf8/inside", 12, (lead2, tail, 300), budget=3, state="waiting_utf8")
    add("long-prompt", 12, mixed, prompt=[*random_ids("budget", 50, 300), START, 5], budget=2, kind="peaked")
