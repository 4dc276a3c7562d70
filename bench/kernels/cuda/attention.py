# The yardstick of the job "attention of f16": what torch has. python3 attention.py
import torch, torch.nn.functional as F
from torch.nn.attention import sdpa_kernel, SDPBackend
q,k,v=[torch.randn(4,16,4096,64,device='cuda',dtype=torch.float16) for _ in range(3)]
def t(f):
    for _ in range(3): f()
    ts=[]
    for _ in range(20):
        a,b=torch.cuda.Event(True),torch.cuda.Event(True)
        a.record(); f(); b.record(); b.synchronize(); ts.append(a.elapsed_time(b))
    return sorted(ts)[10]
print('default', t(lambda: F.scaled_dot_product_attention(q,k,v)))
for name in ['FLASH_ATTENTION','CUDNN_ATTENTION','EFFICIENT_ATTENTION']:
    try:
        with sdpa_kernel(getattr(SDPBackend,name)): print(name, t(lambda: F.scaled_dot_product_attention(q,k,v)))
    except Exception as e: print(name, str(e)[:100])
