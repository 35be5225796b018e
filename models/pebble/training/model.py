"""pebble's architecture in PyTorch, for training: Gemma 3's text model (technical
report, 2025; transformers, models/gemma3/modeling_gemma3.py), with the tensor names
of its checkpoints. Several conversations share a row; attention does not cross them."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

CONFIG = {
    "architectures": ["Gemma3ForCausalLM"],
    "model_type": "gemma3_text",
    "vocab_size": 4096,
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_hidden_layers": 12,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "head_dim": 32,
    "query_pre_attn_scalar": 32,
    "sliding_window": 128,
    "layer_types": ["full_attention" if i % 6 == 5 else "sliding_attention" for i in range(12)],
    "max_position_embeddings": 2048,
    "rope_parameters": {
        "full_attention": {"rope_type": "default", "rope_theta": 1000000.0},
        "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
    },
    "hidden_activation": "gelu_pytorch_tanh",
    "rms_norm_eps": 1e-06,
    "attention_bias": False,
    "attention_dropout": 0.0,
    "attn_logit_softcapping": None,
    "final_logit_softcapping": None,
    "tie_word_embeddings": True,
    "initializer_range": 0.02,
    "use_cache": True,
    "pad_token_id": 0,
    "eos_token_id": 1,
    "bos_token_id": 2,
    "dtype": "bfloat16",
}


class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(width))

    def forward(self, x):
        y = x.float()
        y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + CONFIG["rms_norm_eps"])
        return (y * (1 + self.weight.float())).type_as(x)


def table(theta, length, device):
    """Cosines and sines [length, head_dim / 2]."""
    half = CONFIG["head_dim"] // 2
    rate = theta ** (-torch.arange(half, device=device, dtype=torch.float64) / half)
    angle = torch.arange(length, device=device, dtype=torch.float64)[:, None] * rate
    return angle.cos().float(), angle.sin().float()


def rotate(x, at):
    cos, sin = at
    a, b = x.float().chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1).type_as(x)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        c, e = CONFIG, CONFIG["head_dim"]
        d, h, k = c["hidden_size"], c["num_attention_heads"], c["num_key_value_heads"]
        self.q_proj = nn.Linear(d, h * e, bias=False)
        self.k_proj = nn.Linear(d, k * e, bias=False)
        self.v_proj = nn.Linear(d, k * e, bias=False)
        self.o_proj = nn.Linear(h * e, d, bias=False)
        self.q_norm, self.k_norm = Norm(e), Norm(e)

    def forward(self, x, at, mask):
        n, t, _ = x.shape
        heads = lambda y: y.view(n, t, -1, CONFIG["head_dim"]).transpose(1, 2)
        q = rotate(self.q_norm(heads(self.q_proj(x))), at)
        k = rotate(self.k_norm(heads(self.k_proj(x))), at)
        scale = CONFIG["query_pre_attn_scalar"] ** -0.5
        v = heads(self.v_proj(x))
        if isinstance(mask, torch.Tensor):
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True, scale=scale)
        else:
            y = flex_attention(q, k, v, block_mask=mask, enable_gqa=True, scale=scale)
        return self.o_proj(y.transpose(1, 2).reshape(n, t, -1))


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        d, f = CONFIG["hidden_size"], CONFIG["intermediate_size"]
        self.gate_proj = nn.Linear(d, f, bias=False)
        self.up_proj = nn.Linear(d, f, bias=False)
        self.down_proj = nn.Linear(f, d, bias=False)

    def forward(self, x):
        return self.down_proj(F.gelu(self.gate_proj(x), approximate="tanh") * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self, kind):
        super().__init__()
        d = CONFIG["hidden_size"]
        self.kind = kind
        self.self_attn, self.mlp = Attention(), MLP()
        self.input_layernorm, self.post_attention_layernorm = Norm(d), Norm(d)
        self.pre_feedforward_layernorm, self.post_feedforward_layernorm = Norm(d), Norm(d)

    def forward(self, x, at, mask):
        h = self.self_attn(self.input_layernorm(x), at[self.kind], mask[self.kind])
        x = x + self.post_attention_layernorm(h)
        h = self.mlp(self.pre_feedforward_layernorm(x))
        return x + self.post_feedforward_layernorm(h)


class Pebble(nn.Module):
    def __init__(self):
        super().__init__()
        c = CONFIG
        self.embed_tokens = nn.Embedding(c["vocab_size"], c["hidden_size"])
        self.layers = nn.ModuleList(Layer(kind) for kind in c["layer_types"])
        self.norm = Norm(c["hidden_size"])
        nn.init.normal_(self.embed_tokens.weight, std=c["hidden_size"] ** -0.5)
        for name, p in self.named_parameters():
            if p.dim() == 2 and "embed" not in name:
                nn.init.normal_(p, std=p.shape[1] ** -0.5)

    def forward(self, tokens, mask):
        """Logits [N,T,V] of tokens [N,T]."""
        ropes = CONFIG["rope_parameters"]
        at = {kind: table(r["rope_theta"], tokens.shape[1], tokens.device) for kind, r in ropes.items()}
        x = self.embed_tokens(tokens) * CONFIG["hidden_size"] ** 0.5
        for layer in self.layers:
            x = layer(x, at, mask)
        return F.linear(self.norm(x), self.embed_tokens.weight)


def masks(document):
    """Masks of both kinds of layers: causal, inside one document [N,T]. They are block masks
    on a GPU and dense on a CPU, where block masks have no gradient."""
    n, t = document.shape
    if document.device.type == "cpu":
        at = torch.arange(t)
        back = at[:, None] - at
        full = (back >= 0) & (document[:, :, None] == document[:, None, :])
        window = full & (back < CONFIG["sliding_window"])
        return {"full_attention": full[:, None], "sliding_attention": window[:, None]}

    def full(b, h, q, k):
        return (q >= k) & (document[b, q] == document[b, k])

    def window(b, h, q, k):
        return full(b, h, q, k) & (q - k < CONFIG["sliding_window"])

    make = lambda rule: create_block_mask(rule, n, None, t, t, device=document.device)
    return {"full_attention": make(full), "sliding_attention": make(window)}
