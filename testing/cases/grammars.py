"""The requests of record_redraws.py: small grammars over what a vocabulary of 512 tokens can write, and chains of every kind."""

TOKENS = 10

PROMPTS = {
    "count": "The list of all the numbers from one to ten is",
    "answer": "The answers to the questions in the list are",
    "story": "There was a man, and he",
}

DIGITS = 'root ::= [0-9]+ ("," [0-9]+)*'
ANSWERS = 'root ::= answer (", " answer)*\nanswer ::= "yes" | "no" | "not on " [a-z]+'
OBJECT = 'root ::= "{" pair ("," pair)* "}"\npair ::= "\\"" [a-z]+ "\\":" value\nvalue ::= [1-9] [0-9]* | "[" value "]"'
NO_E = "root ::= [^eE]+"
SHORT_WORDS = 'root ::= (" " [a-z] [a-z]? [a-z]?)+ "."'
ACCENTS = 'root ::= ("\u00e9" | "\u00fc" | "a\u20ac" | "in")+'
ONE_WAY = 'root ::= " to be or not to be"'

PENALTIES_AND_DRY = {"repeat_penalty": 1.3, "frequency_penalty": 0.2, "repeat_last_n": 20, "dry_multiplier": 0.8, "dry_allowed_length": 1}

REQUESTS = [
    ("defaults/digits", "count", DIGITS, {"seed": 1}),
    ("defaults/no-e", "story", NO_E, {"seed": 2}),
    ("defaults/object", "answer", OBJECT, {"seed": 3}),
    ("hot/short-words", "story", SHORT_WORDS, {"seed": 4, "temperature": 1.5, "top_k": 0}),
    ("hot/accents", "answer", ACCENTS, {"seed": 5, "temperature": 1.5, "top_k": 0}),
    ("hot/no-e", "story", NO_E, {"seed": 6, "temperature": 1.5, "top_k": 0, "top_p": 1, "min_p": 0}),
    ("mirostat-1/no-e", "story", NO_E, {"seed": 7, "mirostat": 1}),
    ("mirostat-1/digits", "count", DIGITS, {"seed": 8, "mirostat": 1, "mirostat_tau": 3, "mirostat_eta": 0.3}),
    ("mirostat-2/no-e", "story", NO_E, {"seed": 9, "mirostat": 2}),
    ("mirostat-2/answers", "answer", ANSWERS, {"seed": 10, "mirostat": 2, "mirostat_tau": 2, "mirostat_eta": 0.5}),
    ("adaptive-p/no-e", "story", NO_E, {"seed": 11, "samplers": ["top_k", "min_p", "adaptive_p"], "adaptive_target": 0.3}),
    ("adaptive-p/short-words", "story", SHORT_WORDS,
     {"seed": 12, "samplers": ["temperature", "adaptive_p"], "adaptive_target": 0.1, "adaptive_decay": 0.5}),
    ("xtc/no-e", "story", NO_E, {"seed": 13, "xtc_probability": 0.5, "xtc_threshold": 0.05, "temperature": 1.2}),
    ("xtc/short-words", "count", SHORT_WORDS, {"seed": 14, "xtc_probability": 0.5, "xtc_threshold": 0.02, "min_p": 0}),
    ("penalties-and-dry/digits", "count", DIGITS, {"seed": 15, **PENALTIES_AND_DRY}),
    ("penalties-and-dry/no-e", "story", NO_E, {"seed": 16, **PENALTIES_AND_DRY, "dry_sequence_breakers": [" th", "in"]}),
    ("typical/no-e", "story", NO_E, {"seed": 17, "typical_p": 0.6, "top_k": 0, "temperature": 1.1}),
    ("typical/short-words", "answer", SHORT_WORDS, {"seed": 18, "samplers": ["typ_p", "temperature"], "typical_p": 0.9}),
    ("bias/no-e", "story", NO_E, {"seed": 19, "logit_bias": [[260, 2.0], [253, False], [216, -1.5]], "top_n_sigma": 1.5}),
    ("greedy/answers", "answer", ANSWERS, {"seed": 20, "temperature": 0}),
    ("dynamic-temperature/object", "count", OBJECT, {"seed": 21, "dynatemp_range": 0.6, "temperature": 1.0}),
    ("one-way", "story", ONE_WAY, {"seed": 22, "min_keep": 2}),
]

# Of these also a case with `grammar_first`.
FIRST = ("defaults/no-e", "mirostat-2/no-e", "xtc/short-words", "penalties-and-dry/digits", "adaptive-p/no-e")
