#!/usr/bin/env python3
"""Trains pebble and writes its weights: train.py [--steps N] [--seed S] [--out DIR]

The tokenizer (DIR/tokenizer.json) must exist; see `make_tokenizer.py`. It uses one GPU;
--workers processes generate the text during training, and it never repeats."""

import argparse
import json
import math
import os
import random
import time

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch.nn import functional as F

import corpus
from model import CONFIG, Pebble, masks
from tokenizer import BOS, Encoder
from topics.case import ALL_OTHER, TRAINING

# Text of the user is predicted too, with less weight than text of the model.
WEIGHT_OF_USER = 0.15
WARMUP = 200  # steps, or a tenth of a short run


class Rows(torch.utils.data.IterableDataset):
    """Batches of rows of whole conversations: tokens [N,T+1], the weight of each in the
    loss, and the number of its conversation."""

    def __init__(self, tokenizer, seed, rows, length, held_out=TRAINING):
        self.tokenizer, self.seed, self.held_out = tokenizer, seed, held_out
        self.rows, self.length = rows, length

    def documents(self, rng, encoder):
        while True:
            ids, own = [BOS], [0]
            for text, is_model in corpus.parts(corpus.conversation(rng, self.held_out).turns):
                piece = encoder.ids(text)
                ids += piece
                own += [is_model] * len(piece)
            if len(ids) <= self.length + 1:
                yield ids, own

    def __iter__(self):
        info = torch.utils.data.get_worker_info()
        rng = random.Random(f"{self.seed}:{info.id if info else 0}")
        documents = self.documents(rng, Encoder(self.tokenizer))
        waiting = [next(documents) for _ in range(64)]
        while True:
            tokens = np.zeros((self.rows, self.length + 1), np.int64)
            weight = np.zeros((self.rows, self.length + 1), np.float32)
            number = np.full((self.rows, self.length + 1), -1, np.int32)
            for r in range(self.rows):
                at = 0
                for n in range(self.length):
                    # The first waiting conversation that fits; if none does, the row is full.
                    fit = next((i for i, (ids, _) in enumerate(waiting) if len(ids) <= self.length + 1 - at), None)
                    if fit is None:
                        break
                    ids, own = waiting[fit]
                    waiting[fit] = next(documents)
                    to = at + len(ids)
                    tokens[r, at:to] = ids
                    weight[r, at + 1:to] = np.where(own[1:], 1.0, WEIGHT_OF_USER)
                    number[r, at:to] = n
                    at = to
            yield torch.from_numpy(tokens), torch.from_numpy(weight), torch.from_numpy(number)


class Muon:
    """Momentum with orthogonalised updates for the matrices (Jordan et al., Muon, 2024;
    updates scaled to AdamW's size as in Liu et al., arXiv 2502.16982). Matrices of equal
    shape are updated in one batch."""

    def __init__(self, matrices, decay):
        self.groups = {}
        for p in matrices:
            self.groups.setdefault(tuple(p.shape), []).append(p)
        self.speed = {s: torch.zeros(len(g), *s, device=g[0].device) for s, g in self.groups.items()}
        self.decay = decay

    @staticmethod
    @torch.compile
    def orthogonal(x):
        x = x.bfloat16() if x.is_cuda else x
        turned = x.shape[1] > x.shape[2]
        if turned:
            x = x.mT
        x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)
        for _ in range(5):
            a = x @ x.mT
            x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
        return x.mT if turned else x

    @torch.no_grad()
    def step(self, rate):
        for shape, group in self.groups.items():
            gradient = torch.stack([p.grad for p in group])
            speed = self.speed[shape].mul_(0.95).add_(gradient, alpha=0.05)
            update = self.orthogonal(gradient.lerp(speed, 0.95)).float() * (0.2 * max(shape) ** 0.5)
            torch._foreach_mul_(group, 1 - rate * self.decay)
            torch._foreach_add_(group, list(update.unbind(0)), alpha=-rate)


