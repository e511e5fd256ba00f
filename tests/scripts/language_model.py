"""The next word by a recurrent network: states carried on, gradients clipped, SGD by hand."""

import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

parser = argparse.ArgumentParser()
parser.add_argument("--model", default="LSTM")
args = parser.parse_args()
torch.manual_seed(4)
ntokens, emsize, nhid, nlayers, bptt, batch = 30, 16, 20, 2, 7, 4


class RNNModel(nn.Module):
    def __init__(self, rnn_type, tie_weights=False):
        super().__init__()
        self.ntoken = ntokens
        self.drop = nn.Dropout(0.0)
        self.encoder = nn.Embedding(ntokens, emsize)
        if rnn_type in ["LSTM", "GRU"]:
            self.rnn = getattr(nn, rnn_type)(emsize, nhid, nlayers, dropout=0.0)
        else:
            self.rnn = nn.RNN(emsize, nhid, nlayers, nonlinearity="tanh", dropout=0.0)
        self.decoder = nn.Linear(nhid, ntokens)
        nn.init.uniform_(self.encoder.weight, -0.1, 0.1)
        nn.init.zeros_(self.decoder.bias)
        nn.init.uniform_(self.decoder.weight, -0.1, 0.1)
        self.rnn_type = rnn_type

    def forward(self, input, hidden):
        emb = self.drop(self.encoder(input))
        output, hidden = self.rnn(emb, hidden)
        decoded = self.decoder(self.drop(output)).view(-1, self.ntoken)
        return F.log_softmax(decoded, dim=1), hidden

    def init_hidden(self, bsz):
        weight = next(self.parameters())
        if self.rnn_type == "LSTM":
            return (weight.new_zeros(nlayers, bsz, nhid), weight.new_zeros(nlayers, bsz, nhid))
        return weight.new_zeros(nlayers, bsz, nhid)


def repackage_hidden(h):
    if isinstance(h, torch.Tensor):
        return h.detach()
    return tuple(repackage_hidden(v) for v in h)


def batchify(data, bsz):
    nbatch = data.size(0) // bsz
    data = data.narrow(0, 0, nbatch * bsz)
    return data.view(bsz, -1).t().contiguous()


def get_batch(source, i):
    seq_len = min(bptt, len(source) - 1 - i)
    return source[i : i + seq_len], source[i + 1 : i + 1 + seq_len].view(-1)


source = batchify(torch.randint(0, ntokens, (batch * (20 * bptt + 1),)), batch)
model = RNNModel(args.model)
criterion = nn.NLLLoss()
lr = 5.0
model.train()
hidden = model.init_hidden(batch)
for step, i in enumerate(range(0, source.size(0) - 1, bptt)):
    data, targets = get_batch(source, i)
    model.zero_grad()
    hidden = repackage_hidden(hidden)
    output, hidden = model(data, hidden)
    loss = criterion(output, targets)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
    for p in model.parameters():
        p.data.add_(p.grad, alpha=-lr)
    print(f"{step} {loss.item():.9g}")
    if step == 12:
        lr /= 4.0
print(f"perplexity {math.exp(loss.item()):.9g}")
