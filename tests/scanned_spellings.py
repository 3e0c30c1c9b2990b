"""Well-known workarounds spelled otherwise than anywhere in the corpus, and ordinary code that looks like them."""

from __future__ import annotations

#: by name: the case that it is, and the code
SAME = {
    "grid1": (
        "grid-sampler-unsupported-opset-11",
        r"""
def sample_bilinear(feature, points, align=False):
    batch, channels, rows, cols = feature.size()
    _, out_r, out_c, _ = points.size()
    px = points[:, :, :, 0]
    py = points[:, :, :, 1]
    if align:
        px = torch.mul(torch.add(px, 1), 0.5 * (cols - 1))
        py = torch.mul(torch.add(py, 1), 0.5 * (rows - 1))
    else:
        px = ((px + 1) * cols - 1) * 0.5
        py = ((py + 1) * rows - 1) * 0.5
    px = px.reshape(batch, -1)
    py = py.reshape(batch, -1)
    left = px.floor().to(torch.int64)
    top = py.floor().to(torch.int64)
    right = left + 1
    bottom = top + 1
    w00 = torch.unsqueeze((right - px) * (bottom - py), 1)
    w01 = torch.unsqueeze((right - px) * (py - top), 1)
    w10 = torch.unsqueeze((px - left) * (bottom - py), 1)
    w11 = torch.unsqueeze((px - left) * (py - top), 1)
    image = F.pad(feature, (1, 1, 1, 1))
    height, width = rows + 2, cols + 2
    left, right, top, bottom = left + 1, right + 1, top + 1, bottom + 1
    left = left.clamp(0, width - 1)
    right = right.clamp(0, width - 1)
    top = top.clamp(0, height - 1)
    bottom = bottom.clamp(0, height - 1)
    image = image.flatten(2)

    def pick(r, c):
        where = (c + r * width).unsqueeze(1).expand(-1, channels, -1)
        return image.gather(2, where)

    out = pick(top, left) * w00
    out = out + pick(bottom, left) * w01
    out = out + pick(top, right) * w10
    out = out + pick(bottom, right) * w11
    return out.view(batch, channels, out_r, out_c)
""",
    ),
    "grid2": (
        "grid-sampler-unsupported-opset-11",
        r"""
def interp2d(im, x, y):
    x0 = torch.floor(x).long()
    x1 = x0 + 1
    y0 = torch.floor(y).long()
    y1 = y0 + 1
    x0 = torch.clamp(x0, 0, im.shape[-1] - 1)
    x1 = torch.clamp(x1, 0, im.shape[-1] - 1)
    y0 = torch.clamp(y0, 0, im.shape[-2] - 1)
    y1 = torch.clamp(y1, 0, im.shape[-2] - 1)
    parts = []
    a, b, c, d = (x1 - x) * (y1 - y), (x1 - x) * (y - y0), (x - x0) * (y1 - y), (x - x0) * (y - y0)
    for yy, xx, w in ((y0, x0, a), (y1, x0, b), (y0, x1, c), (y1, x1, d)):
        parts.append(im[:, :, yy, xx] * w)
    return sum(parts)
""",
    ),
    "cross1": (
        "cross-no-symbolic",
        r"""
def vec_product(a: Tensor, b: Tensor) -> Tensor:
    out = []
    for i, j in ((1, 2), (2, 0), (0, 1)):
        out.append(a[..., i] * b[..., j] - a[..., j] * b[..., i])
    return torch.stack(out, dim=-1)
""",
    ),
    "cross2": (
        "cross-no-symbolic",
        r"""
def outer_axis(first, second):
    ax, ay, az = first.chunk(3, dim=-1)
    bx, by, bz = second.chunk(3, dim=-1)
    return torch.cat((ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx), dim=-1)
""",
    ),
    "cross3": (
        "cross-no-symbolic",
        r"""
def normal(u, v):
    n = torch.zeros_like(u)
    n[:, 0] = u[:, 1] * v[:, 2] - u[:, 2] * v[:, 1]
    n[:, 1] = u[:, 2] * v[:, 0] - u[:, 0] * v[:, 2]
    n[:, 2] = u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0]
    return n
""",
    ),
    "cross4": (
        "cross-no-symbolic",
        r"""
def cross(a, b):
    return a[:, [1, 2, 0]] * b[:, [2, 0, 1]] - a[:, [2, 0, 1]] * b[:, [1, 2, 0]]
""",
    ),
    "pool1": (
        "adaptive-pool-stride-kernel-formula",
        r"""
class PoolTo(nn.Module):
    def __init__(self, out):
        super().__init__()
        self.out = out

    def forward(self, t):
        h, w = t.shape[-2:]
        sh, sw = h // self.out[0], w // self.out[1]
        kh = h - (self.out[0] - 1) * sh
        kw = w - (self.out[1] - 1) * sw
        return F.avg_pool2d(t, (kh, kw), stride=(sh, sw))
""",
    ),
    "pool2": (
        "adaptive-pool-stride-kernel-formula",
        r"""
def adaptive_avg(x, size):
    inp = np.array(x.shape[2:])
    out = np.array(size)
    step = np.floor(inp / out).astype(int)
    win = inp - (out - 1) * step
    return nn.AvgPool2d(tuple(win), tuple(step))(x)
""",
    ),
    "deform": (
        "deform-attn-untraceable",
        r"""
def ms_deform_core(value, shapes, locs, weights):
    n, _, m, d = value.shape
    _, q, m, l, p, _ = locs.shape
    pieces = value.split([h * w for h, w in shapes], dim=1)
    grids = locs * 2 - 1
    got = []
    for i, (h, w) in enumerate(shapes):
        v = pieces[i].flatten(2).transpose(1, 2).reshape(n * m, d, h, w)
        g = grids[:, :, :, i].transpose(1, 2).flatten(0, 1)
        got.append(F.grid_sample(v, g, mode="bilinear", padding_mode="zeros", align_corners=False))
    weights = weights.transpose(1, 2).reshape(n * m, 1, q, l * p)
    stacked = torch.stack(got, dim=-2).flatten(-2)
    result = torch.mul(stacked, weights).sum(dim=-1)
    return result.view(n, m * d, q).transpose(1, 2)
""",
    ),
    "hsw1": (
        "hardswish-no-rule",
        r"""
class HSwish(nn.Module):
    def forward(self, x):
        gate = torch.clamp(x + 3.0, min=0.0, max=6.0)
        return x.mul(gate).div(6.0)
""",
    ),
    "hsw2": (
        "hardswish-no-rule",
        r"""
class Act(nn.Module):
    def forward(self, x):
        return x * (F.relu6(3 + x) * (1 / 6))
""",
    ),
    "hsw3": (
        "hardswish-no-rule",
        r"""
class Hs(nn.Module):
    def __init__(self):
        super().__init__()
        self.act = nn.Hardtanh(0, 6)
    def forward(self, x):
        return torch.mul(x, self.act(torch.add(x, 3)) / 6)
""",
    ),
    "topk1": (
        "topk-larger-than-size",
        r"""
def top_k(scores, k):
    n = scores.shape[1]
    if torch.onnx.is_in_onnx_export():
        n = torch._shape_as_tensor(scores)[1]
        k = torch.min(torch.cat((torch.tensor([k], dtype=n.dtype), n.unsqueeze(0)), 0))
    else:
        k = min(k, n)
    return scores.topk(k)
""",
    ),
    "inplace1": (
        "channels-written-in-place",
        r"""
class Head(nn.Module):
    def decode(self, y, grid, anchor, stride):
        if self.inplace:
            y[..., 0:2] = (y[..., 0:2] * 2 + grid) * stride
            y[..., 2:4] = (y[..., 2:4] * 2) ** 2 * anchor
        else:  # slice assignment is not exportable to ONNX
            xy, wh, conf = y.split((2, 2, self.nc + 1), 4)
            xy = (xy * 2 + grid) * stride
            wh = (wh * 2) ** 2 * anchor
            y = torch.cat((xy, wh, conf), 4)
        return y
""",
    ),
    "tril2": (
        "tril-no-rule",
        r"""
def lower_triangle(x):
    n = x.size(-1)
    row = torch.arange(n).unsqueeze(-1)
    col = torch.arange(n).unsqueeze(0)
    keep = col <= row
    return torch.where(keep, x, torch.zeros_like(x))
""",
    ),
    "pixsh": (
        "pixel-unshuffle-order",
        r"""
class SpaceToDepth(nn.Module):
    def forward(self, x):
        b, c, h, w = x.shape
        x = x.view(b, c, h // 2, 2, w // 2, 2)
        x = x.permute(0, 3, 5, 1, 2, 4).contiguous()
        return x.view(b, c * 4, h // 2, w // 2)
""",
    ),
    "scatmax": (
        "scatter-reduce-without-self",
        r"""
def seg_max(src, index, size):
    if torch.onnx.is_in_onnx_export():
        start = src.new_full((size,), float(src.min()))
        return start.scatter_reduce(0, index, src, "amax", include_self=True)
    return src.new_zeros(size).scatter_reduce(0, index, src, "amax", include_self=False)
""",
    ),
    "rotary": (
        "view-as-complex-rotation",
        r"""
def rotate(x, freqs):
    if torch.onnx.is_in_onnx_export():
        cos, sin = freqs.real, freqs.imag
        even, odd = x[..., 0::2], x[..., 1::2]
        return torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1).flatten(-2)
    z = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(z * freqs).flatten(-2)
""",
    ),
    "stft": (
        "stft-opset-16",
        r"""
class Spectrogram(nn.Module):
    '''STFT by a strided convolution, since torch.stft cannot be exported to ONNX.'''
    def forward(self, wave):
        both = F.conv1d(wave[:, None], self.basis, stride=self.hop)
        re, im = both.chunk(2, 1)
        return (re ** 2 + im ** 2).sqrt()
""",
    ),
}
#: what no case is
ORDINARY = {
    "attention": r"""
class Attention(nn.Module):
    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(x).reshape(b, n, 3, self.h, c // self.h).permute(2, 0, 3, 1, 4)
        a = (q @ k.transpose(-2, -1)) * self.scale
        return (a.softmax(-1) @ v).transpose(1, 2).reshape(b, n, c)
""",
    "window": r"""
def window_partition(x, ws):
    b, h, w, c = x.shape
    x = x.view(b, h // ws, ws, w // ws, ws, c)
    return x.permute(0, 1, 3, 2, 4, 5).contiguous().view(-1, ws, ws, c)
""",
    "export": r"""
def export(model, path):
    '''Export the model to ONNX. Tracing needs an example; conv2d layers are fused and dropout is removed.'''
    model.eval()
    x = torch.zeros(1, 3, 64, 64)
    torch.onnx.export(model, x, path, opset_version=17, input_names=["x"], dynamic_axes={"x": {0: "n"}})
""",
    "iou": r"""
def iou(a, b):
    area1 = (a[:, 2] - a[:, 0]) * (a[:, 3] - a[:, 1])
    area2 = (b[:, 2] - b[:, 0]) * (b[:, 3] - b[:, 1])
    lt = torch.max(a[:, None, :2], b[:, :2])
    rb = torch.min(a[:, None, 2:], b[:, 2:])
    wh = (rb - lt).clamp(min=0)
    inter = wh[..., 0] * wh[..., 1]
    return inter / (area1[:, None] + area2 - inter)
""",
    "log": r"""
def train_step(model, batch):
    # tracing the loss back to its source: not an error
    loss = F.cross_entropy(model(batch.x), batch.y)
    loss.backward()
    return loss.item()
""",
    "loop": r"""
class Block(nn.Module):
    def forward(self, x):
        outs = []
        for i in range(3):
            outs.append(self.convs[i](x))
        return torch.cat(outs, 1)
""",
    "mask": r"""
def masked_mean(x, mask):
    m = mask.unsqueeze(-1).float()
    return (x * m).sum(1) / m.sum(1).clamp(min=1e-6)
""",
    "scripting": r"""
class Layer(nn.Module):
    @torch.jit.unused
    def checkpointed(self, x):
        return torch.utils.checkpoint.checkpoint(self.fn, x)
    def forward(self, x):
        q, k, v = x[0], x[1], x[2]  # make torchscript happy (cannot use tensor as tuple)
        if torch.jit.is_scripting():
            return q + k
        return self.checkpointed(q) + v
""",
    "docstring": r"""
class Stem(nn.Module):
    def build(self, width):
        '''Make the stem.

        It has ``min(64, int(32 * width))`` channels.

        In the exported ONNX model the branches are one convolution.
        '''
        self.stem = nn.Conv2d(3, min(64, int(32 * width)), 3)
""",
    "kernel": r"""
def pages(options):
    # Mirrors what onnxruntime checks, which is the only hard bound. The FlashAttention path of ORT wants a multiple of
    # 256 on top of it for heads of at most 64, of 128 for those of at most 128 and of 64 above that, and falls back to
    # another one otherwise. It is a matter of speed by the size of a head, and the sizes of the heads that there are
    # are known to the model alone, so that it is left to the place where the model is made, and the bound is what is
    # looked at here.
    size = options.get("size")
    return size * 2
""",
    "equivalent": r"""
def spread(states, n):
    '''Equivalent of torch.repeat_interleave(x, dim=1, repeats=n).'''
    b, h, s, d = states.shape
    return states[:, :, None, :, :].expand(b, h, n, s, d).reshape(b, h * n, s, d)
""",
    "stable": r"""
def log_sum_exp(x, dim):
    m, _ = torch.max(x, dim)
    return m + torch.log(torch.sum(torch.exp(x - m.unsqueeze(dim).expand_as(x)), dim))
""",
    "added": r"""
class Head(nn.Module):
    def forward(self, x):
        x = self.conv(x)
        if self.export:  # the ONNX model gives classes
            return x.argmax(dim=1).to(torch.int32)
        return x
""",
    "skipped": r"""
def run(self, nodes, found):
    for name, node in nodes:
        if node.export and node.left_out:  # no part of the ONNX file
            continue
        found[name] = node.run()
""",
    "elsewhere": r"""
def scales(weight, index):
    # Dynamic indexing is not exportable, so gather the scales with a one_hot matmul instead.
    return (index.unsqueeze(-1) == torch.arange(weight.shape[0])).to(weight.dtype) @ weight
""",
    "dispatched": r"""
@dispatch_collect(dispatch="dp", collect="all")
def step(batches):
    return [item.sum() for item in batches]
""",
}

#: of these the small forms that no name around them tells of: ordinary code has them too, so that they are a count
NAMELESS = ("hsw1", "hsw2", "hsw3", "tril2")
