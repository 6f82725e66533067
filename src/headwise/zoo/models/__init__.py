"""Models of the zoo: own small torch modules, with attention that can be computed explicitly.

Outside training mode all of them call torch's `scaled_dot_product_attention` or `nn.MultiheadAttention`, which
`headwise.watch` can see; `attention(tokens)` computes the same weights by an explicit softmax, for the truth.
"""
