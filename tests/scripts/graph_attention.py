"""Nodes of a graph classified by attention to their neighbours, with dense masks."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.optim import Adam

torch.manual_seed(8)


class GraphAttentionLayer(nn.Module):
    def __init__(self, in_features, out_features, n_heads, concat=False, leaky_relu_slope=0.2):
        super().__init__()
        self.n_heads = n_heads
        self.concat = concat
        self.n_hidden = out_features // n_heads if concat else out_features
        self.W = nn.Parameter(torch.empty(size=(in_features, self.n_hidden * n_heads)))
        self.a = nn.Parameter(torch.empty(size=(n_heads, 2 * self.n_hidden, 1)))
        self.leakyrelu = nn.LeakyReLU(leaky_relu_slope)
        self.softmax = nn.Softmax(dim=1)
        nn.init.xavier_normal_(self.W)
        nn.init.xavier_normal_(self.a)

    def _get_attention_scores(self, h_transformed):
        source = torch.matmul(h_transformed, self.a[:, : self.n_hidden, :])
        target = torch.matmul(h_transformed, self.a[:, self.n_hidden :, :])
        return self.leakyrelu(source + target.mT)

    def forward(self, h, adj_mat):
        n_nodes = h.shape[0]
        h_transformed = torch.mm(h, self.W)
        h_transformed = h_transformed.view(n_nodes, self.n_heads, self.n_hidden).permute(1, 0, 2)
        e = self._get_attention_scores(h_transformed)
        attention = torch.where(adj_mat > 0, e, -9e16 * torch.ones_like(e))
        h_prime = torch.matmul(F.softmax(attention, dim=-1), h_transformed)
        if self.concat:
            return h_prime.permute(1, 0, 2).contiguous().view(n_nodes, -1)
        return h_prime.mean(dim=0)


class GAT(nn.Module):
    def __init__(self, in_features, n_hidden, n_heads, num_classes):
        super().__init__()
        self.gat1 = GraphAttentionLayer(in_features, n_hidden, n_heads, concat=True)
        self.elu = nn.ELU()
        self.gat2 = GraphAttentionLayer(n_hidden, num_classes, n_heads=1)

    def forward(self, input_tensor, adj_mat):
        x = self.elu(self.gat1(input_tensor, adj_mat))
        return F.log_softmax(self.gat2(x, adj_mat), dim=1)


features = torch.rand(40, 12)
edges = torch.rand(40, 40) < 0.15
adjacency = (edges | edges.t() | torch.eye(40, dtype=torch.bool)).float()
labels = torch.randint(0, 4, (40,))
permutation = torch.randperm(40)
idx_train, idx_val = permutation[:28], permutation[28:]
model = GAT(12, 16, 4, 4)
optimizer = Adam(model.parameters(), lr=0.005, weight_decay=5e-4)
criterion = nn.NLLLoss()
for epoch in range(20):
    model.train()
    optimizer.zero_grad()
    output = model(features, adjacency)
    loss = criterion(output[idx_train], labels[idx_train])
    loss.backward()
    optimizer.step()
    print(f"{epoch} {loss.item():.9g}")
    model.eval()
    with torch.no_grad():
        output = model(features, adjacency)
        print(f"{epoch}.val {criterion(output[idx_val], labels[idx_val]).item():.9g}")
