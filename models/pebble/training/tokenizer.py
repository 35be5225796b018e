"""pebble's tokenizer: BPE with byte fallback in the form of Gemma's tokenizer.json,
trained on the corpus; and a fast encoder for training."""

import json
import random
import re

from tokenizers import Tokenizer, models, pre_tokenizers, trainers, Regex

import corpus

VOCAB = 4096
# Control tokens, and words that are always one token.
CONTROL = ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>", "<start_of_turn>", "<end_of_turn>"]
WHOLE = ["<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"]
PAD, EOS, BOS, END_OF_TURN = 0, 1, 2, 6
SPACE = "\u2581"
LETTERS = [chr(c) for c in range(0x21, 0x7F)] + ["\n", "\t", SPACE]
# The pieces inside which training merges: a word with the space before it, one digit,
# punctuation with the space before it, newlines, spaces.
PIECE = re.compile(rf"{SPACE}?[A-Za-z]+|[0-9]|{SPACE}?[^\sA-Za-z0-9{SPACE}]+|\n+|{SPACE}+|\s")
# The pieces that the encoder caches. All spaces stay with what follows them, because two
# spaces and a punctuation mark may merge differently than spaces and mark alone.
RUN = re.compile(rf"{SPACE}*[A-Za-z]+|[0-9]|{SPACE}*[^\sA-Za-z0-9{SPACE}]+|\n+|{SPACE}+|\s")
MARKS = re.compile("(" + "|".join(re.escape(t) for t in CONTROL + WHOLE) + ")")


def sample_text(seed, count):
    """Corpus text without the control tokens of turns and tools."""
    rng = random.Random(seed)
    for _ in range(count):
        for piece in MARKS.split(corpus.rendered(corpus.conversation(rng).turns)):
            if piece and not MARKS.fullmatch(piece):
                yield piece.replace(" ", SPACE)


def train(seed=7, count=120_000):
    """Trains the tokenizer; returns a tokenizer.json object."""
    learner = Tokenizer(models.BPE())
    learner.pre_tokenizer = pre_tokenizers.Split(Regex(PIECE.pattern), "isolated")
    reserved = len(CONTROL) + len(WHOLE) + 256
    trainer = trainers.BpeTrainer(vocab_size=VOCAB - reserved, initial_alphabet=LETTERS,
                                  limit_alphabet=len(LETTERS), show_progress=False)
    learner.train_from_iterator(sample_text(seed, count), trainer)
    learned = json.loads(learner.to_str())["model"]
    words = CONTROL + WHOLE + [f"<0x{b:02X}>" for b in range(256)]
    words += sorted(learned["vocab"], key=learned["vocab"].get)
    template = [{"SpecialToken": {"id": "<bos>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]
    second = [{"SpecialToken": {"id": "<bos>", "type_id": 1}}, {"Sequence": {"id": "B", "type_id": 1}}]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {"id": i, "content": t, "single_word": False, "lstrip": False, "rstrip": False,
             "normalized": False, "special": t in CONTROL}
            for i, t in enumerate(CONTROL + WHOLE)
        ],
        "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": SPACE},
        "pre_tokenizer": {"type": "Split", "pattern": {"String": " "},
                          "behavior": "MergedWithPrevious", "invert": False},
        "post_processor": {"type": "TemplateProcessing", "single": template, "pair": template + second,
                           "special_tokens": {"<bos>": {"id": "<bos>", "ids": [BOS], "tokens": ["<bos>"]}}},
        "decoder": {"type": "Sequence",
                    "decoders": [{"type": "Replace", "pattern": {"String": SPACE}, "content": " "},
                                 {"type": "ByteFallback"}, {"type": "Fuse"}]},
        "model": {"type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None,
                  "end_of_word_suffix": None, "fuse_unk": True, "byte_fallback": True, "ignore_merges": False,
                  "vocab": {w: i for i, w in enumerate(words)}, "merges": learned["merges"]},
    }


class Encoder:
    """Encodes piece by piece with a cache of pieces. No merge crosses the boundary of a
    piece, so the ids equal those of the whole text (`check` asserts it)."""

    def __init__(self, path):
        self.whole = Tokenizer.from_file(path)
        self.cache = {}
        self.mark = {t: self.whole.token_to_id(t) for t in CONTROL + WHOLE}

    def ids(self, text):
        out = []
        for part in MARKS.split(text):
            if part in self.mark:
                out.append(self.mark[part])
                continue
            for piece in RUN.findall(part.replace(" ", SPACE)):
                known = self.cache.get(piece)
                if known is None:
                    known = self.whole.encode(piece, add_special_tokens=False).ids
                    if len(self.cache) < 1 << 20:
                        self.cache[piece] = known
                out += known
        return out

    def check(self, seed=11, count=3000):
        rng = random.Random(seed)
        for _ in range(count):
            text = corpus.rendered(corpus.conversation(rng).turns)
            assert self.ids(text) == self.whole.encode(text, add_special_tokens=False).ids, text
