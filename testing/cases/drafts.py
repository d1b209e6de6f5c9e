"""The cases of record_drafts.py: a request, how long its draft is, and how much of it is right."""

NEXT = 4

PROMPTS = {
    "story": "There was a man, and he",
    "count": "The list of all the numbers from one to ten is one, two, one, two, one,",
}

PENALTIES_AND_DRY = {"repeat_penalty": 1.2, "frequency_penalty": 0.2, "repeat_last_n": 20, "dry_multiplier": 0.8, "dry_allowed_length": 1,
                     "dry_sequence_breakers": [".", "the"]}
XTC = {"xtc_probability": 0.5, "xtc_threshold": 0.05, "temperature": 1.2}
ADAPTIVE = {"samplers": ["top_k", "min_p", "adaptive_p"], "adaptive_target": 0.3}

CASES = [
    ("defaults", "story", {"seed": 1}, 1, 0),
    ("defaults", "story", {"seed": 1}, 1, 1),
    ("defaults", "story", {"seed": 1}, 3, 1),
    ("defaults", "story", {"seed": 1}, 5, 5),
    ("defaults", "story", {"seed": 1}, 0, 0),
    ("defaults", "story", {"seed": 1}, 8, 6),
    ("mirostat-2", "story", {"seed": 2, "mirostat": 2}, 2, 0),
    ("mirostat-2", "story", {"seed": 2, "mirostat": 2}, 4, 2),
    ("mirostat-2", "story", {"seed": 2, "mirostat": 2}, 3, 3),
    ("mirostat-1", "story", {"seed": 2, "mirostat": 1, "mirostat_tau": 3}, 2, 1),
    ("xtc", "story", {"seed": 3, **XTC}, 3, 0),
    ("xtc", "story", {"seed": 3, **XTC}, 4, 3),
    ("xtc", "story", {"seed": 3, **XTC}, 2, 2),
    ("penalties-and-dry", "count", {"seed": 4, **PENALTIES_AND_DRY}, 2, 0),
    ("penalties-and-dry", "count", {"seed": 4, **PENALTIES_AND_DRY}, 6, 4),
    ("penalties-and-dry", "count", {"seed": 4, **PENALTIES_AND_DRY}, 3, 3),
    ("adaptive-p", "story", {"seed": 5, **ADAPTIVE}, 3, 1),
    ("adaptive-p", "story", {"seed": 5, **ADAPTIVE}, 2, 2),
    ("hot", "count", {"seed": 6, "temperature": 1.5, "top_k": 0, "typical_p": 0.95}, 3, 2),
    ("greedy", "count", {"seed": 7, "temperature": 0}, 4, 4),
]
