#!/usr/bin/env python3
"""Writes the files of the checkpoint except config and weights: make_tokenizer.py [--out DIR]"""

import argparse
import json
import os

import tokenizer


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", default="models/pebble")
    parser.add_argument("--count", type=int, default=120_000, help="conversations to learn from")
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "chat_template.jinja"), encoding="utf-8") as f:
        template = f.read()
    settings = {
        "add_bos_token": True,
        "add_eos_token": False,
        "added_tokens_decoder": {
            str(i): {"content": t, "lstrip": False, "normalized": False, "rstrip": False, "single_word": False,
                     "special": t in tokenizer.CONTROL}
            for i, t in enumerate(tokenizer.CONTROL + tokenizer.WHOLE)
        },
        "bos_token": "<bos>",
        "chat_template": template,
        "clean_up_tokenization_spaces": False,
        "eos_token": "<eos>",
        "model_max_length": 2048,
        "pad_token": "<pad>",
        "tokenizer_class": "PreTrainedTokenizerFast",
        "unk_token": "<unk>",
    }
    generation = {"bos_token_id": tokenizer.BOS, "eos_token_id": [tokenizer.EOS, tokenizer.END_OF_TURN],
                  "pad_token_id": tokenizer.PAD, "do_sample": True, "temperature": 0.3, "top_k": 64, "top_p": 0.95}
    files = {"tokenizer.json": tokenizer.train(count=args.count), "tokenizer_config.json": settings,
             "generation_config.json": generation}
    for name, content in files.items():
        with open(os.path.join(args.out, name), "w", encoding="utf-8") as f:
            # tokenizer.json is one line, which is a third of the size.
            indent = None if name == "tokenizer.json" else 2
            json.dump(content, f, ensure_ascii=False, indent=indent, separators=None if indent else (",", ":"))
            f.write("\n")


if __name__ == "__main__":
    main()
