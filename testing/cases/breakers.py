"""The lists of DRY sequence breakers that record_breakers.py asks about."""

MARKERS = [
    "\n\n", "###", "<|im_end|>", "<|im_start|>user", "<|im_start|>assistant", "</s>", "[INST]", "[/INST]", "### Instruction:",
    "### Response:", "User:", "Assistant:", "\nUser:", "\nAssistant:", "System:", "Human:", "\nHuman:", "Alice:", "Bob:", "\nAlice",
    "Dr. Watson:", "Sherlock Holmes", "Lady Macbeth", "{{user}}", "{{char}}", "<think>", "</think>", "<start_of_turn>", "<end_of_turn>",
    "***", "---", "\n---\n", "```", "*she", "\" ", "Q:", "A:", "http", "://", ", and",
]
assert len(MARKERS) == 40

LISTS = [
    ("default", ["\n", ":", "\"", "*"]),
    ("markers", MARKERS),
    ("over-40-bytes", ["the quick brown fox jumps over the lazy dog and goes home", "x" * 41, "a b c d e f g h i j k l m n o p q r s t u v w x y z"]),
    # The 40th byte is the first of an é: what is left ends inside it.
    ("cut-inside-a-character", ["0123456789" * 3 + "abcdefghi\u00e9\u00e9", "\u6f22" * 14]),
    ("characters-of-several-bytes", ["\u00e9", "caf\u00e9 ", "\u00fcber", "\U0001f389", "\U0001f600!", "\u6f22\u5b57", "\u3002", "\u201cHe", "\u2019s",
                                     "na\u00efve", "\u2014"]),
    ("duplicates", ["\n", "\n", "the", "the", "he", "\n\n", "\n"]),
    ("empty-strings", ["", "###", ""]),
    ("nothing", [""]),
    ("single-letters", ["e", "Z", " ", "\u00df"]),
    ("overlapping-themselves", ["aaa", "abab", "ab", "....", "  ", "=-=-="]),
    ("spaces", [" the", " of the", "    ", "\t", " \n", ". "]),
    ("one-inside-another", ["ation", "ationally", "on", "nation", "internationally renowned"]),
    ("special-texts", ["<", "<|", "|>", "<|endoftext|>", "<eos>", "<0x0A>", "im_"]),
    ("not-in-the-vocabulary", ["\u16a0\u16a2", "qzxjq", "\x01\x02"]),
]
