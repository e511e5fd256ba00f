"""The next word by a transformer: masks, positions, multi-head attention, AdamW, warm-up."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(5)
ntoken, ninp, nhead, nhid, nlayers = 24, 16, 2, 32, 2


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=100):
        super().__init__()
        pe = torch.zeros(max_len, d_model)
        position = torch.arange(0, max_len, dtype=torch.float).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
        pe[:, 0::2] = torch.sin(position * div_term)
        pe[:, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe.unsqueeze(0).transpose(0, 1))

    def forward(self, x):
        return x + self.pe[: x.size(0), :]


class TransformerModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.pos_encoder = PositionalEncoding(ninp)
        layer = nn.TransformerEncoderLayer(ninp, nhead, nhid, dropout=0.0)
        self.encoder = nn.TransformerEncoder(layer, nlayers, enable_nested_tensor=False)
        self.input_emb = nn.Embedding(ntoken, ninp)
        self.decoder = nn.Linear(ninp, ntoken)
        nn.init.uniform_(self.input_emb.weight, -0.1, 0.1)
        nn.init.uniform_(self.decoder.weight, -0.1, 0.1)

    def forward(self, src):
        mask = torch.log(torch.tril(torch.ones(len(src), len(src))))
        x = self.pos_encoder(self.input_emb(src) * math.sqrt(ninp))
        return F.log_softmax(self.decoder(self.encoder(x, mask=mask)), dim=-1)


model = TransformerModel()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.01)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 5))
data = torch.randint(0, ntoken, (20, 10, 6))
model.train()
for step, batch in enumerate(data):
    optimizer.zero_grad(set_to_none=True)
    output = model(batch[:-1])
    loss = F.nll_loss(output.view(-1, ntoken), batch[1:].reshape(-1))
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    scheduler.step()
    print(f"{step} {loss.item():.9g}")
    print(f"{step}.norm {float(norm):.9g}")
