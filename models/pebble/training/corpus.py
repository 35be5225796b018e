#!/usr/bin/env python3
"""Generates the training text of pebble: conversations of all topics, mixed and
rendered as Gemma turns.

    corpus.py [--count N] [--seed S] [--held-out] [--jsonl] [--out FILE]

It prints conversations as the model reads them, or as JSON lines {"turns", "check",
"topic"}. The training and the evaluation call the functions below."""

import argparse
import json
import random
import sys

import foreign
from topics import echo, facts, numbers, objects, others, sorting, stories, tools
from topics.case import ALL_OTHER, SYSTEMS, TRAINING, Case

# Topic -> (module, share of the conversations).
TOPICS = {
    "facts": (facts, 30),
    "numbers": (numbers, 12),
    "sorting": (sorting, 9),
    "stories": (stories, 13),
    "objects": (objects, 12),
    "tools": (tools, 16),
    "others": (others, 16),
    "echo": (echo, 5),
}
NAMES = list(TOPICS)
SHARES = [share for _, share in TOPICS.values()]
# Topics whose answers copy words of the request; see foreign.py.
COPYING = {"stories", "objects", "tools"}
# The share of conversations that continue with other topics, and the share of long ones
# among all: most are short, some fill much of the context.
JOINED, LONG = 0.22, 0.02
LONG_CHARACTERS = 5500


def take(rng, held_out=TRAINING, topic=None):
    """One case and the name of its topic."""
    name = topic or rng.choices(NAMES, SHARES)[0]
    return name, TOPICS[name][0].sample(rng, held_out)


def joinable(case):
    """Whether another exchange may come before or after this one: not if the system
    message is part of the question."""
    role, text = case.turns[0]
    return role != "system" or text in SYSTEMS


def without_system(case):
    return case.turns[1:] if case.turns[0][0] == "system" else case.turns


def take_for_training(rng, held_out):
    name, case = take(rng, held_out)
    if name in COPYING and held_out == TRAINING and rng.random() < foreign.SHARE:
        return foreign.replaced(rng, case)
    return case


def conversation(rng, held_out=TRAINING):
    """One conversation for training: one case, or several joined."""
    case = take_for_training(rng, held_out)
    r = rng.random()
    if r >= JOINED or not joinable(case):
        return case
    turns = list(case.turns)
    more = 12 if r < LONG else rng.choice([1, 1, 1, 2, 2, 3])
    length = sum(len(text) for _, text in turns)
    while more and length < LONG_CHARACTERS:
        case = take_for_training(rng, held_out)
        if not joinable(case):
            continue
        turns += without_system(case)
        length += sum(len(text) for _, text in without_system(case))
        more -= 1
    return Case(turns, case.check)


def parts(turns):
    """The rendered text in pieces (text, whether the model wrote it). Joined, the pieces
    equal the output of the chat template; the model's piece ends with its end-of-turn
    token."""
    prefix = ""
    if turns[0][0] == "system":
        prefix = turns[0][1] + "\n\n"
        turns = turns[1:]
    for i, (role, text) in enumerate(turns):
        head = prefix if i == 0 else ""
        if role == "user":
            yield f"<start_of_turn>user\n{head}{text.strip()}<end_of_turn>\n", False
        else:
            yield "<start_of_turn>model\n", False
            yield f"{text.strip()}<end_of_turn>", True
            yield "\n", False


def rendered(turns):
    return "".join(text for text, _ in parts(turns))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--topic", choices=NAMES)
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--jsonl", action="store_true")
    parser.add_argument("--out")
    args = parser.parse_args()
    rng = random.Random(args.seed)
    held_out = ALL_OTHER if args.held_out else TRAINING
    out = open(args.out, "w", encoding="utf-8") if args.out else sys.stdout
    for _ in range(args.count):
        if args.jsonl or args.topic:
            name, case = take(rng, held_out, args.topic)
        else:
            name, case = "", conversation(rng, held_out)
        if args.jsonl:
            print(json.dumps({"topic": name, "turns": case.turns, "check": case.check}), file=out)
        else:
            print(rendered(case.turns), file=out)


if __name__ == "__main__":
    main()