def batches(loader, device):
    for tokens, weight, number in loader:
        yield (t.to(device, non_blocking=True) for t in (tokens, weight, number))


def loss_of(model, tokens, weight, number, mask):
    logits = model(tokens[:, :-1], mask)
    loss = F.cross_entropy(logits.float().flatten(0, 1), tokens[:, 1:].flatten(), reduction="none")
    weight = weight[:, 1:].flatten()
    return (loss * weight).sum() / weight.sum()


def export(model, out):
    """Writes the checkpoint, in BF16 and with the tensor names of Gemma 3."""
    state = {f"model.{k}": v.detach().bfloat16().contiguous().cpu() for k, v in model.state_dict().items()}
    save_file(state, os.path.join(out, "model.safetensors"), metadata={"format": "pt"})
    with open(os.path.join(out, "config.json"), "w", encoding="utf-8") as f:
        json.dump(CONFIG, f, indent=2)
        f.write("\n")
    return sum(v.numel() for v in state.values())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=10500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rows", type=int, default=32, help="rows per step")
    parser.add_argument("--length", type=int, default=2048, help="tokens per row")
    parser.add_argument("--from", dest="start", metavar="DIR", help="continue from this checkpoint")
    parser.add_argument("--rate", type=float, default=4e-3)
    parser.add_argument("--decay", type=float, default=0.1)
    parser.add_argument("--workers", type=int, default=15, help="processes that generate text; each has its own seed")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--out", default="models/pebble")
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    torch.set_float32_matmul_precision("high")
    tokenizer = os.path.join(args.out, "tokenizer.json")
    Encoder(tokenizer).check()
    model = Pebble().to(args.device)
    if args.start:
        state = load_file(os.path.join(args.start, "model.safetensors"))
        model.load_state_dict({name.removeprefix("model."): value.float() for name, value in state.items()})
    matrices = [p for n, p in model.named_parameters() if p.dim() == 2 and "embed" not in n]
    others = [p for n, p in model.named_parameters() if p.dim() != 2 or "embed" in n]
    muon = Muon(matrices, args.decay)
    adam = torch.optim.AdamW(others, lr=args.rate, betas=(0.9, 0.95), weight_decay=0, fused=args.device == "cuda")
    run = torch.compile(loss_of)
    make_masks = torch.compile(masks) if args.device == "cuda" else masks
    loader = torch.utils.data.DataLoader(Rows(tokenizer, args.seed, args.rows, args.length), batch_size=None,
                                         num_workers=args.workers, prefetch_factor=4, pin_memory=args.device == "cuda")
    held_out = iter(Rows(tokenizer, args.seed + 1000, args.rows, args.length, held_out=ALL_OTHER))
    exam = [t.to(args.device) for t in next(held_out)]

    def forward(batch):
        tokens, weight, number = batch
        mask = make_masks(number[:, :-1].contiguous())
        with torch.autocast(args.device, torch.bfloat16, enabled=args.device == "cuda"):
            return run(model, tokens, weight, number, mask)

    start = time.time()
    for step, batch in enumerate(batches(loader, args.device), 1):
        # Rises during WARMUP steps and falls to zero over the last 60 %.
        rate = args.rate * min(1, step / min(WARMUP, args.steps / 10), (args.steps - step) / (0.6 * args.steps))
        loss = forward(batch)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        muon.step(rate)
        for group in adam.param_groups:
            group["lr"] = rate
        adam.step()
        model.zero_grad(set_to_none=True)
        if step % max(1, args.steps // 20) == 0 or step == 1 or step == args.steps:
            with torch.no_grad():
                score = forward(exam).item()
            print(f"step {step}, {step * args.rows * args.length / 1e6:.0f} M tokens, {time.time() - start:.0f} s, "
                  f"rate {rate:.1e}, loss {loss.item():.4f}, held out {score:.4f}", flush=True)
            assert math.isfinite(score)
        if step % 2000 == 0 or step == args.steps:
            parameters = export(model, args.out)
        if step == args.steps:
            break
    print(f"{parameters} parameters")


if __name__ == "__main__":
    main()
