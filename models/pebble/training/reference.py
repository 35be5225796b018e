#!/usr/bin/env python3
"""Writes the reference that `vug verify` compares pebble with, computed by transformers
in F32 with eager attention: reference.py [--model DIR] [--out FILE]

The prompt is a held-out conversation longer than the sliding window. The file has the
logits of every fifth position and of the last ones."""

import argparse
import random

import numpy as np
import torch
from safetensors.numpy import save_file
from transformers import AutoModelForCausalLM

import corpus
from tokenizer import BOS, Encoder
from topics.case import ALL_OTHER

TOKENS = 160
GREEDY = 24


def prompt(encoder, seed):
    rng = random.Random(seed)
    ids = [BOS]
    while len(ids) < TOKENS:
        ids += encoder.ids(corpus.rendered(corpus.conversation(rng, ALL_OTHER).turns))
    return ids[:TOKENS]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="models/pebble")
    parser.add_argument("--out", default="tests/golden/pebble/reference.safetensors")
    parser.add_argument("--seed", type=int, default=3)
    args = parser.parse_args()
    ids = prompt(Encoder(f"{args.model}/tokenizer.json"), args.seed)
    model = AutoModelForCausalLM.from_pretrained(args.model, dtype=torch.float32, attn_implementation="eager")
    seen = list(ids)
    with torch.no_grad():
        logits = model(torch.tensor([ids])).logits[0]
        for _ in range(GREEDY):
            seen.append(int(model(torch.tensor([seen])).logits[0, -1].argmax()))
    kept = np.unique(np.concatenate((np.arange(0, TOKENS, 5), np.arange(TOKENS - 4, TOKENS))))
    save_file({
        "input_ids": np.array(ids, np.int32),
        "positions": kept.astype(np.int32),
        "logits": logits.numpy()[kept],
        "greedy": np.array(seen[TOKENS:], np.int32),
    }, args.out)


if __name__ == "__main__":
    main()
