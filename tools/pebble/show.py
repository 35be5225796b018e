#!/usr/bin/env python3
"""Prints samples of a topic: tools/pebble/show.py TOPIC [N] [--held-out] [--seed S]"""

import argparse
import importlib
import random


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("topic")
    parser.add_argument("count", nargs="?", type=int, default=5)
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    topic = importlib.import_module(f"topics.{args.topic}")
    rng = random.Random(args.seed)
    for _ in range(args.count):
        case = topic.sample(rng, args.held_out)
        for role, text in case.turns:
            print(f"[{role}] {text}")
        print(f"  {case.check}\n")


if __name__ == "__main__":
    main()
