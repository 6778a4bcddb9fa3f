"""The attention layer, one query at a time."""

import math

import numpy as np


def attend(tokens, query_token, w_q, w_k, w_v, w_out, n_heads):
    """concat_a( softmax(q_a K_a^T / sqrt(D_a)) V_a ) W_out for one query over a list of tokens."""
    width = w_v.shape[1] // n_heads
    heads = []
    for a in range(n_heads):
        part = slice(a * width, (a + 1) * width)
        q = query_token @ w_q[:, part]
        scores = [float(q @ (t @ w_k[:, part])) / math.sqrt(width) for t in tokens]
        top = max(scores)
        weights = [math.exp(s - top) for s in scores]
        norm = sum(weights)
        heads.append(sum(w / norm * (t @ w_v[:, part]) for w, t in zip(weights, tokens, strict=True)))
    return np.concatenate(heads) @ w_out


def layer(z, scope, weights, n_heads, n_views=1, edges=()):
    """A^(B)(Z) for every node, with its residual."""
    w_q, w_k, w_v, w_out = weights
    out = np.zeros_like(z)
    for i, z_i in enumerate(z):
        if scope == "views":
            views = np.split(z_i, n_views)
            out[i] = np.concatenate([attend(views, v, w_q, w_k, w_v, w_out, n_heads) for v in views])
        else:
            if scope == "nodes":
                tokens = list(z)
            elif scope == "neighbors":
                tokens = [z[j] for j in sorted({i} | {b for a, b in edges if a == i})]
            else:
                tokens = [z_i]
            out[i] = attend(tokens, z_i, w_q, w_k, w_v, w_out, n_heads)
    return out + z
